//! A comparison must be seen to report.

use super::*;

fn one() -> LayerSnapshot {
    let config = uniform(64, Admission::Surprise);
    state(&config, &decay(), 200, 1)
}

fn reported(change: impl Fn(&mut LayerSnapshot)) -> String {
    let (before, mut after) = (one(), one());
    change(&mut after);
    assert!(!before.same_bits(&after));
    after.first_difference(&before).expect("the other way round too");
    before.first_difference(&after).expect("a difference")
}

#[test]
fn equal_states_have_none() {
    assert_eq!(one().first_difference(&one()), None);
    assert_eq!(LayerSnapshot::default().first_difference(&LayerSnapshot::default()), None);
    // A NaN is itself.
    let mut with_nan = one();
    with_nan.heads[0].looks[0] = f32::NAN;
    assert!(with_nan.same_bits(&with_nan.clone()));
}

type Change = fn(&mut HeadSnapshot);

#[test]
fn every_field_is_looked_at() {
    assert_eq!(reported(|state| state.tokens = 7), "tokens: 200 and 7");
    assert_eq!(reported(|state| state.surprised = 7), "surprised: 201 and 7");
    assert!(reported(|state| state.surprises[190] += 1.).starts_with("surprises[190]: 1."));
    assert_eq!(reported(|state| drop(state.heads.pop())), "heads: lengths 2 and 1");
    let of_head: [(&str, Change); 7] = [
        ("band_keys, row 2, byte 4: ", |head| head.band_keys[2 * 16 + 5] ^= 1),
        ("band_values, row 0, byte 0: ", |head| head.band_values[0] ^= 1),
        ("store_keys, row 63, byte 12: ", |head| head.store_keys[64 * 16 - 1] ^= 1),
        ("store_values, row 1, byte 0: ", |head| head.store_values[16] ^= 1),
        ("store_positions[3]: ", |head| head.store_positions[3] += 1),
        ("store_scores[63]: ", |head| head.store_scores[63] += 1.),
        ("looks[127]: ", |head| head.looks[127] += 1.),
    ];
    for (place, change) in of_head {
        let found = reported(|state| change(&mut state.heads[1]));
        assert!(found.starts_with(&format!("head 1: {place}")), "{found}");
    }
    let found = reported(|state| state.carrier = CarrierSnapshot::None);
    assert_eq!(found, "carrier: a decay carrier and no carrier");
    let found = reported(|state| match &mut state.carrier {
        CarrierSnapshot::Decay(sums) => sums[1000] = -1.5,
        _ => panic!("of another kind"),
    });
    assert!(found.starts_with("decay[1000]: 1.") && found.contains(" and -1.5 ("), "{found}");
}

#[test]
fn cells_are_looked_at() {
    let config = uniform(0, LOOK);
    let before = state(&config, &cells(3), 10, 1);
    for (field, name) in
        ["cell counts[1]: ", "cell keys[1]: ", "cell values[1]: ", "cell squares[1]: "].iter().enumerate()
    {
        let mut after = before.clone();
        let CarrierSnapshot::Cells { counts, keys, values, squares } = &mut after.carrier else { panic!() };
        [counts, keys, values, squares][field][1] += 1.;
        let found = before.first_difference(&after).expect("a difference");
        assert!(found.starts_with(name), "{found}");
    }
}

#[test]
fn bits_count_and_both_values_are_told() {
    let zero = |number: f32| {
        let mut state = one();
        state.heads[0].looks[5] = number;
        state
    };
    let found = zero(0.).first_difference(&zero(-0.));
    assert_eq!(found.as_deref(), Some("head 0: looks[5]: 0.0 and -0.0 (00000000 and 80000000)"));
    let found = zero(f32::NAN).first_difference(&zero(f32::from_bits(0x7fc0_0001)));
    assert_eq!(found.as_deref(), Some("head 0: looks[5]: NaN and NaN (7fc00000 and 7fc00001)"));
    assert!(zero(f32::NAN).first_difference(&zero(1.)).is_some());
    assert!(zero(1.).first_difference(&zero(f32::NAN)).is_some());
    let mut short = one();
    short.heads[1].band_keys.pop();
    let found = one().first_difference(&short);
    assert_eq!(found.as_deref(), Some("head 1: band_keys: lengths 2048 and 2047"));
}
