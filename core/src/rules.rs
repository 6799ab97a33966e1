//! The rules of finding and answering (FORMAT.md, "Prefix index"), which every reader of maps follows.
//!
//! Runs that hold their tokens are compared token by token. Tracks and anchors are known by their 64-bit hashes alone, so
//! prefixes are hashed only where a map has some, and only as far as they can matter: once, in one pass from the first
//! token on, of which nothing is kept.

use crate::chain::{PrefixHash, longer};
use crate::index::{self, Place, Sorted};
use crate::run::Session;
use crate::tokens::Tokens;
use crate::track::Track;
use core::fmt;
use core::num::NonZeroUsize;

/// Where a context is in a map (FORMAT.md, "locate").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// Length of the longest indexed prefix.
    pub lcp: usize,
    /// Length of the longest prefix that any run shares, indexed or not. Only a stride makes it longer than `lcp`.
    pub shared: usize,
    /// The run that answers the whole context.
    pub run: Option<usize>,
    /// The longest anchored prefix at or below it: its hash and length.
    pub anchor: Option<(PrefixHash, usize)>,
}

/// Why an answer ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a stop token, which is its last.
    Stop,
    /// With its run, and without a stop token: the model would have gone on. Decode from there.
    Run,
    /// With the number of tokens asked for.
    MaxNew,
}

/// Why a track cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackError {
    /// The run is no track.
    NotATrack {
        /// Its number.
        run: usize,
    },
    /// The context is another than the track's.
    WrongContext {
        /// Tokens in the track's context.
        expected: u32,
        /// Tokens given. Where both are equal the hashes differ.
        given: usize,
    },
    /// The answer has more tokens than were allowed.
    TooLong {
        /// Tokens in the answer.
        len: u64,
        /// Tokens allowed.
        limit: usize,
    },
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATrack { run } => write!(f, "run {run} is no track"),
            Self::WrongContext { expected, given } if *expected as usize == *given => {
                write!(f, "these {given} tokens are not the track's context: their hashes differ")
            }
            Self::WrongContext { expected, given } => {
                write!(f, "the track's context has {expected} tokens, {given} were given")
            }
            Self::TooLong { len, limit } => write!(f, "the track's answer has {len} tokens, {limit} are allowed"),
        }
    }
}

impl core::error::Error for TrackError {}

/// How a map is asked.
// Public where the reader without an allocator is; the other has these in its options.
#[cfg_attr(not(feature = "heapless"), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Prompt positions are indexed only at multiples of this (FORMAT.md, "Stride").
    pub stride: NonZeroUsize,
    /// Whether the map only drafts: nobody vouches that its runs are this model's. It then answers nothing, and none of its
    /// anchors is found.
    pub draft_only: bool,
    /// Whether a context that ends inside a track's answer is located and answered (FORMAT.md, "Through a track").
    pub through_tracks: bool,
    /// Whether an anchor between the longest *indexed* and the longest *shared* prefix is found. Only a stride makes these
    /// differ.
    pub anchors_past_stride: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { through_tracks: true, anchors_past_stride: true, ..Self::reference() }
    }
}

impl Rules {
    /// What the reference does: every position indexed, no look past a track's context.
    #[must_use]
    #[cfg_attr(not(feature = "heapless"), allow(unreachable_pub))]
    pub const fn reference() -> Self {
        Self { stride: NonZeroUsize::MIN, draft_only: false, through_tracks: false, anchors_past_stride: false }
    }
}

/// What the rules ask of a map that is open.
pub(crate) trait Reader {
    /// Its sorted sessions.
    type Sorted: Sorted;
    /// Whether the reader made that list itself. Of another's, what it says of shared tokens is compared.
    const OWN_LIST: bool;

    fn rules(&self) -> Rules;
    fn sorted(&self) -> &Self::Sorted;
    /// A session by its number; the answer of a foreign one starts at its end.
    fn session(&self, run: u32) -> Option<Session<'_>>;
    fn track(&self, run: u32) -> Option<Track<'_>>;
    /// The longest context of an own track that has at most `len` tokens.
    fn longest_track(&self, len: usize) -> Option<usize>;
    /// The shortest one that has at least `len` tokens.
    fn next_track(&self, len: usize) -> Option<usize>;
    /// The first own track with that context.
    fn track_at(&self, len: usize, hash: PrefixHash) -> Option<u32>;
    fn has_anchors(&self) -> bool;
    fn is_anchored(&self, hash: PrefixHash) -> bool;
}

