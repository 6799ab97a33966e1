//! Files that are wrong in one place, named after what is wrong with them, with what the error says. They lie in
//! tests/fuzz/corpus/gguf as seeds of the fuzz target; `MRAIL_WRITE_CORPUS=1 cargo test -p mrail-gpu --lib hostile` writes them
//! anew.

use super::*;
use std::path::{Path, PathBuf};

const F32: u32 = 0;

fn one_tensor(dims: &[u64], element: u32, offset: u64) -> Vec<u8> {
    Build::default().tensor_at("t", dims, element, offset).bytes()
}

fn arrays(depth: u32) -> Given<'static> {
    (1..depth).fold(Given::Array(4, vec![Given::U32(7)]), |inner, _| Given::Array(9, vec![inner]))
}

fn with_alignment(alignment: u32) -> Vec<u8> {
    Build::default().aligned(alignment).tensor_at("t", &[1], F32, 0).bytes()
}

fn with_bytes(mut bytes: Vec<u8>, at: usize, other: &[u8]) -> Vec<u8> {
    bytes[at..at + other.len()].copy_from_slice(other);
    bytes
}

fn fronts() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let page = b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>".to_vec();
    let big = [&b"GGUF"[..], &3_u32.to_be_bytes(), &[0; 16]].concat();
    let two = |build: Build| build.entry("a", &Given::U8(0)).entry("b", &Given::U8(0));
    vec![
        ("empty", Vec::new(), "not a GGUF file: it starts with \"\", not with \"GGUF\""),
        (
            "web-page",
            page,
            "not a GGUF file: it starts with \"<!DOCTYPE html>\\n\", not with \"GGUF\"; it may be a web page",
        ),
        (
            "zeros",
            vec![0; 64],
            "starts with \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"",
        ),
        ("magic-only", b"GGUF".to_vec(), "the file ends in the first fields at byte 4: 8 bytes are needed, it has 4"),
        ("big-endian", big, "a big-endian GGUF file of version 3; only little-endian ones are read"),
        ("version-1", Build::default().version(1).bytes(), "a GGUF file of version 1; 2 and 3 are read"),
        ("version-4", Build::default().version(4).bytes(), "a GGUF file of version 4; 2 and 3 are read"),
        (
            "tensors-max",
            two(Build::default()).counts(Some(u64::MAX), None).bytes(),
            "the number of tensors at byte 8 is 18446744073709551615, and there can be at most 1",
        ),
        (
            "entries-max",
            two(Build::default()).counts(None, Some(u64::MAX)).bytes(),
            "the number of entries at byte 16 is 18446744073709551615, and there can be at most 2",
        ),
        (
            "entries-too-many",
            two(Build::default()).counts(None, Some(3)).bytes(),
            "the number of entries at byte 16 is 3, and there can be at most 2",
        ),
    ]
}

fn entries() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let raw = |bytes: &[u8]| Build::default().raw_entry(bytes).bytes();
    let key = |len: u64, rest: &[u8]| raw(&[&len.to_le_bytes()[..], rest].concat());
    let wide = |count: u64| {
        let array = [&[1, 0, 0, 0, 0, 0, 0, 0, b'k', 9, 0, 0, 0, 10, 0, 0, 0][..], &count.to_le_bytes(), &[0; 64]];
        raw(&array.concat())
    };
    vec![
        (
            "key-empty",
            key(0, &[0; 16]),
            "a key of the metadata at byte 24 has 0 bytes, and they may be from 1 to 65535",
        ),
        (
            "key-length-max",
            key(u64::MAX, &[0; 16]),
            "a key of the metadata at byte 24 has 18446744073709551615 bytes, and they may be from 1 to 65535",
        ),
        (
            "key-cut",
            key(40, &[b'k'; 16]),
            "the file ends in a key of the metadata at byte 32: 72 bytes are needed, it has 64",
        ),
        (
            "key-not-text",
            key(3, b"a\xFFb\x00\x00\x00\x00\x00\x00\x00"),
            "a key of the metadata is not UTF-8 at byte 33",
        ),
        (
            "key-twice",
            Build::default().entry("k", &Given::U8(1)).entry("j", &Given::U8(1)).entry("k", &Given::U8(2)).bytes(),
            "a second entry \"k\" at byte 52",
        ),
        (
            "kind-unknown",
            with_bytes(Build::default().entry("k", &Given::U64(1)).bytes(), 33, &[13]),
            "\"k\" has a value of the unknown kind 13 at byte 33",
        ),
        (
            "kind-of-elements-unknown",
            Build::default().entry("k", &Given::Array(u32::MAX, vec![])).bytes(),
            "\"k\" has a value of the unknown kind 4294967295 at byte 37",
        ),
        (
            "bool-2",
            Build::default().entry("k", &Given::Bool(2)).bytes(),
            "\"k\" has a truth value at byte 37 that is neither 0 nor 1",
        ),
        (
            "bool-2-in-array",
            Build::default().entry("k", &Given::Array(7, vec![Given::Bool(1), Given::Bool(2)])).bytes(),
            "\"k\" has a truth value at byte 37 that is neither 0 nor 1",
        ),
        (
            "text-length-max",
            with_bytes(Build::default().entry("k", &Given::Text("abc")).bytes(), 37, &[0xFF; 8]),
            "the file ends in a value of the metadata at byte 45: 18446744073709551615 bytes are needed, it has 64",
        ),
        (
            "array-length-max",
            wide(u64::MAX),
            "the length of an array of the metadata at byte 41 is 18446744073709551615, and there can be at most 9",
        ),
        (
            "array-length-wraps",
            wide((1 << 61) + 1),
            "the length of an array of the metadata at byte 41 is 2305843009213693953, and there can be at most 9",
        ),
        (
            "arrays-5-deep",
            Build::default().entry("k", &arrays(5)).bytes(),
            "\"k\" has arrays at byte 85 that lie deeper in each other than 4",
        ),
        (
            "arrays-4000-deep",
            Build::default().entry("k", &arrays(4000)).bytes(),
            "\"k\" has arrays at byte 85 that lie deeper in each other than 4",
        ),
        ("alignment-0", with_alignment(0), "general.alignment is 0; it may be a power of two from 8 to 65536"),
        ("alignment-3", with_alignment(3), "general.alignment is 3; it may be a power of two from 8 to 65536"),
        ("alignment-4", with_alignment(4), "general.alignment is 4; it may be a power of two from 8 to 65536"),
        (
            "alignment-2-to-31",
            with_alignment(1 << 31),
            "general.alignment is 2147483648; it may be a power of two from 8 to 65536",
        ),
        (
            "alignment-text",
            Build::default().entry("general.alignment", &Given::Text("32")).bytes(),
            "general.alignment is no whole number; it may be a power of two from 8 to 65536",
        ),
    ]
}

