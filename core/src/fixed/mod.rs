//! A map where there is no allocator: in flash, read in place, with memory that can be counted beforehand.
//!
//! A [`Map`] borrows the file's bytes, wherever they lie, and copies no tokens. What it must know to find things fast are
//! four lists, and these come from one of two places:
//!
//! * [`Tables`], of a size that the program says and the compiler checks: opening fills them in one walk over the records.
//!   A table that is too small is an error that says how large it must be. `mrail size MAP` prints the type to paste.
//! * a [`Hint`] that a host has prepared (`mrail index MAP -o MAP.idx`), lying in flash beside the map and searched in place:
//!   no memory at all. It is never trusted: see [`hint`](mod@hint).
//!
//! The rules are those of the map with an allocator, and the same code: the same runs answer, with the same tokens.
//!
//! ```
//! use mrail::fixed::{End, Map, Rules, Tables};
//!
//! // MRAIL 3, then one session: 1 9690 198 | 520 725 2
//! static FLASH: &[u8] = b"MRAIL\x03\0\0\x01\x24\0\0\0\0\0\0\0\x06\0\0\0\x03\0\0\0\
//!     \x01\0\0\0\xDA\x25\0\0\xC6\0\0\0\x08\x02\0\0\xD5\x02\0\0\x02\0\0\0";
//!
//! type Known<'a> = Map<'a, Tables<1, 0, 0, 0>>;
//! let map = Known::open(FLASH, Rules::default())?;
//! let mut answer = map.answer(&[1, 9690, 198], 64, &[2]).expect("the run's own context");
//! let mut sent = 0;
//! for token in answer.by_ref() {
//!     sent += usize::from([520, 725, 2].contains(&token));
//! }
//! assert_eq!((sent, answer.end()), (3, Some(End::Stop)));
//! assert_eq!(map.locate(&[1, 9690, 7]).lcp, 2);
//! # Ok::<(), mrail::fixed::OpenError>(())
//! ```
//!
//! # Memory and time
//!
//! | what | bytes of [`Tables`] | bytes of a [`Hint`], in flash |
//! |---|---|---|
//! | a run | 12 | 12; a track 4 |
//! | a track's context (the first track of each) | 16 | 16 |
//! | an anchored prefix | 16 | 16 |
//! | a used prefix | 16 | 16 |
//! | once | 20 | 36 |
//!
//! [`Map`] itself is some words, [`Answer`] and the stack of its callers a few hundred bytes. A [`Tree`] has its own memory,
//! whose size its parameters say.
//!
//! | | costs, for R runs with N tokens |
//! |---|---|
//! | opening with tables | one walk, O(R log R) comparisons of runs, O(R²) moves of 8 bytes |
//! | opening with a hint | one walk, each run compared with its neighbour, one hash over the file; or O(1) |
//! | locate, answer | O(context + log R) token comparisons; one BLAKE2b a token where tracks or anchors could matter |
//! | a token of an answer | O(1) |
//! | draft tree | O(N · n) token comparisons for n-grams of up to n: the tokens are scanned in place, newest first |
//!
//! # What it does not do
//!
//! It reads. It has no foreign maps and no thought rail, restores no anchored states (it says where they are), and drafts
//! from sessions alone. Files are shorter than 4 GiB. Any bytes are safe to open: there is no panic, no endless loop, and
//! nothing that indexes or adds without a check.

mod answer;
pub mod hint;
mod lists;
mod tables;
mod tree;

#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use crate::content::{Problem, Run};
pub use crate::rules::{End, Located, Rules, TrackError};
pub use answer::Answer;
pub use hint::{Hint, HintError};
pub use lists::{AnchorAt, Lists, TrackEnd, Used};
pub use tables::{OpenError, Sizes, Tables};
pub use tree::Tree;

use crate::anchor::Anchor;
use crate::chain::PrefixHash;
use crate::content::Content;
use crate::index::{Entry, Sorted};
use crate::record::{Record, Records, SESSION, TRACK, record_at};
use crate::rules::{self, Reader, prefixes};
use crate::run::Session;
use crate::tail::Tail;
use crate::track::{Decoded, Track};
use lists::search;

/// An open map: borrowed bytes, and lists of what is where in them.
///
/// `L` is [`Tables`], a reference to such, or a [`Hint`].
#[derive(Clone, Copy, Debug)]
pub struct Map<'a, L> {
    bytes: &'a [u8],
    rules: Rules,
    lists: L,
}

impl<'a, const RUNS: usize, const TRACKS: usize, const ANCHORS: usize, const USES: usize>
    Map<'a, Tables<RUNS, TRACKS, ANCHORS, USES>>
{
    /// Opens a map with tables inside it. [`Tables::open`] fills some that lie elsewhere, in a `static` for example.
    pub fn open(bytes: &'a [u8], rules: Rules) -> Result<Self, OpenError> {
        let mut map = Self { bytes, rules, lists: Tables::new() };
        map.lists.fill(bytes)?;
        Ok(map)
    }
}