/// A run, and how many tokens of its answer the context holds already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answering {
    pub(crate) run: u32,
    pub(crate) from: usize,
}

/// Hashes of every prefix of a context, the empty one first, each computed when it is asked for.
pub(crate) fn prefixes(context: &[u32]) -> impl Iterator<Item = PrefixHash> {
    core::iter::once(PrefixHash::EMPTY).chain(longer(PrefixHash::EMPTY, context))
}

/// Finds a context, whose `prefixes` are given. O(context + log R) token comparisons for R runs.
pub(crate) fn locate<R: Reader>(reader: &R, context: &[u32], prefixes: impl Iterator<Item = PrefixHash>) -> Located {
    let (located, answering) = survey(reader, context, prefixes, true);
    Located { run: answering.map(|answering| answering.run as usize), ..located }
}

/// The answer index's entry for the whole context, of which `prefixes` are given.
pub(crate) fn answering<R: Reader>(
    reader: &R,
    context: &[u32],
    prefixes: impl Iterator<Item = PrefixHash>,
) -> Option<Answering> {
    survey(reader, context, prefixes, false).1
}

/// Finds what answers a context and, with `whole`, where it is.
fn survey<R: Reader>(
    reader: &R,
    context: &[u32],
    mut prefixes: impl Iterator<Item = PrefixHash>,
    whole: bool,
) -> (Located, Option<Answering>) {
    let rules = reader.rules();
    let len = context.len();
    let place = index::find(reader.sorted(), context, |run| tokens(reader, run));
    let session = if rules.draft_only { None } else { answering_session(reader, context, place) };
    let mut located = Located { shared: place.shared(), ..Located::default() };
    if whole {
        located.lcp = indexed(reader, context, place);
    }

    // How far hashes matter: to the longest track that could change anything, and to where anchors count.
    let tracks = reader.longest_track(len).filter(|&longest| {
        longest == len || rules.through_tracks && session.is_none() || whole && longest > located.lcp
    });
    let from = if rules.through_tracks { 0 } else { located.lcp.saturating_add(1).min(len) };
    let mut next_track = tracks.and_then(|_| reader.next_track(from));
    let anchors = whole && !rules.draft_only && reader.has_anchors();
    let reach = |located: &Located| if rules.anchors_past_stride { located.shared } else { located.lcp };
    let (mut at_end, mut inside, mut anchored) = (None, None, None);
    for at in 0..=len {
        let with_tracks = tracks.is_some_and(|longest| at <= longest);
        if !(with_tracks || anchors && at <= reach(&located)) {
            break;
        }
        let Some(hash) = prefixes.next() else { break };
        let ends_track = with_tracks && next_track == Some(at);
        if ends_track {
            next_track = reader.next_track(at.saturating_add(1));
        }
        if ends_track && let Some(run) = reader.track_at(at, hash) {
            let from = if rules.through_tracks { through(reader, run, context) } else { 0 };
            let end = at.saturating_add(from);
            located.lcp = located.lcp.max(end);
            located.shared = located.shared.max(end);
            if at == len {
                at_end = Some(Answering { run, from: 0 });
            } else if end == len && reader.track(run).is_some_and(|track| track.answer_len > from as u64) {
                inside = Some(Answering { run, from });
            }
        }
        if anchors && at > 0 && reader.is_anchored(hash) {
            anchored = Some((hash, at));
        }
        // What lies past the reach so far counts once a track reaches further.
        if at <= reach(&located) {
            located.anchor = anchored;
        }
    }
    let session_or_track = match (at_end, session) {
        // A track is one token longer than its context, and replaces nothing.
        (Some(track), Some(session)) if track.run < session.earliest && session.len <= len.saturating_add(1) => at_end,
        (_, Some(session)) => Some(Answering { run: session.run, from: 0 }),
        (Some(_), None) => at_end,
        (None, None) => inside,
    };
    (located, session_or_track.filter(|_| !rules.draft_only))
}

