mod chat;
mod golden;
mod hostile;
mod real;
mod stream;

use super::*;
use crate::model::gguf::Header;
use crate::model::gguf::build::{Build, Given};
use serde_json::Value;

/// What `gpu/tests/data/text.py` wrote.
macro_rules! data {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/text/", $name))
    };
}
use data;

/// A tokenizer's entries, any of which may be changed.
#[derive(Clone)]
struct File {
    entries: Vec<(&'static str, Given<'static>)>,
}

impl File {
    fn new(pre: &'static str, tokens: &[(&'static str, i32)], merges: &[&'static str]) -> Self {
        let (tokens, types) = tokens.iter().map(|(token, kind)| (Given::Text(token), Given::I32(*kind))).unzip();
        let merges = merges.iter().map(|merge| Given::Text(merge)).collect();
        let entries = vec![
            ("tokenizer.ggml.model", Given::Text("gpt2")),
            ("tokenizer.ggml.pre", Given::Text(pre)),
            ("tokenizer.ggml.tokens", Given::Array(8, tokens)),
            ("tokenizer.ggml.token_type", Given::Array(5, types)),
            ("tokenizer.ggml.merges", Given::Array(8, merges)),
        ];
        Self { entries }
    }

    /// With an entry in another way, or one more.
    fn with(&self, key: &'static str, value: Given<'static>) -> Self {
        let mut file = self.without(key);
        file.entries.push((key, value));
        file
    }

    fn without(&self, key: &str) -> Self {
        let entries = self.entries.iter().filter(|(other, _)| *other != key).cloned().collect();
        Self { entries }
    }

    fn header(&self) -> Header {
        let build = self.entries.iter().fold(Build::default(), |build, (key, value)| build.entry(key, value));
        let bytes = build.bytes();
        Header::parse(&bytes, bytes.len() as u64).unwrap()
    }

    fn tokenizer(&self) -> Result<Tokenizer, TextError> {
        Tokenizer::from_header(&self.header())
    }

    fn fails(&self) -> TextError {
        self.tokenizer().unwrap_err()
    }
}

/// Part of SmolLM2's vocabulary: its special tokens, all bytes, and the merges that the golden texts need.
fn tiny(pre: &'static str) -> File {
    let tiny: Value = serde_json::from_str(data!("tiny.json")).unwrap();
    let special = tiny["special"].as_u64().unwrap();
    let tokens: Vec<_> = (0..).zip(texts(&tiny["tokens"])).collect();
    let tokens: Vec<_> = tokens.iter().map(|(id, token)| (*token, if *id < special { 3 } else { 1 })).collect();
    let file = File::new(pre, &tokens, &texts(&tiny["merges"]));
    let file = file.with("tokenizer.ggml.bos_token_id", Given::U32(1));
    file.with("tokenizer.ggml.eos_token_id", Given::U32(2))
}

/// Texts that a test keeps to its end.
fn texts(list: &Value) -> Vec<&'static str> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| &*String::leak(text.as_str().unwrap().to_owned())).collect()
}

/// A vocabulary of the letters a to d and what follows them.
fn letters(more: &[(&'static str, i32)], merges: &[&'static str]) -> File {
    let tokens: Vec<_> =
        ["a", "b", "c", "d"].map(|letter| (letter, 1)).into_iter().chain(more.iter().copied()).collect();
    File::new("gpt-2", &tokens, merges)
}
