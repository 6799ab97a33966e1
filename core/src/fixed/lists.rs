//! The lists that a map is searched by, wherever they lie.

use super::Tables;
use super::hint::Hint;
use crate::chain::PrefixHash;

/// The first track of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackEnd {
    /// Tokens in the context.
    pub context_len: u32,
    /// Its hash.
    pub hash: PrefixHash,
    /// The track's number among the runs.
    pub run: u32,
}

/// Where an anchored prefix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnchorAt {
    /// Hash of the prefix.
    pub hash: PrefixHash,
    /// Tokens in it.
    pub position: u32,
    /// Where its first record starts.
    pub offset: u32,
}

/// How often a prefix was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Hash of the prefix.
    pub hash: PrefixHash,
    /// The sum over all records.
    pub hits: u64,
}

/// Lists that a [`Map`](super::Map) is searched by: [`Tables`], references to such, or a [`Hint`]. Past its end each list
/// answers with nothing.
pub trait Lists: Sealed {
    /// Whether they were made from the map at opening. What others say of shared tokens is compared when it matters.
    const CHECKED: bool;

    /// Number of runs.
    fn runs(&self) -> usize;
    /// Where a run's record starts, in order of their numbers.
    fn run(&self, at: usize) -> Option<u32>;
    /// Number of sessions.
    fn sessions(&self) -> usize;
    /// (run, tokens shared with the one before) of a session, in order of their tokens.
    fn session(&self, at: usize) -> Option<(u32, u32)>;
    /// Number of different contexts of tracks.
    fn tracks(&self) -> usize;
    /// The first track of a context, in order of (length, hash).
    fn track(&self, at: usize) -> Option<TrackEnd>;
    /// Number of anchored prefixes.
    fn anchors(&self) -> usize;
    /// An anchored prefix, in order of hashes.
    fn anchor(&self, at: usize) -> Option<AnchorAt>;
    /// Number of used prefixes.
    fn uses(&self) -> usize;
    /// A used prefix, in order of hashes.
    fn used(&self, at: usize) -> Option<Used>;
}

/// Nobody else has lists.
pub trait Sealed {}

impl<const RUNS: usize, const TRACKS: usize, const ANCHORS: usize, const USES: usize> Sealed
    for Tables<RUNS, TRACKS, ANCHORS, USES>
{
}
impl Sealed for Hint<'_> {}
impl<L: Lists> Sealed for &L {}

impl<L: Lists> Lists for &L {
    const CHECKED: bool = L::CHECKED;

    fn runs(&self) -> usize {
        (**self).runs()
    }

    fn run(&self, at: usize) -> Option<u32> {
        (**self).run(at)
    }

    fn sessions(&self) -> usize {
        (**self).sessions()
    }

    fn session(&self, at: usize) -> Option<(u32, u32)> {
        (**self).session(at)
    }

    fn tracks(&self) -> usize {
        (**self).tracks()
    }

    fn track(&self, at: usize) -> Option<TrackEnd> {
        (**self).track(at)
    }

    fn anchors(&self) -> usize {
        (**self).anchors()
    }

    fn anchor(&self, at: usize) -> Option<AnchorAt> {
        (**self).anchor(at)
    }

    fn uses(&self) -> usize {
        (**self).uses()
    }

    fn used(&self, at: usize) -> Option<Used> {
        (**self).used(at)
    }
}

/// How many of the first `len` elements come before what is looked for.
pub(super) fn search(len: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Where a track's context is in its list, or belongs.
pub(super) fn track_at(lists: &impl Lists, len: u32, hash: PrefixHash) -> usize {
    search(lists.tracks(), |at| lists.track(at).is_some_and(|end| (end.context_len, end.hash) < (len, hash)))
}

/// Where an anchored prefix is in its list, or belongs.
pub(super) fn anchor_at(lists: &impl Lists, hash: PrefixHash) -> usize {
    search(lists.anchors(), |at| lists.anchor(at).is_some_and(|anchor| anchor.hash < hash))
}

/// Where a used prefix is in its list, or belongs.
pub(super) fn use_at(lists: &impl Lists, hash: PrefixHash) -> usize {
    search(lists.uses(), |at| lists.used(at).is_some_and(|used| used.hash < hash))
}
