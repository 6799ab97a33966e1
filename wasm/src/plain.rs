//! Plain objects: what is handed out, except for the map itself. They hold copies, and go through `postMessage`.

use js_sys::{Int32Array, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// An object of one of the interfaces of `types.d.ts`, with the properties that any of them has.
    #[wasm_bindgen(js_name = Object)]
    #[derive(Clone, Debug)]
    pub type Plain;

    #[wasm_bindgen(constructor, js_class = "Object")]
    pub(crate) fn new() -> Plain;

    #[wasm_bindgen(method, setter, structural, js_name = anchor)]
    pub(crate) fn set_anchor(this: &Plain, anchor: &Plain);
    #[wasm_bindgen(method, setter, structural, js_name = anchorDeltas)]
    pub(crate) fn set_anchor_deltas(this: &Plain, deltas: usize);
    #[wasm_bindgen(method, setter, structural, js_name = anchors)]
    pub(crate) fn set_anchors(this: &Plain, anchors: usize);
    #[wasm_bindgen(method, setter, structural, js_name = answerLength)]
    pub(crate) fn set_answer_length(this: &Plain, length: f64);
    #[wasm_bindgen(method, setter, structural, js_name = answerTokens)]
    pub(crate) fn set_answer_tokens(this: &Plain, tokens: f64);
    #[wasm_bindgen(method, setter, structural, js_name = byteLength)]
    pub(crate) fn set_byte_length(this: &Plain, length: usize);
    #[wasm_bindgen(method, setter, structural, js_name = bytes)]
    pub(crate) fn set_bytes(this: &Plain, bytes: Uint8Array);
    #[wasm_bindgen(method, setter, structural, js_name = bytes)]
    pub(crate) fn set_byte_count(this: &Plain, bytes: usize);
    #[wasm_bindgen(method, setter, structural, js_name = contextLength)]
    pub(crate) fn set_context_length(this: &Plain, length: usize);
    #[wasm_bindgen(method, setter, structural, js_name = end)]
    pub(crate) fn set_end(this: &Plain, end: &str);
    #[wasm_bindgen(method, setter, structural, js_name = foreign)]
    pub(crate) fn set_foreign(this: &Plain, foreign: bool);
    #[wasm_bindgen(method, setter, structural, js_name = foreignRuns)]
    pub(crate) fn set_foreign_runs(this: &Plain, runs: usize);
    #[wasm_bindgen(method, setter, structural, js_name = genStart)]
    pub(crate) fn set_gen_start(this: &Plain, start: usize);
    #[wasm_bindgen(method, setter, structural, js_name = hash)]
    pub(crate) fn set_hash(this: &Plain, hash: &str);
    #[wasm_bindgen(method, setter, structural, js_name = kind)]
    pub(crate) fn set_kind(this: &Plain, kind: u8);
    #[wasm_bindgen(method, setter, structural, js_name = kind)]
    pub(crate) fn set_run_kind(this: &Plain, kind: &str);
    #[wasm_bindgen(method, setter, structural, js_name = kinds)]
    pub(crate) fn set_kinds(this: &Plain, kinds: Vec<Plain>);
    #[wasm_bindgen(method, setter, structural, js_name = lcp)]
    pub(crate) fn set_lcp(this: &Plain, length: usize);
    #[wasm_bindgen(method, setter, structural, js_name = name)]
    pub(crate) fn set_name(this: &Plain, name: &str);
    #[wasm_bindgen(method, setter, structural, js_name = offset)]
    pub(crate) fn set_offset(this: &Plain, offset: usize);
    #[wasm_bindgen(method, setter, structural, js_name = parent)]
    pub(crate) fn set_parent(this: &Plain, hash: &str);
    #[wasm_bindgen(method, setter, structural, js_name = parents)]
    pub(crate) fn set_parents(this: &Plain, parents: Int32Array);
    #[wasm_bindgen(method, setter, structural, js_name = position)]
    pub(crate) fn set_position(this: &Plain, position: usize);
    #[wasm_bindgen(method, setter, structural, js_name = problem)]
    pub(crate) fn set_problem(this: &Plain, problem: &str);
    #[wasm_bindgen(method, setter, structural, js_name = problems)]
    pub(crate) fn set_problems(this: &Plain, problems: usize);
    #[wasm_bindgen(method, setter, structural, js_name = records)]
    pub(crate) fn set_records(this: &Plain, records: usize);
    #[wasm_bindgen(method, setter, structural, js_name = run)]
    pub(crate) fn set_run(this: &Plain, run: usize);
    #[wasm_bindgen(method, setter, structural, js_name = runs)]
    pub(crate) fn set_runs(this: &Plain, runs: usize);
    #[wasm_bindgen(method, setter, structural, js_name = sessions)]
    pub(crate) fn set_sessions(this: &Plain, sessions: usize);
    #[wasm_bindgen(method, setter, structural, js_name = shared)]
    pub(crate) fn set_shared(this: &Plain, length: usize);
    #[wasm_bindgen(method, setter, structural, js_name = source)]
    pub(crate) fn set_source(this: &Plain, source: &str);
    #[wasm_bindgen(method, setter, structural, js_name = tail)]
    pub(crate) fn set_tail(this: &Plain, tail: &str);
    #[wasm_bindgen(method, setter, structural, js_name = tokens)]
    pub(crate) fn set_tokens(this: &Plain, tokens: Uint32Array);
    #[wasm_bindgen(method, setter, structural, js_name = tokens)]
    pub(crate) fn set_token_count(this: &Plain, tokens: f64);
    #[wasm_bindgen(method, setter, structural, js_name = tracks)]
    pub(crate) fn set_tracks(this: &Plain, tracks: usize);
    #[wasm_bindgen(method, setter, structural, js_name = useHashes)]
    pub(crate) fn set_use_hashes(this: &Plain, hashes: usize);
    #[wasm_bindgen(method, setter, structural, js_name = uses)]
    pub(crate) fn set_uses(this: &Plain, uses: f64);
    #[wasm_bindgen(method, setter, structural, js_name = validLength)]
    pub(crate) fn set_valid_length(this: &Plain, length: usize);
}
