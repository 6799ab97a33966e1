//! What the reference gets wrong and this project does instead: a test a row of the table in the conformance notes, named
//! after the row's numbers.

use mrail::anchor::{ArraySpec, Dtype, Scalars, Snapshot};
use mrail::draft::{Borders, Planes, PlanesError, RailOptions};
use mrail::map::append::WriteError;
use mrail::map::locate::End;
use mrail::map::{OpenError, Run};
use mrail::merge::merge;
use mrail::tail::Tail;
use mrail::{Foreign, Map, Options, PrefixHash};
use mrail_conformance::Driver;
use mrail_conformance::hostile::record;
use mrail_conformance::vectors::sample_map;
use serde_json::json;
use std::num::NonZeroUsize;

fn add(map: &mut Map<'_>, tokens: &[u32], gen_start: usize) {
    let append = map.prepare_session(tokens, gen_start).unwrap();
    map.commit(&append).unwrap();
}

fn add_track(map: &mut Map<'_>, context: &[u32], answer: &[u32]) {
    let append = map.prepare_track(context, answer, "", 4).unwrap();
    map.commit(&append).unwrap();
}

fn open(map: &Map<'_>, options: Options<'static>) -> Map<'static> {
    Map::open(map.bytes(), options).unwrap()
}

fn with_foreign(bytes: Vec<u8>) -> Map<'static> {
    let foreign = vec![Foreign { bytes: bytes.into(), limit: None }];
    Map::open(Map::create().bytes(), Options { foreign, ..Options::default() }).unwrap()
}

fn state(name: &str, dtype: Dtype, shape: &[u64], bytes: Vec<u8>) -> Snapshot {
    Snapshot::new(vec![ArraySpec::new(name, dtype, shape)], vec![Scalars::default()], bytes).unwrap()
}

fn add_anchor(map: &mut Map<'_>, hash: u64, state: &Snapshot, parent: Option<u64>) -> PrefixHash {
    let hash = PrefixHash(hash.to_le_bytes());
    let append = map.prepare_anchor(0, 1, hash, state, parent.map(|parent| PrefixHash(parent.to_le_bytes()))).unwrap();
    map.commit(&append).unwrap();
    hash
}

#[test]
fn rows_1_2_maps_with_tracks_are_described_and_merged() {
    let tracks = sample_map("tracks.mrail").unwrap();
    let mixed = sample_map("mixed.mrail").unwrap();
    let (merged, report) = merge(&[&tracks, &mixed, &tracks]).unwrap();
    let count = |bytes: &[u8]| {
        let map = Map::open(bytes.to_vec(), Options::default()).unwrap();
        let tracks = (0..map.len()).filter(|run| matches!(map.run(*run), Some(Run::Track(_)))).count();
        (map.len(), tracks, map.all_uses().map(|(_, uses)| uses).sum::<u64>())
    };
    let (a, b, m) = (count(&tracks), count(&mixed), count(&merged));
    assert_eq!((m.1, report.tracks), (a.1 + b.1, a.1 + b.1));
    assert_eq!(m.2, 2 * a.2 + b.2, "use counts are added up");
    assert_eq!(report.runs + report.repeated, 2 * a.0 + b.0);
}

#[test]
fn row_3_a_torn_foreign_map_gives_its_complete_runs() {
    let bytes = sample_map("torn_payload.mrail").unwrap();
    let own = Map::open(bytes.clone(), Options::default()).unwrap();
    assert!(!own.tail().is_empty() && !own.is_empty());
    assert_eq!(with_foreign(bytes).len(), own.len());
}

#[test]
fn row_4_foreign_tracks_draft_once_their_context_is_given() {
    let mut foreign = Map::create();
    let context = [1, 2, 3, 4, 5];
    add_track(&mut foreign, &context, &[70, 71, 72]);
    let mut map = with_foreign(foreign.bytes());
    assert_eq!((map.len(), map.answer(&context, 9, &[])), (0, None));
    assert!(map.rail().tree(&context, 3).is_empty());
    assert_eq!(map.learn_tracks(&context, 100), 1);
    assert_eq!(map.rail().tree(&context, 3).tokens(), [70, 71, 72]);
    assert_eq!(map.learn_tracks(&context, 100), 0, "once is enough");
}

