//! Rebuilding a state through its parents.

use super::delta::{Plan, apply};
use super::error::AnchorError;
use super::inflate::inflate;
use super::spec::Layout;
use super::{Anchor, MAX_CHAIN, Meta, Parent, Snapshot};
use crate::chain::PrefixHash;
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// A state that was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored<'a> {
    /// Its record.
    pub anchor: Anchor<'a>,
    /// Deltas that lie between it and a whole state.
    pub chain: u32,
    /// The state.
    pub snapshot: Snapshot,
}

impl Restored<'_> {
    /// This state as the parent of a new one.
    #[must_use]
    pub fn as_parent(&self) -> Parent<'_> {
        Parent { hash: self.anchor.hash, chain: self.chain, snapshot: &self.snapshot }
    }
}

/// Rebuilds the state of a hash. `find` gives the record of a hash: the first one, where a map has several.
///
/// Costs the decompression of one whole state and of up to seven deltas, which change it in place. A fault of any link
/// is an error that names the link; the number of links is what is there, and a record that counts otherwise is at
/// fault.
pub fn restore<'a>(
    hash: PrefixHash,
    find: impl Fn(PrefixHash) -> Option<Anchor<'a>>,
) -> Result<Restored<'a>, AnchorError> {
    let links = links(hash, find)?;
    let mut restored: Option<Restored<'a>> = None;
    // From the whole state, which is the last link, to the one that was asked for.
    for (chain, (hash, anchor)) in (0..).zip(links.into_iter().rev()) {
        let snapshot = match restored {
            None => whole(&anchor, chain),
            Some(parent) => changed(&anchor, chain, parent.snapshot),
        };
        let snapshot = snapshot.map_err(|error| error.of_link(hash))?;
        restored = Some(Restored { anchor, chain, snapshot });
    }
    restored.ok_or_else(|| AnchorError::Missing.of_link(hash))
}

/// The records from the one of `hash` to a whole state.
fn links<'a>(
    hash: PrefixHash,
    find: impl Fn(PrefixHash) -> Option<Anchor<'a>>,
) -> Result<Vec<(PrefixHash, Anchor<'a>)>, AnchorError> {
    let mut links: Vec<(PrefixHash, Anchor<'a>)> = Vec::new();
    let mut next = Some(hash);
    while let Some(at) = next {
        let last = links.last().map_or(hash, |&(last, _)| last);
        if links.iter().any(|&(link, _)| link == at) {
            return Err(AnchorError::Cycle { parent: at }.of_link(last));
        }
        if links.len() == MAX_CHAIN as usize {
            return Err(AnchorError::ChainTooLong { limit: MAX_CHAIN }.of_link(hash));
        }
        let anchor = find(at).ok_or_else(|| AnchorError::Missing.of_link(at))?;
        links.push((at, anchor));
        next = anchor.parent;
    }
    Ok(links)
}

fn read_meta(anchor: &Anchor<'_>, actual: u32) -> Result<Meta, AnchorError> {
    let meta = anchor.meta()?;
    match meta.chain {
        Some(declared) if declared != actual => Err(AnchorError::WrongChain { declared, actual }),
        _ => Ok(meta),
    }
}

fn whole(anchor: &Anchor<'_>, chain: u32) -> Result<Snapshot, AnchorError> {
    let Meta { arrays, scalars, compressed, describes_rows, .. } = read_meta(anchor, chain)?;
    let layout = Layout::of(&arrays, &scalars)?;
    let bytes = decompress(anchor.body, compressed, layout.len, layout.len)?.into_owned();
    if bytes.len() != layout.len {
        return Err(AnchorError::BodyLen { declared: layout.len, len: bytes.len() });
    }
    Ok(Snapshot { arrays, scalars, bytes, layout, describes_rows })
}

fn changed(anchor: &Anchor<'_>, chain: u32, parent: Snapshot) -> Result<Snapshot, AnchorError> {
    let meta = read_meta(anchor, chain)?;
    let plan = Plan::of(&meta)?;
    let body = decompress(anchor.body, meta.compressed, plan.at_least, plan.at_most)?;
    apply(parent, meta, plan, &body)
}

fn decompress(body: &[u8], compressed: bool, at_least: usize, at_most: usize) -> Result<Cow<'_, [u8]>, AnchorError> {
    Ok(if compressed { Cow::Owned(inflate(body, at_least, at_most)?) } else { Cow::Borrowed(body) })
}
