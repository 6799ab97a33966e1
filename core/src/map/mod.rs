//! An open map: what it holds, and how it is opened.
//!
//! Opening walks the records once, checks each payload against its length, and sorts the runs; it hashes nothing and
//! copies no tokens. Records that cannot be read are skipped and listed in [`Map::problems`]; what lies behind the last
//! whole record is told by [`Map::tail`]. Locating and answering are in [`mod@self::locate`], writing in [`append`].
//!
//! Any bytes are safe: no panic, no endless loop, memory within a small factor of the input.

pub mod append;
pub mod locate;

use crate::anchor::{Anchor, AnchorError, Restored, restore};
use crate::chain::PrefixHash;
use crate::content::Content;
use crate::draft::{Rail, RailError, RailOptions};
use crate::index::Index;
use crate::record::{Malformed, NotAMap, Record, Records, record_at};
use crate::rules::Reader;
use crate::run::Session;
use crate::tail::Tail;
use crate::tokens::Tokens;
use crate::track::Track;
use crate::usage::Use;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroUsize;
use hashbrown::{HashMap, HashSet};

pub use crate::content::{Problem, Run};

/// A map that drafts but never answers.
#[derive(Clone, Debug)]
pub struct Foreign<'a> {
    /// Its bytes; a torn tail is left out.
    pub bytes: Cow<'a, [u8]>,
    /// Load only its first `limit` sessions.
    pub limit: Option<usize>,
}

/// How a map is opened. The default is what FORMAT.md calls this project's behaviour; [`Options::reference`] is the
/// reference's.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Prompt positions are indexed only at multiples of this (FORMAT.md, "Stride").
    pub stride: NonZeroUsize,
    /// Load only the first `limit` own runs; anchors and use counts load all the same.
    pub limit: Option<usize>,
    /// Maps of other models, in the order their runs are numbered.
    pub foreign: Vec<Foreign<'a>>,
    /// Whether the map itself only drafts, like a foreign one: nobody vouches that its runs are this model's. It is read in
    /// full, but it answers nothing and none of its anchors is found.
    pub draft_only: bool,
    /// The draft rail.
    pub rail: RailOptions,
    /// Whether a context that ends inside a track's answer is located and answered (FORMAT.md, "Through a track").
    pub through_tracks: bool,
    /// Whether an anchor between the longest *indexed* and the longest *shared* prefix is found. Only a stride makes these
    /// differ.
    pub anchors_past_stride: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { through_tracks: true, anchors_past_stride: true, ..Self::reference() }
    }
}

impl Options<'_> {
    /// What the reference does: every position indexed, prompts on the rail, no look past a track's context.
    #[must_use]
    pub fn reference() -> Self {
        Self {
            stride: NonZeroUsize::MIN,
            limit: None,
            foreign: Vec::new(),
            draft_only: false,
            rail: RailOptions::default(),
            through_tracks: false,
            anchors_past_stride: false,
        }
    }
}

/// Why a map cannot be opened at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The bytes are no map.
    Own(NotAMap),
    /// A foreign map's bytes are no map.
    Foreign {
        /// Which one, in the order given.
        index: usize,
        /// What they are.
        error: NotAMap,
    },
    /// The rail's options make no sense.
    Rail(RailError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(error) => error.fmt(f),
            Self::Foreign { index, error } => write!(f, "foreign map {index}: {error}"),
            Self::Rail(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for OpenError {}

/// Where a record is: which of the map's byte strings, and at what offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct At {
    source: u32,
    offset: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    at: At,
    is_track: bool,
}

/// What is known of tracks without their contexts.
#[derive(Clone, Debug, Default)]
struct TrackEnds {
    /// The first own track of each context.
    runs: HashMap<(u32, PrefixHash), u32>,
    /// Lengths of their contexts, ascending, each once.
    lengths: Vec<u32>,
}

/// An open map.
///
/// It owns or borrows its bytes and holds, beside them, some words a run and an entry for each anchor, track and use count.
/// The draft rail (about 28 bytes a token) is built when first asked for.
#[derive(Clone, Debug)]
pub struct Map<'a> {
    options: Options<'a>,
    /// The foreign maps' bytes, then the own, then what was appended since (records only, no magic).
    sources: Vec<Cow<'a, [u8]>>,
    valid_len: usize,
    tail: Tail,
    slots: Vec<Slot>,
    index: Index,
    track_ends: TrackEnds,
    foreign_tracks: Vec<At>,
    anchors: HashMap<PrefixHash, At>,
    uses: HashMap<PrefixHash, u64>,
    problems: Vec<Problem>,
    problem_count: usize,
    rail: Rail,
    /// Runs that are on the rail already, and tracks whose answers are.
    railed: usize,
    learnt: HashSet<At>,
    /// Tokens of their answers.
    learnt_tokens: usize,
}