#[test]
fn row_5_an_append_cuts_a_torn_tail_first() {
    let mut file = sample_map("torn_payload.mrail").unwrap();
    let mut map = Map::open(file.clone(), Options::default()).unwrap();
    let runs = map.len();
    assert!(matches!(map.tail(), Tail::Torn { .. }));
    let append = map.prepare_session(&[600, 601], 1).unwrap();
    assert_eq!(append.offset(), map.valid_len());
    append.apply_to(&mut file);
    map.commit(&append).unwrap();
    let map = Map::open(file, Options::default()).unwrap();
    assert_eq!((map.len(), map.tail(), map.answer(&[600], 9, &[]).unwrap().tokens), (runs + 1, Tail::None, vec![601]));
}

#[test]
fn rows_6_46_one_writer_a_file_and_opening_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mrail");
    std::fs::write(&path, Map::create().bytes()).unwrap();
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    let (mut first, mut second) = (Driver::default(), Driver::default());
    let open = json!({ "op": "open", "path": path });
    assert_eq!(first.ask(&open)["ok"], true);
    let refused = second.ask(&open);
    assert!(refused["error"].as_str().unwrap().contains("another writer"), "{refused}");
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before);
    // Its own map opens again, and another writer once this one has closed it.
    assert_eq!(first.ask(&open)["ok"], true);
    assert_eq!(first.ask(&json!({ "op": "add_session", "tokens": [1, 2], "gen": 1 }))["sid"], 0);
    assert_eq!(first.ask(&json!({ "op": "close" }))["ok"], true);
    assert_eq!(second.ask(&open)["runs"], 1);
}

#[test]
fn row_8_the_middle_of_a_tracks_answer_is_found_when_asked_for() {
    let mut map = Map::create();
    add_track(&mut map, &[1, 2, 3, 4], &[5, 6, 7]);
    let inside = [1, 2, 3, 4, 5, 6];
    assert_eq!((map.locate(&inside).lcp, map.answer(&inside, 9, &[]).unwrap().tokens), (6, vec![7]));
    let plain = open(&map, Options::reference());
    assert_eq!((plain.locate(&inside).lcp, plain.answer(&inside, 9, &[])), (4, None));
}

#[test]
fn rows_10_35_what_is_too_long_is_split_or_refused_before_anything_changes() {
    let mut map = Map::create();
    let context: Vec<u32> = (0..70_000).collect();
    let literal: Vec<u32> = (100_000..170_000).collect();
    add_track(&mut map, &context, &context);
    add_track(&mut map, &[1; 10], &literal);
    let read = open(&map, Options::default());
    assert_eq!(read.answer(&context, usize::MAX, &[]).unwrap().tokens, context);
    assert_eq!(read.answer(&[1; 10], usize::MAX, &[]).unwrap().tokens, literal);
    let refused = map.prepare_track(&[1], &[2], &"x".repeat(65_536), 4).unwrap_err();
    assert!(matches!(refused, WriteError::TooLarge { size: 65_536, max: 65_535, .. }));
    assert_eq!(map.len(), 2);
}

#[test]
fn rows_11_12_short_contexts_are_coded_and_a_copy_of_nothing_is_refused() {
    let mut map = Map::create();
    add_track(&mut map, &[5, 6], &[5, 6, 7, 8]);
    assert_eq!(map.track_answer(0, &[5, 6], 9).unwrap(), [5, 6, 7, 8]);
    assert_eq!(map.prepare_track(&[5, 6], &[5], "", 0), Err(WriteError::ZeroMinCopy));
}

