//! Whole anchors: the reference's files, round trips, and records that are damaged in every way.

use super::*;
use crate::record::{ANCHOR, Records};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use hashbrown::HashMap;
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;
use serde_json::Value;

const ANCHORS: &[u8] = include_bytes!("../../../tests/data/maps/anchors.mrail");
const DUPLICATES: &[u8] = include_bytes!("../../../tests/data/maps/dup_anchor.mrail");
const TORN: &[u8] = include_bytes!("../../../tests/data/maps/torn_anchor.mrail");
const VECTORS: &str = include_str!("../../../tests/data/vectors/anchors.json");
/// Of every state of anchors.mrail: hash, chain, and BLAKE2b-64 of all bytes as the reference restores them.
const GOLDEN: &str = include_str!("golden.txt");

/// Records by hash; the first of a hash counts.
#[derive(Default)]
struct Store(HashMap<PrefixHash, (u8, Vec<u8>)>);

impl Store {
    fn of(map: &[u8]) -> Self {
        let mut store = Self::default();
        for record in Records::new(map).unwrap().filter(|record| matches!(record.kind, ANCHOR | DELTA)) {
            let hash = Anchor::parse(record.kind, record.payload).unwrap().hash;
            store.0.entry(hash).or_insert_with(|| (record.kind, record.payload.to_vec()));
        }
        store
    }

    fn find(&self, hash: PrefixHash) -> Option<Anchor<'_>> {
        let (kind, payload) = self.0.get(&hash)?;
        Some(Anchor::parse(*kind, payload).unwrap())
    }

    fn restore(&self, hash: PrefixHash) -> Result<Restored<'_>, AnchorError> {
        restore(hash, |hash| self.find(hash))
    }

    /// Stores a state, against a parent if that can be restored; returns the record's kind.
    fn add(&mut self, id: u8, state: &Snapshot, parent: Option<u8>) -> u8 {
        let encoded = {
            let parent = parent.and_then(|parent| self.restore(hash(parent)).ok());
            encode(1, 2, hash(id), state, parent.as_ref().map(Restored::as_parent)).unwrap()
        };
        let kind = encoded.kind;
        self.0.insert(hash(id), (kind, encoded.payload));
        kind
    }

    fn state(&self, id: u8) -> Snapshot {
        self.restore(hash(id)).unwrap().snapshot
    }

    /// Puts a record that is written by hand.
    fn put(&mut self, id: u8, parent: Option<u8>, json: &str, body: &[u8]) {
        let parent = parent.map(hash);
        let kind = if parent.is_some() { DELTA } else { ANCHOR };
        let parent = parent.map_or(Vec::new(), |parent| parent.0.to_vec());
        let len = (json.len() as u32).to_le_bytes();
        let payload = [&[0; 8][..], &hash(id).0, &parent, &len, json.as_bytes(), body].concat();
        self.0.insert(hash(id), (kind, payload));
    }

    fn error(&self, id: u8) -> AnchorError {
        match self.restore(hash(id)) {
            Err(AnchorError::Link { anchor, error }) if anchor == hash(id) => *error,
            other => panic!("{other:?}"),
        }
    }
}

fn hash(id: u8) -> PrefixHash {
    PrefixHash([id; 8])
}

fn unpack(body: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec_zlib(body).unwrap()
}

fn rows_of(shape: [u64; 3], bytes: Vec<u8>) -> Snapshot {
    Snapshot::new(vec![ArraySpec::new("_root_keys", Dtype::UInt8, shape)], vec![Scalars::default()], bytes).unwrap()
}

#[test]
fn the_references_states_are_restored_byte_for_byte() {
    let store = Store::of(ANCHORS);
    for line in GOLDEN.lines() {
        let [hash, chain, digest] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let restored = store.restore(hash.parse().unwrap()).unwrap();
        assert_eq!(restored.chain.to_string(), chain);
        let found = PrefixHash(Blake2b::<U8>::digest(restored.snapshot.bytes()).into());
        assert_eq!(found.to_string(), digest, "{hash}");
    }
    assert_eq!(store.0.len(), GOLDEN.lines().count());
}

