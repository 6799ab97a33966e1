//! Anchored states: what a model knew after a prefix, stored whole or as the rows that changed since another state.
//!
//! ```text
//! ANCHOR payload   sid:u32 position:u32 hash:[u8;8]                 json_len:u32 json body
//! DELTA payload    sid:u32 position:u32 hash:[u8;8] parent:[u8;8]   json_len:u32 json body
//!
//! json             {"arrays":[[name,dtype,shape],...],"scalars":[{...} per layer],"z":1,"chain":links,"rows":[names]}
//! body             one zlib stream where "z" is 1, else the bytes themselves:
//!   ANCHOR         layer by layer, array by array as listed: the array's bytes
//!   DELTA          layer by layer, array by array as listed: row mask, changed rows    of an array stored by rows
//!                                                            the array's bytes         of any other
//! row mask         a bit a row, the most significant first, padded with zeros to a byte
//! ```
//!
//! All integers are little-endian; arrays are in C order. A *row* is the last dimension of an array, whose shape should
//! be `[heads, rows, dim]`. Which arrays are stored by rows is the runtime's choice: `"rows"` names them, and without
//! it they are the reference's four ([`ArraySpec::new`]). `"chain"` counts the deltas between a state and a whole one.
//!
//! [`Anchor::parse`] and [`Anchor::meta`] are cheap and look at one record; [`restore`] rebuilds a state through its
//! parents; [`encode`] makes the payload of a new record. This module does *not* know where records lie (the caller
//! finds them by hash), which of two records of a hash counts (the first), or whether the hash stands for the right
//! tokens: the prefix of an anchor rests on its 64-bit hash alone.
//!
//! Any bytes are safe. A damaged record is an error of the states that need it and of nothing else; memory stays within
//! a small factor of the JSON and the decompressed bodies, and those grow only as their streams really deliver.

#[cfg(feature = "alloc")]
mod delta;
#[cfg(feature = "alloc")]
mod dtype;
#[cfg(feature = "alloc")]
mod encode;
#[cfg(feature = "alloc")]
mod error;
#[cfg(feature = "alloc")]
mod inflate;
#[cfg(feature = "alloc")]
mod json;
#[cfg(feature = "alloc")]
mod meta;
#[cfg(feature = "alloc")]
mod restore;
#[cfg(feature = "alloc")]
mod scalars;
#[cfg(feature = "alloc")]
mod snapshot;
#[cfg(feature = "alloc")]
mod spec;
#[cfg(all(test, feature = "alloc"))]
mod tests;

#[cfg(feature = "alloc")]
pub use dtype::{Dtype, UnknownDtype};
#[cfg(feature = "alloc")]
pub use encode::{Encoded, MAX_CHAIN, Parent, encode};
#[cfg(feature = "alloc")]
pub use error::AnchorError;
#[cfg(feature = "alloc")]
pub use meta::Meta;
#[cfg(feature = "alloc")]
pub use restore::{Restored, restore};
#[cfg(feature = "alloc")]
pub use scalars::Scalars;
#[cfg(feature = "alloc")]
pub use snapshot::Snapshot;
#[cfg(feature = "alloc")]
pub use spec::{ArraySpec, DEFAULT_ROW_FIELDS};

use crate::chain::PrefixHash;
use crate::record::{DELTA, Fields, Malformed};

/// The content of an ANCHOR or DELTA record, split into its fields. JSON and body are unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor<'a> {
    /// Number of the run as its writer counted; informational.
    pub sid: u32,
    /// Tokens in the prefix.
    pub position: u32,
    /// Hash of the prefix.
    pub hash: PrefixHash,
    /// The state that a delta changes; none for a whole state.
    pub parent: Option<PrefixHash>,
    /// What the record says about its arrays and layers.
    pub json: &'a [u8],
    /// The arrays, as the JSON says.
    pub body: &'a [u8],
}

impl<'a> Anchor<'a> {
    /// Splits the payload of a record: a delta's where `kind` is [`DELTA`], else a whole state's. O(1).
    pub fn parse(kind: u8, payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let sid = fields.u32("the run's number")?;
        let position = fields.u32("the position")?;
        let hash = PrefixHash(fields.array("the prefix hash")?);
        let parent = if kind == DELTA { Some(PrefixHash(fields.array("the parent's hash")?)) } else { None };
        let json_len = fields.u32("the length of the JSON")?;
        let json = fields.bytes("the JSON", u64::from(json_len))?;
        Ok(Self { sid, position, hash, parent, json, body: fields.rest() })
    }

    /// What the record says about itself. O(JSON): nothing is decompressed.
    #[cfg(feature = "alloc")]
    pub fn meta(&self) -> Result<Meta, AnchorError> {
        Meta::parse(self.json)
    }
}
