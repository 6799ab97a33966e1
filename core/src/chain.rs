//! Prefix hashes: one BLAKE2b compression a token.
//!
//! `h(0)` is eight zero bytes and `h(P) = BLAKE2b-64(h(P-1) || u32le(token[P-1]))`, with an 8-byte digest and no key
//! (FORMAT.md, "Prefix hash"). A hash stands for a whole prefix, but only with 64 bits: it can be made to collide, so
//! whatever holds tokens compares those instead. Hashes are for what has no tokens in the map: the contexts of tracks,
//! anchored states and use counts.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use core::fmt;
use core::str::FromStr;

/// Hash of a context's first `P` tokens.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixHash(pub [u8; 8]);

impl PrefixHash {
    /// Hash of the empty prefix.
    pub const EMPTY: Self = Self([0; 8]);

    /// Hash of the prefix that is one token longer. One BLAKE2b compression.
    #[must_use]
    pub fn then(self, token: u32) -> Self {
        let [a, b, c, d] = token.to_le_bytes();
        let [h0, h1, h2, h3, h4, h5, h6, h7] = self.0;
        let digest = Blake2b::<U8>::digest([h0, h1, h2, h3, h4, h5, h6, h7, a, b, c, d]);
        Self(digest.into())
    }

    /// Hash of a whole context. O(n) compressions.
    #[must_use]
    pub fn of(context: &[u32]) -> Self {
        context.iter().fold(Self::EMPTY, |hash, &token| hash.then(token))
    }
}

/// Hashes of the prefixes that go on from the one of `start` by one token of `context` after the other.
#[cfg(any(feature = "alloc", feature = "heapless"))]
pub(crate) fn longer(start: PrefixHash, context: &[u32]) -> impl Iterator<Item = PrefixHash> {
    context.iter().scan(start, |hash, &token| {
        *hash = hash.then(token);
        Some(*hash)
    })
}

/// Hashes of every prefix of `context`, starting from `start`: `context.len() + 1` of them, `start` first.
#[cfg(feature = "alloc")]
#[must_use]
pub fn chain_from(start: PrefixHash, context: &[u32]) -> Vec<PrefixHash> {
    let mut hashes = Vec::with_capacity(context.len() + 1);
    hashes.push(start);
    hashes.extend(longer(start, context));
    hashes
}

/// Hashes of every prefix of `context`, the empty one first.
#[cfg(feature = "alloc")]
#[must_use]
pub fn chain(context: &[u32]) -> Vec<PrefixHash> {
    chain_from(PrefixHash::EMPTY, context)
}

impl fmt::Display for PrefixHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PrefixHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrefixHash({self})")
    }
}

/// A text that is not a prefix hash: it must be exactly 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseHashError;

impl fmt::Display for ParseHashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a prefix hash is written as exactly 16 hexadecimal digits")
    }
}

impl core::error::Error for ParseHashError {}

impl FromStr for PrefixHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let mut hash = Self::EMPTY;
        let digits = text.as_bytes();
        if digits.len() != 16 {
            return Err(ParseHashError);
        }
        for (byte, pair) in hash.0.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                let value = char::from(digit).to_digit(16).ok_or(ParseHashError)?;
                *byte = *byte << 4 | value as u8;
            }
        }
        Ok(hash)
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_empty_prefix_is_eight_zero_bytes() {
        assert_eq!(chain(&[]), [PrefixHash([0; 8])]);
    }

    // Golden values of the reference: the same on every width and byte order.
    #[test]
    fn golden_hashes() {
        let hashes = chain(&[1, 2, u32::MAX]);
        let text: Vec<_> = hashes.iter().map(ToString::to_string).collect();
        assert_eq!(text, GOLDEN);
    }
    const GOLDEN: [&str; 4] = ["0000000000000000", "5771b81f7cb9a149", "c0875e19c204ad38", "5a8679eab6ca152a"];

    #[test]
    fn a_chain_goes_on_from_where_another_ended() {
        let whole = chain(&[5, 6, 7, 8]);
        assert_eq!(chain_from(whole[2], &[7, 8]), whole[2..]);
        assert_eq!(PrefixHash::of(&[5, 6, 7, 8]), whole[4]);
    }

    #[test]
    fn text_round_trips_and_wrong_text_is_refused() {
        let hash = PrefixHash::of(&[9]);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for wrong in ["", "61626364", "00000000000000000", "000000000000000g", "+000000000000000"] {
            assert_eq!(wrong.parse::<PrefixHash>(), Err(ParseHashError), "{wrong}");
        }
    }
}