/// Problems kept in full; of more only the number is.
const MAX_PROBLEMS: usize = 1000;

impl Default for Map<'_> {
    fn default() -> Self {
        Self::create()
    }
}

impl<'a> Map<'a> {
    /// A new map without records. Its file starts as [`Map::bytes`], the magic alone; appends go behind that.
    #[must_use]
    pub fn create() -> Self {
        Self::empty(Options::default(), Rail::default())
    }

    fn empty(options: Options<'a>, rail: Rail) -> Self {
        Self {
            options,
            sources: Vec::from([Cow::Borrowed(&crate::record::MAGIC[..]), Cow::Borrowed(&[][..])]),
            valid_len: crate::record::MAGIC.len(),
            tail: Tail::None,
            slots: Vec::new(),
            index: Index::default(),
            track_ends: TrackEnds::default(),
            foreign_tracks: Vec::new(),
            anchors: HashMap::new(),
            uses: HashMap::new(),
            problems: Vec::new(),
            problem_count: 0,
            rail,
            railed: 0,
            learnt: HashSet::new(),
            learnt_tokens: 0,
        }
    }

    /// Opens a map from its bytes. A torn tail and bad records are no errors: see [`Map::tail`] and [`Map::problems`].
    ///
    /// O(records + R log R) for R runs, with at most O(N log R) token comparisons for N tokens where runs share long
    /// prefixes. Opening hashes no tokens.
    pub fn open(bytes: impl Into<Cow<'a, [u8]>>, mut options: Options<'a>) -> Result<Self, OpenError> {
        let rail = Rail::new(options.rail).map_err(OpenError::Rail)?;
        let foreign = core::mem::take(&mut options.foreign);
        let mut map = Self::empty(options, rail);
        let own = bytes.into();
        let limits: Vec<_> = foreign.iter().map(|foreign| foreign.limit).collect();
        map.sources = foreign.into_iter().map(|foreign| foreign.bytes).chain([own, Cow::Borrowed(&[][..])]).collect();
        for (index, limit) in limits.into_iter().enumerate() {
            map.load_source(index as u32, limit).map_err(|error| OpenError::Foreign { index, error })?;
        }
        let own = map.own_source();
        (map.valid_len, map.tail) = map.load_source(own, map.options.limit).map_err(OpenError::Own)?;
        map.track_ends.sort();
        let sessions = (0u32..).zip(&map.slots).filter(|(_, slot)| !slot.is_track).map(|(run, _)| run).collect();
        map.index = Index::build(sessions, |run| map.tokens(run));
        Ok(map)
    }

    fn own_source(&self) -> u32 {
        self.sources.len() as u32 - 2
    }

