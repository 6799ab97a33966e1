//! What the tests share: the sample files, and reading what the package hands out.
#![allow(dead_code, reason = "each test binary uses its part")]

use js_sys::{Reflect, Uint8Array, Uint32Array};
use mrail_wasm::MrailMap;
use wasm_bindgen::JsValue;

/// A file of the project's test data.
macro_rules! data {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/data/", $name))
    };
}
pub(crate) use data;

pub(crate) const CODING: &[u8] = include_bytes!("../../../tests/data/maps/coding.mrail");

#[expect(clippy::cast_sign_loss, reason = "the sign is checked")]
pub(crate) fn number(object: &impl AsRef<JsValue>, key: &str) -> usize {
    let number = get(object, key).as_f64().unwrap_or_else(|| panic!("{key} is no number"));
    assert!(number.is_sign_positive(), "{key}: {number:?}");
    number as usize
}

/// A property of an object.
pub(crate) fn get(object: &impl AsRef<JsValue>, key: &str) -> JsValue {
    Reflect::get(object.as_ref(), &key.into()).unwrap()
}

pub(crate) fn string(object: &impl AsRef<JsValue>, key: &str) -> String {
    get(object, key).as_string().unwrap_or_else(|| panic!("{key} is no string"))
}

/// A property that holds tokens.
pub(crate) fn tokens(object: &impl AsRef<JsValue>, key: &str) -> Vec<u32> {
    Uint32Array::from(get(object, key)).to_vec()
}

/// Tokens as an argument.
pub(crate) fn words(words: &[u32]) -> JsValue {
    Uint32Array::from(words).into()
}

/// Bytes as an argument.
pub(crate) fn bytes(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

/// An object from JSON.
pub(crate) fn object(json: &str) -> JsValue {
    js_sys::JSON::parse(json).unwrap()
}

pub(crate) fn n(number: f64) -> JsValue {
    number.into()
}

pub(crate) fn open(map: &[u8]) -> MrailMap {
    open_with(map, r#"{"trusted":true}"#)
}

pub(crate) fn open_with(map: &[u8], options: &str) -> MrailMap {
    MrailMap::open(&bytes(map), &object(options)).unwrap_or_else(|error| panic!("{}", error.message()))
}

/// Context and answer of a session.
pub(crate) fn run(map: &MrailMap, run: usize) -> (Vec<u32>, Vec<u32>) {
    let found = map.run_tokens(&n(run as f64)).unwrap().unwrap();
    let mut context = tokens(&found, "tokens");
    let answer = context.split_off(number(&found, "genStart"));
    (context, answer)
}

/// What the map answers, without a limit and without stop tokens.
pub(crate) fn answer(map: &MrailMap, context: &[u32]) -> Option<Vec<u32>> {
    let found = map.exact_answer(&words(context), &n(f64::from(u32::MAX)), &words(&[])).unwrap();
    found.map(|found| tokens(&found, "tokens"))
}

/// The error's kind and message.
pub(crate) fn fault<T>(result: Result<T, mrail_wasm::Error>) -> (String, String) {
    let error = result.err().expect("an error");
    assert_eq!(error.name(), "MrailError");
    (string(&error, "kind"), String::from(error.message()))
}
