//! The fuzz targets' corpora (tests/fuzz/corpus), replayed by plain `cargo test`, and what every reader says about them.
//!
//! `MRAIL_WRITE_CORPUS=1 cargo test -p mrail-conformance --test replay` writes the hostile files and the verdicts anew;
//! look at the difference before committing it.

use mrail_conformance::fuzz::{Effort, exercise, locate, open};
use mrail_conformance::hostile::hostile;
use mrail_conformance::vectors::data;
use mrail_conformance::verdict::verdict;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn writing() -> bool {
    std::env::var_os("MRAIL_WRITE_CORPUS").is_some()
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| {
            let file = file.unwrap();
            (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}: nothing there", folder.display());
    files
}

fn is_map((name, _): &(String, Vec<u8>)) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "mrail")
}

/// Maps of the corpus: what libFuzzer found and nobody named has no ending.
fn maps() -> Vec<(String, Vec<u8>)> {
    files(&fuzz_folder().join("corpus/open")).into_iter().filter(is_map).collect()
}

#[test]
fn the_hostile_files_are_what_they_are_named_after() {
    let folder = fuzz_folder().join("corpus/open");
    for (name, bytes) in hostile().unwrap() {
        let path = folder.join(format!("{name}.mrail"));
        if writing() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        let committed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(committed, bytes, "{name}");
    }
}

#[test]
fn verdicts_are_the_golden_ones() {
    let path = fuzz_folder().join("verdicts.json");
    let verdicts: Map<String, Value> = maps().into_iter().map(|(name, bytes)| (name, verdict(&bytes))).collect();
    if writing() {
        let lines: Vec<_> = verdicts.iter().map(|(name, verdict)| format!("  {name:?}: {verdict}")).collect();
        std::fs::write(&path, format!("{{\n{}\n}}\n", lines.join(",\n"))).unwrap();
    }
    let golden: Map<String, Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for (name, verdict) in &verdicts {
        assert_eq!(golden.get(name), Some(verdict), "{name}");
    }
    assert_eq!(golden.len(), verdicts.len(), "verdicts on files that are not there");
}

/// Whatever stands between two good runs, they are found; unless it hides its end, and then the tail says so.
#[test]
fn good_records_around_a_bad_one_stay() {
    for (name, bytes) in hostile().unwrap() {
        let good = |token: u8| [3, 0, 0, 0].into_iter().chain([token, 0, 0, 0]).collect::<Vec<u8>>();
        if !name.contains("session-") || !bytes.windows(4).any(|window| window == &good(4)[4..]) {
            continue;
        }
        let verdict = verdict(&bytes);
        assert!(verdict["runs"].as_u64() >= Some(2), "{name}: {verdict}");
        assert_eq!(verdict["tail"], "none", "{name}");
    }
}

#[test]
fn the_open_corpus_is_safe() {
    for (name, bytes) in files(&fuzz_folder().join("corpus/open")) {
        println!("{name}");
        open(&bytes);
    }
}

#[test]
fn the_locate_corpus_is_right() {
    for (name, bytes) in files(&fuzz_folder().join("corpus/locate")) {
        println!("{name}");
        locate(&bytes);
    }
}

#[test]
fn the_sample_maps_are_safe() {
    for (name, bytes) in files(&data().join("maps")).into_iter().filter(is_map) {
        println!("{name}");
        assert!(exercise(&bytes, Effort::All));
    }
}

/// Scenarios from a fixed source of numbers, so that the comparison with the table runs where there is no fuzzer.
#[test]
fn locating_equals_a_table_of_every_prefix() {
    let rounds = if cfg!(debug_assertions) { 300 } else { 6000 };
    let mut state = 7_u64;
    for _ in 0..rounds {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        let data: Vec<u8> = (0..60 + usize::from(next())).map(|_| next()).collect();
        locate(&data);
    }
}
