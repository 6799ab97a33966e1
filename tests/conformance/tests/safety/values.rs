//! Single bytes changed.

use crate::samples::{LARGE, Numbers, SMALL, THOROUGH, borders, read};
use mrail_conformance::fuzz::{Effort, exercise};

#[test]
fn small_maps_with_any_byte_changed() {
    for name in SMALL {
        let bytes = read(name);
        let stride = if cfg!(debug_assertions) { 13 } else { 1 };
        for at in (0..bytes.len()).step_by(stride) {
            let old = bytes[at];
            let values = [0, 1, 0x7F, 0xFF, old ^ 1, old ^ 0x80, old.wrapping_add(1), old.wrapping_sub(1)];
            for value in values.into_iter().filter(|value| *value != old) {
                let mut changed = bytes.clone();
                changed[at] = value;
                let effort = if value == 0xFF && at % 3 == 0 { Effort::All } else { Effort::Little };
                assert_eq!(exercise(&changed, effort), at >= 8, "{name} byte {at} = {value}");
            }
        }
    }
}

#[test]
fn large_maps_with_some_bytes_changed() {
    let mut numbers = Numbers(1);
    for name in LARGE {
        let bytes = read(name);
        for _ in 0..40 * THOROUGH {
            let mut changed = bytes.clone();
            let at = 8 + numbers.below(bytes.len() - 8);
            changed[at] ^= 1 + numbers.below(255) as u8;
            assert!(exercise(&changed, Effort::Little), "{name} byte {at} = {}", changed[at]);
        }
    }
}

/// Headers are where one byte does most.
#[test]
fn large_maps_with_headers_changed() {
    let mut numbers = Numbers(2);
    for name in LARGE {
        let bytes = read(name);
        let borders = borders(&bytes);
        for _ in 0..10 * THOROUGH {
            let mut changed = bytes.clone();
            let at = borders[numbers.below(borders.len() - 1)] + numbers.below(5);
            changed[at] ^= 1 + numbers.below(255) as u8;
            assert!(exercise(&changed, Effort::Little), "{name} byte {at} = {}", changed[at]);
        }
    }
}
