//! Each way in which a state is none.

use super::*;

#[test]
fn states_along_the_way_pass() {
    let (two, per_head) = (uniform(128, LOOK), config(Storage::F32, [(64, Admission::Surprise), (192, LOOK)]));
    for config in [two, per_head, uniform(0, Admission::Surprise), native()] {
        for carrier in [Carrier::None, decay(), cells(3)] {
            LayerSnapshot::empty(&config, &carrier).check(&config, &carrier).unwrap();
            for tokens in [0, 1, 63, 64, 65, 127, 128, 129, 192, 193, 200, 1000] {
                state(&config, &carrier, tokens, 1);
            }
        }
    }
}

/// What is wrong with a state of 200 tokens, of which 128 have left the band, after a change. Head 0 has a store of 64
/// and head 1 one of 192.
fn fault(carrier: &Carrier, change: impl Fn(&mut LayerSnapshot)) -> SnapshotError {
    let config = config(Storage::F16, [(64, Admission::Surprise), (192, LOOK)]);
    let mut state = state(&config, carrier, 200, 1);
    change(&mut state);
    state.check(&config, carrier).unwrap_err()
}

fn truncate<T>(numbers: &mut Vec<T>) {
    numbers.pop();
}

#[test]
fn lengths_are_told() {
    let wrong = |change: fn(&mut LayerSnapshot), field, head, found, wanted| {
        assert_eq!(fault(&cells(3), change), SnapshotError::Len { field, head, found, wanted });
    };
    wrong(|state| truncate(&mut state.heads[1].band_keys), Field::BandKeys, Some(1), 2047, 2048);
    wrong(|state| state.heads[0].band_values.push(0), Field::BandValues, Some(0), 2049, 2048);
    wrong(|state| state.heads[0].store_keys.clear(), Field::StoreKeys, Some(0), 0, 1024);
    wrong(|state| truncate(&mut state.heads[1].store_values), Field::StoreValues, Some(1), 3071, 3072);
    wrong(|state| state.heads[0].store_positions.push(0), Field::StorePositions, Some(0), 65, 64);
    wrong(|state| truncate(&mut state.heads[0].store_scores), Field::StoreScores, Some(0), 63, 64);
    wrong(|state| truncate(&mut state.heads[0].looks), Field::Looks, Some(0), 127, 128);
    wrong(|state| truncate(&mut state.surprises), Field::Surprises, None, 191, 192);
    let of_cells = |which: usize, found: usize| {
        move |state: &mut LayerSnapshot| {
            let CarrierSnapshot::Cells { counts, keys, values, squares } = &mut state.carrier else { panic!() };
            [counts, keys, values, squares][which].resize(found, 0.);
        }
    };
    let fields = [Field::CellCounts, Field::CellKeys, Field::CellValues, Field::CellSquares];
    for (which, field) in fields.into_iter().enumerate() {
        let wanted = if field == Field::CellCounts || field == Field::CellSquares { 6 } else { 48 };
        assert_eq!(fault(&cells(3), of_cells(which, 5)), SnapshotError::Len { field, head: None, found: 5, wanted });
    }
    let sums = fault(&decay(), |state| state.carrier = CarrierSnapshot::Decay(vec![0.; 9]));
    assert_eq!(sums, SnapshotError::Len { field: Field::Decay, head: None, found: 9, wanted: 4 * 45 * 9 });
    let carrier = fault(&decay(), |state| state.carrier = CarrierSnapshot::None);
    assert_eq!(carrier, SnapshotError::Carrier { found: "no carrier", wanted: "a decay carrier" });
    let heads = fault(&decay(), |state| state.heads.clear());
    assert_eq!(heads, SnapshotError::Heads { found: 0, wanted: 2 });
    // In native mode the tokens are the length.
    let (config, mut state) = (native(), state(&native(), &Carrier::None, 5, 1));
    state.tokens = 6;
    let error = SnapshotError::Len { field: Field::BandKeys, head: Some(0), found: 5 * 32, wanted: 6 * 32 };
    assert_eq!(state.check(&config, &Carrier::None), Err(error));
}

#[test]
fn positions_are_those_of_tokens_that_left() {
    let of_store = |change: fn(&mut Vec<u32>)| fault(&decay(), |state| change(&mut state.heads[1].store_positions));
    let past = of_store(|positions| positions[5] = 128);
    assert_eq!(past, SnapshotError::Position { head: 1, slot: 5, found: 128, left: 128 });
    assert_eq!(past.to_string(), "head 1: store_pos[5] is position 128, and only those below 128 have left the band");
    let wild = of_store(|positions| positions[0] = u32::MAX);
    assert_eq!(wild, SnapshotError::Position { head: 1, slot: 0, found: u32::MAX, left: 128 });
    let twice = of_store(|positions| positions[7] = positions[3]);
    assert_eq!(twice, SnapshotError::Repeated { head: 1, position: 125 });
    // The other head's store is smaller than what has left, so that another token could be there instead.
    let without = fault(&decay(), |state| state.heads[0].store_positions[0] = 1);
    assert_eq!(without, SnapshotError::FirstToken { head: 0 });
}

