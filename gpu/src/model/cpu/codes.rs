//! The numbers of a matrix's words, form by form.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]

/// How codes lie in words.
pub(super) trait Codes {
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

pub(super) struct Nibbles;
pub(super) struct Bytes<const U: usize>;
pub(super) struct Halves;
pub(super) struct Uppers;
pub(super) struct Floats;

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
