//! The product of rows with groups of a matrix: the inner loops.
//!
//! Every output is summed in the order of `docs/arithmetic.md`, whatever shares a tile with it: the 8 rows of a group lie in the
//! lanes of a vector, and a tile takes several groups or several inputs at once, whose sums do not wait for each other.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]

use crate::model::layout::{Form, GROUP};
use crate::parallel::Task;
use std::array::from_fn;

/// One number of each row of a group.
pub(super) type Lanes<T> = [T; GROUP];

/// Numbers of a row that are summed before their sum is added to the others'.
const PIECE: usize = 128;

/// Groups that one row is multiplied with at once: in wasm, more than one are more than its registers hold.
const GROUPS: usize = if cfg!(target_arch = "wasm32") { 1 } else { 4 };

/// How codes lie in words.
trait Codes {
    /// Numbers of a unit.
    const UNIT: usize;
    /// Numbers of a word.
    const EACH: usize;
    /// Whether there are a scale and an offset behind the codes.
    const SCALED: bool;
    const CODES: usize = Self::UNIT / Self::EACH;
    const RECORD: usize = Self::CODES + if Self::SCALED { 2 } else { 0 };

    /// Number `at` of a word.
    fn number(word: u32, at: usize) -> f32;
}

struct Nibbles;
struct Bytes<const U: usize>;
struct Halves;
struct Uppers;
struct Floats;

impl Codes for Nibbles {
    const UNIT: usize = 32;
    const EACH: usize = 8;
    const SCALED: bool = true;

    #[inline(always)]
    fn number(word: u32, at: usize) -> f32 {
        (word >> (4 * at) & 15).cast_signed() as f32
    }
}

impl<const U: usize> Codes for Bytes<U> {
    const UNIT: usize = U;
    const EACH: usize = 4;
    const SCALED: bool = true;

    #[inline(always)]
    fn number(word: u32, at: usize) -> f32 {
        ((word << (24 - 8 * at)).cast_signed() >> 24) as f32
    }
}

impl Codes for Halves {
    const UNIT: usize = 32;
    const EACH: usize = 2;
    const SCALED: bool = false;

    #[inline(always)]
    fn number(word: u32, at: usize) -> f32 {
        let (sign, rest) = (word << (16 - 16 * at) & 0x8000_0000, word >> (16 * at) & 0x7fff);
        // 2^112: between the exponents' biases. Exact for numbers below the normal ones, too.
        let finite = (f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000)).to_bits();
        // The largest exponent stays the largest.
        let large = if rest < 0x7c00 { 0 } else { 0x7f80_0000 };
        f32::from_bits(sign | finite | large)
    }
}

impl Codes for Uppers {
    const UNIT: usize = 32;
    const EACH: usize = 2;
    const SCALED: bool = false;

    #[inline(always)]
    fn number(word: u32, at: usize) -> f32 {
        f32::from_bits(word << (16 - 16 * at) & 0xffff_0000)
    }
}

impl Codes for Floats {
    const UNIT: usize = 32;
    const EACH: usize = 1;
    const SCALED: bool = false;

    #[inline(always)]
    fn number(word: u32, _: usize) -> f32 {
        f32::from_bits(word)
    }
}

/// Rows that are multiplied: of k numbers each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub(super) k: usize,
    /// \[rows, k].
    pub(super) numbers: &'a [f32],
    /// \[rows, k / unit]: sums of units, in order; of plain forms not looked at.
    pub(super) sums: &'a [f32],
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
    fn run(self) {
        let Self { form, words, rows, out } = self;
        match form {
            Form::Nibbles => of::<Nibbles>(words, rows, out),
            Form::Bytes { unit: 16 } => of::<Bytes<16>>(words, rows, out),
            Form::Bytes { .. } => of::<Bytes<32>>(words, rows, out),
            Form::Halves => of::<Halves>(words, rows, out),
            Form::Uppers => of::<Uppers>(words, rows, out),
            Form::Floats => of::<Floats>(words, rows, out),
        }
    }
}