    /// Walks a source's records. Returns where its last whole one ends, and what follows.
    fn load_source(&mut self, source: u32, limit: Option<usize>) -> Result<(usize, Tail), NotAMap> {
        // Taken out while its records are loaded, so that loading may change the map.
        let bytes = self.sources.get_mut(source as usize).map(core::mem::take).unwrap_or_default();
        let walked = Records::new(&bytes).map(|mut records| {
            let before = self.slots.len();
            for record in records.by_ref() {
                let at = At { source, offset: record.offset };
                let may_run = limit.is_none_or(|limit| self.slots.len() - before < limit);
                if let Err(error) = self.load_record(record, at, may_run) {
                    self.problem_count += 1;
                    if self.problems.len() < MAX_PROBLEMS {
                        let foreign = (source < self.own_source()).then_some(source as usize);
                        let Record { offset, kind, .. } = record;
                        self.problems.push(Problem { foreign, offset, kind, error });
                    }
                }
            }
            (records.position(), Tail::of(records.rest()))
        });
        if let Some(place) = self.sources.get_mut(source as usize) {
            *place = bytes;
        }
        walked
    }

    /// Takes one record in, or changes nothing.
    fn load_record(&mut self, record: Record<'_>, at: At, may_run: bool) -> Result<(), Malformed> {
        let foreign = at.source < self.own_source();
        match Content::of(&record)? {
            Content::Session(_) => {
                if may_run {
                    self.slots.push(Slot { at, is_track: false });
                }
            }
            // It has no number: it only drafts, and only once its context is at hand.
            Content::Track(_) if foreign => self.foreign_tracks.push(at),
            Content::Track(track) => {
                if may_run {
                    self.track_ends.add(&track, self.slots.len() as u32);
                    self.slots.push(Slot { at, is_track: true });
                }
            }
            Content::Use(Use { hash, hits }) => {
                if !foreign {
                    let uses = self.uses.entry(hash).or_default();
                    *uses = uses.saturating_add(u64::from(hits));
                }
            }
            Content::Anchor(anchor) => {
                if !foreign {
                    self.anchors.entry(anchor.hash).or_insert(at);
                }
            }
            Content::Unknown => {}
        }
        Ok(())
    }

