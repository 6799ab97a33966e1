//! The sample maps, and a source of numbers to sample places with.

use mrail::record::Records;
use mrail_conformance::vectors::sample_map;

/// Maps small enough to be damaged everywhere.
pub(crate) const SMALL: &[&str] =
    &["empty.mrail", "dup_anchor.mrail", "mixed.mrail", "torn_track.mrail", "tracks.mrail"];
/// The others.
pub(crate) const LARGE: &[&str] = &[
    "coding.mrail",
    "general.mrail",
    "stride64.mrail",
    "anchors.mrail",
    "torn_anchor.mrail",
    "torn_header.mrail",
    "torn_header5.mrail",
    "torn_payload.mrail",
    "unknown_kind.mrail",
];

pub(crate) fn read(name: &str) -> Vec<u8> {
    sample_map(name).unwrap()
}

/// Where records start, and where the valid part ends.
pub(crate) fn borders(bytes: &[u8]) -> Vec<usize> {
    let mut records = Records::new(bytes).unwrap();
    let mut borders: Vec<_> = records.by_ref().map(|record| record.offset).collect();
    borders.push(records.position());
    borders
}

/// `SplitMix64` (Steele, Lea and Flood 2014): the same places in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) % end.max(1) as u64) as usize
    }
}

/// More is tried in optimised builds.
pub(crate) const THOROUGH: usize = if cfg!(debug_assertions) { 1 } else { 8 };
