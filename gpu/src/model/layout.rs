//! How a matrix lies where a model runs: groups of 8 rows, interleaved by words, so that 8 neighbouring lanes read 8
//! neighbouring words.
//!
//! The numbers of a row are units of 32 (of `Q6_K` 16). Word w of unit u of row r is word `((r / 8 * (k / U) + u) * W + w) * 8 +
//! r % 8`, W the words of a unit: its codes, the lowest bits first, and of quantised forms the scale d and the offset m, as bits of
//! f32. Number j of a unit is d q + m, or q where there is no scale. Rows are filled up to a multiple of 8 with zeros.

use super::quant::Element;
use super::quant::units::{self, Unit};
use half::{bf16 as Bf16, f16 as F16};
use std::fmt;

/// Rows of a group.
pub const GROUP: usize = 8;

/// How the codes of a unit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// 4 bits, from 0 to 15: `Q4_0`, `Q4_1`, `Q4_K`.
    Nibbles,
    /// 8 bits, signed: `Q5_0`, `Q5_1`, `Q8_0` and `Q5_K` in units of 32, `Q6_K` in units of 16.
    Bytes {
        /// Numbers of a unit: 32 or 16.
        unit: u32,
    },
    /// F16.
    Halves,
    /// BF16: the upper halves of f32.
    Uppers,
    /// F32.
    Floats,
}

impl Form {
    /// The form that a matrix of such numbers takes.
    pub const fn of(element: Element) -> Self {
        match element {
            Element::Q4_0 | Element::Q4_1 | Element::Q4K => Self::Nibbles,
            Element::Q5_0 | Element::Q5_1 | Element::Q8_0 | Element::Q5K => Self::Bytes { unit: 32 },
            Element::Q6K => Self::Bytes { unit: 16 },
            Element::F16 => Self::Halves,
            Element::Bf16 => Self::Uppers,
            Element::F32 => Self::Floats,
        }
    }

    /// Numbers of a unit, U.
    pub const fn unit(self) -> u32 {
        match self {
            Self::Bytes { unit } => unit,
            _ => 32,
        }
    }

    /// Bits of a code.
    const fn bits(self) -> u32 {
        match self {
            Self::Nibbles => 4,
            Self::Bytes { .. } => 8,
            Self::Halves | Self::Uppers => 16,
            Self::Floats => 32,
        }
    }

    /// Words that the codes of a unit take.
    pub const fn code_words(self) -> u32 {
        self.unit() * self.bits() / 32
    }

    /// Words of a unit, W.
    pub const fn record_words(self) -> u32 {
        self.code_words() + if self.quantised() { 2 } else { 0 }
    }

    /// Whether units have a scale and an offset.
    pub const fn quantised(self) -> bool {
        matches!(self, Self::Nibbles | Self::Bytes { .. })
    }
}

/// Why rows cannot be interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The numbers of a row are no multiple of 32, or no whole blocks, or none.
    Row {
        /// How they are written.
        element: Element,
        /// Numbers of a row.
        k: u32,
    },
    /// The bytes are no whole rows.
    Bytes {
        /// Bytes given.
        bytes: usize,
        /// Bytes of a row.
        row: u64,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Row { element, k } => {
                let block = element.block_len().max(32);
                write!(f, "rows of {k} numbers in {element}; a matrix has rows of a multiple of {block}")
            }
            Self::Bytes { bytes, row } => write!(f, "{bytes} bytes are no whole rows of {row} bytes"),
        }
    }
}

impl std::error::Error for LayoutError {}

/// Words of a matrix \[rows, k], filled up to a multiple of 8 rows. Sizes beyond 64 bits give the largest number there is.
pub const fn buffer_words(form: Form, rows: u64, k: u64) -> u64 {
    let groups = rows.div_ceil(GROUP as u64);
    let group = (k / form.unit() as u64).saturating_mul(form.record_words() as u64 * GROUP as u64);
    groups.saturating_mul(group)
}