#[test]
fn rows_13_36_a_refused_append_leaves_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mrail");
    let mut driver = Driver::default();
    driver.ask(&json!({ "op": "open", "path": path }));
    for (tokens, gen_start) in [
        (json!([1, -1, 3]), json!(1)),
        (json!([1, 4_294_967_296_u64]), json!(1)),
        (json!([1, 2, 3]), json!(-1)),
        (json!([1, 2, 3]), json!(4)),
    ] {
        let refused = driver.ask(&json!({ "op": "add_session", "tokens": tokens, "gen": gen_start }));
        assert_eq!(refused["ok"], false, "{tokens} {gen_start}");
        assert_eq!(driver.ask(&json!({ "op": "stats" }))["runs"], 0);
    }
    assert_eq!(std::fs::read(&path).unwrap(), Map::create().bytes());
    assert_eq!(driver.ask(&json!({ "op": "add_session", "tokens": [7, 8], "gen": 1 }))["sid"], 0);
}

#[test]
fn row_14_deltas_compare_rows_by_their_bytes() {
    let mut map = Map::create();
    let rows = |values: [f32; 4]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        state("_root_keys", Dtype::Float32, &[1, 2, 2], bytes)
    };
    let (zeros, signed) = (rows([0.0, 0.0, f32::NAN, 1.0]), rows([-0.0, 0.0, f32::NAN, 1.0]));
    add_anchor(&mut map, 1, &zeros, None);
    let child = add_anchor(&mut map, 2, &signed, Some(1));
    let restored = open(&map, Options::default());
    let restored = restored.restore(child).unwrap();
    assert_eq!((restored.chain, restored.snapshot.bytes()), (1, signed.bytes()));
    // One changed row: a byte of mask and eight of row; the row with the NaN is the same and is not stored.
    let same = add_anchor(&mut map, 3, &signed, Some(2));
    let body = mrail_body(&map, same);
    assert_eq!((mrail_body(&map, child).len(), body), (9, vec![0]));
}

fn mrail_body(map: &Map<'_>, hash: PrefixHash) -> Vec<u8> {
    use std::io::Read;
    let mut content = Vec::new();
    flate2::read::ZlibDecoder::new(map.anchor(hash).unwrap().body).read_to_end(&mut content).unwrap();
    content
}

#[test]
fn rows_15_16_anchors_are_copies() {
    let mut map = Map::create();
    let given = state("a", Dtype::UInt8, &[3], vec![1, 2, 3]);
    let hash = add_anchor(&mut map, 1, &given, None);
    let mut taken = map.restore(hash).unwrap().snapshot.into_bytes();
    taken.fill(9);
    given.into_bytes().fill(9);
    assert_eq!(map.restore(hash).unwrap().snapshot.bytes(), [1, 2, 3]);
}

#[test]
fn rows_17_18_what_no_delta_can_say_is_stored_whole() {
    let mut map = Map::create();
    add_anchor(&mut map, 1, &state("_root_keys", Dtype::Float32, &[1, 1, 4], vec![0; 16]), None);
    let others = [
        state("_root_keys", Dtype::Float32, &[1, 16, 4], vec![2; 256]),
        state("_root_keys", Dtype::Float16, &[1, 1, 4], vec![0; 8]),
        state("_root_keys", Dtype::Float32, &[2, 2], vec![1; 16]),
        state("_root_keys", Dtype::Float32, &[1, 1, 1, 4], vec![3; 16]),
        state("_other", Dtype::Float32, &[1, 1, 4], vec![3; 16]),
    ];
    for (hash, other) in (10..).zip(&others) {
        let hash = add_anchor(&mut map, hash, other, Some(1));
        let restored = map.restore(hash).unwrap();
        assert_eq!((restored.snapshot.arrays(), restored.snapshot.bytes()), (other.arrays(), other.bytes()));
    }
    let arrays = vec![ArraySpec::new("_root_keys", Dtype::Float32, [1, 1, 4])];
    let layers = Snapshot::new(arrays, vec![Scalars::default(); 2], vec![7; 32]).unwrap();
    let hash = add_anchor(&mut map, 20, &layers, Some(1));
    assert_eq!(map.restore(hash).unwrap().snapshot, layers);
}

#[test]
fn rows_20_21_a_file_that_is_no_map_is_an_error_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut driver = Driver::default();
    for content in [&b"hello"[..], b"", b"<!doctype html>", b"MRAIL\x04\0\0"] {
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        let refused = driver.ask(&json!({ "op": "open", "path": path }));
        assert_eq!(refused["ok"], false, "{}", content.escape_ascii());
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
}