#[test]
fn the_references_records_are_understood_and_written_alike() {
    let store = Store::of(ANCHORS);
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let mut with_nan = 0;
    for vector in vectors["anchors"].as_array().unwrap() {
        let hash: PrefixHash = vector["hash"].as_str().unwrap().parse().unwrap();
        let restored = store.restore(hash).unwrap();
        let anchor = restored.anchor;
        assert_eq!(u64::from(anchor.position), vector["P"].as_u64().unwrap());
        assert_eq!(anchor.parent.map(|parent| parent.to_string()).as_deref(), vector["parent"].as_str());
        assert_eq!(serde_json::from_slice::<Value>(anchor.json).unwrap(), vector["meta"]);
        // Written again against the same parent: the same bytes but for zlib's.
        let parent = anchor.parent.map(|parent| store.restore(parent).unwrap());
        let parent = parent.as_ref().map(Restored::as_parent);
        let encoded = encode(anchor.sid, anchor.position, hash, &restored.snapshot, parent).unwrap();
        let again = Anchor::parse(encoded.kind, &encoded.payload).unwrap();
        assert_eq!((again.json, again.parent), (anchor.json, anchor.parent), "{hash}");
        if unpack(again.body) != unpack(anchor.body) {
            // The reference takes each row with a NaN for changed.
            assert!(unpack(again.body).len() < unpack(anchor.body).len());
            let find = |wanted| if wanted == hash { Some(again) } else { store.find(wanted) };
            assert_eq!(restore(hash, find).unwrap().snapshot, restored.snapshot);
            with_nan += 1;
        }
    }
    assert_eq!(with_nan, 1, "of 42");
}

#[test]
fn every_anchor_of_the_odd_maps_is_restored() {
    for (map, states) in [(DUPLICATES, 4), (TORN, 15)] {
        let store = Store::of(map);
        assert_eq!(store.0.len(), states);
        for &hash in store.0.keys() {
            store.restore(hash).unwrap();
        }
    }
}

#[test]
fn the_eighth_link_is_a_whole_state() {
    let mut store = Store::default();
    let kinds: Vec<u8> = (0..18).map(|id| store.add(id, &rows_of([1, 2, 2], vec![id; 4]), id.checked_sub(1))).collect();
    let expected: Vec<u8> = (0..18).map(|id| if id % 8 == 0 { ANCHOR } else { DELTA }).collect();
    assert_eq!(kinds, expected);
    for id in 0..18 {
        assert_eq!(store.state(id).bytes(), [id; 4]);
    }
}

#[test]
fn rows_are_compared_by_their_bytes() {
    let floats = |value: f32| {
        let arrays = vec![ArraySpec::new("_root_keys", Dtype::Float32, [1, 64, 64])];
        let bytes = [value; 64 * 64].iter().flat_map(|value| value.to_le_bytes()).collect();
        Snapshot::new(arrays, vec![Scalars::default()], bytes).unwrap()
    };
    let mut store = Store::default();
    store.add(0, &floats(0.0), None);
    store.add(1, &floats(-0.0), Some(0));
    assert_eq!(store.state(1), floats(-0.0));
    // Rows of NaN that stay are not stored again.
    store.add(2, &floats(f32::NAN), None);
    assert_eq!(store.add(3, &floats(f32::NAN), Some(2)), DELTA);
    let body = unpack(store.find(hash(3)).unwrap().body);
    assert_eq!(body, [0; 8]);
    assert_eq!(store.state(3), floats(f32::NAN));
}

