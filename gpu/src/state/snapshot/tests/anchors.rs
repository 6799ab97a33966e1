//! Anchors: round trips, deltas, and anchors that are not this model's.

use super::*;
use mrail::anchor::{Anchor, ArraySpec, Dtype, Encoded, Parent, Scalars, Snapshot, encode, restore};
use mrail::chain::PrefixHash;

type Layer<'s> = (&'s Config, &'s Carrier, &'s LayerSnapshot);

fn sizes<'s>(layers: &[Layer<'s>]) -> Vec<(&'s Config, &'s Carrier)> {
    layers.iter().map(|&(config, carrier, _)| (config, carrier)).collect()
}

/// Writes states, sends them through a record, and reads them again.
fn round_trip(layers: &[Layer<'_>]) -> Snapshot {
    let snapshot = to_anchor(layers).unwrap();
    let record = encode(1, 2, hash(1), &snapshot, None).unwrap();
    let read = restore(hash(1), |_| anchor(&record)).unwrap().snapshot;
    assert_eq!(read, snapshot);
    let states = from_anchor(&read, &sizes(layers)).unwrap();
    assert_eq!(states.len(), layers.len());
    for (found, (_, _, wanted)) in states.iter().zip(layers) {
        assert_eq!(found.first_difference(wanted), None);
    }
    snapshot
}

fn hash(id: u8) -> PrefixHash {
    PrefixHash([id; 8])
}

fn anchor(record: &Encoded) -> Option<Anchor<'_>> {
    Anchor::parse(record.kind, &record.payload).ok()
}

fn arrays(snapshot: &Snapshot) -> Vec<String> {
    snapshot.arrays().iter().map(|array| format!("{} {array}", array.name)).collect()
}

#[test]
fn layers_alike_are_one_list_of_arrays() {
    let (config, carrier) = (uniform(128, LOOK), cells(3));
    let states = [1, 2, 3].map(|seed| state(&config, &carrier, 300, seed));
    let snapshot = round_trip(&states.each_ref().map(|state| (&config, &carrier, state)));
    assert_eq!(
        arrays(&snapshot),
        [
            "band_k float16[2,128,8]",
            "band_v float16[2,128,8]",
            "store_k float16[2,128,8]",
            "store_v float16[2,128,8]",
            "store_pos uint32[2,128]",
            "store_score float32[2,128]",
            "look float32[2,128]",
            "cell_n float32[2,3]",
            "cell_k float32[2,3,8]",
            "cell_v float32[2,3,8]",
            "cell_x float32[2,3]",
        ]
    );
    let scalars: Vec<_> = snapshot.scalars().iter().map(Scalars::as_str).collect();
    assert_eq!(scalars, ["{\"tokens\":300,\"surprised\":0}"; 3]);
    assert_eq!(
        listing(&snapshot),
        Listing {
            row_bytes: 3 * 4 * 2 * 128 * 8 * 2,
            carrier_bytes: 3 * 4 * 2 * 3 * (2 * 8 + 2),
            other_bytes: 3 * 4 * 2 * (128 + 128 + 128),
        }
    );
    // What carriers say of themselves.
    assert_eq!(listing(&snapshot).carrier_bytes, 3 * carrier.state_bytes(SHAPE));
}

#[test]
fn every_kind_of_layer_comes_back() {
    let per_head = config(Storage::F32, [(64, Admission::Surprise), (192, LOOK)]);
    let half_without = config(Storage::F16, [(0, LOOK), (64, LOOK)]);
    let each =
        [uniform(64, LOOK), uniform(64, Admission::Surprise), uniform(0, LOOK), native(), per_head, half_without];
    for config in &each {
        for carrier in [Carrier::None, decay(), cells(3)] {
            for tokens in [0, 1, 64, 100, 129, 500] {
                let states = [1, 2].map(|seed| state(config, &carrier, tokens, seed));
                round_trip(&states.each_ref().map(|state| (config, &carrier, state)));
            }
        }
    }
    // And all of them in one model, with carriers that differ.
    let carriers = [Carrier::None, decay(), cells(3), cells(5)];
    let mixed: Vec<_> = each.iter().zip(carriers.iter().cycle()).collect();
    let states: Vec<_> = mixed.iter().map(|(config, carrier)| state(config, carrier, 500, 7)).collect();
    let layers: Vec<_> =
        mixed.iter().zip(&states).map(|(&(config, carrier), state)| (config, carrier, state)).collect();
    round_trip(&layers);
    round_trip(&[]);
}

