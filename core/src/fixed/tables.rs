//! Lists in memory whose size the program says.

use super::lists::{self, AnchorAt, Lists, TrackEnd, Used};
use super::{Map, Rules};
use crate::anchor::Anchor;
use crate::chain::PrefixHash;
use crate::content::Content;
use crate::index::{Entry, make_way};
use crate::record::{NotAMap, Record, Records, record_at};
use crate::run::Session;
use crate::track::Track;
use crate::usage::Use;
use core::fmt;

/// A list of at most `N` elements.
type List<T, const N: usize> = heapless::Vec<T, N, u32>;

/// Lists of what is where in a map, for at most so many runs (sessions and tracks), contexts of tracks, anchored prefixes
/// and used prefixes. Zero is a size.
///
/// 12 bytes a run and 16 of everything else: [`Sizes::bytes`].
#[derive(Clone, Debug, Default)]
pub struct Tables<const RUNS: usize, const TRACKS: usize, const ANCHORS: usize, const USES: usize> {
    /// Where each run's record starts.
    runs: List<u32, RUNS>,
    /// Sessions in the order of their tokens.
    sessions: List<Entry, RUNS>,
    tracks: List<TrackEnd, TRACKS>,
    anchors: List<AnchorAt, ANCHORS>,
    uses: List<Counted, USES>,
}

/// A used prefix. Its hits, the low half first, need no other alignment than all the rest.
#[derive(Clone, Copy, Debug)]
struct Counted {
    hash: PrefixHash,
    hits: [u32; 2],
}

impl Counted {
    fn hits(self) -> u64 {
        let [low, high] = self.hits;
        u64::from(high) << 32 | u64::from(low)
    }

    fn add(&mut self, hits: u32) {
        let sum = self.hits().saturating_add(u64::from(hits));
        self.hits = [sum as u32, (sum >> 32) as u32];
    }
}

/// How large [`Tables`] must be for a map, or are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Sessions and tracks.
    pub runs: usize,
    /// Different contexts of tracks.
    pub tracks: usize,
    /// Anchored prefixes.
    pub anchors: usize,
    /// Used prefixes.
    pub uses: usize,
}

impl Sizes {
    /// Bytes that tables of these sizes take, as `size_of` says on every target.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let Self { runs, tracks, anchors, uses } = *self;
        let others = (tracks as u64).saturating_add(anchors as u64).saturating_add(uses as u64);
        let lists = (runs as u64).saturating_mul(12).saturating_add(others.saturating_mul(16));
        // And five lengths.
        lists.saturating_add(20)
    }

    /// What an open map needs. O(runs + the rest).
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn of(map: &crate::Map<'_>) -> Self {
        let runs = (0..map.len()).filter_map(|run| map.run(run));
        let contexts = runs.filter_map(|run| match run {
            super::Run::Track(track) => Some((track.context_len, track.context_hash)),
            super::Run::Session(_) => None,
        });
        Self {
            runs: map.len(),
            tracks: contexts.collect::<alloc::collections::BTreeSet<_>>().len(),
            anchors: map.anchors().count(),
            uses: map.all_uses().len(),
        }
    }
}

/// The type of tables of these sizes, for a program to say.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, tracks, anchors, uses } = self;
        write!(f, "Tables<{runs}, {tracks}, {anchors}, {uses}>")
    }
}

/// Why a map cannot be opened with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The bytes are no map.
    NotAMap(NotAMap),
    /// Offsets in tables are 32 bits wide.
    TooLong {
        /// Bytes of the map.
        len: usize,
    },
    /// A table is too small. The first such one is told; each of the others may be too.
    Full {
        /// Which one, by its place in the type: "runs", "tracks", "anchors" or "uses".
        table: &'static str,
        /// Its size.
        size: usize,
        /// The size that the map needs.
        needed: usize,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMap(error) => error.fmt(f),
            Self::TooLong { len } => write!(f, "a map of {len} bytes, and offsets have 32 bits"),
            Self::Full { table, size, needed } => {
                write!(f, "the map has {needed} {table}, and their table is of size {size}")
            }
        }
    }
}

impl core::error::Error for OpenError {}

