//! What the tests share: a tiny model, and reading what the package hands out.

use js_sys::{Promise, Reflect, Uint8Array, Uint32Array};
use mrail_gpu_wasm::{Error, Runner, seeded_model};
use wasm_bindgen::convert::TryFromJsValue;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// The model's file.
pub(crate) fn model() -> JsValue {
    Uint8Array::from(&*seeded_model(&JsValue::UNDEFINED).unwrap()).into()
}

pub(crate) async fn load(backend: &str) -> Runner {
    load_with(&model(), &format!(r#"{{"backend":"{backend}"}}"#)).await.unwrap()
}

pub(crate) async fn load_with(model: &JsValue, options: &str) -> Result<Runner, JsValue> {
    open(Runner::load(model.clone(), object(options), JsValue::UNDEFINED)).await
}

pub(crate) async fn open(loading: Promise) -> Result<Runner, JsValue> {
    let loaded = JsFuture::from(loading).await?;
    Ok(Runner::try_from_js_value(loaded).expect("a runner"))
}

pub(crate) fn attach(runner: &Runner, map: &Uint8Array, trusted: bool) -> Result<(), Error> {
    runner.attach(map, &trusted.into(), &JsValue::UNDEFINED)
}

/// An answer, put together.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) tokens: Vec<u32>,
    origins: Vec<String>,
    pub(crate) evaluated: usize,
    pub(crate) passes: usize,
    /// The last chunk.
    pub(crate) last: JsValue,
}

impl Answer {
    /// Takes a chunk; false where it is none.
    pub(crate) fn take(&mut self, chunk: &JsValue) -> bool {
        if chunk.is_undefined() {
            return false;
        }
        self.text += &string(chunk, "text");
        self.tokens.extend(tokens(chunk, "tokens"));
        self.origins.push(string(chunk, "origin"));
        self.last = chunk.clone();
        true
    }

    /// Where it comes from, in order, each once in a row.
    pub(crate) fn origins(&self) -> Vec<&str> {
        let mut origins: Vec<&str> = self.origins.iter().map(String::as_str).collect();
        origins.dedup();
        if origins.first() == Some(&"context") {
            origins.remove(0);
        }
        origins
    }
}

pub(crate) async fn answer(runner: &Runner, prompt: &str, options: &str) -> Answer {
    run(runner, &prompt.into(), options).await
}

pub(crate) async fn run(runner: &Runner, prompt: &JsValue, options: &str) -> Answer {
    let turn = runner.generate(prompt, &object(options)).unwrap();
    let mut answer = Answer::default();
    while answer.take(&JsFuture::from(turn.next()).await.unwrap()) {}
    assert!(turn.end().is_some());
    let stats = turn.stats();
    answer.evaluated = number(&stats, "evaluated");
    answer.passes = number(&stats, "passes");
    answer
}

/// The kind of an error.
pub(crate) fn kind(error: &JsValue) -> String {
    assert!(error.is_instance_of::<js_sys::Error>(), "{error:?}");
    string(error, "kind")
}

/// The kind of what a call throws.
pub(crate) fn fails<T>(result: Result<T, Error>) -> String {
    kind(&result.err().expect("an error"))
}

/// The kind of what a promise is rejected with.
pub(crate) async fn error(promise: Promise) -> String {
    kind(&JsFuture::from(promise).await.expect_err("an error"))
}

pub(crate) fn get(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &key.into()).unwrap()
}

#[expect(clippy::cast_sign_loss, reason = "the sign is checked")]
pub(crate) fn number(object: &JsValue, key: &str) -> usize {
    let number = get(object, key).as_f64().unwrap_or_else(|| panic!("{key} is no number"));
    assert!(number >= 0.0, "{key}: {number}");
    number as usize
}

pub(crate) fn string(object: &JsValue, key: &str) -> String {
    get(object, key).as_string().unwrap_or_else(|| panic!("{key} is no string"))
}

pub(crate) fn tokens(object: &JsValue, key: &str) -> Vec<u32> {
    get(object, key).unchecked_into::<Uint32Array>().to_vec()
}

pub(crate) fn words(words: &[u32]) -> JsValue {
    Uint32Array::from(words).into()
}

/// An object from JSON.
pub(crate) fn object(json: &str) -> JsValue {
    js_sys::JSON::parse(json).unwrap()
}
