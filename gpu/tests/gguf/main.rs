//! The fuzz target's corpus (tests/fuzz/corpus/gguf), replayed by plain `cargo test`, changes of its files, and what memory and
//! time headers take.
#![cfg(not(target_arch = "wasm32"))]

mod exercise;
#[path = "../../../tests/conformance/tests/safety/peak.rs"]
mod peak;

use exercise::exercise;
use mrail_gpu::model::gguf::{GgufError, Header, MOST_ENTRIES, MOST_TENSORS};
use peak::peak;
use std::path::Path;
use std::time::{Duration, Instant};

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/gguf");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files
        .map(|file| file.unwrap())
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() > 40, "{}: only {} files", folder.display(), files.len());
    files
}

#[test]
fn the_corpus_is_safe() {
    for (name, bytes) in corpus() {
        println!("{name}");
        exercise(&bytes);
    }
}

#[test]
fn every_cut_of_the_corpus_is_safe() {
    for (name, bytes) in corpus() {
        println!("{name}");
        for cut in 0..bytes.len().min(2500) {
            exercise(&bytes[..cut]);
        }
    }
}

/// Changes from a fixed source of numbers, for where there is no fuzzer.
#[test]
fn changed_files_are_safe() {
    let mut state = 11_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let corpus = corpus();
    for round in 0..20_000 {
        let mut bytes = corpus[round % corpus.len()].1.clone();
        for _ in 0..=next() % 4 {
            let at = next() % bytes.len().clamp(1, 3000);
            let value = [0, 1, 0x7F, 0x80, 0xFF, next() as u8][next() % 6];
            let width = [1, 2, 4, 8][next() % 4];
            bytes.iter_mut().skip(at).take(width).for_each(|byte| *byte = value);
        }
        exercise(&bytes);
    }
}

fn front(tensors: u64, entries: u64) -> Vec<u8> {
    [&b"GGUF"[..], &[3, 0, 0, 0], &tensors.to_le_bytes(), &entries.to_le_bytes()].concat()
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text].concat()
}

/// Entries of one byte each.
fn bytes_of_entries(names: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    names.flat_map(|name| [string(&name), vec![0, 0, 0, 0, 7]].concat()).collect()
}

/// Headers that make the most of each byte, and what memory they may take for it.
fn dense() -> Vec<(&'static str, Vec<u8>)> {
    let short = (0..MOST_ENTRIES).map(|at| format!("{at:x}").into_bytes());
    let entries = [front(0, MOST_ENTRIES), bytes_of_entries(short)].concat();
    let tensor = |at: u64| {
        let entry = [&[1, 0, 0, 0][..], &1_u64.to_le_bytes(), &[0; 4], &(32 * at).to_le_bytes()];
        [string(format!("{at:x}").as_bytes()), entry.concat()].concat()
    };
    let mut tensors = [front(MOST_TENSORS, 0), (0..MOST_TENSORS).flat_map(tensor).collect()].concat();
    tensors.resize(tensors.len() + 32 * MOST_TENSORS as usize, 0);
    // Keys that differ at their ends only are the most work to sort.
    let long = (0..512_u32).map(|at| [vec![b'k'; 65_000], at.to_string().into_bytes()].concat());
    let keys = [front(0, 512), bytes_of_entries(long)].concat();
    let array = |kind: u32, count: u64, elements: Vec<u8>| {
        let value = [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes()].concat();
        [front(0, 1), string(b"k"), value, elements].concat()
    };
    let texts = array(8, 1 << 20, vec![0; 8 << 20]);
    let arrays = array(9, 1 << 19, vec![0; 12 << 19]);
    vec![("entries", entries), ("tensors", tensors), ("keys", keys), ("texts", texts), ("arrays", arrays)]
}

#[test]
fn memory_and_time_are_within_a_small_factor_of_the_header() {
    for (name, bytes) in dense() {
        let start = Instant::now();
        let (header, parsed) = peak(|| Header::parse(&bytes, bytes.len() as u64));
        let (again, read) = peak(|| Header::read(&mut { &bytes[..] }));
        let took = start.elapsed();
        assert!(header == again && header.is_ok(), "{name}: {header:?}");
        let bytes = header.map_or(0, |header| header.header_bytes() as usize);
        println!("{name}: {bytes} bytes, {parsed} to parse, {read} to read, {took:?}");
        assert!(parsed <= 8 * bytes && read <= 12 * bytes, "{name}: {bytes} bytes, {parsed} to parse, {read} to read");
        // Generous, since machines are busy; what is quadratic takes hours.
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}

#[test]
fn counts_and_lengths_that_lie_cost_nothing() {
    for (name, bytes) in corpus() {
        let (_, most) = peak(|| Header::parse(&bytes, u64::MAX).map(drop));
        assert!(most <= 8 * bytes.len() + 4096, "{name}: {most} bytes for {}", bytes.len());
    }
    // A front that promises all that can be promised.
    let bytes = [front(MOST_TENSORS, MOST_ENTRIES), vec![0xFF; 8]].concat();
    let (error, most) = peak(|| Header::parse(&bytes, u64::MAX));
    assert!(matches!(error, Err(GgufError::NameLength { at: 24, .. })) && most < 4096, "{error:?}, {most} bytes");
}
