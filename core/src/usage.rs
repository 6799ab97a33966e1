//! Use counts: how often a prefix was asked for.
//!
//! ```text
//! payload   hash:[u8;8] hits:u32
//! ```
//!
//! Readers add the hits of all records of a hash; the sum may exceed 32 bits.

use crate::chain::PrefixHash;
#[cfg(feature = "alloc")]
use crate::record::USE;
use crate::record::{Fields, Malformed};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// The content of a USE record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The prefix that was used.
    pub hash: PrefixHash,
    /// How often, since the record before.
    pub hits: u32,
}

impl Use {
    /// Reads a payload, which must be 12 bytes long.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let hash = PrefixHash(fields.array("the hash")?);
        let hits = fields.u32("the number of hits")?;
        fields.end()?;
        Ok(Self { hash, hits })
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn encode(self) -> (u8, Vec<u8>) {
        (USE, [&self.hash.0[..], &self.hits.to_le_bytes()].concat())
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_twelve_bytes() {
        let hit = Use { hash: PrefixHash(*b"prefixes"), hits: 7 };
        let (_, payload) = hit.encode();
        assert_eq!(Use::parse(&payload), Ok(hit));
        assert!(Use::parse(&payload[..11]).is_err());
        assert!(Use::parse(&[&payload[..], &[0]].concat()).is_err());
    }
}
