//! Any bytes as a GGUF file. The body is the one that mrail-gpu's tests replay over the corpus.
#![no_main]

#[path = "../../../gpu/tests/gguf/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
