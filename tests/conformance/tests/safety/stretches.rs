//! Tails of zeros and of 0xFF, and stretches that were never written.

use crate::samples::{LARGE, Numbers, SMALL, THOROUGH, borders, read};
use mrail::tail::Tail;
use mrail::{Map, Options};
use mrail_conformance::fuzz::{Effort, exercise};

#[test]
fn filled_tails_end_the_map_at_its_last_good_record() {
    for name in SMALL.iter().chain(LARGE) {
        let bytes = read(name);
        let end = borders(&bytes).pop().unwrap();
        for fill in [0, 0xFF] {
            for len in [1, 4, 5, 6, 64, 4096] {
                let filled = [&bytes[..end], &vec![fill; len]].concat();
                let map = Map::open(&filled, Options::default()).unwrap();
                assert_eq!((map.valid_len(), map.tail().len()), (end, len), "{name}: {len} times {fill}");
                // Zeros are what a file system had not written yet; 0xFF may be anything, once it is a header.
                let torn = fill == 0 || len < 5;
                assert_eq!(matches!(map.tail(), Tail::Torn { .. }), torn, "{name}: {len} times {fill}");
                assert!(exercise(&filled, Effort::Little));
            }
        }
    }
}

#[test]
fn stretches_in_the_middle_stop_at_the_last_good_record() {
    let mut numbers = Numbers(3);
    for name in SMALL.iter().chain(LARGE) {
        let bytes = read(name);
        let borders = borders(&bytes);
        for fill in [0, 0xFF] {
            for _ in 0..4 * THOROUGH {
                let from = 8 + numbers.below(bytes.len() - 8);
                let to = (from + 1 + numbers.below(600)).min(bytes.len());
                let mut filled = bytes.clone();
                filled[from.min(to)..to].fill(fill);
                assert!(exercise(&filled, Effort::Little), "{name}: {fill} at {from}..{to}");
                let before = borders.iter().rev().find(|border| **border <= from).copied().unwrap_or(8);
                assert!(Map::open(&filled, Options::default()).unwrap().valid_len() >= before, "{name}: {from}..{to}");
            }
        }
    }
}

/// From a record's start on there is nothing but zeros: the map ends there.
#[test]
fn a_zeroed_record_ends_the_map_where_it_starts() {
    for name in SMALL.iter().chain(LARGE) {
        let bytes = read(name);
        let borders = borders(&bytes);
        for pair in borders.windows(2).step_by(borders.len().div_ceil(2 * THOROUGH)) {
            let mut zeroed = bytes.clone();
            zeroed[pair[0]..pair[1]].fill(0);
            assert_eq!(Map::open(&zeroed, Options::default()).unwrap().valid_len(), pair[0], "{name}");
        }
    }
}
