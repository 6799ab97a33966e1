//! The product of rows with groups of a matrix: the inner loops.
//!
//! Every output is summed in the order of `docs/arithmetic.md`, whatever shares a tile with it: rows of a group lie in the lanes of a
//! vector, and a tile takes several groups or several inputs at once, eight sums that do not wait for each other. Vectors are written
//! out, since what the compiler makes of arrays changes with every line around them.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]
#![allow(clippy::needless_range_loop, reason = "closures that call vector instructions are not inlined, loops are")]

use super::codes::{Bytes, Codes, Floats, Halves, Nibbles, Uppers};
use super::strips::{Strip, Strips, strips};
use crate::model::layout::{Form, GROUP};
use crate::parallel::Task;
use bytemuck::cast;
use pulp::{Scalar, Simd};

/// One number of each row of a group.
pub(super) type Lanes<T> = [T; GROUP];

/// Numbers of a row that are summed before their sum is added to the others'.
const PIECE: usize = 128;

/// Rows that are multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub(super) count: usize,
    /// Of k each.
    pub(super) numbers: &'a Strips,
    /// Of k / unit each: sums of units, in order. Of plain forms not looked at.
    pub(super) sums: &'a Strips,
}

/// Rows times whole groups of a matrix: `out` is \[groups, rows], 8 lanes each.
pub(super) struct Product<'a> {
    pub(super) form: Form,
    pub(super) words: &'a [u32],
    pub(super) rows: Rows<'a>,
    pub(super) out: &'a mut [Lanes<f32>],
}

impl Task for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // A group is as many vectors as its lanes need.
        match S::F32_LANES {
            8 => self.by_form::<S, 8>(simd),
            4 => self.by_form::<S, 4>(simd),
            _ => self.by_form::<Scalar, 1>(Scalar::new()),
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn by_form<S: Simd, const LANES: usize>(self, simd: S) {
        match self.form {
            Form::Nibbles => self.whole::<S, Nibbles, LANES>(simd),
            Form::Bytes { unit: 16 } => self.whole::<S, Bytes<16>, LANES>(simd),
            Form::Bytes { .. } => self.whole::<S, Bytes<32>, LANES>(simd),
            Form::Halves => self.whole::<S, Halves, LANES>(simd),
            Form::Uppers => self.whole::<S, Uppers, LANES>(simd),
            Form::Floats => self.whole::<S, Floats, LANES>(simd),
        }
    }

    #[inline(always)]
    fn whole<S: Simd, C: Codes, const LANES: usize>(mut self, simd: S) {
        for strip in strips(self.rows.count) {
            match strip.width {
                1 => self.strip::<S, C, LANES, 8, 1>(simd, strip),
                2 => self.strip::<S, C, LANES, 4, 2>(simd, strip),
                4 => self.strip::<S, C, LANES, 2, 4>(simd, strip),
                _ => self.strip::<S, C, LANES, 1, 8>(simd, strip),
            }
        }
    }

    /// The products of a strip of `R` rows with all groups, `G` at a time.
    #[inline(always)]
    fn strip<S: Simd, C: Codes, const LANES: usize, const G: usize, const R: usize>(&mut self, simd: S, strip: Strip) {
        let Self { rows: Rows { count, numbers, sums }, .. } = *self;
        let numbers = numbers.of::<R>(strip);
        let sums = if C::SCALED { sums.of::<R>(strip) } else { &[] };
        let group = numbers.len() / C::UNIT * C::RECORD;
        let mut words = self.words.as_chunks().0.chunks_exact(G * group);
        let mut out = self.out.chunks_exact_mut(G * count);
        for (words, out) in (&mut words).zip(&mut out) {
            for lane in (0..GROUP).step_by(LANES) {
                let tile = tile::<S, C, LANES, G, R>(simd, words, lane, numbers, sums);
                put(&tile, lane, strip, count, out);
            }
        }
        for (words, out) in words.remainder().chunks_exact(group).zip(out.into_remainder().chunks_exact_mut(count)) {
            for lane in (0..GROUP).step_by(LANES) {
                let tile = tile::<S, C, LANES, 1, R>(simd, words, lane, numbers, sums);
                put(&tile, lane, strip, count, out);
            }
        }
    }
}

/// Writes a tile to its place in \[groups, rows].
#[inline(always)]
fn put<const LANES: usize, const R: usize>(
    tile: &[[[f32; LANES]; R]],
    lane: usize,
    strip: Strip,
    count: usize,
    out: &mut [Lanes<f32>],
) {
    for (tile, out) in tile.iter().zip(out.chunks_exact_mut(count)) {
        for (tile, out) in tile.iter().zip(&mut out[strip.first..][..strip.rows]) {
            out[lane..lane + LANES].copy_from_slice(tile);
        }
    }
}

/// The products of `LANES` rows of each of `G` groups, from `lane` on, with `R` rows.
///
/// Loops instead of closures: what these call is not inlined, and then not compiled for `S`.
#[inline(always)]
fn tile<S: Simd, C: Codes, const LANES: usize, const G: usize, const R: usize>(
    simd: S,
    words: &[Lanes<u32>],
    lane: usize,
    numbers: &[[f32; R]],
    sums: &[[f32; R]],
) -> [[[f32; LANES]; R]; G] {
    let units = numbers.len() / C::UNIT;
    let zero = [[simd.splat_f32s(0.0); R]; G];
    let (mut whole, mut piece) = (zero, zero);
    for u in 0..units {
        if u > 0 && u % (PIECE / C::UNIT) == 0 {
            for g in 0..G {
                for r in 0..R {
                    whole[g][r] = simd.add_f32s(whole[g][r], piece[g][r]);
                }
            }
            piece = zero;
        }
        let mut p = zero;
        for w in 0..C::CODES {
            let mut code = [[0; LANES]; G];
            for g in 0..G {
                code[g].copy_from_slice(&words[(g * units + u) * C::RECORD + w][lane..lane + LANES]);
            }
            let x = &numbers[u * C::UNIT + w * C::EACH..][..C::EACH];
            for at in 0..C::EACH {
                for g in 0..G {
                    let mut q = [0.0; LANES];
                    for l in 0..LANES {
                        q[l] = C::number(code[g][l], at);
                    }
                    let q: S::f32s = cast(q);
                    for r in 0..R {
                        p[g][r] = simd.add_f32s(p[g][r], simd.mul_f32s(q, simd.splat_f32s(x[at][r])));
                    }
                }
            }
        }
        for g in 0..G {
            let scales = &words[(g * units + u) * C::RECORD..][..C::RECORD];
            for r in 0..R {
                let y = piece[g][r];
                piece[g][r] = if C::SCALED {
                    let (mut d, mut m) = ([0; LANES], [0; LANES]);
                    d.copy_from_slice(&scales[C::CODES][lane..lane + LANES]);
                    m.copy_from_slice(&scales[C::CODES + 1][lane..lane + LANES]);
                    let y = simd.add_f32s(y, simd.mul_f32s(cast(d), p[g][r]));
                    simd.add_f32s(y, simd.mul_f32s(cast(m), simd.splat_f32s(sums[u][r])))
                } else {
                    simd.add_f32s(y, p[g][r])
                };
            }
        }
    }
    let mut out = [[[0.0; LANES]; R]; G];
    for g in 0..G {
        for r in 0..R {
            out[g][r] = cast(simd.add_f32s(whole[g][r], piece[g][r]));
        }
    }
    out
}
