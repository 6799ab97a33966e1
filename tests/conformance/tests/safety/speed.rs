//! No file takes forever: what could cost the square of its size must not.

use mrail::record::MAGIC;
use mrail::repair::repair;
use mrail::{Map, Options};
use mrail_conformance::hostile::record;
use std::time::{Duration, Instant};

/// Far above what is needed and far below a square.
const LIMIT: Duration = Duration::from_secs(20);

fn within(name: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    assert!(start.elapsed() < LIMIT, "{name} takes {:?}", start.elapsed());
}

fn map(records: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    records.fold(MAGIC.to_vec(), |mut bytes, record| {
        bytes.extend(record);
        bytes
    })
}

fn all(name: &str, bytes: &[u8]) {
    within(name, || {
        let mut map = Map::open(bytes, Options::default()).unwrap();
        let context = vec![7; 1000];
        let _ = (map.locate(&context), map.answer(&context, 10, &[]), map.rail().tree(&context, 31));
        assert!(repair(bytes).is_ok());
    });
}

#[test]
fn many_tracks_of_descending_contexts() {
    let track = |i: u32| record(5, &[&(2_000_000 - i).to_le_bytes()[..], &[1; 8], &[0; 6]].concat());
    all("tracks", &map((0..200_000).map(track)));
}

#[test]
fn many_runs_with_one_long_prefix() {
    let session = |i: u32| {
        let tokens: Vec<u8> = [7; 2000].into_iter().chain([i]).flat_map(u32::to_le_bytes).collect();
        record(1, &[&0_u32.to_le_bytes()[..], &2001_u32.to_le_bytes(), &2000_u32.to_le_bytes(), &tokens].concat())
    };
    all("runs", &map((0..2000).map(session)));
}

#[test]
fn many_headers_inside_each_other() {
    let mut bytes = MAGIC.to_vec();
    for kind in [1, 2, 4, 5, 3] {
        bytes.extend([kind, 0, 0, 4, 0].repeat(60_000));
    }
    all("headers", &bytes);
}

#[test]
fn many_records_that_cannot_be_read() {
    all("bad records", &map((0..400_000).map(|_| record(1, &[]))));
}

#[test]
fn many_anchors_whose_json_is_looked_at_by_repair() {
    let json = format!("{{\"arrays\":[],\"scalars\":[{}]}}", vec!["0"; 500].join(","));
    let anchor = |i: u32| {
        let head = [&[0; 8][..], &i.to_le_bytes(), &[0; 4], &(json.len() as u32).to_le_bytes()].concat();
        record(2, &[&head, json.as_bytes()].concat())
    };
    let mut bytes = map((0..3000).map(anchor));
    all("anchors", &bytes);
    bytes.splice(8..13, [2, 255, 255, 255, 255]);
    all("anchors behind a damaged length", &bytes);
}