impl<const RUNS: usize, const TRACKS: usize, const ANCHORS: usize, const USES: usize>
    Tables<RUNS, TRACKS, ANCHORS, USES>
{
    /// Empty tables.
    #[must_use]
    pub const fn new() -> Self {
        Self { runs: List::new(), sessions: List::new(), tracks: List::new(), anchors: List::new(), uses: List::new() }
    }

    /// Opens a map with these tables, whatever they held before.
    pub fn open<'t, 'a>(&'t mut self, bytes: &'a [u8], rules: Rules) -> Result<Map<'a, &'t Self>, OpenError> {
        self.fill(bytes)?;
        Ok(Map { bytes, rules, lists: self })
    }

    /// Takes a map's records in. Those that cannot be read are skipped. Where a table is full the others of its kind are
    /// only counted, and the error tells how many there are.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> Result<(), OpenError> {
        let records = Records::new(bytes).map_err(OpenError::NotAMap)?;
        if u32::try_from(bytes.len()).is_err() {
            return Err(OpenError::TooLong { len: bytes.len() });
        }
        self.runs.clear();
        self.sessions.clear();
        self.tracks.clear();
        self.anchors.clear();
        self.uses.clear();
        let mut needed = Sizes::default();
        for record in records {
            self.take_in(bytes, &record, &mut needed);
        }
        let tables = [
            ("runs", RUNS, needed.runs),
            ("tracks", TRACKS, needed.tracks),
            ("anchors", ANCHORS, needed.anchors),
            ("uses", USES, needed.uses),
        ];
        match tables.into_iter().find(|(_, size, needed)| needed > size) {
            Some((table, size, needed)) => Err(OpenError::Full { table, size, needed }),
            None => Ok(()),
        }
    }

    fn take_in(&mut self, bytes: &[u8], record: &Record<'_>, needed: &mut Sizes) {
        let Ok(content) = Content::of(record) else { return };
        // The file is shorter than 4 GiB.
        let (offset, run) = (record.offset as u32, needed.runs as u32);
        match content {
            Content::Session(_) => {
                needed.runs = needed.runs.saturating_add(1);
                if self.runs.push(offset).is_ok() {
                    self.sort_in(bytes, run);
                }
            }
            Content::Track(Track { context_len, context_hash: hash, .. }) => {
                needed.runs = needed.runs.saturating_add(1);
                // Whether there is room is told by the number of runs.
                let _ = self.runs.push(offset);
                let at = lists::track_at(self, context_len, hash);
                let is_same = |other: &TrackEnd| (other.context_len, other.hash) == (context_len, hash);
                if !self.tracks.get(at).is_some_and(is_same) {
                    let is_new = insert(&mut self.tracks, at, TrackEnd { context_len, hash, run })
                        || is_first(bytes, record, |content| {
                            matches!(content, Content::Track(other)
                                if (other.context_len, other.context_hash) == (context_len, hash))
                        });
                    needed.tracks = needed.tracks.saturating_add(usize::from(is_new));
                }
            }
            Content::Anchor(Anchor { hash, position, .. }) => {
                let at = lists::anchor_at(self, hash);
                if self.anchors.get(at).is_none_or(|other| other.hash != hash) {
                    let is_same =
                        |content: &Content<'_>| matches!(content, Content::Anchor(other) if other.hash == hash);
                    let is_new = insert(&mut self.anchors, at, AnchorAt { hash, position, offset })
                        || is_first(bytes, record, is_same);
                    needed.anchors = needed.anchors.saturating_add(usize::from(is_new));
                }
            }
            Content::Use(Use { hash, hits }) => {
                let at = lists::use_at(self, hash);
                if let Some(used) = self.uses.get_mut(at).filter(|used| used.hash == hash) {
                    used.add(hits);
                } else {
                    let is_same = |content: &Content<'_>| matches!(content, Content::Use(other) if other.hash == hash);
                    let is_new = insert(&mut self.uses, at, Counted { hash, hits: [hits, 0] })
                        || is_first(bytes, record, is_same);
                    needed.uses = needed.uses.saturating_add(usize::from(is_new));
                }
            }
            Content::Unknown => {}
        }
    }

    /// Puts a session among the sorted ones, of which there are no more than runs.
    fn sort_in(&mut self, bytes: &[u8], run: u32) {
        let Self { runs, sessions, .. } = self;
        let (at, entry) = make_way(sessions, run, |run| {
            let record = runs.get(run as usize).and_then(|offset| record_at(bytes, *offset as usize));
            let session = record.and_then(|record| Session::parse(record.payload).ok());
            session.map(|session| session.tokens).unwrap_or_default()
        });
        insert(sessions, at, entry);
    }
}

/// Puts an element at its place, if there is room.
fn insert<T, const N: usize>(list: &mut List<T, N>, at: usize, element: T) -> bool {
    if list.is_full() {
        return false;
    }
    let mut moved = element;
    for place in list.get_mut(at..).unwrap_or_default() {
        core::mem::swap(place, &mut moved);
    }
    list.push(moved).is_ok()
}

/// Whether no record before this one holds the same. Only a full table asks, where counting is what is left to do.
fn is_first(bytes: &[u8], record: &Record<'_>, is_same: impl Fn(&Content<'_>) -> bool) -> bool {
    let earlier = Records::of_map(bytes).take_while(|earlier| earlier.offset < record.offset);
    !earlier.filter_map(|earlier| Content::of(&earlier).ok()).any(|content| is_same(&content))
}

impl<const RUNS: usize, const TRACKS: usize, const ANCHORS: usize, const USES: usize> Lists
    for Tables<RUNS, TRACKS, ANCHORS, USES>
{
    const CHECKED: bool = true;

    fn runs(&self) -> usize {
        self.runs.len()
    }

    fn run(&self, at: usize) -> Option<u32> {
        self.runs.get(at).copied()
    }

    fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn session(&self, at: usize) -> Option<(u32, u32)> {
        self.sessions.get(at).map(|entry| (entry.run, entry.shared))
    }

    fn tracks(&self) -> usize {
        self.tracks.len()
    }

    fn track(&self, at: usize) -> Option<TrackEnd> {
        self.tracks.get(at).copied()
    }

    fn anchors(&self) -> usize {
        self.anchors.len()
    }

    fn anchor(&self, at: usize) -> Option<AnchorAt> {
        self.anchors.get(at).copied()
    }

    fn uses(&self) -> usize {
        self.uses.len()
    }

    fn used(&self, at: usize) -> Option<Used> {
        self.uses.get(at).map(|used| Used { hash: used.hash, hits: used.hits() })
    }
}