    fn record(&self, at: At) -> Option<Record<'_>> {
        record_at(self.sources.get(at.source as usize)?, at.offset)
    }

    fn slot(&self, run: usize) -> Option<(Slot, Record<'_>)> {
        let slot = *self.slots.get(run)?;
        Some((slot, self.record(slot.at)?))
    }

    /// Tokens of a session by its number; none for anything else.
    fn tokens(&self, run: u32) -> Tokens<'_> {
        self.session(run).map(|session| session.tokens).unwrap_or_default()
    }

    /// Number of runs: foreign sessions, then own sessions and tracks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A run by its number. O(1) for sessions, O(operations) for tracks.
    #[must_use]
    pub fn run(&self, run: usize) -> Option<Run<'_>> {
        let run = u32::try_from(run).ok()?;
        self.session(run).map(Run::Session).or_else(|| self.track(run).map(Run::Track))
    }

    /// Whether a run comes from a foreign map.
    #[must_use]
    pub fn is_foreign(&self, run: usize) -> bool {
        self.slots.get(run).is_some_and(|slot| slot.at.source < self.own_source())
    }

    /// Where a run's record starts in its file.
    #[must_use]
    pub fn run_offset(&self, run: usize) -> Option<usize> {
        self.slots.get(run).map(|slot| self.file_offset(slot.at))
    }

    fn file_offset(&self, at: At) -> usize {
        let appended = at.source > self.own_source();
        at.offset + if appended { self.valid_len } else { 0 }
    }

    /// The whole own records in file order, appended ones included.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let source = |source: u32| self.sources.get(source as usize).map_or(&[][..], |bytes| bytes);
        let (opened, appended) = (source(self.own_source()), source(self.own_source() + 1));
        let walk = |bytes, first: usize, shift| {
            core::iter::successors(record_at(bytes, first), move |record| record_at(bytes, record.end()))
                .map(move |record: Record<'_>| Record { offset: record.offset + shift, ..record })
        };
        walk(opened, crate::record::MAGIC.len(), 0).chain(walk(appended, 0, self.valid_len))
    }

    /// Length of the file's valid part when it was opened: what follows is its [`tail`](Map::tail).
    #[must_use]
    pub fn valid_len(&self) -> usize {
        self.valid_len
    }

    /// What stood behind the last whole record when the map was opened.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// The file as it should be now: its valid part and everything appended. Copies it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let own = self.own_source() as usize;
        let opened = self.sources.get(own).and_then(|bytes| bytes.get(..self.valid_len)).unwrap_or_default();
        let appended = self.sources.get(own + 1).map_or(&[][..], |bytes| bytes);
        [opened, appended].concat()
    }

    /// Records that were skipped since they cannot be read, in the order met; the first 1000 of them.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many records were skipped since they cannot be read.
    #[must_use]
    pub fn problem_count(&self) -> usize {
        self.problem_count
    }

    /// How often a prefix was used.
    #[must_use]
    pub fn uses(&self, hash: PrefixHash) -> u64 {
        self.uses.get(&hash).copied().unwrap_or(0)
    }

    /// All use counts, in no order.
    pub fn all_uses(&self) -> impl ExactSizeIterator<Item = (PrefixHash, u64)> + '_ {
        self.uses.iter().map(|(hash, uses)| (*hash, *uses))
    }

    /// The anchored state of a prefix, unread. The first record of a hash counts.
    #[must_use]
    pub fn anchor(&self, hash: PrefixHash) -> Option<Anchor<'_>> {
        let record = self.record(*self.anchors.get(&hash)?)?;
        Anchor::parse(record.kind, record.payload).ok()
    }

    /// All anchored states, in no order.
    pub fn anchors(&self) -> impl Iterator<Item = Anchor<'_>> + '_ {
        self.anchors.keys().filter_map(|hash| self.anchor(*hash))
    }

    /// Where an anchor's record starts in the file.
    #[must_use]
    pub fn anchor_offset(&self, hash: PrefixHash) -> Option<usize> {
        self.anchors.get(&hash).map(|at| self.file_offset(*at))
    }

    /// Rebuilds an anchored state, through its parents where it is a delta. O(state + deltas).
    pub fn restore(&self, hash: PrefixHash) -> Result<Restored<'_>, AnchorError> {
        restore(hash, |hash| self.anchor(hash))
    }

    /// The draft rail, with every run on it. O(nmax) a token not yet on it; nothing otherwise.
    ///
    /// The log of a rail has room for 2^32 tokens less a few; runs past that do not draft.
    pub fn rail(&mut self) -> &mut Rail {
        let Self { rail, slots, sources, .. } = self;
        let own = sources.len() as u32 - 2;
        let session = |slot: &Slot| {
            let record = record_at(sources.get(slot.at.source as usize)?, slot.at.offset)?;
            let session = Session::parse(record.payload).ok().filter(|_| !slot.is_track)?;
            let gen_start = if slot.at.source < own { session.tokens.len() } else { session.gen_start as usize };
            Some((session.tokens, gen_start))
        };
        let waiting = slots.get(self.railed..).unwrap_or_default();
        rail.reserve(waiting.iter().filter_map(session).map(|(tokens, _)| tokens.len()).sum());
        for (tokens, gen_start) in waiting.iter().filter_map(session) {
            if rail.push_run(tokens.iter(), gen_start).is_err() {
                break;
            }
        }
        self.railed = slots.len();
        rail
    }
}

impl TrackEnds {
    /// Adds a track behind the sorted lengths: [`TrackEnds::sort`] is due, or [`TrackEnds::sort_last`].
    fn add(&mut self, track: &Track<'_>, run: u32) {
        let key = (track.context_len, track.context_hash);
        self.runs.entry(key).or_insert(run);
        self.lengths.push(track.context_len);
    }

    /// Puts the length that was added last into its place.
    fn sort_last(&mut self) {
        if let Some(len) = self.lengths.pop()
            && let Err(at) = self.lengths.binary_search(&len)
        {
            self.lengths.insert(at, len);
        }
    }

    /// Sorts the lengths. One by one at opening would take the square of their number where they descend.
    fn sort(&mut self) {
        self.lengths.sort_unstable();
        self.lengths.dedup();
    }
}

#[cfg(test)]
mod tests;