#[test]
fn what_a_delta_cannot_hold_is_stored_whole() {
    use Dtype::{Float16, Float32};
    let state = |name: &str, dtype, shape: &[u64], layers: usize| {
        let array = ArraySpec::new(name, dtype, shape);
        let len = array.byte_len().unwrap() as usize * layers;
        Snapshot::new(vec![array], vec![Scalars::default(); layers], vec![7; len]).unwrap()
    };
    let parent = state("_root_keys", Float32, &[1, 2, 4], 2);
    for (child, kind) in [
        (state("_root_keys", Float32, &[1, 2, 4], 2), DELTA),
        (state("_root_keys", Float32, &[1, 2, 4], 1), DELTA),
        (state("other", Float32, &[9], 1), DELTA),
        (state("_root_keys", Float32, &[1, 2, 4], 3), ANCHOR),
        (state("_root_keys", Float32, &[1, 16, 4], 2), ANCHOR),
        (state("_root_keys", Float32, &[2, 4], 2), ANCHOR),
        (state("_root_keys", Float32, &[1, 1, 2, 4], 2), ANCHOR),
        (state("_root_keys", Float32, &[1, 2, 0], 2), ANCHOR),
        (state("_root_keys", Float16, &[1, 2, 4], 2), ANCHOR),
        (state("_root_values", Float32, &[1, 2, 4], 2), ANCHOR),
    ] {
        let mut store = Store::default();
        store.add(0, &parent, None);
        assert_eq!(store.add(1, &child, Some(0)), kind, "{:?}", child.arrays());
        assert_eq!(store.state(1), child);
        // A state of the same odd shape as its parent's.
        store.add(2, &child, Some(1));
        assert_eq!(store.state(2), child);
        // No parent, and a parent that is the state itself.
        assert_eq!(store.add(3, &child, Some(9)), ANCHOR);
        let itself = Parent { hash: hash(4), chain: 0, snapshot: &child };
        assert_eq!(encode(0, 0, hash(4), &child, Some(itself)).unwrap().kind, ANCHOR);
    }
}

// FORMAT.md, "Per-head store sizes in anchors": one pseudo-layer with fields named per layer and head.
#[test]
fn stores_of_different_sizes_live_in_one_pseudo_layer() {
    let state = |salt: u8| {
        let mut arrays = Vec::new();
        for (layer, head, store) in [(7, 2, 3), (7, 3, 5), (8, 0, 1), (8, 1, 0)] {
            for field in ["k", "v"] {
                let name = format!("L{layer:02}H{head}.store_{field}");
                arrays.push(ArraySpec::new(name, Dtype::Float16, [1, store, 4]).stored_by_rows());
            }
        }
        arrays.push(ArraySpec::new("last_hidden", Dtype::Float32, [6]));
        let len: u64 = arrays.iter().map(|array| array.byte_len().unwrap()).sum();
        let bytes = (0..len).map(|at| if at % 31 == 0 { salt } else { at as u8 }).collect();
        Snapshot::new(arrays, vec![Scalars::from(&serde_json::json!({"position": 4096}))], bytes).unwrap()
    };
    let mut store = Store::default();
    store.add(0, &state(0), None);
    assert_eq!(store.add(1, &state(1), Some(0)), DELTA);
    // A record that names its rows is a state that asks for it.
    assert_eq!(store.state(1), state(1).describing_rows(true));
    assert_eq!(store.state(1).named(0, "L07H3.store_v").unwrap().len(), 40);
    let json = store.find(hash(1)).unwrap().json;
    assert!(json.ends_with(b"\"L08H1.store_k\",\"L08H1.store_v\"]}"));
}

#[test]
fn arrays_stored_whole_may_differ_from_the_parents() {
    let state = |arrays: Vec<ArraySpec>, bytes: &[u8]| {
        Snapshot::new(arrays, vec![Scalars::default(); 2], bytes.to_vec()).unwrap()
    };
    let keys = || ArraySpec::new("_root_keys", Dtype::UInt8, [1, 2, 1]);
    let other = |name: &str, len: u64| ArraySpec::new(name, Dtype::UInt8, [len]);
    let mut store = Store::default();
    store.add(0, &state(vec![keys(), other("q", 1)], &[1, 2, 3, 4, 5, 6]), None);
    let children = [
        state(vec![other("new", 2), keys(), other("q", 2)], &[8, 8, 1, 2, 9, 9, 7, 7, 4, 6, 0, 0]),
        state(vec![keys()], &[1, 2, 4, 6]),
    ];
    for (id, child) in (1..).zip(children) {
        assert_eq!(store.add(id, &child, Some(0)), DELTA);
        assert_eq!(store.state(id), child);
    }
}