impl<'a, 'h> Map<'a, Hint<'h>> {
    /// Opens a map with the lists that a hint holds, after each of them was checked against the map ([`Hint::check`]).
    pub fn open_with_hint(bytes: &'a [u8], hint: &'h [u8], rules: Rules) -> Result<Self, HintError> {
        let map = Self::open_with_hint_unread(bytes, hint, rules)?;
        map.lists.check(bytes)?;
        Ok(map)
    }

    /// Opens a map with a hint of which only the header and the lengths are looked at. O(1): for a hint that was written
    /// into flash together with its map.
    ///
    /// Whatever a hint points at is compared with what was looked for, so one that is stale or wrong makes a miss of what it
    /// should help to find. A session still answers only with tokens that follow the context's in the map's bytes, a track
    /// only its own context; that these bytes begin where a record of the map does is what nobody looked at. Use counts are
    /// taken as they are.
    pub fn open_with_hint_unread(bytes: &'a [u8], hint: &'h [u8], rules: Rules) -> Result<Self, HintError> {
        Records::new(bytes).map_err(HintError::NotAMap)?;
        Ok(Self { bytes, rules, lists: Hint::read(hint)? })
    }
}

impl<'a, L: Lists> Map<'a, L> {
    /// How the map is asked.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The lists.
    pub fn lists(&self) -> &L {
        &self.lists
    }

    /// Number of runs, sessions and tracks together.
    pub fn len(&self) -> usize {
        self.lists.runs()
    }

    /// Whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a run's record starts.
    pub fn run_offset(&self, run: usize) -> Option<usize> {
        self.lists.run(run).map(|offset| offset as usize)
    }

    /// A run by its number. O(1) for sessions, O(operations) for tracks.
    pub fn run(&self, run: usize) -> Option<Run<'a>> {
        match Content::of(&self.record(run)?) {
            Ok(Content::Session(session)) => Some(Run::Session(session)),
            Ok(Content::Track(track)) => Some(Run::Track(track)),
            _ => None,
        }
    }

    fn record(&self, run: usize) -> Option<Record<'a>> {
        record_at(self.bytes, self.run_offset(run)?)
    }

    /// A run that is a session. O(1).
    fn session_at(&self, run: usize) -> Option<Session<'a>> {
        let record = self.record(run).filter(|record| record.kind == SESSION)?;
        Session::parse(record.payload).ok()
    }

    fn track_of(&self, run: usize) -> Option<Track<'a>> {
        let record = self.record(run).filter(|record| record.kind == TRACK)?;
        Track::parse(record.payload).ok()
    }

    /// Finds a context.
    pub fn locate(&self, context: &[u32]) -> Located {
        rules::locate(self, context, prefixes(context))
    }

    /// What the model answered to exactly this context: at most `max_new` tokens, ending with the first of `stop`, one at a
    /// time. `None` when no run answers it.
    ///
    /// A session answers only after all its tokens before were compared with the context. A track's context rests on its
    /// length and 64-bit hash.
    pub fn answer<'c>(&self, context: &'c [u32], max_new: usize, stop: &'c [u32]) -> Option<Answer<'a, 'c>> {
        let answering = rules::answering(self, context, prefixes(context))?;
        let run = answering.run as usize;
        if let Some(session) = self.session_at(run) {
            return Some(Answer::of_session(run, session.tokens.from(context.len()), max_new, stop));
        }
        let track = self.track_of(run)?;
        let context = context.get(..track.context_len as usize)?;
        Some(Answer::of_track(run, track.decode(context), answering.from, max_new, stop))
    }

    /// A track's whole answer, decoded against its context, whose hash is compared first. One hash a token.
    pub fn track_answer<'c>(&self, run: usize, context: &'c [u32]) -> Result<Decoded<'a, 'c>, TrackError> {
        let track = self.track_of(run).ok_or(TrackError::NotATrack { run })?;
        if track.context_len as usize != context.len() || track.context_hash != PrefixHash::of(context) {
            return Err(TrackError::WrongContext { expected: track.context_len, given: context.len() });
        }
        Ok(track.decode(context))
    }

    /// How often a prefix was used. O(log of used prefixes).
    pub fn uses(&self, hash: PrefixHash) -> u64 {
        self.lists.used(lists::use_at(&self.lists, hash)).filter(|used| used.hash == hash).map_or(0, |used| used.hits)
    }

    /// All use counts, by hash.
    pub fn all_uses(&self) -> impl Iterator<Item = (PrefixHash, u64)> + '_ {
        (0..self.lists.uses()).filter_map(|at| self.lists.used(at)).map(|used| (used.hash, used.hits))
    }

    /// The anchored state of a prefix, unread. The first record of a hash counts.
    pub fn anchor(&self, hash: PrefixHash) -> Option<Anchor<'a>> {
        let found = self.lists.anchor(lists::anchor_at(&self.lists, hash)).filter(|found| found.hash == hash)?;
        self.read_anchor(found)
    }

    /// All anchored states, by hash.
    pub fn anchors(&self) -> impl Iterator<Item = Anchor<'a>> + '_ {
        (0..self.lists.anchors()).filter_map(|at| self.read_anchor(self.lists.anchor(at)?))
    }

    fn read_anchor(&self, found: AnchorAt) -> Option<Anchor<'a>> {
        match Content::of(&record_at(self.bytes, found.offset as usize)?) {
            Ok(Content::Anchor(anchor)) if anchor.hash == found.hash => Some(anchor),
            _ => None,
        }
    }

    /// The whole records in file order.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a, L> {
        self.walk()
    }

    // What is no map has no records; it was refused at opening.
    fn walk(&self) -> Records<'a> {
        Records::of_map(self.bytes)
    }

    /// Records that are skipped since they cannot be read, found by a walk.
    pub fn problems(&self) -> impl Iterator<Item = Problem> + use<'a, L> {
        self.walk().filter_map(|record| {
            let error = Content::of(&record).err()?;
            Some(Problem { foreign: None, offset: record.offset, kind: record.kind, error })
        })
    }

    /// Length of the file's valid part: what follows is its [`tail`](Map::tail). O(records).
    pub fn valid_len(&self) -> usize {
        let mut records = self.walk();
        records.by_ref().for_each(drop);
        records.position()
    }

    /// What stands behind the last whole record. O(records).
    pub fn tail(&self) -> Tail {
        let mut records = self.walk();
        records.by_ref().for_each(drop);
        Tail::of(records.rest())
    }

    /// Drafts what may follow a context, into memory of the caller's. See [`Tree`].
    pub fn draft<const BUDGET: usize, const NMAX: usize, const NEWEST: usize, const DEPTH: usize>(
        &self,
        context: &[u32],
        tree: &mut Tree<BUDGET, NMAX, NEWEST, DEPTH>,
    ) {
        tree.grow(self.bytes, self.lists.runs(), |run| Some((self.run_offset(run)?, self.session_at(run)?)), context);
    }
}