/// The longest session that answers, the earliest on ties.
#[derive(Clone, Copy)]
struct AnsweringSession {
    run: u32,
    len: usize,
    /// The first of all sessions that would answer.
    earliest: u32,
}

fn answering_session<R: Reader>(reader: &R, context: &[u32], place: Place) -> Option<AnsweringSession> {
    let mut best: Option<AnsweringSession> = None;
    // The empty context is nobody's.
    for (run, shared) in index::after(reader.sorted(), place) {
        if shared < context.len() || shared == 0 {
            break;
        }
        let Some(session) = reader.session(run) else { continue };
        let len = session.tokens.len();
        if session.gen_start as usize > shared || len <= shared || !holds::<R>(session.tokens, context) {
            continue;
        }
        best = Some(match best {
            None => AnsweringSession { run, len, earliest: run },
            Some(best) => {
                let earliest = best.earliest.min(run);
                let better = len > best.len || len == best.len && run < best.run;
                if better { AnsweringSession { run, len, earliest } } else { AnsweringSession { earliest, ..best } }
            }
        });
    }
    best
}

/// The longest prefix at the place that is indexed: a multiple of the stride, or behind a start of an answer.
fn indexed<R: Reader>(reader: &R, context: &[u32], place: Place) -> usize {
    let shared = place.shared();
    let rounded = shared.saturating_sub(shared % reader.rules().stride);
    // Runs share less and less on the way out, so the first that is indexed there is the best of its side.
    let best = |(run, shared): (u32, usize)| {
        let session = reader.session(run)?;
        let prefix = context.get(..shared)?;
        (session.gen_start as usize <= shared && holds::<R>(session.tokens, prefix)).then_some(shared)
    };
    let worth = |(_, shared): &(u32, usize)| *shared > rounded;
    let before = index::before(reader.sorted(), place).take_while(worth).find_map(best);
    let after = index::after(reader.sorted(), place).take_while(worth).find_map(best);
    rounded.max(before.unwrap_or(0)).max(after.unwrap_or(0))
}

/// Whether a session starts with tokens that its place in the sorted list says it starts with.
fn holds<R: Reader>(session: Tokens<'_>, prefix: &[u32]) -> bool {
    R::OWN_LIST || session.common_prefix(prefix) == prefix.len()
}

/// How many tokens of a track's answer follow its context in `context`.
fn through<R: Reader>(reader: &R, run: u32, context: &[u32]) -> usize {
    let Some(track) = reader.track(run) else { return 0 };
    let Some((before, behind)) = context.split_at_checked(track.context_len as usize) else { return 0 };
    track.shared(before, behind)
}

fn tokens<R: Reader>(reader: &R, run: u32) -> Tokens<'_> {
    reader.session(run).map(|session| session.tokens).unwrap_or_default()
}

/// The tokens of an answer up to where it ends.
#[derive(Clone, Debug)]
pub(crate) struct Taken<'s, I> {
    tokens: I,
    left: usize,
    stop: &'s [u32],
    /// Why it ended, once it has.
    pub(crate) end: Option<End>,
}

impl<'s, I: Iterator<Item = u32>> Taken<'s, I> {
    /// At most `max_new` of `tokens`, ending with the first of `stop`.
    pub(crate) fn new(tokens: I, max_new: usize, stop: &'s [u32]) -> Self {
        Self { tokens, left: max_new, stop, end: (max_new == 0).then_some(End::MaxNew) }
    }
}

impl<I: Iterator<Item = u32>> Iterator for Taken<'_, I> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.end.is_some() {
            return None;
        }
        let Some(token) = self.tokens.next() else {
            self.end = Some(End::Run);
            return None;
        };
        self.left = self.left.saturating_sub(1);
        if self.stop.contains(&token) {
            self.end = Some(End::Stop);
        } else if self.left == 0 {
            self.end = Some(End::MaxNew);
        }
        Some(token)
    }
}