// The reference writes such deltas and cannot read them; what they hold is there all the same: a bit for each row of
// the last dimension.
#[test]
fn deltas_of_other_ranks_are_read() {
    let mut store = Store::default();
    for (id, (shape, parent, body, state)) in [
        ("[2,2]", vec![0, 1, 2, 3], vec![0x40, 8, 9], vec![0, 1, 8, 9]),
        ("[3]", vec![1, 2, 3], vec![0x80, 7, 8, 9], vec![7, 8, 9]),
        ("[]", vec![1], vec![0x80, 7], vec![7]),
        ("[1,2,2,1]", vec![1, 2, 3, 4], vec![0x90, 8, 9], vec![8, 2, 3, 9]),
        ("[2,3,0]", vec![], vec![0x84], vec![]),
    ]
    .into_iter()
    .enumerate()
    {
        let json =
            |chain| format!("{{\"arrays\":[[\"_root_keys\",\"uint8\",{shape}]],\"scalars\":[{{}}],\"chain\":{chain}}}");
        let id = id as u8 * 2;
        store.put(id, None, &json(0), &parent);
        store.put(id + 1, Some(id), &json(1), &body);
        assert_eq!(store.state(id + 1).bytes(), state, "{shape}");
    }
}

const JSON: &str =
    "{\"arrays\":[[\"_root_keys\",\"uint8\",[1,2,2]],[\"q\",\"uint8\",[1]]],\"scalars\":[{},{}],\"z\":1,\"chain\":0}";