impl<L: Lists> Sorted for Map<'_, L> {
    fn len(&self) -> usize {
        self.lists.sessions()
    }

    fn entry(&self, at: usize) -> Option<Entry> {
        self.lists.session(at).map(|(run, shared)| Entry { run, shared })
    }
}

impl<L: Lists> Reader for Map<'_, L> {
    type Sorted = Self;
    const OWN_LIST: bool = L::CHECKED;

    fn rules(&self) -> Rules {
        self.rules
    }

    fn sorted(&self) -> &Self {
        self
    }

    fn session(&self, run: u32) -> Option<Session<'_>> {
        self.session_at(run as usize)
    }

    fn track(&self, run: u32) -> Option<Track<'_>> {
        self.track_of(run as usize)
    }

    fn longest_track(&self, len: usize) -> Option<usize> {
        let tracks = &self.lists;
        let fitting = search(tracks.tracks(), |at| tracks.track(at).is_some_and(|end| end.context_len as usize <= len));
        tracks.track(fitting.checked_sub(1)?).map(|end| end.context_len as usize)
    }

    fn next_track(&self, len: usize) -> Option<usize> {
        let tracks = &self.lists;
        let shorter =
            search(tracks.tracks(), |at| tracks.track(at).is_some_and(|end| (end.context_len as usize) < len));
        tracks.track(shorter).map(|end| end.context_len as usize)
    }

    fn track_at(&self, len: usize, hash: PrefixHash) -> Option<u32> {
        let len = u32::try_from(len).ok()?;
        let found = self.lists.track(lists::track_at(&self.lists, len, hash))?;
        let is_it = |track: Track<'_>| (track.context_len, track.context_hash) == (len, hash);
        // The list first: reading a track costs all its operations, and this is asked at every position.
        let listed = (found.context_len, found.hash) == (len, hash);
        (listed && (L::CHECKED || self.track(found.run).is_some_and(is_it))).then_some(found.run)
    }

    fn has_anchors(&self) -> bool {
        self.lists.anchors() > 0
    }

    fn is_anchored(&self, hash: PrefixHash) -> bool {
        let found = self.lists.anchor(lists::anchor_at(&self.lists, hash)).filter(|found| found.hash == hash);
        found.is_some_and(|found| L::CHECKED || self.read_anchor(found).is_some())
    }
}