#[test]
fn stores_of_each_head_are_one_pseudo_layer() {
    let config = config(Storage::F16, [(64, Admission::Surprise), (0, LOOK)]);
    let carrier = decay();
    let states = [1, 2].map(|seed| state(&config, &carrier, 300, seed));
    let snapshot = round_trip(&states.each_ref().map(|state| (&config, &carrier, state)));
    let names = arrays(&snapshot);
    assert_eq!(
        names[..8],
        [
            "L00H0.band_k float16[1,128,8]",
            "L00H1.band_k float16[1,128,8]",
            "L00H0.band_v float16[1,128,8]",
            "L00H1.band_v float16[1,128,8]",
            "L00H0.store_k float16[1,64,8]",
            "L00H0.store_v float16[1,64,8]",
            "L00H0.store_pos uint32[1,64]",
            "L00H0.store_score float32[1,64]",
        ]
    );
    assert_eq!(names[10..12], ["L00.surprise float32[192]", "L00.decay float32[4,5,9,9]"]);
    assert_eq!(names.len(), 24);
    let scalars: Vec<_> = snapshot.scalars().iter().map(Scalars::as_str).collect();
    assert_eq!(scalars, ["{\"tokens\":[300,300],\"surprised\":[301,301]}"]);
    assert_eq!(listing(&snapshot).carrier_bytes, 2 * carrier.state_bytes(SHAPE));
}

#[test]
fn records_name_the_rows() {
    let (config, carrier) = (uniform(64, LOOK), Carrier::None);
    let snapshot = to_anchor(&[(&config, &carrier, &state(&config, &carrier, 300, 1))]).unwrap();
    let record = encode(1, 2, hash(1), &snapshot, None).unwrap();
    let json = std::str::from_utf8(anchor(&record).unwrap().json).unwrap();
    assert!(json.contains("\"rows\":[\"band_k\",\"band_v\",\"store_k\",\"store_v\"]"), "{json}");
}

#[test]
fn deltas_hold_the_rows_that_differ_and_no_others() {
    for (config, carrier) in
        [(uniform(64, LOOK), cells(3)), (config(Storage::F32, [(64, Admission::Surprise), (192, LOOK)]), decay())]
    {
        let before = state(&config, &carrier, 300, 1);
        // Five tokens are appended, and a block leaves for one slot of head 1 only.
        let mut after = before.clone();
        let mut random = Random(9);
        after.tokens = 305;
        after.surprised = if config.wants_surprises() { 306 } else { 0 };
        for head in &mut after.heads {
            for row in 300 % 128..305 % 128 {
                let row_len = head.band_keys.len() / 128;
                let key = random.row(config.storage());
                head.band_keys[row * row_len..][..row_len].copy_from_slice(&key);
                // Values: all but one row.
                if row != 302 % 128 {
                    head.band_values[row * row_len..][..row_len].copy_from_slice(&key);
                }
            }
        }
        after.heads[1].store_keys[0] ^= 1;
        let layer = |state| to_anchor(&[(&config, &carrier, state)]).unwrap();
        let (parent, child) = (layer(&before), layer(&after));

        let changed = changed_rows(&parent, &child).unwrap();
        let count = |field: &str| -> Vec<u64> {
            changed.iter().filter(|rows| rows.array.ends_with(field)).flat_map(|rows| rows.changed.clone()).collect()
        };
        assert_eq!(count("band_k"), [5, 5]);
        assert_eq!(count("band_v"), [4, 4]);
        assert_eq!(count("store_k"), [0, 1]);
        assert_eq!(count("store_v"), [0, 0]);
        assert!(changed.iter().all(|rows| rows.row_bytes == 8 * u64::from(config.storage().size())));

        let whole = encode(1, 300, hash(1), &parent, None).unwrap();
        let parent_of = Parent { hash: hash(1), chain: 0, snapshot: &parent };
        let delta = encode(1, 305, hash(2), &child, Some(parent_of)).unwrap();
        assert_eq!(delta.kind, mrail::record::DELTA);
        let find = |wanted| anchor(if wanted == hash(1) { &whole } else { &delta });
        let read = restore(hash(2), find).unwrap().snapshot;
        assert_eq!(read, child);
        let states = from_anchor(&read, &[(&config, &carrier)]).unwrap();
        assert_eq!(states[0].first_difference(&after), None);

        // Applied to a parent of nothing but zeros, the delta shows the rows that it holds.
        let zeros = vec![0; parent.bytes().len()];
        let zeros = Snapshot::new(parent.arrays().to_vec(), parent.scalars().to_vec(), zeros).unwrap();
        let blank = encode(1, 300, hash(1), &zeros, None).unwrap();
        let find = |wanted| anchor(if wanted == hash(1) { &blank } else { &delta });
        let shown = restore(hash(2), find).unwrap().snapshot;
        let rows = child.arrays().iter().enumerate().filter(|(_, array)| array.by_rows);
        for (place, array) in rows {
            let row = array.shape[2] as usize * array.dtype.size();
            let of = |snapshot: &'static str, state: &Snapshot| {
                let bytes = state.array(0, place).expect(snapshot).to_vec();
                bytes.chunks(row).map(<[u8]>::to_vec).collect::<Vec<_>>()
            };
            let (held, old, new) = (of("delta", &shown), of("parent", &parent), of("child", &child));
            for ((held, old), new) in held.iter().zip(&old).zip(&new) {
                let wanted = if old == new { vec![0; row] } else { new.clone() };
                assert_eq!(held, &wanted, "{}", array.name);
            }
        }
    }
}