fn table() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let two = |first: u64, second: u64| {
        let both = Build::default().tensor("room", &[64], Element::F32);
        both.tensor_at("a", &[8], F32, first).tensor_at("b", &[8], F32, second).bytes()
    };
    vec![
        (
            "name-empty",
            Build::default().tensor("", &[1], Element::F32).bytes(),
            "the name of a tensor at byte 24 has 0 bytes, and they may be from 1 to 65535",
        ),
        (
            "name-twice",
            Build::default().tensor("t", &[1], Element::F32).tensor("t", &[1], Element::F32).bytes(),
            "a second tensor \"t\" at byte 57",
        ),
        (
            "dims-0",
            with_bytes(one_tensor(&[1], F32, 0), 33, &[0]),
            "tensor \"t\" has 0 dimensions at byte 33; it may have 1 to 4",
        ),
        ("dims-5", one_tensor(&[1; 5], F32, 0), "tensor \"t\" has 5 dimensions at byte 33; it may have 1 to 4"),
        (
            "dims-count-max",
            with_bytes(one_tensor(&[1], F32, 0), 33, &[0xFF; 4]),
            "tensor \"t\" has 4294967295 dimensions at byte 33; it may have 1 to 4",
        ),
        (
            "dim-0",
            one_tensor(&[32, 0], F32, 0),
            "tensor \"t\" has dimensions [32, 0] at byte 37: none may be 0, and 64 bits must hold its size",
        ),
        (
            "dims-wrap-to-0",
            one_tensor(&[1 << 32, 1 << 32], F32, 0),
            "tensor \"t\" has dimensions [4294967296, 4294967296] at byte 37: none may be 0",
        ),
        ("dims-wrap-to-32", one_tensor(&[32, (1 << 59) + 1], 2, 0), "64 bits must hold its size"),
        ("bytes-wrap", one_tensor(&[1 << 62], F32, 0), "64 bits must hold its size"),
        ("rows-of-bytes-wrap", one_tensor(&[1 << 40, 1 << 23], F32, 0), "64 bits must hold its size"),
        (
            "row-30-of-q4-0",
            one_tensor(&[30, 32], 2, 0),
            "tensor \"t\" has rows of 30 numbers at byte 37, and Q4_0 has blocks of 32",
        ),
        ("row-128-of-q4-k", one_tensor(&[128, 2], 12, 0), "and Q4_K has blocks of 256"),
        (
            "type-iq2-xxs",
            one_tensor(&[256], 16, 0),
            "tensor \"t\" is of type IQ2_XXS (16) at byte 45, which is not supported",
        ),
        ("type-4-is-gone", one_tensor(&[256], 4, 0), "tensor \"t\" is of the unknown type 4 at byte 45"),
        ("type-max", one_tensor(&[256], u32::MAX, 0), "tensor \"t\" is of the unknown type 4294967295 at byte 45"),
        ("offset-1", one_tensor(&[1], F32, 1), "tensor \"t\" has offset 1 at byte 49, no multiple of 32"),
        (
            "offset-past-the-end",
            one_tensor(&[1], F32, 64),
            "tensor \"t\" has 4 bytes from byte 128 on, and the file has 64 in all",
        ),
        (
            "offset-wraps",
            one_tensor(&[64], F32, u64::MAX - 31),
            "tensor \"t\" has 256 bytes from byte 18446744073709551615 on, and the file has 64 in all",
        ),
        ("bytes-past-the-end", one_tensor(&[1 << 40], F32, 0), "tensor \"t\" has 4398046511104 bytes from byte 64 on"),
        ("tensors-overlap", two(0, 0), "inside of"),
        ("tensor-inside-another", two(256 - 32, 128), "inside of \"room\""),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/gguf")
}

