//! The codes of a block, unit by unit, with their scale and offset: number j of a unit is d q + m of its code q.
//!
//! The formats are written down in [`super::blocks`], and d q + m is the same number as there: of `Q4_0` every operation is exact.

use super::blocks::{five, five_of_stretches, half, low, low_of_stretches, scale_and_min, six};
use std::array::from_fn;

/// Consecutive numbers of a row that share a scale.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Unit<const U: usize> {
    /// One a byte, signed where there are codes below 0.
    pub(in crate::model) codes: [u8; U],
    pub(in crate::model) d: f32,
    pub(in crate::model) m: f32,
}

pub(in crate::model) fn q4_0(&[d0, d1, ref bytes @ ..]: &[u8; 18]) -> [Unit<32>; 1] {
    let d = half([d0, d1]);
    [Unit { codes: from_fn(|j| low(bytes, j)), d, m: -8.0 * d }]
}

pub(in crate::model) fn q4_1(&[d0, d1, m0, m1, ref bytes @ ..]: &[u8; 20]) -> [Unit<32>; 1] {
    [Unit { codes: from_fn(|j| low(bytes, j)), d: half([d0, d1]), m: half([m0, m1]) }]
}

pub(in crate::model) fn q5_0(&[d0, d1, h0, h1, h2, h3, ref bytes @ ..]: &[u8; 22]) -> [Unit<32>; 1] {
    let high = u32::from_le_bytes([h0, h1, h2, h3]);
    [Unit { codes: from_fn(|j| five(high, bytes, j).wrapping_sub(16)), d: half([d0, d1]), m: 0.0 }]
}

pub(in crate::model) fn q5_1(&[d0, d1, m0, m1, h0, h1, h2, h3, ref bytes @ ..]: &[u8; 24]) -> [Unit<32>; 1] {
    let high = u32::from_le_bytes([h0, h1, h2, h3]);
    [Unit { codes: from_fn(|j| five(high, bytes, j)), d: half([d0, d1]), m: half([m0, m1]) }]
}

pub(in crate::model) fn q8_0(&[d0, d1, ref bytes @ ..]: &[u8; 34]) -> [Unit<32>; 1] {
    [Unit { codes: *bytes, d: half([d0, d1]), m: 0.0 }]
}

/// What `Q4_K` and `Q5_K` share; `number` gives q.
fn stretches(d: f32, dmin: f32, packed: &[u8], number: impl Fn(usize) -> u8) -> [Unit<32>; 8] {
    from_fn(|s| {
        let (scale, min) = scale_and_min(packed, s);
        Unit { codes: from_fn(|j| number(32 * s + j)), d: d * scale, m: -(dmin * min) }
    })
}

pub(in crate::model) fn q4_k(&[d0, d1, m0, m1, ref rest @ ..]: &[u8; 144]) -> [Unit<32>; 8] {
    let (packed, bytes) = rest.split_at(12);
    stretches(half([d0, d1]), half([m0, m1]), packed, |j| low_of_stretches(bytes, j))
}

pub(in crate::model) fn q5_k(&[d0, d1, m0, m1, ref rest @ ..]: &[u8; 176]) -> [Unit<32>; 8] {
    let (packed, rest) = rest.split_at(12);
    let (high, bytes) = rest.split_at(32);
    stretches(half([d0, d1]), half([m0, m1]), packed, |j| five_of_stretches(high, bytes, j))
}

pub(in crate::model) fn q6_k(&[ref rest @ .., d0, d1]: &[u8; 210]) -> [Unit<16>; 16] {
    let d = half([d0, d1]);
    let (low, rest) = rest.split_at(128);
    let (high, scales) = rest.split_at(64);
    from_fn(|s| {
        let codes = from_fn(|j| six(low, high, 16 * s + j).wrapping_sub(32));
        Unit { codes, d: d * f32::from(scales[s].cast_signed()), m: 0.0 }
    })
}
