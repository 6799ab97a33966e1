//! The package as JavaScript calls it, in a browser, with a tiny model of random numbers.
#![cfg(target_arch = "wasm32")]

mod common;

use common::{
    Answer, answer, attach, error, fails, load, load_with, model, number, object, open, run, string, tokens, words,
};
use js_sys::{Array, Uint8Array};
use mrail_gpu_wasm::{Runner, memory_bytes, seeded_model};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(inline_js = "
    export const ranges = (bytes, log) => ({
        byteLength: bytes.length,
        read: (start, end) => (log.push(`read ${start}`), bytes.subarray(start, end)),
    });
    export const teller = (log) => (progress) => log.push(progress);
    export const thrower = () => () => { throw new RangeError('enough'); };
    let made = 0, gone = 0;
    export const count_buffers = () => {
        const { createBuffer } = GPUDevice.prototype, { destroy } = GPUBuffer.prototype;
        GPUDevice.prototype.createBuffer = function (...args) { made++; return createBuffer.apply(this, args); };
        GPUBuffer.prototype.destroy = function () { gone++; return destroy.apply(this); };
    };
    export const buffers = () => made - gone;
")]
extern "C" {
    /// A source of ranges that writes down what it is asked for.
    fn ranges(bytes: &JsValue, log: &Array) -> JsValue;
    /// A callback that writes down what it is told.
    fn teller(log: &Array) -> JsValue;
    fn thrower() -> JsValue;
    /// From now on, buffers of devices are counted.
    fn count_buffers();
    /// Those that were made and not destroyed.
    fn buffers() -> i32;
}

const PLAIN: &str = r#"{"maxNew":24,"draft":0,"useMap":false}"#;

#[wasm_bindgen_test]
async fn a_known_prompt_is_answered_from_the_map_and_nothing_is_evaluated() {
    for backend in ["gpu", "cpu"] {
        let runner = load(backend).await;
        let first = answer(&runner, "who is it", r#"{"maxNew":24}"#).await;
        assert!(first.evaluated > 0 && first.tokens.len() == 24, "{first:?}");
        let again = answer(&runner, "who is it", r#"{"maxNew":24}"#).await;
        assert_eq!((again.evaluated, again.origins()), (0, vec!["map"]));
        assert_eq!((&again.tokens, &again.text), (&first.tokens, &first.text));
        // The map is the answer's only home: another runner of the same model answers from it, too.
        let map = runner.map_bytes().unwrap();
        JsFuture::from(runner.dispose()).await.unwrap();
        let other = load(backend).await;
        attach(&other, &map, true).unwrap();
        let known = answer(&other, "who is it", r#"{"maxNew":24}"#).await;
        assert_eq!((known.evaluated, &known.tokens), (0, &first.tokens));
        JsFuture::from(other.dispose()).await.unwrap();
    }
}

#[wasm_bindgen_test]
async fn drafts_change_no_token() {
    let mut all = Vec::new();
    for backend in ["gpu", "cpu"] {
        let runner = load(backend).await;
        console_log!("{backend}: {}", string(&runner.info(), "adapter"));
        for prompt in ["tell me of hens and of hats", "and again, and again, and again: the hen, the hat, the hen"] {
            let plain = answer(&runner, prompt, PLAIN).await;
            assert_eq!(plain.origins(), ["model"]);
            let map = runner.map_bytes().unwrap();
            for draft in [1, 8, 31] {
                let drafted =
                    answer(&runner, prompt, &format!(r#"{{"maxNew":24,"draft":{draft},"useMap":false}}"#)).await;
                assert_eq!(drafted.tokens, plain.tokens, "{backend}, {draft} drafts");
            }
            // A foreign map that holds the answer drafts it, and does not answer.
            answer(&runner, prompt, r#"{"maxNew":24,"draft":0}"#).await;
            let known = runner.map_bytes().unwrap();
            attach(&runner, &map, true).unwrap();
            attach(&runner, &known, false).unwrap();
            let foreign = answer(&runner, prompt, r#"{"maxNew":24}"#).await;
            assert_eq!(foreign.tokens, plain.tokens);
            assert!(foreign.evaluated > 0 && foreign.origins().contains(&"draft"), "{foreign:?}");
            assert!(foreign.passes < plain.passes, "{} of {}", foreign.passes, plain.passes);
            runner.detach().unwrap();
            all.push(plain.tokens);
        }
        JsFuture::from(runner.dispose()).await.unwrap();
    }
    let (gpu, cpu) = all.split_at(2);
    assert_eq!(gpu, cpu, "the two backends");
}

#[wasm_bindgen_test]
async fn an_answer_can_be_aborted_and_the_next_one_is_whole() {
    let runner = load("gpu").await;
    let plain = answer(&runner, "hen", PLAIN).await;
    let turn = runner.generate(&"hen".into(), &object(PLAIN)).unwrap();
    assert_eq!(fails(runner.generate(&"hat".into(), &object(PLAIN))), "busy");
    assert_eq!(fails(attach(&runner, &Uint8Array::new_with_length(0), true)), "busy");
    JsFuture::from(turn.next()).await.unwrap();
    // A step is under way, and another is asked for.
    let (one, two) = (turn.next(), turn.next());
    JsFuture::from(turn.abort()).await.unwrap();
    JsFuture::from(one).await.unwrap();
    assert!(JsFuture::from(two).await.unwrap().is_undefined());
    assert!(JsFuture::from(turn.next()).await.unwrap().is_undefined());
    assert_eq!(turn.end().as_deref(), Some("open"));
    assert_eq!(answer(&runner, "hen", PLAIN).await.tokens, plain.tokens);
    // A turn that was never asked for anything, and is let go.
    drop(runner.generate(&"hat".into(), &object(PLAIN)).unwrap());
    JsFuture::from(runner.abort()).await.unwrap();
    assert_eq!(answer(&runner, "hen", PLAIN).await.tokens, plain.tokens);
    // What was aborted stays in the map, and is gone on from.
    let turn = runner.generate(&"hat".into(), &object(r#"{"maxNew":24,"draft":0}"#)).unwrap();
    for _ in 0..4 {
        JsFuture::from(turn.next()).await.unwrap();
    }
    JsFuture::from(turn.abort()).await.unwrap();
    let rest = answer(&runner, "hat", r#"{"maxNew":24,"draft":0}"#).await;
    assert_eq!(rest.origins(), ["map", "context", "model"], "{rest:?}");
    JsFuture::from(runner.dispose()).await.unwrap();
}

#[wasm_bindgen_test]
async fn two_runners_do_not_mix() {
    let (one, two) = (load("gpu").await, load("gpu").await);
    let plain = answer(&one, "hen", PLAIN).await;
    let (first, second) =
        (one.generate(&"hen".into(), &object(PLAIN)).unwrap(), two.generate(&"hen".into(), &object(PLAIN)).unwrap());
    let (mut a, mut b) = (Answer::default(), Answer::default());
    loop {
        let (x, y) = (first.next(), second.next());
        let more = a.take(&JsFuture::from(x).await.unwrap()) | b.take(&JsFuture::from(y).await.unwrap());
        if !more {
            break;
        }
    }
    assert_eq!((&a.tokens, &b.tokens), (&plain.tokens, &plain.tokens));
    JsFuture::from(one.dispose()).await.unwrap();
    assert_eq!(answer(&two, "hen", PLAIN).await.tokens, plain.tokens);
    JsFuture::from(two.dispose()).await.unwrap();
}

#[wasm_bindgen_test]
async fn disposed_of_in_the_middle_of_a_step_all_promises_settle() {
    let runner = load("gpu").await;
    let turn = runner.generate(&"hen".into(), &object(PLAIN)).unwrap();
    let step = turn.next();
    JsFuture::from(runner.dispose()).await.unwrap();
    // The step may have been done before.
    drop(JsFuture::from(step).await);
    assert!(JsFuture::from(turn.next()).await.unwrap().is_undefined());
    assert_eq!(fails(runner.generate(&"hen".into(), &JsValue::UNDEFINED)), "disposed");
    assert_eq!(fails(runner.map_bytes()), "disposed");
    JsFuture::from(runner.dispose()).await.unwrap();
    JsFuture::from(runner.abort()).await.unwrap();
}

#[wasm_bindgen_test]
async fn fifty_answers_leave_memory_as_it_is() {
    count_buffers();
    for backend in ["gpu", "cpu"] {
        let before = buffers();
        let runner = load(backend).await;
        let mut third = (0.0, 0);
        for i in 0..50 {
            let use_map = i % 2 == 0;
            let options = format!(r#"{{"maxNew":8,"draft":{},"useMap":{use_map}}}"#, i % 9);
            answer(&runner, "hens and hats", &options).await;
            let now = (memory_bytes(), buffers());
            if i == 2 {
                third = now;
            }
            assert!(i <= 2 || now == third, "{backend}, answer {i}: {now:?} is not {third:?}");
        }
        let (bytes, buffers) = (third.0, third.1 - before);
        console_log!(
            "{backend}: {bytes} bytes of wasm memory, {buffers} buffers, from the third answer to the fiftieth"
        );
        JsFuture::from(runner.dispose()).await.unwrap();
    }
}

#[wasm_bindgen_test]
async fn loading_tells_what_is_needed_before_a_byte_of_the_weights_is_read() {
    for backend in ["gpu", "cpu"] {
        // A source of ranges, and a callback, that write down what happens.
        let log = Array::new();
        let (source, tell) = (ranges(&model(), &log), teller(&log));
        let options = object(&format!(r#"{{"backend":"{backend}"}}"#));
        let runner = open(Runner::load(source, options, tell)).await.unwrap();
        // The header is read in one piece, since the file is small.
        assert_eq!(log.get(0).as_string().unwrap(), "read 0");
        let needs = log.get(1);
        assert_eq!((string(&needs, "stage"), string(&needs, "backend")), ("needs".into(), backend.into()));
        let weights = number(&common::get(&needs, "needs"), "weights");
        let last = log.get(log.length() - 1);
        assert_eq!((string(&last, "stage"), number(&last, "done")), ("weights".into(), number(&last, "total")));
        let info = runner.info();
        // A texture of a model as small as this one is for the most part the rest of its last row of texels, 64 KiB, of which
        // matrices that are read as one have one: five do with two, in each layer. Norms are needed, and not counted as held.
        let shared = if backend == "gpu" { 3 * (64 << 10) * number(&info, "layers") } else { 0 };
        let held = number(&info, "weightBytes");
        assert!(held > 0 && held <= weights && 10 * (held + shared) >= 9 * weights, "{held} of {weights}");
        assert!(number(&info, "stateBytes") > 0 && number(&info, "exactUntil") == 2048);
        JsFuture::from(runner.dispose()).await.unwrap();
    }
    let error = load_with(&model(), r#"{"memory":1000}"#).await.unwrap_err();
    assert_eq!(common::kind(&error), "memory");
    // What the callback throws is what the caller gets.
    let error = open(Runner::load(model(), JsValue::UNDEFINED, thrower())).await.unwrap_err();
    assert!(error.is_instance_of::<js_sys::RangeError>());
}

#[wasm_bindgen_test]
async fn what_is_wrong_is_said_and_nothing_traps() {
    let garbage = |bytes: &[u8]| Uint8Array::from(bytes).into();
    for (source, expected) in [
        (garbage(b""), "not-a-model"),
        (garbage(b"<!doctype html><title>Not found</title>"), "not-a-model"),
        (garbage(&[0xFF; 4096]), "not-a-model"),
        (JsValue::from_f64(1.0), "invalid-argument"),
        (object("{}"), "invalid-argument"),
        (object(r#"{"byteLength":-1}"#), "invalid-argument"),
    ] {
        assert_eq!(error(Runner::load(source, JsValue::UNDEFINED, JsValue::UNDEFINED)).await, expected);
    }
    // Cut anywhere: in the header, and in the weights.
    let whole = seeded_model(&JsValue::UNDEFINED).unwrap();
    for len in [3, 24, 1000, whole.len() / 2, whole.len() - 1] {
        let cut = Uint8Array::from(&whole[..len]).into();
        assert_eq!(error(Runner::load(cut, JsValue::UNDEFINED, JsValue::UNDEFINED)).await, "not-a-model", "{len}");
    }
    for options in [r#"{"band":63}"#, r#"{"store":1}"#, r#"{"backend":"abacus"}"#, r#"{"treeRows":65}"#, "7", "null"] {
        assert_eq!(common::kind(&load_with(&model(), options).await.unwrap_err()), "invalid-argument", "{options}");
    }

    let runner = load("gpu").await;
    let vocabulary = number(&runner.info(), "vocabulary");
    let nothing = JsValue::UNDEFINED;
    for prompt in
        [words(&[1, vocabulary as u32]), words(&[]), nothing.clone(), object("[1]"), object(r#"[{"role":"user"}]"#)]
    {
        assert_eq!(fails(runner.generate(&prompt, &nothing)), "invalid-argument");
    }
    for options in [r#"{"maxNew":-1}"#, r#"{"draft":0.5}"#, r#"{"useMap":1}"#] {
        assert_eq!(fails(runner.generate(&"hen".into(), &object(options))), "invalid-argument", "{options}");
    }
    assert_eq!(fails(attach(&runner, &Uint8Array::from(&b"<html>"[..]), true)), "not-a-map");
    let other = Uint8Array::from(&include_bytes!("../../../tests/data/maps/coding.mrail")[..]);
    assert_eq!(fails(attach(&runner, &other, true)), "wrong-map");
    assert_eq!(fails(attach(&runner, &other, false)), "wrong-map");
    // It goes on as if nothing had been.
    assert_eq!(answer(&runner, "hen", PLAIN).await.tokens.len(), 24);
    assert_eq!(run(&runner, &"hen".into(), r#"{"maxNew":0}"#).await.tokens.len(), 0);
    JsFuture::from(runner.dispose()).await.unwrap();
}

#[wasm_bindgen_test]
async fn prompts_are_text_conversations_or_tokens() {
    let runner = load("cpu").await;
    let nothing = JsValue::UNDEFINED;
    let text = runner.encode(&"the hen".into(), &nothing).unwrap();
    let conversation = runner.encode(&object(r#"[{"role":"user","content":"the hen"}]"#), &nothing).unwrap();
    assert_eq!(text, conversation);
    let said = runner.decode(&words(&text)).unwrap();
    assert_eq!(said, "<|im_start|>user\nthe hen<|im_end|>\n<|im_start|>assistant\n");
    let plain = runner.encode(&"the hen".into(), &object(r#"{"complete":true}"#)).unwrap();
    assert_eq!(runner.decode(&words(&plain)).unwrap(), "the hen");
    let by_text = run(&runner, &"the hen".into(), PLAIN).await;
    let by_tokens = run(&runner, &words(&text), PLAIN).await;
    assert_eq!((&by_text.tokens, &by_text.text), (&by_tokens.tokens, &by_tokens.text));
    // The pieces are the whole, and none holds half a character that a later token completes.
    let rest: Vec<u32> = by_text.tokens.iter().copied().filter(|token| *token > 2).collect();
    assert_eq!(runner.decode(&words(&rest)).unwrap(), by_text.text);
    assert!(tokens(&by_text.last, "tokens").len() <= 24);
}