/// Appends whole rows of file blocks to `out`, filled up to 8 rows. Where more rows are to follow, these are a multiple of 8.
pub fn interleave(element: Element, k: u32, blocks: &[u8], out: &mut Vec<u32>) -> Result<(), LayoutError> {
    let whole = k != 0 && k.is_multiple_of(32);
    let row = element.bytes_of(k.into()).filter(|_| whole).ok_or(LayoutError::Row { element, k })?;
    let wrong = LayoutError::Bytes { bytes: blocks.len(), row };
    let row = usize::try_from(row).ok().filter(|row| blocks.len().is_multiple_of(*row)).ok_or(wrong)?;
    let form = Form::of(element);
    let group = (k / form.unit() * form.record_words()) as usize * GROUP;
    let at = out.len();
    out.resize(at + (blocks.len() / row).div_ceil(GROUP) * group, 0);
    for (rows, out) in blocks.chunks(row * GROUP).zip(out[at..].chunks_exact_mut(group)) {
        for (lane, row) in rows.chunks_exact(row).enumerate() {
            let out = &mut out[lane..];
            match element {
                Element::Q4_0 => quantised(row, out, units::q4_0, nibbles),
                Element::Q4_1 => quantised(row, out, units::q4_1, nibbles),
                Element::Q4K => quantised(row, out, units::q4_k, nibbles),
                Element::Q5_0 => quantised(row, out, units::q5_0, bytes::<32, 8>),
                Element::Q5_1 => quantised(row, out, units::q5_1, bytes::<32, 8>),
                Element::Q8_0 => quantised(row, out, units::q8_0, bytes::<32, 8>),
                Element::Q5K => quantised(row, out, units::q5_k, bytes::<32, 8>),
                Element::Q6K => quantised(row, out, units::q6_k, bytes::<16, 4>),
                // Codes in the file's order are words in the file's order.
                Element::F16 | Element::Bf16 | Element::F32 => {
                    let words = row.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
                    out.iter_mut().step_by(GROUP).zip(words).for_each(|(out, word)| *out = word);
                }
            }
        }
    }
    Ok(())
}

/// The units of a row of blocks, to every eighth word.
fn quantised<const BYTES: usize, const UNITS: usize, const U: usize, const WORDS: usize>(
    row: &[u8],
    out: &mut [u32],
    units: impl Fn(&[u8; BYTES]) -> [Unit<U>; UNITS],
    pack: impl Fn(&[u8; U]) -> [u32; WORDS],
) {
    let mut out = out.iter_mut().step_by(GROUP);
    for Unit { codes, d, m } in row.as_chunks().0.iter().flat_map(units) {
        let words = pack(&codes).into_iter().chain([d.to_bits(), m.to_bits()]);
        // The words first: asking the other way round would lose one of `out` behind every unit.
        words.zip(&mut out).for_each(|(word, out)| *out = word);
    }
}

fn nibbles(codes: &[u8; 32]) -> [u32; 4] {
    let word = |codes: &[u8]| codes.iter().rev().fold(0, |word, code| word << 4 | u32::from(*code));
    std::array::from_fn(|w| word(&codes[8 * w..8 * w + 8]))
}

fn bytes<const U: usize, const WORDS: usize>(codes: &[u8; U]) -> [u32; WORDS] {
    let words = codes.as_chunks().0;
    std::array::from_fn(|w| u32::from_le_bytes(words[w]))
}