#[test]
fn rows_22_55_a_bad_record_is_skipped_and_reported() {
    let good = |token: u32| {
        let mut map = Map::create();
        add(&mut map, &[token, token + 1], 1);
        map.bytes()[8..].to_vec()
    };
    let context = [1, 2, 3];
    let mut track = Map::create();
    add_track(&mut track, &context, &[9]);
    let mut unknown_op = track.bytes()[8..].to_vec();
    let at = unknown_op.len() - 7;
    unknown_op[at] = 2;
    for bad in [unknown_op, record(1, &[0; 11]), record(3, b"abc"), record(4, b"abc")] {
        let map =
            Map::open([&Map::create().bytes(), &good(10)[..], &bad, &good(20)].concat(), Options::default()).unwrap();
        assert_eq!((map.len(), map.problem_count(), map.problems()[0].offset), (2, 1, 33));
        assert_eq!(map.answer(&[20], 9, &[]).unwrap().tokens, [21]);
        assert_eq!(map.answer(&context, 9, &[]), None);
    }
}

/// Another token anywhere in the context, and nothing answers: no hash is asked where the tokens are there.
#[test]
fn row_23_a_session_answers_its_own_tokens_alone() {
    let mut map = Map::create();
    let tokens: Vec<u32> = (100..140).collect();
    add(&mut map, &tokens, 10);
    for len in 10..tokens.len() {
        for at in 0..len {
            let mut context = tokens[..len].to_vec();
            context[at] ^= 1 << (at % 32);
            assert_eq!(map.answer(&context, 9, &[]), None);
            assert_eq!(map.locate(&context).lcp, at);
        }
    }
}

#[test]
fn row_24_missing_parents_and_cycles_are_errors_of_their_anchor() {
    let json = br#"{"arrays":[["_root_keys","uint8",[1,1,1]]],"scalars":[{}],"z":0,"chain":1}"#;
    let delta = |hash: &[u8; 8], parent: &[u8; 8]| {
        record(4, &[&[0; 8], &hash[..], parent, &(json.len() as u32).to_le_bytes(), json, &[0]].concat())
    };
    let (a, b) = (b"anchor-A", b"anchor-B");
    for (records, expected) in [
        (delta(a, b), "anchor 616e63686f722d42: no record in the map"),
        (delta(a, a), "anchor 616e63686f722d41: its parents lead back to 616e63686f722d41"),
        ([delta(a, b), delta(b, a)].concat(), "anchor 616e63686f722d42: its parents lead back to 616e63686f722d41"),
    ] {
        let map = Map::open([Map::create().bytes(), records].concat(), Options::default()).unwrap();
        assert_eq!(map.restore(PrefixHash(*a)).unwrap_err().to_string(), expected);
        assert_eq!(map.problem_count(), 0);
    }
}

#[test]
fn row_25_an_anchor_past_the_strides_last_multiple_is_found() {
    let mut map = Map::create();
    let tokens: Vec<u32> = (0..100).collect();
    add(&mut map, &tokens, 90);
    let hash = PrefixHash::of(&tokens[..70]);
    add_anchor(&mut map, u64::from_le_bytes(hash.0), &state("a", Dtype::UInt8, &[1], vec![1]), None);
    let stride = NonZeroUsize::new(64).unwrap();
    let context = [&tokens[..75], &[999]].concat();
    let located = open(&map, Options { stride, ..Options::default() }).locate(&context);
    assert_eq!((located.lcp, located.shared, located.anchor), (64, 75, Some((hash, 70))));
    assert_eq!(open(&map, Options { stride, ..Options::reference() }).locate(&context).anchor, None);
}

