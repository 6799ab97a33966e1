//! `verify`.

use crate::program::{Ended, Folder, append, mrail, sample};
use mrail::record::Records;
use mrail::{Map, Options, PrefixHash};
use serde_json::Value;

fn verify(name: &str) -> Ended {
    mrail(["verify", "--json", name])
}

/// Verifies bytes; returns what was found.
fn found(bytes: &[u8], code: i32) -> Value {
    let folder = Folder::new();
    verify(&folder.file("map.mrail", bytes)).with(code).value()
}

/// A map with one of its records changed.
fn changed(name: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut map = sample(name);
    map[offset..offset + bytes.len()].copy_from_slice(bytes);
    map
}

/// Offset of the first record of a kind.
fn first(map: &[u8], kind: u8) -> usize {
    Records::new(map).unwrap().find(|record| record.kind == kind).unwrap().offset
}

#[test]
fn whole_maps_are_good_and_torn_ones_are_not() {
    for name in ["coding", "general", "stride64", "anchors", "mixed", "tracks", "unknown_kind", "empty", "dup_anchor"] {
        let report = verify(&format!("{name}.mrail")).with(0).value();
        assert_eq!((&report["good"], &report["fault_count"]), (&true.into(), &0.into()), "{name}");
    }
    for name in ["torn_header", "torn_header5", "torn_payload", "torn_track", "torn_anchor"] {
        let report = verify(&format!("{name}.mrail")).with(4).value();
        assert_eq!(
            (&report["good"], &report["torn"], &report["fault_count"]),
            (&false.into(), &true.into(), &1.into())
        );
        assert_eq!(report["faults"][0]["what"], "tail", "{name}");
        let text = mrail(["verify", &format!("{name}.mrail")]).with(4).out;
        assert!(text.contains("\ntorn: every whole record reads"), "{text}");
    }
}

#[test]
fn what_rests_on_hashes_alone_is_said() {
    let unverifiable = |name: &str| verify(name).with(0).value()["unverifiable_count"].as_u64().unwrap();
    assert_eq!(unverifiable("coding.mrail"), 0);
    // Every anchor and every use of this map is a prefix of one of its runs.
    assert_eq!(unverifiable("anchors.mrail"), 0);
    assert_eq!(unverifiable("tracks.mrail"), 36);
    // A track's context, and a hash of eight digits.
    assert_eq!(unverifiable("mixed.mrail"), 2);
    assert_eq!(unverifiable("unknown_kind.mrail"), 3);
    let text = mrail(["verify", "mixed.mrail"]).with(0).out;
    assert!(text.contains("offset 1602, run 6: its context of 20,000 tokens is not in the map"), "{text}");
}

#[test]
fn a_damaged_anchor_is_a_fault_of_all_that_need_it() {
    let whole = sample("anchors.mrail");
    let anchor = first(&whole, 2);
    // Its position.
    let report = found(&changed("anchors.mrail", anchor + 9, &[33]), 4);
    assert_eq!(report["fault_count"], 1);
    let text = report["faults"][0]["text"].as_str().unwrap();
    assert_eq!(text, "its position is 33, but its hash is of the first 32 tokens of run 0");
    // The end of its compressed body.
    let end = Records::new(&whole).unwrap().find(|record| record.offset == anchor).unwrap().end();
    let report = found(&changed("anchors.mrail", end - 20, &[0x55; 16]), 4);
    let texts: Vec<&str> =
        report["faults"].as_array().unwrap().iter().map(|fault| fault["text"].as_str().unwrap()).collect();
    assert!(texts.len() > 1, "{report}");
    let own = texts[0];
    assert!(own.starts_with("its "), "{own}");
    assert!(texts[1..].iter().all(|text| *text == format!("anchor b051553fca1123a0: {own}")), "{texts:?}");
    // Its hash: now nothing has this prefix, and its deltas have no parent.
    let report = found(&changed("anchors.mrail", anchor + 13, b"12345678"), 4);
    assert_eq!(report["unverifiable_count"], 1, "{}", report["unverifiable"]);
    assert!(report["faults"][0]["text"].as_str().unwrap().contains("no record in the map"), "{report}");
}

