//! Every truncation of every sample map.

use crate::samples::{LARGE, SMALL, THOROUGH, borders, read};
use mrail::tail::Tail;
use mrail::{Map, Options};
use mrail_conformance::fuzz::{Effort, exercise};
use std::collections::BTreeSet;

#[test]
fn small_maps_cut_at_every_byte() {
    for name in SMALL {
        let bytes = read(name);
        let step = if cfg!(debug_assertions) { 5 } else { 1 };
        for cut in (0..=bytes.len()).step_by(step) {
            assert_eq!(exercise(&bytes[..cut], Effort::All), cut >= 8, "{name} cut at {cut}");
        }
    }
}

/// All cuts near a sample of the borders, and a stride of cuts elsewhere.
#[test]
fn large_maps_cut_near_borders_and_elsewhere() {
    for name in LARGE {
        let bytes = read(name);
        let borders = borders(&bytes);
        let mut cuts: BTreeSet<usize> = (8..bytes.len()).step_by(bytes.len() / (8 * THOROUGH)).collect();
        for border in borders.iter().step_by(borders.len().div_ceil(3 * THOROUGH)).chain(borders.last()) {
            cuts.extend((border.saturating_sub(6)..border + 30).filter(|cut| (8..=bytes.len()).contains(cut)));
        }
        for cut in cuts {
            assert!(exercise(&bytes[..cut], Effort::Little), "{name} cut at {cut}");
        }
    }
}

/// A cut is never damage: the next append takes it away by itself. And never more than the cut record is lost.
#[test]
fn every_cut_of_every_map_is_a_torn_tail() {
    for name in SMALL.iter().chain(LARGE) {
        let bytes = read(name);
        let borders = borders(&bytes);
        let whole = &bytes[..borders[borders.len() - 1]];
        let stride = if whole.len() < 10_000 { 1 } else { 4 * 97 / THOROUGH };
        for cut in (8..=whole.len()).step_by(stride) {
            let map = Map::open(&whole[..cut], Options::default()).unwrap();
            let before = borders.partition_point(|border| *border <= cut) - 1;
            assert_eq!(map.valid_len(), borders[before], "{name} cut at {cut}");
            let unknown = whole.get(borders[before]).is_some_and(|kind| !(1..=5).contains(kind));
            match map.tail() {
                Tail::None => assert_eq!(cut, borders[before]),
                Tail::Torn { .. } => {}
                // Nothing is known of unknown kinds: what is left of one may be anything.
                Tail::Damaged { .. } => assert!(unknown && cut >= borders[before] + 5, "{name} cut at {cut}"),
            }
        }
    }
}