#[test]
fn row_27_merging_repeats_no_run_and_makes_no_foreign_run_answer() {
    let (mut a, mut b) = (Map::create(), Map::create());
    add(&mut a, &[1, 2, 3], 1);
    add(&mut b, &[1, 2, 3], 1);
    add(&mut b, &[1, 2, 3], 2);
    let (bytes, report) = merge(&[&a.bytes(), &b.bytes()]).unwrap();
    assert_eq!((report.runs, report.repeated), (2, 1));
    let foreign = with_foreign(bytes);
    assert_eq!((foreign.locate(&[1, 2]).lcp, foreign.answer(&[1, 2], 9, &[])), (2, None));
}

#[test]
fn rows_29_30_48_an_answer_says_why_it_ends() {
    let mut map = Map::create();
    add(&mut map, &[1, 2, 3, 4], 1);
    add_track(&mut map, &[7, 8, 9], &[]);
    let end = |context: &[u32], max_new, stop: &[u32]| map.answer(context, max_new, stop).map(|answer| answer.end);
    assert_eq!(end(&[1], 9, &[3]), Some(End::Stop));
    assert_eq!(end(&[1], 9, &[]), Some(End::Run));
    assert_eq!(end(&[1], 2, &[]), Some(End::MaxNew));
    assert_eq!(end(&[7, 8, 9], 9, &[]), Some(End::Run), "known, and the answer is empty");
    assert_eq!(end(&[5], 9, &[]), None, "unknown");
}

#[test]
fn row_31_drafts_stop_at_the_ends_of_runs_when_asked_to() {
    let draft = |borders| {
        let rail = RailOptions { borders, ..RailOptions::default() };
        let mut map = Map::open(Map::create().bytes(), Options { rail, ..Options::default() }).unwrap();
        add(&mut map, &[1, 2], 1);
        add(&mut map, &[3, 4], 1);
        map.rail().tree(&[1], 9).into_parts().0
    };
    assert_eq!(draft(Borders::Cross), [2, 3, 4]);
    assert_eq!(draft(Borders::Stop), [2]);
}

#[test]
fn row_32_hidden_states_of_any_size() {
    for dim in [1, 64, 576, 1536, 4096] {
        let planes = Planes::seeded(dim, 7).unwrap();
        assert!(planes.hash(&vec![1.0; dim]).is_ok());
        let error = planes.hash(&vec![1.0; dim + 1]).unwrap_err();
        assert_eq!(error, PlanesError::Dimension { planes: dim, state: dim + 1 });
    }
}

#[test]
fn row_34_a_copy_past_its_context_is_an_error() {
    let context = [1, 2, 3];
    let hash = PrefixHash::of(&context).0;
    let op = [&[1][..], &2_u32.to_le_bytes(), &2_u16.to_le_bytes()].concat();
    let track = record(5, &[&3_u32.to_le_bytes()[..], &hash, &[0, 0], &1_u32.to_le_bytes(), &op].concat());
    let map = Map::open([Map::create().bytes(), track].concat(), Options::default()).unwrap();
    assert_eq!((map.len(), map.answer(&context, 9, &[])), (0, None));
    assert!(map.problems()[0].to_string().contains("a copy of 2 tokens at 2 reaches past the context of 3"));
}

#[test]
fn rows_43_44_hashes_and_hits_of_other_sizes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mrail");
    let mut driver = Driver::default();
    driver.ask(&json!({ "op": "open", "path": path }));
    for request in [
        json!({ "op": "bump", "hash": "61626364", "hits": 1 }),
        json!({ "op": "bump", "hash": "6162636465666768", "hits": -1 }),
        json!({ "op": "bump", "hash": "6162636465666768", "hits": 4_294_967_296_u64 }),
        json!({ "op": "add_anchor", "sid": 0, "P": 1, "hash": "6162636465", "layers": [[]] }),
    ] {
        assert_eq!(driver.ask(&request)["ok"], false, "{request}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), Map::create().bytes());
    assert_eq!(driver.ask(&json!({ "op": "bump", "hash": "6162636465666768", "hits": u32::MAX }))["ok"], true);
}

/// The reference writes its own magic over a short file; here even the error is the library's.
#[test]
fn row_21_the_magic_is_checked_in_every_build() {
    assert!(matches!(Map::open(&b"MRAIL\x03\0\x01"[..], Options::default()), Err(OpenError::Own(_))));
}
