//! How the numbers of a weight are written, and what they are in f32.
//!
//! A row of a tensor is a sequence of whole blocks. [`dequantise`] turns blocks into numbers on the CPU; it is what kernels are
//! compared with, and its result is exact: each number is what the formula of its block gives when every operation is rounded
//! once to f32. Nothing here reads files or knows of tensors.

mod blocks;
pub(super) mod units;

use std::fmt;

/// How the numbers of a tensor are written. Where there are blocks, q is what a number's bits say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// Single precision.
    F32,
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// d (q - 8), q of 4 bits.
    Q4_0,
    /// d q + m, q of 4 bits.
    Q4_1,
    /// d (q - 16), q of 5 bits.
    Q5_0,
    /// d q + m, q of 5 bits.
    Q5_1,
    /// d q, q a signed byte.
    Q8_0,
    /// (d scale) q - (dmin min), q of 4 bits, with a scale and a min of 6 bits for every 32 numbers.
    Q4K,
    /// (d scale) q - (dmin min), q of 5 bits, with a scale and a min of 6 bits for every 32 numbers.
    Q5K,
    /// (d scale) (q - 32), q of 6 bits, with a scale of 8 bits for every 16 numbers.
    Q6K,
}

/// A type's name, its number in GGUF, and its block: numbers and bytes.
type Row = (Element, &'static str, u32, u32, u32);

const TABLE: [Row; 11] = [
    (Element::F32, "F32", 0, 1, 4),
    (Element::F16, "F16", 1, 1, 2),
    (Element::Bf16, "BF16", 30, 1, 2),
    (Element::Q4_0, "Q4_0", 2, 32, 18),
    (Element::Q4_1, "Q4_1", 3, 32, 20),
    (Element::Q5_0, "Q5_0", 6, 32, 22),
    (Element::Q5_1, "Q5_1", 7, 32, 24),
    (Element::Q8_0, "Q8_0", 8, 32, 34),
    (Element::Q4K, "Q4_K", 12, 256, 144),
    (Element::Q5K, "Q5_K", 13, 256, 176),
    (Element::Q6K, "Q6_K", 14, 256, 210),
];

/// Numbers of GGUF's other types. Those that never were, or are no more, have no name.
const OTHERS: [(u32, &str); 23] = [
    (9, "Q8_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
];

impl Element {
    /// Every type that can be read.
    pub const ALL: [Self; 11] = {
        let mut all = [Self::F32; 11];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].0;
            at += 1;
        }
        all
    };

    /// The type of this number in GGUF, if it can be read here.
    pub fn of_id(id: u32) -> Option<Self> {
        TABLE.iter().find(|row| row.2 == id).map(|row| row.0)
    }

    /// The name of any type of GGUF's, also of one that cannot be read here.
    pub fn name_of_id(id: u32) -> Option<&'static str> {
        let own = Self::of_id(id).map(Self::name);
        own.or_else(|| OTHERS.iter().find(|(other, _)| *other == id).map(|(_, name)| *name))
    }

    fn row(self) -> &'static Row {
        // The table is in the order of the variants, as a test checks.
        &TABLE[self as usize]
    }

    /// Its name in GGUF.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Its number in GGUF.
    pub fn id(self) -> u32 {
        self.row().2
    }

    /// Numbers in a block.
    pub fn block_len(self) -> u32 {
        self.row().3
    }

    /// Bytes of a block.
    pub fn block_bytes(self) -> u32 {
        self.row().4
    }

    /// Bytes of this many numbers, if they are whole blocks and 64 bits hold the bytes.
    pub fn bytes_of(self, numbers: u64) -> Option<u64> {
        let block = u64::from(self.block_len());
        if numbers.is_multiple_of(block) { (numbers / block).checked_mul(u64::from(self.block_bytes())) } else { None }
    }

    /// Whether a number stands by itself, without a block around it.
    pub fn is_plain(self) -> bool {
        self.block_len() == 1
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Blocks and numbers that do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantError {
    /// The blocks' type.
    pub element: Element,
    /// Bytes given.
    pub bytes: usize,
    /// Numbers asked for.
    pub numbers: usize,
}

impl fmt::Display for QuantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, bytes, numbers } = self;
        let (block, each) = (element.block_len(), element.block_bytes());
        write!(f, "{bytes} bytes of {element} are not {numbers} numbers: {block} of them take {each} bytes")
    }
}

impl std::error::Error for QuantError {}

/// Turns blocks into numbers, in order. `blocks` are whole blocks with as many numbers as `out` has room for, wherever in
/// memory they begin.
pub fn dequantise(element: Element, blocks: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    if element.bytes_of(out.len() as u64) != Some(blocks.len() as u64) {
        return Err(QuantError { element, bytes: blocks.len(), numbers: out.len() });
    }
    match element {
        Element::F32 => blocks::plain(blocks, out, f32::from_le_bytes),
        Element::F16 => blocks::plain(blocks, out, blocks::half),
        Element::Bf16 => blocks::plain(blocks, out, blocks::upper_half),
        Element::Q4_0 => blocks::each(blocks, out, blocks::q4_0),
        Element::Q4_1 => blocks::each(blocks, out, blocks::q4_1),
        Element::Q5_0 => blocks::each(blocks, out, blocks::q5_0),
        Element::Q5_1 => blocks::each(blocks, out, blocks::q5_1),
        Element::Q8_0 => blocks::each(blocks, out, blocks::q8_0),
        Element::Q4K => blocks::each(blocks, out, blocks::q4_k),
        Element::Q5K => blocks::each(blocks, out, blocks::q5_k),
        Element::Q6K => blocks::each(blocks, out, blocks::q6_k),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
