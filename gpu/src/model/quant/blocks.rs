//! One function for each block: its bytes, split by a pattern, into its numbers.
//!
//! ```text
//! Q4_0    d:f16            low:u4[32]                      Q4_K   d:f16 dmin:f16 scales[12]          low:u4[256]
//! Q4_1    d:f16 m:f16      low:u4[32]                      Q5_K   d:f16 dmin:f16 scales[12] high[32] low:u4[256]
//! Q5_0    d:f16       high:u32 low:u4[32]                  Q6_K   low:u4[256] high:u2[256] scales:i8[16] d:f16
//! Q5_1    d:f16 m:f16 high:u32 low:u4[32]
//! Q8_0    d:f16            q:i8[32]
//! ```
//!
//! Of 4-bit numbers, byte j of a stretch of 2n numbers holds number j below and number n + j above: n is 16 in the blocks of
//! 32, 32 in `Q4_K` and `Q5_K`, 64 in `Q6_K`.

use half::{bf16 as Bf16, f16 as F16};

/// Runs over all blocks. The caller has checked that they are as many as `out` takes.
pub(super) fn each<const BYTES: usize, const LEN: usize>(
    blocks: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    let (blocks, _) = blocks.as_chunks::<BYTES>();
    let (out, _) = out.as_chunks_mut::<LEN>();
    for (bytes, numbers) in blocks.iter().zip(out) {
        block(bytes, numbers);
    }
}

/// The same for numbers that stand by themselves.
pub(super) fn plain<const BYTES: usize>(blocks: &[u8], out: &mut [f32], number: impl Fn([u8; BYTES]) -> f32) {
    each(blocks, out, |bytes, [out]| *out = number(*bytes));
}

pub(super) fn half(bytes: [u8; 2]) -> f32 {
    F16::from_le_bytes(bytes).to_f32()
}

pub(super) fn upper_half(bytes: [u8; 2]) -> f32 {
    Bf16::from_le_bytes(bytes).to_f32()
}

/// Number j of 32 that are written in 16 bytes.
pub(super) fn low(bytes: &[u8], j: usize) -> u8 {
    if j < 16 { bytes[j] & 15 } else { bytes[j - 16] >> 4 }
}

pub(super) fn q4_0(&[d0, d1, ref bytes @ ..]: &[u8; 18], out: &mut [f32; 32]) {
    let d = half([d0, d1]);
    for (j, number) in out.iter_mut().enumerate() {
        *number = d * (f32::from(low(bytes, j)) - 8.0);
    }
}

pub(super) fn q4_1(&[d0, d1, m0, m1, ref bytes @ ..]: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half([d0, d1]), half([m0, m1]));
    for (j, number) in out.iter_mut().enumerate() {
        *number = d * f32::from(low(bytes, j)) + m;
    }
}

/// Number j of 32 whose fifth bits are those of a word.
pub(super) fn five(high: u32, bytes: &[u8], j: usize) -> u8 {
    low(bytes, j) | ((high >> j & 1) << 4) as u8
}

pub(super) fn q5_0(&[d0, d1, h0, h1, h2, h3, ref bytes @ ..]: &[u8; 22], out: &mut [f32; 32]) {
    let (d, high) = (half([d0, d1]), u32::from_le_bytes([h0, h1, h2, h3]));
    for (j, number) in out.iter_mut().enumerate() {
        *number = d * (f32::from(five(high, bytes, j)) - 16.0);
    }
}

pub(super) fn q5_1(&[d0, d1, m0, m1, h0, h1, h2, h3, ref bytes @ ..]: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m, high) = (half([d0, d1]), half([m0, m1]), u32::from_le_bytes([h0, h1, h2, h3]));
    for (j, number) in out.iter_mut().enumerate() {
        *number = d * f32::from(five(high, bytes, j)) + m;
    }
}

pub(super) fn q8_0(&[d0, d1, ref bytes @ ..]: &[u8; 34], out: &mut [f32; 32]) {
    let d = half([d0, d1]);
    for (number, byte) in out.iter_mut().zip(bytes) {
        *number = d * f32::from(byte.cast_signed());
    }
}

/// Scale and min of stretch `s` of 8. The first four of each lie in six bits of a byte; the other four have their lower four
/// bits in the last four bytes, scale below and min above, and their upper two over the six of the first.
pub(super) fn scale_and_min(packed: &[u8], s: usize) -> (f32, f32) {
    let (scale, min) = if s < 4 {
        (packed[s] & 63, packed[s + 4] & 63)
    } else {
        let lower = packed[s + 4];
        (lower & 15 | packed[s - 4] >> 6 << 4, lower >> 4 | packed[s] >> 6 << 4)
    };
    (f32::from(scale), f32::from(min))
}

/// Number j of 256 in `Q4_K` and `Q5_K`, without what `Q5_K` has above: two stretches of 32 share 32 bytes.
pub(super) fn low_of_stretches(bytes: &[u8], j: usize) -> u8 {
    let byte = bytes[j / 64 * 32 + j % 32];
    if (j / 32).is_multiple_of(2) { byte & 15 } else { byte >> 4 }
}

/// The same with its fifth bit: byte j holds those of the numbers j of all eight stretches.
pub(super) fn five_of_stretches(high: &[u8], bytes: &[u8], j: usize) -> u8 {
    low_of_stretches(bytes, j) | (high[j % 32] >> (j / 32) & 1) << 4
}

/// What `Q4_K` and `Q5_K` share; `number` gives q.
fn stretches(d: f32, dmin: f32, packed: &[u8], out: &mut [f32; 256], number: impl Fn(usize) -> u8) {
    for (s, stretch) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(packed, s);
        let (scale, min) = (d * scale, dmin * min);
        for (j, out) in stretch.iter_mut().enumerate() {
            *out = scale * f32::from(number(32 * s + j)) - min;
        }
    }
}

pub(super) fn q4_k(&[d0, d1, m0, m1, ref rest @ ..]: &[u8; 144], out: &mut [f32; 256]) {
    let (packed, bytes) = rest.split_at(12);
    stretches(half([d0, d1]), half([m0, m1]), packed, out, |j| low_of_stretches(bytes, j));
}

pub(super) fn q5_k(&[d0, d1, m0, m1, ref rest @ ..]: &[u8; 176], out: &mut [f32; 256]) {
    let (packed, rest) = rest.split_at(12);
    let (high, bytes) = rest.split_at(32);
    stretches(half([d0, d1]), half([m0, m1]), packed, out, |j| five_of_stretches(high, bytes, j));
}

/// Number j of 256 in `Q6_K`: halves of 128 numbers, each of four stretches of 32.
pub(super) fn six(low: &[u8], high: &[u8], j: usize) -> u8 {
    let (side, stretch, lane) = (j / 128, j / 32 % 4, j % 32);
    let byte = low[64 * side + 32 * (stretch % 2) + lane];
    let lower = if stretch < 2 { byte & 15 } else { byte >> 4 };
    lower | (high[32 * side + lane] >> (2 * stretch) & 3) << 4
}

pub(super) fn q6_k(&[ref rest @ .., d0, d1]: &[u8; 210], out: &mut [f32; 256]) {
    let d = half([d0, d1]);
    let (low, rest) = rest.split_at(128);
    let (high, scales) = rest.split_at(64);
    for (j, number) in out.iter_mut().enumerate() {
        let scale = d * f32::from(scales[j / 16].cast_signed());
        *number = scale * (f32::from(six(low, high, j)) - 32.0);
    }
}