const BODY: [u8; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

fn delta_json() -> String {
    JSON.replace("\"chain\":0", "\"chain\":1")
}

/// A whole state as 0, and a delta against it as 1.
fn pair(json: &str, body: &[u8]) -> Store {
    let mut store = Store::default();
    store.put(0, None, JSON, &pack(&BODY));
    store.put(1, Some(0), json, &pack(body));
    store
}

fn pack(body: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(body, 1)
}

#[test]
fn payloads_are_split_or_refused_at_every_cut() {
    let mut store = pair(&delta_json(), &[0x40, 7, 7, 8, 0, 9]);
    assert_eq!(store.state(1).bytes(), [1, 2, 7, 7, 8, 6, 7, 8, 9, 9]);
    for id in [0, 1] {
        let (kind, payload) = store.0.remove(&hash(id)).unwrap();
        let fields = payload.len() - Anchor::parse(kind, &payload).unwrap().body.len();
        for cut in 0..payload.len() {
            match Anchor::parse(kind, &payload[..cut]) {
                Err(Malformed::Short { len, needs, .. }) => assert!(len == cut && needs > cut as u64 && cut < fields),
                Err(other) => panic!("{other}"),
                Ok(anchor) => {
                    assert!(cut >= fields);
                    assert!(restore(anchor.hash, |hash| store.find(hash).or(Some(anchor))).is_err());
                }
            }
        }
        store.0.insert(hash(id), (kind, payload));
    }
}

#[test]
fn a_json_longer_than_the_payload_is_refused() {
    let payload = [&[0; 16][..], &u32::MAX.to_le_bytes(), b"{}"].concat();
    assert_eq!(
        Anchor::parse(ANCHOR, &payload),
        Err(Malformed::Short { field: "the JSON", needs: 20 + u64::from(u32::MAX), len: 22 })
    );
}

#[test]
fn parents_that_lead_nowhere_are_errors_of_their_states() {
    let mut store = pair(&delta_json(), &[0, 0, 0, 0]);
    let link = |anchor: u8, error: AnchorError| error.of_link(hash(anchor));
    let error = |store: &Store, id| store.restore(hash(id)).unwrap_err();
    // Missing, and missing further up.
    assert_eq!(error(&store, 9), link(9, AnchorError::Missing));
    store.put(2, Some(9), &delta_json(), &[]);
    store.put(3, Some(2), &delta_json(), &[]);
    assert_eq!(error(&store, 3), link(9, AnchorError::Missing));
    // Itself, and each other.
    store.put(4, Some(4), &delta_json(), &[]);
    assert_eq!(error(&store, 4), link(4, AnchorError::Cycle { parent: hash(4) }));
    store.put(5, Some(6), &delta_json(), &[]);
    store.put(6, Some(5), &delta_json(), &[]);
    assert_eq!(error(&store, 5), link(6, AnchorError::Cycle { parent: hash(5) }));
    // A fault of a parent is told as the parent's.
    store.put(7, None, "{", &[]);
    store.put(8, Some(7), &delta_json(), &[]);
    assert_eq!(error(&store, 8), link(7, AnchorError::Json { offset: 1, expected: "a key" }));
    // The good ones are still good.
    assert_eq!(store.state(1).bytes()[..4], BODY[..4]);
}

#[test]
fn chains_are_as_long_as_they_say_and_as_the_format_allows() {
    let mut store = Store::default();
    let json = |chain: u8| JSON.replace("\"chain\":0", &format!("\"chain\":{chain}"));
    store.put(0, None, JSON, &pack(&BODY));
    for id in 1..12 {
        store.put(id, Some(id - 1), &json(id), &pack(&[0, id, 0, id]));
    }
    assert_eq!(store.restore(hash(7)).unwrap().chain, 7);
    assert_eq!(store.state(7).named(1, "q"), Some(&[7][..]));
    for id in 8..12 {
        assert_eq!(store.error(id), AnchorError::ChainTooLong { limit: 8 });
    }
    store.put(3, Some(2), &json(1), &pack(&[0, 3, 0, 3]));
    assert_eq!(store.error(3), AnchorError::WrongChain { declared: 1, actual: 3 });
    store.put(0, None, &json(2), &pack(&BODY));
    assert_eq!(store.error(0), AnchorError::WrongChain { declared: 2, actual: 0 });
    // A record that does not count is taken as it is.
    store.put(0, None, &JSON.replace(",\"chain\":0", ""), &pack(&BODY));
    assert_eq!(store.restore(hash(2)).unwrap().chain, 2);
}

#[test]
fn bodies_that_contradict_their_json_are_refused() {
    let whole = |json: &str, body: &[u8]| {
        let mut store = Store::default();
        store.put(0, None, json, body);
        store.restore(hash(0)).map(|restored| restored.snapshot.into_bytes()).map_err(|_| store.error(0))
    };
    assert_eq!(whole(JSON, &pack(&BODY)), Ok(BODY.to_vec()));
    for raw in [JSON.replace("\"z\":1", "\"z\":0"), JSON.replace("\"z\":1,", "")] {
        assert_eq!(whole(&raw, &BODY), Ok(BODY.to_vec()));
        assert_eq!(whole(&raw, &BODY[1..]), Err(AnchorError::BodyLen { declared: 10, len: 9 }));
        assert_eq!(whole(&raw, &[0; 11]), Err(AnchorError::BodyLen { declared: 10, len: 11 }));
    }
    assert_eq!(whole(JSON, &pack(&BODY[1..])), Err(AnchorError::BodyLen { declared: 10, len: 9 }));
    assert_eq!(whole(JSON, &pack(&[0; 11])), Err(AnchorError::BodyTooLong { declared: 10 }));
    let packed = pack(&BODY);
    let cut = &packed[..packed.len() - 1];
    assert!(matches!(whole(JSON, cut), Err(AnchorError::Zlib { fault: "is cut off", .. })));
    let longer = [&packed[..], &[0]].concat();
    assert!(matches!(whole(JSON, &longer), Err(AnchorError::Zlib { .. })));
    assert!(matches!(whole(JSON, &BODY), Err(AnchorError::Zlib { fault: "is damaged", .. })));
}

#[test]
fn deltas_that_contradict_their_json_are_refused() {
    let error = |json: &str, body: &[u8]| pair(json, body).error(1);
    let json = delta_json();
    let keys = || "_root_keys".to_string();
    // Two layers of a mask of two bits, its rows, and one byte.
    assert_eq!(error(&json, &[]), AnchorError::BodyLen { declared: 4, len: 0 });
    assert_eq!(error(&json, &[0, 0, 0]), AnchorError::BodyLen { declared: 4, len: 3 });
    assert_eq!(error(&json, &[0, 0, 0, 0, 0]), AnchorError::BodyLen { declared: 4, len: 5 });
    let ends = AnchorError::BodyEnds { layer: 1, array: keys(), needs: 7, len: 6 };
    assert_eq!(error(&json, &[0, 1, 0xc0, 9, 9, 9]), ends);
    let ends = AnchorError::BodyEnds { layer: 1, array: "q".to_string(), needs: 8, len: 7 };
    assert_eq!(error(&json, &[0, 1, 0xc0, 9, 9, 9, 9]), ends);
    assert_eq!(error(&json, &[0, 1, 0xc0, 9, 9, 9, 9, 1, 0]), AnchorError::BodyLen { declared: 8, len: 9 });
    assert_eq!(error(&json, &[0; 13]), AnchorError::BodyTooLong { declared: 12 });
    for mask in [0x20, 0x01, 0xff] {
        let padding = AnchorError::Padding { layer: 0, array: keys(), rows: 2 };
        assert_eq!(error(&json, &[mask, 1, 1, 1, 1, 1, 0, 0]), padding);
    }
    let other = |from, to| error(&json.replace(from, to), &[0; 6]);
    assert_eq!(
        other("uint8\",[1,2,2]", "uint16\",[1,2,2]"),
        AnchorError::ParentDiffers {
            array: keys(),
            here: "uint16[1,2,2]".to_string(),
            parent: "uint8[1,2,2]".to_string()
        }
    );
    assert_eq!(other("_root_keys", "_root_values"), AnchorError::ParentLacks { array: "_root_values".to_string() });
    assert_eq!(other("[{},{}]", "[{},{},{}]"), AnchorError::ParentLayers { layers: 3, parent: 2 });
}

// Every claim below costs a few bytes to make. What is checked besides the error is that the test ends, with the memory
// of an ordinary machine.
#[cfg(target_pointer_width = "64")]
#[test]
fn sizes_that_are_only_claimed_cost_nothing() {
    let error = |json: &str, body: &[u8]| {
        let mut store = Store::default();
        store.put(0, None, json, body);
        let whole = store.error(0);
        store.put(0, None, "{\"arrays\":[],\"scalars\":[]}", &[]);
        store.put(1, Some(0), &json.replace("\"z\":1", "\"z\":1,\"rows\":[\"_root_keys\",\"q\"]"), body);
        (whole, store.error(1))
    };
    let shape = |shape: &str| JSON.replace("[1,2,2]", shape).replace(",\"chain\":0", "");
    let keys = || "_root_keys".to_string();
    for overflow in ["[18446744073709551615,2]", "[4294967296,4294967296]", "[1,18446744073709551615]"] {
        let (whole, delta) = error(&shape(overflow), &pack(&BODY));
        assert_eq!(
            whole,
            AnchorError::TooLarge { array: if overflow.contains("[1,") { "q".to_string() } else { keys() } }
        );
        assert!(matches!(delta, AnchorError::TooLarge { .. }));
    }
    let packed = pack(&[0; 5000]);
    let (whole, _) = error(&shape("[1099511627776]"), &packed);
    assert_eq!(whole, AnchorError::Unpackable { declared: (1 << 41) + 2, packed: packed.len() });
    let raw = shape("[1099511627776]").replace("\"z\":1", "\"z\":0");
    assert_eq!(error(&raw, &BODY).0, AnchorError::BodyLen { declared: (1 << 41) + 2, len: 10 });
    // Nothing but masks.
    let mut store = pair("", &[]);
    let masks = |shape: &str| delta_json().replace("[1,2,2]", shape);
    store.put(0, None, &JSON.replace("[1,2,2]", "[1099511627776,1024,0]"), &pack(&[1, 2]));
    store.put(1, Some(0), &masks("[1099511627776,1024,0]"), &packed);
    assert_eq!(store.error(1), AnchorError::Unpackable { declared: (1 << 48) + 2, packed: packed.len() });
    store.put(1, Some(0), &masks("[18446744073709551615,2,0]"), &packed);
    assert_eq!(store.error(1), AnchorError::TooLarge { array: keys() });
}

// Layers and arrays are listed side by side, and a table of both would be their product.
#[test]
fn many_layers_of_many_empty_arrays_cost_their_sum() {
    let arrays: Vec<String> = (0..10_000).map(|id| format!("[\"{id}\",\"bool\",[0,0]]")).collect();
    let json = |chain: u8| {
        let layers = "{},".repeat(50_000);
        let arrays = arrays.join(",");
        format!("{{\"arrays\":[{arrays}],\"scalars\":[{layers}{{}}],\"rows\":[\"1\",\"2\"],\"chain\":{chain}}}")
    };
    let mut store = Store::default();
    store.put(0, None, &json(0), &[]);
    store.put(1, Some(0), &json(1), &[]);
    store.put(2, Some(1), &json(2).replace("\"0\"", "\"zero\""), &[]);
    let state = store.state(2);
    assert_eq!((state.scalars().len(), state.arrays().len(), state.bytes().len()), (50_001, 10_000, 0));
    assert_eq!(store.add(3, &state, Some(2)), ANCHOR);
    assert_eq!(store.state(3), state);
}

fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL)
}

