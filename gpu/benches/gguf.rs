//! How long a GGUF file takes to open: a header of the size that models have, with what every check of it costs.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mrail_gpu::model::gguf::Header;
use std::hint::black_box;

const TOKENS: u64 = 49_152;
const TENSORS: u64 = 272;

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Tokens and merges of some 10 bytes each, and the tensors of 30 layers.
fn file() -> Vec<u8> {
    let array = |key: &str, kind: u32, elements: &dyn Fn(u64) -> Vec<u8>| {
        let value = [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &TOKENS.to_le_bytes()].concat();
        [string(key), value, (0..TOKENS).flat_map(elements).collect()].concat()
    };
    let mut bytes = [&b"GGUF"[..], &[3, 0, 0, 0], &TENSORS.to_le_bytes(), &3_u64.to_le_bytes()].concat();
    bytes.extend(array("tokenizer.ggml.tokens", 8, &|at| string(&format!("token{at}"))));
    bytes.extend(array("tokenizer.ggml.token_type", 5, &|_| vec![1, 0, 0, 0]));
    bytes.extend(array("tokenizer.ggml.merges", 8, &|at| string(&format!("to ken{at}"))));
    for at in 0..TENSORS {
        bytes.extend(string(&format!("blk.{at}.attn_output.weight")));
        let dims = [&2_u32.to_le_bytes()[..], &576_u64.to_le_bytes(), &576_u64.to_le_bytes()];
        bytes.extend([dims.concat(), vec![3, 0, 0, 0], (at * 576 * 360).to_le_bytes().to_vec()].concat());
    }
    bytes
}

fn open(c: &mut Criterion) {
    let header = file();
    let len = header.len() as u64 + 32 + TENSORS * 576 * 360;
    let mut group = c.benchmark_group("gguf");
    group.throughput(Throughput::Bytes(header.len() as u64));
    group.bench_function("header of 272 tensors and 49152 tokens", |b| {
        b.iter(|| black_box(Header::parse(&header, len).map(|header| header.tensors().len())).is_ok());
    });
    assert_eq!(Header::parse(&header, len).map(|header| header.tensors().len()), Ok(TENSORS as usize));
    group.finish();
}

criterion_group!(benches, open);
criterion_main!(benches);
