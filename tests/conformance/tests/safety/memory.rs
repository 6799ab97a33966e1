//! Memory stays within a small factor of the input, whatever the input says of itself.

use crate::peak::peak;
use crate::samples::{LARGE, SMALL, read};
use mrail::merge::merge;
use mrail::repair::repair;
use mrail::{Map, Options};
use mrail_conformance::hostile::{hostile, record};

/// Opening may take this many bytes for a byte of the file, and `CONSTANT` more.
const FACTOR: usize = 8;
const CONSTANT: usize = 256 << 10;

fn check(name: &str, bytes: &[u8]) {
    let within = |what: &str, most: usize, factor: usize| {
        let limit = bytes.len() * factor + CONSTANT;
        assert!(most <= limit, "{name}: {what} takes {most} bytes for {}", bytes.len());
    };
    let (opened, most) = peak(|| Map::open(bytes, Options::default()));
    within("opening", most, FACTOR);
    let (_, most) = peak(|| repair(bytes));
    within("repairing", most, FACTOR);
    let (_, most) = peak(|| merge(&[bytes, bytes]));
    within("merging", most, 2 * FACTOR);
    let Ok(mut map) = opened else { return };
    let (_, most) = peak(|| map.rail().len());
    within("the draft rail", most, 2 * FACTOR);
    let anchors: Vec<_> = map.anchors().map(|anchor| (anchor.hash, anchor.body.len())).collect();
    for (hash, _) in anchors {
        let (restored, most) = peak(|| map.restore(hash).map(|restored| restored.snapshot.bytes().len()));
        // A state is as large as it is; what is refused must not have been unpacked far beyond what it says.
        let state = restored.unwrap_or(0);
        assert!(most <= bytes.len() * 40 + 4 * state + CONSTANT, "{name}: {hash} takes {most} bytes");
    }
}

#[test]
fn of_every_sample_map() {
    for name in SMALL.iter().chain(LARGE) {
        check(name, &read(name));
    }
}

#[test]
fn of_every_hostile_file() {
    for (name, bytes) in hostile().unwrap() {
        check(name, &bytes);
    }
}

/// Files made of the smallest records that cost a reader something.
#[test]
fn of_a_megabyte_of_smallest_records() {
    type Of = fn(u32) -> Vec<u8>;
    let records: [(&str, Of); 8] = [
        ("empty sessions", |_| record(1, &[0; 12])),
        ("sessions of one token", |i| {
            record(1, &[&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], &i.to_le_bytes()].concat())
        }),
        ("use counts", |i| record(3, &[&i.to_le_bytes()[..], &[0; 8]].concat())),
        ("anchors", |i| record(2, &[&[0; 8][..], &i.to_le_bytes(), &[0; 8]].concat())),
        ("deltas", |i| record(4, &[&[0; 8][..], &i.to_le_bytes(), &[0; 16]].concat())),
        ("tracks", |i| record(5, &[&(u32::MAX - i).to_le_bytes()[..], &i.to_le_bytes(), &[0; 10]].concat())),
        ("bad sessions", |_| record(1, &[])),
        ("unknown kinds", |_| record(9, &[])),
    ];
    for (name, of) in records {
        let mut bytes = mrail::record::MAGIC.to_vec();
        let mut i = 0;
        while bytes.len() < 1 << 20 {
            bytes.extend(of(i));
            i += 1;
        }
        check_opening(name, &bytes);
    }
}

fn check_opening(name: &str, bytes: &[u8]) {
    let (opened, most) = peak(|| Map::open(bytes, Options::default()));
    assert!(most <= bytes.len() * FACTOR + CONSTANT, "{name}: {most} bytes for {}", bytes.len());
    assert!(opened.is_ok());
    let (_, most) = peak(|| repair(bytes));
    assert!(most <= bytes.len() * FACTOR + CONSTANT, "{name}: repairing takes {most} bytes for {}", bytes.len());
    let (_, most) = peak(|| merge(&[bytes]));
    assert!(most <= bytes.len() * 4 * FACTOR + CONSTANT, "{name}: merging takes {most} bytes for {}", bytes.len());
}

/// The header of an anchor is text that lists arrays and layers: the shortest entries cost most.
#[test]
fn of_a_megabyte_of_smallest_json() {
    let arrays = |i: usize| format!("[\"{i}\",\"int8\",[]]");
    let long = |entry: &dyn Fn(usize) -> String| (0..100_000).map(entry).collect::<Vec<_>>().join(",");
    for (name, json) in [
        ("arrays", format!("{{\"arrays\":[{}],\"scalars\":[]}}", long(&arrays))),
        ("layers", format!("{{\"arrays\":[],\"scalars\":[{}]}}", long(&|_| "0".to_owned()))),
        ("dimensions", format!("{{\"arrays\":[[\"a\",\"int8\",[{}]]],\"scalars\":[]}}", long(&|_| "0".to_owned()))),
        ("rows", format!("{{\"arrays\":[],\"scalars\":[],\"rows\":[{}]}}", long(&|i| format!("\"{i}\"")))),
    ] {
        let payload = [&[0; 8][..], b"anchored", &(json.len() as u32).to_le_bytes(), json.as_bytes()].concat();
        let bytes = [&mrail::record::MAGIC[..], &record(2, &payload)].concat();
        let map = Map::open(&bytes, Options::default()).unwrap();
        let (restored, most) = peak(|| map.restore(mrail::PrefixHash(*b"anchored")));
        assert!(restored.is_ok(), "{name}: {restored:?}");
        assert!(most <= bytes.len() * 40 + CONSTANT, "{name}: {most} bytes for {}", bytes.len());
    }
}