#[test]
fn records_that_contradict_themselves_are_faults_with_their_offset() {
    let report = found(&changed("mixed.mrail", 17, &[0xFF]), 4);
    assert_eq!(report["faults"][0]["offset"], 8);
    assert!(report["faults"][0]["text"].as_str().unwrap().starts_with("the tokens needs"), "{report}");
    // A copy beyond the track's context.
    let track = first(&sample("mixed.mrail"), 5);
    let report = found(&changed("mixed.mrail", track + 5, &[1, 0, 0, 0]), 4);
    assert!(report["faults"][0]["text"].as_str().unwrap().contains("reaches past the context"), "{report}");
    // Good records behind a length that is too large.
    let report = found(&changed("mixed.mrail", 11, &[1]), 4);
    assert_eq!((&report["torn"], &report["faults"][0]["what"]), (&false.into(), &"tail".into()));
}

#[test]
fn a_track_whose_context_is_a_run_is_verified_and_so_are_uses_inside_its_answer() {
    let (context, answer) = ([1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 9]);
    let mut map = Map::create();
    append(&mut map, |map| map.prepare_session(&[&context[..], &[7]].concat(), 6).unwrap());
    append(&mut map, |map| map.prepare_track(&context, &answer, "run 0", 4).unwrap());
    for tokens in [&[][..], &[1, 2], &[1, 2, 3, 4, 5, 6, 3, 4], &[1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 9]] {
        append(&mut map, |map| map.prepare_use(PrefixHash::of(tokens), 1).unwrap());
    }
    let report = found(&map.bytes(), 0);
    assert_eq!(report["unverifiable_count"], 0, "{report}");
    append(&mut map, |map| map.prepare_use(PrefixHash::of(&[2]), 1).unwrap());
    let mut bytes = map.bytes();
    assert_eq!(found(&bytes, 0)["unverifiable_count"], 1);
    // The context's length: one that the copy still fits in, but not the hash's.
    let track = first(&bytes, 5);
    bytes[track + 5] = 7;
    let report = found(&bytes, 4);
    assert_eq!(report["faults"][0]["text"], "its context has 7 tokens, but its hash is of the first 6 of run 0");
}

// A track of some bytes that copies its context thousands of times.
#[test]
fn an_answer_that_would_take_forever_to_hash_is_noted() {
    let context: Vec<u32> = (0..1000).collect();
    let mut map = Map::create();
    append(&mut map, |map| map.prepare_session(&context, 1000).unwrap());
    let mut bytes = map.bytes();
    for copies in [1_u32, 2000, 1] {
        let copy = [1, 0, 0, 0, 0, 0xE8, 3];
        let hash = PrefixHash::of(&context).0;
        let head = [&1000_u32.to_le_bytes()[..], &hash, &[0; 2], &copies.to_le_bytes()].concat();
        let payload = [head, copy.repeat(copies as usize)].concat();
        bytes.push(5);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
    }
    let report = found(&bytes, 0);
    assert_eq!((&report["note_count"], &report["unverifiable_count"]), (&1.into(), &0.into()), "{report}");
    let text = "its answer of 2,000,000 tokens was not hashed: prefixes in it are not found";
    assert_eq!(report["notes"][0]["text"], text);
}

#[test]
fn a_run_that_answers_nothing_is_noted() {
    let mut map = Map::create();
    append(&mut map, |map| map.prepare_session(&[1, 2], 2).unwrap());
    let mut bytes = map.bytes();
    assert_eq!(found(&bytes, 0)["note_count"], 0);
    bytes[8 + 5 + 8] = 3;
    assert_eq!(found(&bytes, 0)["note_count"], 1);
    assert!(Map::open(bytes, Options::default()).unwrap().answer(&[1, 2], 1, &[]).is_none());
}
