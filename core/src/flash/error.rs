//! What can go wrong with an append region.

use core::fmt;

/// Why a region cannot be used, or why nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<E> {
    /// The flash driver failed. What it was writing counts as torn; the next append goes on behind it.
    Flash(E),
    /// The flash's sizes cannot be used: each is at least 1 and divides the erase size, and `max` is the largest word or read.
    Geometry {
        /// Bytes of the smallest read.
        read: usize,
        /// Bytes of a word.
        word: usize,
        /// Bytes that are erased at once.
        erase: usize,
        /// Longest word, and longest smallest read, that this library handles.
        max: usize,
    },
    /// The range is empty, not made of whole erase units, or not in the flash.
    Range {
        /// Where it starts.
        start: u32,
        /// Where it ends.
        end: u32,
        /// Bytes that are erased at once.
        erase: usize,
        /// Bytes of the flash.
        capacity: usize,
    },
    /// The beginning of the range is erased: there is no region yet, or formatting one was interrupted. Format it.
    Erased,
    /// Something else is there, or formatting was interrupted.
    NotARegion {
        /// The first eight bytes.
        found: [u8; 8],
    },
    /// A region of a layout that this library does not know. (Or formatting was interrupted, inside this very word.)
    OtherVersion {
        /// The region's layout.
        found: u8,
        /// This library's.
        expected: u8,
    },
    /// A region that was formatted for words of another size. (Or formatting was interrupted, inside this very word.)
    OtherWord {
        /// The region's word size.
        found: u16,
        /// The flash's.
        expected: usize,
    },
    /// The record does not fit. Nothing was written.
    Full {
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are left.
        free: u32,
    },
    /// A place that must be erased is not: an interrupted `format`, or another writer. Nothing was written. Format again.
    NotErased {
        /// Where in the region.
        offset: u32,
    },
    /// The answer would start behind the last token. Nothing was written.
    AnswerPastEnd {
        /// Where it would start.
        gen_start: u32,
        /// Tokens given.
        len: usize,
    },
    /// The tokens' iterator gave fewer than it said. The record was not committed; the next append goes on behind it.
    TokensMissing {
        /// How many it said.
        said: u32,
        /// How many it gave.
        given: u32,
    },
    /// The record was written and does not read back: the flash keeps no data there. The next append goes on behind it.
    NotKept {
        /// Where in the region.
        offset: u32,
    },
}

impl<E> From<E> for Error<E> {
    fn from(error: E) -> Self {
        Self::Flash(error)
    }
}

impl<E: fmt::Debug> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash driver failed: {error:?}"),
            Self::Geometry { read, word, erase, max } => write!(
                f,
                "reads of {read}, words of {word} and erase units of {erase} bytes cannot be used: the first two are 1 to \
                 {max} and divide the third"
            ),
            Self::Range { start, end, erase, capacity } => write!(
                f,
                "{start}..{end} is no range of whole erase units of {erase} bytes in a flash of {capacity} bytes"
            ),
            Self::Erased => f.write_str("no append region: its beginning is erased; format it first"),
            Self::NotARegion { found } => {
                write!(f, "no append region, or one half formatted: it starts with \"{}\"", found.escape_ascii())
            }
            Self::OtherVersion { found, expected } => {
                write!(f, "an append region of layout {found}; this library knows layout {expected}")
            }
            Self::OtherWord { found, expected } => {
                write!(f, "an append region for words of {found} bytes; the flash has words of {expected}")
            }
            Self::Full { needed, free } => write!(f, "the record takes {needed} bytes, the region has {free} left"),
            Self::NotErased { offset } => {
                write!(f, "the region is not erased at byte {offset}, behind its last record; format it again")
            }
            Self::AnswerPastEnd { gen_start, len } => {
                write!(f, "the answer would start at token {gen_start} of a run of {len} tokens")
            }
            Self::TokensMissing { said, given } => write!(f, "{said} tokens were announced, {given} came"),
            Self::NotKept { offset } => write!(f, "what was written at byte {offset} of the region does not read back"),
        }
    }
}

impl<E: fmt::Debug> core::error::Error for Error<E> {}