#[test]
fn what_was_never_written_is_zero() {
    let not_zero = |change: fn(&mut LayerSnapshot), field, head, index| {
        assert_eq!(fault(&decay(), change), SnapshotError::NotZero { field, head, index });
    };
    not_zero(|state| state.heads[1].store_positions[128] = 1, Field::StorePositions, Some(1), 128);
    not_zero(|state| state.heads[1].store_scores[191] = -0., Field::StoreScores, Some(1), 191);
    not_zero(|state| state.heads[1].store_keys[128 * 16] = 1, Field::StoreKeys, Some(1), 2048);
    not_zero(|state| state.heads[1].store_values[192 * 16 - 1] = 1, Field::StoreValues, Some(1), 3071);
    // A young state: rows of the band and elements of surprise.
    let config = uniform(64, Admission::Surprise);
    let young = |change: fn(&mut LayerSnapshot), field, head, index| {
        let mut state = state(&config, &Carrier::None, 100, 1);
        change(&mut state);
        let error = state.check(&config, &Carrier::None);
        assert_eq!(error, Err(SnapshotError::NotZero { field, head, index }));
    };
    young(|state| state.heads[1].band_keys[1600] = 1, Field::BandKeys, Some(1), 1600);
    young(|state| state.heads[1].band_values[2047] = 1, Field::BandValues, Some(1), 2047);
    young(|state| state.heads[0].looks[100] = 1., Field::Looks, Some(0), 100);
    young(|state| state.surprises[101] = 1., Field::Surprises, None, 101);
}

#[test]
fn surprises_are_known_that_turnovers_used() {
    let known = |surprised| move |state: &mut LayerSnapshot| state.surprised = surprised;
    // 128 have left, the window of the last one ends at 129.
    let error = |found| SnapshotError::Surprised { found, least: 130, most: 201 };
    assert_eq!(fault(&decay(), known(129)), error(129));
    assert_eq!(fault(&decay(), known(202)), error(202));
    assert_eq!(fault(&decay(), known(u32::MAX)), error(u32::MAX));
    let config = uniform(64, LOOK);
    let mut without = state(&config, &Carrier::None, 10, 1);
    without.surprised = 1;
    let error = SnapshotError::Surprised { found: 1, least: 0, most: 0 };
    assert_eq!(without.check(&config, &Carrier::None), Err(error));
}

#[test]
fn numbers_are_finite_where_they_must_be() {
    let value = |field, head, index, number: f32, wanted| {
        let bits = number.to_bits();
        SnapshotError::Value { field, head, index, bits, wanted }
    };
    let finite = "a finite number";
    let key = fault(&decay(), |state| state.heads[1].band_keys[6..8].copy_from_slice(&0xfc00_u16.to_le_bytes()));
    assert_eq!(key, value(Field::BandKeys, Some(1), 3, f32::NEG_INFINITY, finite));
    let score = fault(&decay(), |state| state.heads[0].store_scores[3] = f32::NAN);
    assert_eq!(score, value(Field::StoreScores, Some(0), 3, f32::NAN, "a number"));
    assert_eq!(score.to_string(), "head 0: store_score[3] is NaN, and should be a number");
    let surprise = fault(&decay(), |state| state.surprises[3] = f32::NAN);
    assert_eq!(surprise, value(Field::Surprises, None, 3, f32::NAN, "a number"));
    let look = fault(&decay(), |state| state.heads[0].looks[3] = f32::INFINITY);
    assert_eq!(look, value(Field::Looks, Some(0), 3, f32::INFINITY, "a finite number that is not negative"));
    let sum = fault(&decay(), |state| {
        let CarrierSnapshot::Decay(sums) = &mut state.carrier else { panic!() };
        sums[77] = f32::NAN;
    });
    assert_eq!(sum, value(Field::Decay, None, 77, f32::NAN, finite));
    let count = fault(&cells(3), |state| {
        let CarrierSnapshot::Cells { counts, .. } = &mut state.carrier else { panic!() };
        counts[2] = -1.;
    });
    assert_eq!(count, value(Field::CellCounts, None, 2, -1., "a finite number that is not negative"));
    let wide = native();
    let mut state = state(&wide, &Carrier::None, 5, 1);
    state.heads[0].band_values[4..8].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let error = value(Field::BandValues, Some(0), 1, f32::INFINITY, finite);
    assert_eq!(state.check(&wide, &Carrier::None), Err(error));
}

#[test]
fn positions_keep_room_in_32_bits() {
    let config = uniform(64, LOOK);
    let mut long = state(&config, &Carrier::None, 1000, 1);
    let last = MAX_TOKENS;
    long.tokens = last;
    long.check(&config, &Carrier::None).unwrap();
    for found in [last + 1, u32::MAX] {
        long.tokens = found;
        assert_eq!(long.check(&config, &Carrier::None), Err(SnapshotError::Tokens { found, most: last }));
    }
}