/// The number in a row and a column of a matrix with rows of `k` numbers; 0 outside of it.
pub fn number(form: Form, words: &[u32], k: u32, row: usize, column: usize) -> f32 {
    let (unit, record) = (form.unit() as usize, form.record_words() as usize);
    let (u, j, units) = (column / unit, column % unit, k as usize / unit);
    if u >= units {
        return 0.0;
    }
    let word =
        |w: usize| words.get(((row / GROUP * units + u) * record + w) * GROUP + row % GROUP).copied().unwrap_or(0);
    let (bits, each) = (form.bits() as usize, 32 / form.bits() as usize);
    let code = word(j / each) >> (bits * (j % each));
    let scaled = |q: f32| f32::from_bits(word(record - 2)) * q + f32::from_bits(word(record - 1));
    match form {
        Form::Nibbles => scaled((code & 15) as f32),
        Form::Bytes { .. } => scaled(f32::from((code as u8).cast_signed())),
        Form::Halves => F16::from_bits(code as u16).to_f32(),
        Form::Uppers => Bf16::from_bits(code as u16).to_f32(),
        Form::Floats => f32::from_bits(code),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "every number is exact")]

    use super::*;
    use crate::model::quant::dequantise;

    /// Any bytes whose scales are numbers of a sensible size.
    fn blocks(element: Element, rows: usize, k: u32) -> Vec<u8> {
        let golden: &[u8] = match element {
            Element::F32 => include_bytes!("../../tests/data/quant/F32.blocks"),
            Element::F16 => include_bytes!("../../tests/data/quant/F16.blocks"),
            Element::Bf16 => include_bytes!("../../tests/data/quant/BF16.blocks"),
            Element::Q4_0 => include_bytes!("../../tests/data/quant/Q4_0.blocks"),
            Element::Q4_1 => include_bytes!("../../tests/data/quant/Q4_1.blocks"),
            Element::Q5_0 => include_bytes!("../../tests/data/quant/Q5_0.blocks"),
            Element::Q5_1 => include_bytes!("../../tests/data/quant/Q5_1.blocks"),
            Element::Q8_0 => include_bytes!("../../tests/data/quant/Q8_0.blocks"),
            Element::Q4K => include_bytes!("../../tests/data/quant/Q4_K.blocks"),
            Element::Q5K => include_bytes!("../../tests/data/quant/Q5_K.blocks"),
            Element::Q6K => include_bytes!("../../tests/data/quant/Q6_K.blocks"),
        };
        let bytes = rows * element.bytes_of(k.into()).unwrap() as usize;
        golden.iter().copied().cycle().take(bytes).collect()
    }

    #[test]
    fn every_number_is_that_of_its_block() {
        for (element, rows, k) in Element::ALL.into_iter().flat_map(|element| [(element, 8, 256), (element, 19, 512)]) {
            let blocks = blocks(element, rows, k);
            let mut expected = vec![0.0; rows * k as usize];
            dequantise(element, &blocks, &mut expected).unwrap();
            let mut words = Vec::new();
            interleave(element, k, &blocks, &mut words).unwrap();
            let form = Form::of(element);
            assert_eq!(words.len() as u64, buffer_words(form, rows as u64, k.into()));
            let mut largest = 0.0_f32;
            for (at, expected) in expected.iter().enumerate() {
                let found = number(form, &words, k, at / k as usize, at % k as usize);
                // d q + 0 has no negative zero, d q has. Of Q4_0 all products are exact, so that it matters not how they are taken.
                assert!(found == *expected || found.to_bits() == expected.to_bits(), "{element}, number {at}");
                largest = largest.max(expected.abs());
            }
            assert!(largest > 0.0);
            // Rows that were filled up.
            let last = rows.next_multiple_of(8);
            assert!((rows..last).all(|row| (0..k as usize).all(|column| number(form, &words, k, row, column) == 0.0)));
        }
    }

    #[test]
    fn a_word_in_another_place_would_be_seen() {
        let blocks = blocks(Element::Q4_1, 8, 64);
        let mut words = Vec::new();
        interleave(Element::Q4_1, 64, &blocks, &mut words).unwrap();
        let before = number(Form::Nibbles, &words, 64, 3, 40);
        // Word 1 of unit 1 of row 3 holds numbers 40 to 47.
        words[(6 + 1) * 8 + 3] ^= 1;
        assert!((number(Form::Nibbles, &words, 64, 3, 40) - before).abs() > 0.0);
    }

    #[test]
    fn records_are_as_long_as_the_table_says() {
        let all = Element::ALL.map(|element| {
            let form = Form::of(element);
            (form.unit(), form.code_words(), form.record_words())
        });
        let (plain, nibbles, bytes) = ((32, 16, 16), (32, 4, 6), (32, 8, 10));
        let expected = [(32, 32, 32), plain, plain, nibbles, nibbles, bytes, bytes, bytes, nibbles, bytes, (16, 4, 6)];
        assert_eq!(all, expected);
        assert_eq!(buffer_words(Form::Nibbles, 9, 64), 2 * 2 * 6 * 8);
        assert_eq!(buffer_words(Form::Floats, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let words = &mut Vec::new();
        let error = interleave(Element::F32, 48, &[0; 192], words).unwrap_err();
        assert_eq!(error.to_string(), "rows of 48 numbers in F32; a matrix has rows of a multiple of 32");
        assert_eq!(interleave(Element::F16, 0, &[], words), Err(LayoutError::Row { element: Element::F16, k: 0 }));
        assert!(interleave(Element::Q4K, 64, &[0; 36], words).is_err());
        let error = interleave(Element::Q8_0, 32, &[0; 35], words).unwrap_err();
        assert_eq!(error.to_string(), "35 bytes are no whole rows of 34 bytes");
        assert!(words.is_empty());
    }
}