#[test]
fn states_that_cannot_be_deltas_are_told_apart() {
    let (carrier, config) = (Carrier::None, native());
    let layer = |tokens| to_anchor(&[(&config, &carrier, &state(&config, &carrier, tokens, 1))]).unwrap();
    assert_eq!(changed_rows(&layer(5), &layer(6)), None);
    assert_eq!(changed_rows(&layer(0), &layer(6)), None);
    assert!(changed_rows(&layer(5), &layer(5)).is_some_and(|rows| rows.iter().all(|rows| rows.changed == [0, 0])));
    let parent = layer(5);
    let record = encode(1, 6, hash(2), &layer(6), Some(Parent { hash: hash(1), chain: 0, snapshot: &parent })).unwrap();
    assert_eq!(record.kind, mrail::record::ANCHOR);
}

/// What reading a changed anchor says. Array `place` becomes what `change` makes of it, or is dropped.
fn fault(change: impl Fn(&mut Vec<(ArraySpec, Vec<u8>)>), scalars: Option<&str>) -> SnapshotError {
    let (config, carrier) = (uniform(64, Admission::Surprise), cells(3));
    let snapshot = to_anchor(&[(&config, &carrier, &state(&config, &carrier, 300, 1))]).unwrap();
    let mut arrays: Vec<_> = snapshot.layer(0).map(|(array, bytes)| (array.clone(), bytes.to_vec())).collect();
    change(&mut arrays);
    let scalars = scalars.map_or(snapshot.scalars()[0].clone(), |text| Scalars::parse(text).unwrap());
    let bytes = arrays.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let arrays = arrays.into_iter().map(|(array, _)| array).collect();
    let changed = Snapshot::new(arrays, vec![scalars], bytes).unwrap();
    from_anchor(&changed, &[(&config, &carrier)]).unwrap_err()
}

#[test]
fn arrays_of_another_model_are_told() {
    for place in 0..12 {
        let name = std::cell::RefCell::new(String::new());
        let take = |arrays: &mut Vec<(ArraySpec, Vec<u8>)>| *name.borrow_mut() = arrays.remove(place).0.name;
        let error = fault(take, None);
        assert_eq!(error, SnapshotError::MissingArray { array: name.take() });
    }
    let shape = fault(|arrays| arrays[0].0.shape = vec![2, 64, 16], None);
    let (found, wanted) = ("float16[2,64,16]".to_string(), "float16[2,128,8]".to_string());
    assert_eq!(shape, SnapshotError::Array { array: "band_k".to_string(), found, wanted });
    assert_eq!(shape.to_string(), "array \"band_k\" is float16[2,64,16], and should be float16[2,128,8]");
    let dtype = fault(|arrays| arrays[4].0.dtype = Dtype::Int32, None);
    let (found, wanted) = ("int32[2,64]".to_string(), "uint32[2,64]".to_string());
    assert_eq!(dtype, SnapshotError::Array { array: "store_pos".to_string(), found, wanted });
    let more = fault(|arrays| arrays.push((ArraySpec::new("more\n", Dtype::Bool, [1]), vec![0])), None);
    assert_eq!(more, SnapshotError::UnknownArray { array: "more\n".to_string() });
    assert_eq!(more.to_string(), "array \"more\\n\" is none of the model's");
    // Order does not matter.
    let (config, carrier) = (uniform(64, LOOK), Carrier::None);
    let snapshot = to_anchor(&[(&config, &carrier, &state(&config, &carrier, 300, 1))]).unwrap();
    let reversed: Vec<_> = snapshot.layer(0).collect::<Vec<_>>().into_iter().rev().collect();
    let bytes = reversed.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    let specs = reversed.iter().map(|&(array, _)| array.clone()).collect();
    let reversed = Snapshot::new(specs, snapshot.scalars().to_vec(), bytes).unwrap();
    let read = from_anchor(&reversed, &[(&config, &carrier)]).unwrap();
    assert_eq!(read[0].first_difference(&state(&config, &carrier, 300, 1)), None);
}

