//! Slices at any offset, and hashes that are the same everywhere.

use crate::samples::{LARGE, SMALL, read};
use mrail::PrefixHash;
use mrail::chain::chain;
use mrail_conformance::fuzz::{Effort, exercise};
use mrail_conformance::verdict::verdict;

#[test]
fn maps_are_read_at_odd_offsets() {
    for name in SMALL.iter().chain(LARGE) {
        let bytes = read(name);
        let aligned = verdict(&bytes);
        for shift in 1..8 {
            let shifted = [&[0xAA; 7][..shift], &bytes].concat();
            assert_eq!(verdict(&shifted[shift..]), aligned, "{name} at {shift}");
        }
        let shifted = [&[0xAA][..], &bytes].concat();
        assert!(exercise(&shifted[1..], Effort::Little));
    }
}

/// Values of the reference.
#[test]
fn golden_hashes() {
    assert_eq!(PrefixHash::of(&[1, 2, u32::MAX]).to_string(), "5a8679eab6ca152a");
    let tokens: Vec<u32> = (0..1000_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let hashes = chain(&tokens);
    assert_eq!(hashes.len(), 1001);
    assert_eq!(hashes[1000].to_string(), GOLDEN_1000);
}
const GOLDEN_1000: &str = "b4e6dd1451bc3ea3";
