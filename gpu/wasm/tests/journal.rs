//! The own map's file, kept by JavaScript: what is written where, what is said of a torn or damaged one, and whose it is.
#![cfg(target_arch = "wasm32")]

#[allow(dead_code, reason = "it is shared, and this needs a part")]
mod common;

use common::{answer, fails, get, load, number, object, string};
use js_sys::{Array, Uint8Array};
use mrail_gpu_wasm::{Digest, Runner, repair_map};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(inline_js = "
    export class FileOfBytes {
        constructor(bytes) { this.bytes = [...bytes]; this.offsets = []; }
        append(offset, bytes) {
            this.offsets.push(offset);
            if (offset > this.bytes.length) throw new RangeError(`a hole before ${offset}`);
            this.bytes.length = offset;
            this.bytes.push(...bytes);
        }
    }
    export const file = (bytes) => new FileOfBytes(bytes);
    export const content = (file) => Uint8Array.from(file.bytes);
    export const full = () => ({ append() { throw new DOMException('no more room', 'QuotaExceededError'); } });
    export const late = () => ({ async append() {} });
")]
extern "C" {
    /// A journal that holds the bytes, and where it was written to.
    fn file(bytes: &Uint8Array) -> JsValue;
    fn content(file: &JsValue) -> Uint8Array;
    /// One without room.
    fn full() -> JsValue;
    /// One that writes later, if at all.
    fn late() -> JsValue;
}

const KEPT: &str = r#"{"maxNew":8,"draft":0}"#;

fn attach(runner: &Runner, map: &Uint8Array, journal: &JsValue) {
    runner.attach(map, &true.into(), journal).unwrap();
}

fn info(runner: &Runner) -> (usize, usize, String) {
    let info = runner.map_info().unwrap();
    (number(&info, "runs"), number(&info, "bytes"), string(&info, "tail"))
}

/// Asks, and says whether the answer is in the map now, and why not.
async fn kept(runner: &Runner, prompt: &str) -> (bool, Vec<String>) {
    let turn = runner.generate(&prompt.into(), &object(KEPT)).unwrap();
    while !JsFuture::from(turn.next()).await.unwrap().is_undefined() {}
    let stats = turn.stats();
    let faults: Array = get(&stats, "faults").unchecked_into();
    let faults = faults.iter().filter_map(|fault| fault.as_string()).collect();
    (get(&stats, "written").is_truthy(), faults)
}

async fn written(runner: &Runner, prompt: &str) -> bool {
    let (written, faults) = kept(runner, prompt).await;
    assert_eq!(faults, [""; 0]);
    written
}

#[wasm_bindgen_test]
async fn every_record_is_in_the_file_and_a_torn_one_is_cut_off() {
    let runner = load("cpu").await;
    let new = runner.map_bytes().unwrap();
    let journal = file(&new);
    attach(&runner, &new, &journal);
    assert_eq!(info(&runner), (0, 8, "none".into()));
    for prompt in ["hen", "hat", "hen and hat"] {
        assert!(written(&runner, prompt).await);
        assert_eq!(content(&journal).to_vec(), runner.map_bytes().unwrap().to_vec());
    }
    // What is known writes nothing.
    let whole = content(&journal);
    assert!(!written(&runner, "hen").await);
    assert_eq!(info(&runner), (3, whole.length() as usize, "none".into()));
    assert_eq!(content(&journal).to_vec(), whole.to_vec());

    let two = number(&get(&journal, "offsets"), "2") as u32;
    for len in [two + 1, two + 7, whole.length() - 1] {
        let torn = whole.slice(0, len);
        let journal = file(&torn);
        attach(&runner, &torn, &journal);
        assert_eq!(info(&runner), (2, two as usize, "torn".into()));
        // The answer that was lost is made again, and stands where it stood.
        assert_eq!(answer(&runner, "hen", KEPT).await.evaluated, 0);
        assert!(written(&runner, "hen and hat").await);
        assert_eq!(content(&journal).to_vec(), whole.to_vec());
    }
    JsFuture::from(runner.dispose()).await.unwrap();
}

#[wasm_bindgen_test]
async fn what_could_not_be_written_is_not_in_the_map_and_is_told() {
    let runner = load("cpu").await;
    let new = runner.map_bytes().unwrap();
    for (journal, says) in [(full(), "no more room"), (late(), "promise")] {
        attach(&runner, &new, &journal);
        let (written, faults) = kept(&runner, "hen").await;
        assert!(!written && faults.len() == 1 && faults[0].contains(says), "{faults:?}");
        assert_eq!(info(&runner).0, 0);
        assert!(answer(&runner, "hen", KEPT).await.evaluated > 0);
    }
    let nothing = JsValue::UNDEFINED;
    for journal in [object("{}"), object("[]"), JsValue::NULL, 7.into(), object(r#"{"append":1}"#)] {
        assert_eq!(fails(runner.attach(&new, &true.into(), &journal)), "invalid-argument");
    }
    assert_eq!(fails(runner.attach(&new, &false.into(), &file(&new))), "invalid-argument");
    // The map before is still there, without a journal from here on.
    runner.attach(&new, &true.into(), &nothing).unwrap();
    assert!(written(&runner, "hen").await);
    JsFuture::from(runner.dispose()).await.unwrap();
}

#[wasm_bindgen_test]
async fn behind_damage_nothing_is_written_and_the_good_records_are_found() {
    let runner = load("cpu").await;
    for prompt in ["hen", "hat"] {
        assert!(written(&runner, prompt).await);
    }
    let whole = runner.map_bytes().unwrap().to_vec();
    // The first record's length grows beyond the file: the second one is hidden.
    let mut damaged = whole.clone();
    damaged[11] ^= 0x40;
    let damaged = Uint8Array::from(&*damaged);
    let journal = file(&damaged);
    attach(&runner, &damaged, &journal);
    assert_eq!(info(&runner), (0, 8, "damaged".into()));
    let (written_behind, faults) = kept(&runner, "hen").await;
    assert!(!written_behind && faults.len() == 1, "{faults:?}");
    assert_eq!(content(&journal).to_vec(), damaged.to_vec());
    let repaired = repair_map(&damaged).unwrap();
    assert_eq!((number(&repaired, "kept"), number(&repaired, "recovered")), (1, 1));
    let good = get(&repaired, "bytes").unchecked_into::<Uint8Array>();
    assert_eq!(good.length() as usize + number(&repaired, "cutBytes"), whole.len());
    attach(&runner, &good, &file(&good));
    assert_eq!(info(&runner), (1, good.length() as usize, "none".into()));
    assert_eq!(answer(&runner, "hat", KEPT).await.evaluated, 0);
    assert_eq!(fails(repair_map(&Uint8Array::from(&b"<html>"[..]))), "not-a-map");
    JsFuture::from(runner.dispose()).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_model_and_its_numerics_have_a_name() {
    let mut digest = Digest::new();
    // BLAKE2b of 16 bytes, from another implementation.
    assert_eq!(digest.hex(), "cae66941d9efbd404e4d88758ea67670");
    for piece in [&b"a"[..], b"", b"bc"] {
        digest.update(&Uint8Array::from(piece)).unwrap();
    }
    assert_eq!(digest.hex(), "cf4ab791c62b8d2b2109c90275287816");
    assert_eq!(fails(digest.update(&"abc".into())), "invalid-argument");

    let said = |runner: &Runner| js_sys::JSON::stringify(&get(&runner.info(), "numerics")).unwrap();
    let runner = load("cpu").await;
    let usual = r#"{"arithmetic":"f32","kv":"f16","memory":{"band":256,"store":1728,"carriers":null}}"#;
    assert_eq!(said(&runner), usual);
    JsFuture::from(runner.dispose()).await.unwrap();
    for (options, numerics) in [
        (r#"{"backend":"cpu","native":true}"#, r#"{"arithmetic":"f32","kv":"f16","memory":"native"}"#),
        (
            r#"{"backend":"cpu","kv":"f32","band":64,"store":128}"#,
            r#"{"arithmetic":"f32","kv":"f32","memory":{"band":64,"store":128,"carriers":null}}"#,
        ),
    ] {
        let runner = common::load_with(&common::model(), options).await.unwrap();
        assert_eq!(said(&runner), numerics);
        JsFuture::from(runner.dispose()).await.unwrap();
    }
}