/// Specs of states that may or may not fit a delta, with bytes of few values, so that many rows are equal.
fn arrays() -> impl Strategy<Value = Vec<ArraySpec>> {
    let name = prop::sample::select(vec!["_root_keys", "_root_values", "_frontier_keys", "q", "ä\"\n", ""]);
    let array = (name, dtype(), prop::collection::vec(0_u64..5, 0..4), any::<bool>());
    prop::collection::vec(array, 0..5).prop_map(|arrays| {
        let mut specs: Vec<ArraySpec> = Vec::new();
        for (name, dtype, shape, by_rows) in arrays {
            if specs.iter().all(|spec| spec.name != name) {
                specs.push(ArraySpec { by_rows, ..ArraySpec::new(name, dtype, shape) });
            }
        }
        specs
    })
}

fn states(arrays: Vec<ArraySpec>) -> impl Strategy<Value = Snapshot> {
    let len: u64 = arrays.iter().map(|array| array.byte_len().unwrap()).sum();
    (1_usize..4).prop_flat_map(move |layers| {
        let arrays = arrays.clone();
        let bytes = prop::collection::vec(0_u8..2, len as usize * layers);
        let number = any::<f64>().prop_filter("JSON has no others", |number| number.is_finite());
        let scalars = prop::collection::vec((any::<String>(), number), layers);
        (bytes, scalars).prop_map(move |(bytes, scalars)| {
            let scalars = scalars
                .into_iter()
                .map(|(key, number)| Scalars::from(serde_json::Map::from_iter([(key, Value::from(number))])));
            Snapshot::new(arrays.clone(), scalars.collect(), bytes).unwrap()
        })
    })
}

