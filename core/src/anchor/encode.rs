//! The payload of a new anchor: a delta where the format can, else the whole state.

use super::delta::difference;
use super::error::AnchorError;
use super::{Snapshot, meta};
use crate::chain::PrefixHash;
use crate::record::{ANCHOR, DELTA};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use miniz_oxide::deflate::compress_to_vec_zlib;

/// A chain stays below this: the state whose chain would reach it is stored whole.
pub const MAX_CHAIN: u32 = 8;

/// zlib's fastest level, the reference's choice: states hardly compress.
const LEVEL: u8 = 1;

/// A state that is in the map and that a new one may be stored as changes to.
#[derive(Clone, Copy, Debug)]
pub struct Parent<'s> {
    /// Hash of its prefix.
    pub hash: PrefixHash,
    /// Deltas that lie between it and a whole state; see [`super::Restored::chain`].
    pub chain: u32,
    /// The state.
    pub snapshot: &'s Snapshot,
}

/// A record that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// [`ANCHOR`] or [`DELTA`].
    pub kind: u8,
    /// Its content.
    pub payload: Vec<u8>,
}

/// Makes the record of a state. It becomes a delta against `parent` if there is one, if the chain stays below
/// [`MAX_CHAIN`], and if every reader will be able to apply it: arrays stored by rows need three dimensions, the last
/// not zero, and the parent must have them in the same type and shape; no layer may be new. Else the state is stored
/// whole.
pub fn encode(
    sid: u32,
    position: u32,
    hash: PrefixHash,
    state: &Snapshot,
    parent: Option<Parent<'_>>,
) -> Result<Encoded, AnchorError> {
    let delta = parent.filter(|parent| parent.hash != hash).and_then(|parent| {
        let chain = parent.chain.checked_add(1).filter(|&chain| chain < MAX_CHAIN)?;
        Some((parent.hash, chain, difference(parent.snapshot, state)?))
    });
    let (parent, chain, body) = match delta {
        Some((parent, chain, body)) => (Some(parent), chain, Cow::Owned(body)),
        None => (None, 0, Cow::Borrowed(state.bytes())),
    };
    let parent = parent.as_ref().map_or(&[][..], |parent| &parent.0);
    let json = meta::write(&state.arrays, &state.scalars, chain, state.describes_rows);
    check_len(parent.len(), json.len(), 0)?;
    let packed = compress_to_vec_zlib(&body, LEVEL);
    check_len(parent.len(), json.len(), packed.len())?;
    // Below 4 GiB, as the whole is.
    let json_len = json.len() as u32;
    let payload = [
        &sid.to_le_bytes()[..],
        &position.to_le_bytes(),
        &hash.0,
        parent,
        &json_len.to_le_bytes(),
        json.as_bytes(),
        &packed,
    ]
    .concat();
    Ok(Encoded { kind: if parent.is_empty() { ANCHOR } else { DELTA }, payload })
}

/// A record's length is a u32.
fn check_len(parent: usize, json: usize, body: usize) -> Result<(), AnchorError> {
    let len = [20, parent, json, body].iter().fold(0_u64, |sum, &part| sum.saturating_add(part as u64));
    if len > u64::from(u32::MAX) { Err(AnchorError::PayloadTooLong { len }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_record_of_4_gib_is_refused() {
        let most = u32::MAX as usize - 20;
        assert_eq!(check_len(0, 100, most - 100), Ok(()));
        assert_eq!(check_len(8, 100, most - 100), Err(AnchorError::PayloadTooLong { len: (1 << 32) + 7 }));
        assert_eq!(check_len(0, usize::MAX, usize::MAX), Err(AnchorError::PayloadTooLong { len: u64::MAX }));
    }
}