#[test]
fn each_fault_is_named() {
    let mut wrong = Vec::new();
    for (name, bytes, says) in [fronts(), entries(), table()].concat() {
        let error = parse(&bytes).expect_err(name).to_string();
        if !error.contains(says) || error.len() > 600 {
            wrong.push(format!("{name}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_hostile_files_are_what_they_are_named_after() {
    let untied = file(&metadata("qwen2"), &tensors(true, false));
    let good =
        [("good-llama", tiny().bytes()), ("good-qwen2", untied.bytes()), ("good-empty", Build::default().bytes())];
    let hostile = [fronts(), entries(), table()].concat().into_iter().map(|(name, bytes, _)| (name, bytes));
    for (name, bytes) in good.into_iter().chain(hostile) {
        let path = folder().join(format!("{name}.gguf"));
        if std::env::var_os("MRAIL_WRITE_CORPUS").is_some() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        let committed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(committed, bytes, "{name}");
    }
}

#[test]
fn every_count_and_length_at_its_maximum_is_an_error() {
    let nested = Given::Array(9, vec![Given::Array(8, vec![Given::Text("x")]), Given::Array(4, vec![Given::U32(1)])]);
    let (bytes, fields) = tiny().entry("general.nested", &nested).with_fields();
    assert!(parse(&bytes).is_ok());
    assert!(fields.len() > 150);
    for field in &fields {
        // All ones; the largest that has a sign's bit clear, and set; what wraps when it is multiplied by 8 or by 34.
        let all = u64::MAX >> (64 - 8 * field.width);
        let wraps = [all, all >> 1, (all >> 1) + 1, (all >> 3) + 2, all / 34 + 1];
        for value in wraps {
            let changed = with_bytes(bytes.clone(), field.at, &value.to_le_bytes()[..field.width]);
            assert!(parse(&changed).is_err(), "{}: {value:#x}", field.name);
        }
        // Little lies need not be errors of the header; what is read then is within the file.
        let mut own = [0; 8];
        own[..field.width].copy_from_slice(&bytes[field.at..field.at + field.width]);
        let own = u64::from_le_bytes(own);
        for value in [0, own.wrapping_sub(1), own + 1, 2 * own] {
            let changed = with_bytes(bytes.clone(), field.at, &value.to_le_bytes()[..field.width]);
            if let Ok(header) = parse(&changed) {
                assert!(header.tensors().iter().all(|tensor| tensor.range().end <= bytes.len() as u64));
                let whole = |array: Array<'_>| array.iter().count() as u64 == array.len();
                let mut arrays = header.entries().filter_map(|(_, value)| value.as_array());
                assert!(arrays.all(whole), "{}", field.name);
            }
        }
    }
}

#[test]
fn a_file_may_be_as_long_as_64_bits_say() {
    for (name, bytes, _) in [fronts(), entries(), table()].concat() {
        // Only what has no end in sight differs.
        if let Ok(header) = Header::parse(&bytes, u64::MAX) {
            assert!(header.tensors().iter().all(|tensor| tensor.range().end > tensor.range().start), "{name}");
        }
    }
    let text = with_bytes(Build::default().entry("k", &Given::Text("abc")).bytes(), 37, &(1_u64 << 40).to_le_bytes());
    let error = Header::parse(&text, u64::MAX).unwrap_err();
    let needs = (1 << 40) + 45;
    assert_eq!(error, GgufError::HeaderTooLarge { what: "a value of the metadata", at: 45, needs });
    // However long the file is, there is no more in a header than it can have.
    let texts =
        with_bytes(Build::default().entry("k", &Given::Array(8, vec![])).bytes(), 41, &(1_u64 << 40).to_le_bytes());
    let most = (MOST_BYTES - 49) / 8;
    let what = "the length of an array of the metadata";
    assert_eq!(Header::parse(&texts, u64::MAX), Err(GgufError::Count { what, at: 41, count: 1 << 40, most }));
    // Beyond what 32 bits address, a tensor is where it says.
    let far = Build::default().tensor_at("t", &[1 << 20], F32, (1 << 32) + 32).bytes();
    let header = Header::parse(&far, 1 << 33).unwrap();
    assert_eq!(header.tensors()[0].range().start, 64 + (1 << 32) + 32);
}

#[test]
fn names_in_errors_are_cut() {
    let name = "ä".repeat(30_000);
    let error = parse(&Build::default().tensor_at(&name, &[1], 99, 0).bytes()).unwrap_err().to_string();
    assert_eq!(error, format!("tensor \"{}...\" is of the unknown type 99 at byte 60044", "ä".repeat(96)));
}