/// States one after another, mostly of one list of arrays.
fn conversations() -> impl Strategy<Value = Vec<Snapshot>> {
    (arrays(), arrays()).prop_flat_map(|(usual, other)| {
        prop::collection::vec(prop_oneof![4 => states(usual), 1 => states(other)], 1..12)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_stored_comes_back(states in conversations()) {
        let mut store = Store::default();
        for (id, state) in (0..).zip(&states) {
            store.add(id, state, id.checked_sub(1));
        }
        for (id, state) in (0..).zip(&states) {
            let described = store.find(hash(id)).unwrap().meta().unwrap().describes_rows;
            prop_assert_eq!(store.state(id), state.clone().describing_rows(described));
        }
    }

    #[test]
    fn any_change_of_any_byte_is_safe(
        states in conversations(),
        changes in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, u8)>(), 1..4),
    ) {
        let mut store = Store::default();
        for (id, state) in (0..).zip(&states) {
            store.add(id, state, id.checked_sub(1));
        }
        for (which, at, value) in changes {
            let (_, payload) = store.0.get_mut(&hash(which.index(states.len()) as u8)).unwrap();
            let at = at.index(payload.len());
            payload[at] = value;
        }
        for id in (0..).take(states.len()) {
            let find = |hash| store.0.get(&hash).and_then(|(kind, payload)| Anchor::parse(*kind, payload).ok());
            if let Err(error) = restore(hash(id), find) {
                prop_assert!(error.to_string().starts_with("anchor "));
            }
        }
    }

    // Bodies without zlib in front, so that the bytes get to where they are understood.
    #[test]
    fn any_body_is_safe(body in prop::collection::vec(any::<u8>(), 0..30), layers in 0_usize..4) {
        let layers = vec!["{}"; layers].join(",");
        let json = delta_json().replace("{},{}", &layers).replace("\"z\":1,", "");
        let mut store = pair(&json, &[]);
        store.put(1, Some(0), &json, &body);
        if let Ok(restored) = store.restore(hash(1)) {
            prop_assert_eq!(restored.snapshot.bytes().len(), 5 * restored.snapshot.scalars().len());
        }
    }
}