#[inline(always)]
fn of<C: Codes>(words: &[u32], rows: Rows<'_>, out: &mut [Lanes<f32>]) {
    let (count, units) = (rows.numbers.len() / rows.k, rows.k / C::UNIT);
    let words = words.as_chunks().0;
    let group = units * C::RECORD;
    if count == 1 {
        let mut words = words.chunks_exact(GROUPS * group);
        let mut out = out.chunks_exact_mut(GROUPS);
        for (words, out) in (&mut words).zip(&mut out) {
            let tile = tile::<C, GROUPS, 1>(words, rows, 0);
            out.copy_from_slice(tile.as_flattened());
        }
        for (words, out) in words.remainder().chunks_exact(group).zip(out.into_remainder()) {
            [[*out]] = tile::<C, 1, 1>(words, rows, 0);
        }
        return;
    }
    for (words, out) in words.chunks_exact(group).zip(out.chunks_exact_mut(count)) {
        let mut first = 0;
        while first + 4 <= count {
            let [tile] = tile::<C, 1, 4>(words, rows, first);
            out[first..first + 4].copy_from_slice(&tile);
            first += 4;
        }
        for (row, out) in out.iter_mut().enumerate().skip(first) {
            [[*out]] = tile::<C, 1, 1>(words, rows, row);
        }
    }
}

#[inline(always)]
fn add(a: Lanes<f32>, b: Lanes<f32>) -> Lanes<f32> {
    from_fn(|lane| a[lane] + b[lane])
}

/// The products of `G` groups with `R` rows from `first` on.
#[inline(always)]
fn tile<C: Codes, const G: usize, const R: usize>(
    words: &[Lanes<u32>],
    rows: Rows<'_>,
    first: usize,
) -> [[Lanes<f32>; R]; G] {
    let units = rows.k / C::UNIT;
    let x: [&[f32]; R] = from_fn(|r| &rows.numbers[(first + r) * rows.k..][..rows.k]);
    let sums: [&[f32]; R] = from_fn(|r| if C::SCALED { &rows.sums[(first + r) * units..][..units] } else { &[] });
    let groups: [&[Lanes<u32>]; G] = from_fn(|g| &words[g * units * C::RECORD..][..units * C::RECORD]);
    let zero = [[[0.0; GROUP]; R]; G];
    let (mut whole, mut piece) = (zero, zero);
    for u in 0..units {
        if u > 0 && u % (PIECE / C::UNIT) == 0 {
            whole = from_fn(|g| from_fn(|r| add(whole[g][r], piece[g][r])));
            piece = zero;
        }
        let records: [&[Lanes<u32>]; G] = from_fn(|g| &groups[g][u * C::RECORD..][..C::RECORD]);
        let x: [&[f32]; R] = from_fn(|r| &x[r][u * C::UNIT..][..C::UNIT]);
        let mut p = zero;
        for w in 0..C::CODES {
            for at in 0..C::EACH {
                for g in 0..G {
                    let q: Lanes<f32> = from_fn(|lane| C::number(records[g][w][lane], at));
                    for r in 0..R {
                        let x = x[r][w * C::EACH + at];
                        p[g][r] = from_fn(|lane| p[g][r][lane] + q[lane] * x);
                    }
                }
            }
        }
        for g in 0..G {
            for r in 0..R {
                let y = piece[g][r];
                piece[g][r] = if C::SCALED {
                    let [d, m] = [C::CODES, C::CODES + 1].map(|w| records[g][w].map(f32::from_bits));
                    let s = sums[r][u];
                    from_fn(|lane| (y[lane] + d[lane] * p[g][r][lane]) + m[lane] * s)
                } else {
                    add(y, p[g][r])
                };
            }
        }
    }
    from_fn(|g| from_fn(|r| add(whole[g][r], piece[g][r])))
}