#[test]
fn hostile_content_is_told() {
    let error = fault(|arrays| arrays[4].1[4 * 70..4 * 71].copy_from_slice(&[255; 4]), None);
    assert!(error.to_string().starts_with("layer 0: head 1: store_pos[6] is position 4294967295"), "{error}");
    let position = SnapshotError::Position { head: 1, slot: 6, found: u32::MAX, left: 192 };
    assert_eq!(error, position.of_layer(0));
    let error = fault(|arrays| arrays[8].1[3] = 0xbf, None);
    assert!(error.to_string().starts_with("layer 0: cell_n[0] is -"), "{error}");
    let none = |_: &mut Vec<(ArraySpec, Vec<u8>)>| {};
    for (text, key) in [
        ("[]", "tokens"),
        ("null", "tokens"),
        ("{\"tokens\":-1,\"surprised\":301}", "tokens"),
        ("{\"tokens\":300.5,\"surprised\":301}", "tokens"),
        ("{\"tokens\":4294967296,\"surprised\":301}", "tokens"),
        ("{\"tokens\":[300],\"surprised\":301}", "tokens"),
        ("{\"tokens\":300}", "surprised"),
        ("{\"tokens\":300,\"surprised\":\"301\"}", "surprised"),
    ] {
        assert_eq!(fault(none, Some(text)), SnapshotError::Scalars { key }, "{text}");
    }
    let tokens = fault(none, Some("{\"tokens\":4294967295,\"surprised\":1}"));
    assert_eq!(tokens, SnapshotError::Tokens { found: u32::MAX, most: MAX_TOKENS }.of_layer(0));
    let surprised = fault(none, Some("{\"tokens\":300,\"surprised\":0}"));
    assert_eq!(surprised, SnapshotError::Surprised { found: 0, least: 194, most: 301 }.of_layer(0));
}

#[test]
fn layers_must_agree_and_be_as_many_as_the_models() {
    let (config, carrier) = (uniform(64, LOOK), Carrier::None);
    let [one, other] = [300, 301].map(|tokens| state(&config, &carrier, tokens, 1));
    let error = to_anchor(&[(&config, &carrier, &one), (&config, &carrier, &other)]);
    assert_eq!(error, Err(SnapshotError::LayerTokens { found: 301, wanted: 300 }.of_layer(1)));
    let broken = LayerSnapshot { tokens: 301, ..LayerSnapshot::empty(&config, &carrier) };
    let error = to_anchor(&[(&config, &carrier, &one), (&config, &carrier, &broken)]).unwrap_err();
    assert!(matches!(error, SnapshotError::Layer { layer: 1, .. }));
    let two = to_anchor(&[(&config, &carrier, &one); 2]).unwrap();
    let error = from_anchor(&two, &[(&config, &carrier); 3]).unwrap_err();
    assert_eq!(error, SnapshotError::LayerCount { found: 2, wanted: 3 });
    // Lists of a pseudo-layer count too.
    let per_head = self::config(Storage::F16, [(0, LOOK), (64, LOOK)]);
    let state = state(&per_head, &carrier, 10, 1);
    let two = to_anchor(&[(&per_head, &carrier, &state); 2]).unwrap();
    let error = from_anchor(&two, &[(&per_head, &carrier); 3]).unwrap_err();
    assert_eq!(error, SnapshotError::Scalars { key: "tokens" });
}

// All bytes of the positions and some of every other array: an error or a state that passes, never a panic.
#[test]
fn bytes_that_are_changed_are_safe() {
    let (config, carrier) = (uniform(64, Admission::Surprise), cells(1));
    let snapshot = to_anchor(&[(&config, &carrier, &state(&config, &carrier, 200, 1))]).unwrap();
    let mut bytes = snapshot.bytes().to_vec();
    for at in (0..bytes.len()).filter(|at| at % 61 == 0 || (12_288..12_800).contains(at)) {
        for bit in [0, 7] {
            bytes[at] ^= 1 << bit;
            let changed =
                Snapshot::new(snapshot.arrays().to_vec(), snapshot.scalars().to_vec(), bytes.clone()).unwrap();
            if let Ok(states) = from_anchor(&changed, &[(&config, &carrier)]) {
                assert_eq!(states[0].check(&config, &carrier), Ok(()));
            }
            bytes[at] ^= 1 << bit;
        }
    }
}

#[test]
fn layers_with_surprises_have_the_same() {
    let (config, carrier) = (uniform(64, Admission::Surprise), Carrier::None);
    let good = state(&config, &carrier, 300, 1);
    let mut fewer = good.clone();
    fewer.surprised -= 1;
    let last = fewer.surprised as usize % fewer.surprises.len();
    fewer.surprises[last] = good.surprises[last];
    let mut other = good.clone();
    other.surprises[7] += 1.0;
    for bad in [fewer, other] {
        assert_eq!(bad.check(&config, &carrier), Ok(()));
        let layers = [&good, &bad].map(|state| (&config, &carrier, state));
        assert_eq!(to_anchor(&layers).unwrap_err(), SnapshotError::LayerSurprises.of_layer(1));
    }
}
