//! Finding a context in a map, and answering it.
//!
//! Runs that hold their tokens are compared token by token. Tracks and anchors are known by their 64-bit hashes alone, so
//! the context's chain is computed only where a map has some, and only as far as it is needed.

use super::{Map, Slot};
use crate::chain::PrefixHash;
use crate::index::Place;
use crate::run::Session;
use crate::track::Track;
use alloc::vec::Vec;
use core::fmt;

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

/// What a map answers to a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The run that answers.
    pub run: usize,
    /// The model's own greedy tokens. Empty only where none were asked for, or where a track's answer is empty.
    pub tokens: Vec<u32>,
    /// Why they end.
    pub end: End,
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

/// The prefix hashes of a context, computed as far as they were asked for.
struct Chain<'c> {
    context: &'c [u32],
    hashes: Vec<PrefixHash>,
}

impl<'c> Chain<'c> {
    fn of(context: &'c [u32]) -> Self {
        Self { context, hashes: Vec::new() }
    }

    /// Hash of the first `len` tokens, of which there are so many.
    fn at(&mut self, len: usize) -> PrefixHash {
        if self.hashes.is_empty() {
            self.hashes.reserve(len + 1);
            self.hashes.push(PrefixHash::EMPTY);
        }
        let mut last = self.hashes.last().copied().unwrap_or_default();
        let missing = self.context.get(self.hashes.len() - 1..len).unwrap_or_default();
        self.hashes.extend(missing.iter().map(|&token| {
            last = last.then(token);
            last
        }));
        self.hashes.get(len).copied().unwrap_or_default()
    }
}

/// A run, and how many tokens of its answer the context holds already.
#[derive(Clone, Copy)]
struct Answering {
    run: usize,
    from: usize,
}

impl Map<'_> {
    /// Finds a context. O(context + log R) token comparisons, and one hash a token where the map has tracks or anchors
    /// that could matter.
    #[must_use]
    pub fn locate(&self, context: &[u32]) -> Located {
        self.locate_in(&mut Chain::of(context))
    }

    /// Finds a context and returns its whole chain too, the empty prefix first. One hash a token.
    #[must_use]
    pub fn locate_with_chain(&self, context: &[u32]) -> (Located, Vec<PrefixHash>) {
        let mut chain = Chain::of(context);
        chain.at(context.len());
        (self.locate_in(&mut chain), chain.hashes)
    }

    /// What the model answered to exactly this context: at most `max_new` tokens, ending with the first of `stop`.
    /// `None` when no own run answers it.
    ///
    /// A session answers only after all its tokens before were compared with the context. A track's context rests on its
    /// length and 64-bit hash.
    #[must_use]
    pub fn answer(&self, context: &[u32], max_new: usize, stop: &[u32]) -> Option<Answer> {
        let place = self.index.find(context, |run| self.tokens(run));
        let Answering { run, from } = self.answering(&mut Chain::of(context), place)?;
        let (slot, record) = self.slot(run)?;
        let (tokens, end) = if slot.is_track {
            let track = Track::parse(record.payload).ok()?;
            let context = context.get(..track.context_len as usize)?;
            take_answer(track.decode(context).skip(from), max_new, stop)
        } else {
            let session = Session::parse(record.payload).ok()?;
            take_answer(session.tokens.from(context.len()).iter(), max_new, stop)
        };
        Some(Answer { run, tokens, end })
    }

    /// Decodes a track's whole answer, of at most `limit` tokens, against its context, whose hash is compared first.
    pub fn track_answer(&self, run: usize, context: &[u32], limit: usize) -> Result<Vec<u32>, TrackError> {
        let not_a_track = TrackError::NotATrack { run };
        let (slot, record) = self.slot(run).ok_or(not_a_track)?;
        let track = Track::parse(record.payload).ok().filter(|_| slot.is_track).ok_or(not_a_track)?;
        if track.context_len as usize != context.len() || track.context_hash != PrefixHash::of(context) {
            return Err(TrackError::WrongContext { expected: track.context_len, given: context.len() });
        }
        if track.answer_len > limit as u64 {
            return Err(TrackError::TooLong { len: track.answer_len, limit });
        }
        Ok(track.decode(context).collect())
    }

    /// Puts the answers of all tracks, own and foreign, whose contexts are prefixes of `context` on the draft rail, each
    /// once and at most `limit` tokens of it. Returns how many tracks were new.
    ///
    /// The log of the rail then differs from the reference's, which never drafts from tracks.
    pub fn learn_tracks(&mut self, context: &[u32], limit: usize) -> usize {
        let own = self.slots.iter().filter(|slot| slot.is_track).map(|slot| slot.at);
        let tracks: Vec<_> = own.chain(self.foreign_tracks.iter().copied()).collect();
        let mut chain = Chain::of(context);
        let mut learnt = 0;
        for at in tracks.into_iter().filter(|at| !self.learnt.contains(at)).collect::<Vec<_>>() {
            let Some(track) = self.record(at).and_then(|record| Track::parse(record.payload).ok()) else { continue };
            let len = track.context_len as usize;
            let Some(context) = context.get(..len).filter(|_| chain.at(len) == track.context_hash) else { continue };
            let lead = context.get(len.saturating_sub(self.options.rail.nmax)..).unwrap_or_default();
            let tokens: Vec<u32> = lead.iter().copied().chain(track.decode(context).take(limit)).collect();
            if self.rail().push_draft_only(tokens).is_err() {
                break;
            }
            self.learnt.insert(at);
            learnt += 1;
        }
        learnt
    }

    fn locate_in(&self, chain: &mut Chain<'_>) -> Located {
        let len = chain.context.len();
        let place = self.index.find(chain.context, |run| self.tokens(run));
        let mut located = Located { lcp: self.indexed(place), shared: place.shared(), ..Located::default() };
        located.run = self.answering(chain, place).map(|answering| answering.run);
        if located.run.is_some() {
            located.lcp = len;
        }
        for context_len in self.track_ends.within(len) {
            if context_len <= located.lcp && !self.options.through_tracks {
                break;
            }
            if let Some(track) = self.track_ends.run_at(context_len, chain) {
                let through = if self.options.through_tracks { self.through(track, chain.context) } else { 0 };
                located.lcp = located.lcp.max(context_len + through);
            }
        }
        located.shared = located.shared.max(located.lcp);
        if !self.anchors.is_empty() && !self.options.draft_only {
            let limit = if self.options.anchors_past_stride { located.shared } else { located.lcp };
            chain.at(limit);
            let hashes = chain.hashes.get(..=limit).unwrap_or_default().iter().enumerate().skip(1);
            let anchored = |(_, hash): &(usize, &PrefixHash)| self.anchors.contains_key(*hash);
            located.anchor = hashes.rev().find(anchored).map(|(len, hash)| (*hash, len));
        }
        located
    }

    /// The longest prefix at the place that is indexed: a multiple of the stride, or behind a start of an answer.
    fn indexed(&self, place: Place) -> usize {
        let shared = place.shared();
        let rounded = shared - shared % self.options.stride;
        // Runs share less and less on the way out, so the first that is indexed there is the best of its side.
        let best = |(run, shared): (u32, usize)| {
            let session = self.session(run as usize)?;
            (session.gen_start as usize <= shared).then_some(shared)
        };
        let worth = |(_, shared): &(u32, usize)| *shared > rounded;
        let before = self.index.before(place).take_while(worth).find_map(best);
        let after = self.index.after(place).take_while(worth).find_map(best);
        rounded.max(before.unwrap_or(0)).max(after.unwrap_or(0))
    }

    /// The answer index's entry for the whole context (FORMAT.md, "Prefix index"): the longest run, the earliest on ties.
    /// A track is one token longer than its context and replaces nothing.
    fn answering(&self, chain: &mut Chain<'_>, place: Place) -> Option<Answering> {
        if self.options.draft_only {
            return None;
        }
        let len = chain.context.len();
        let mut earliest = None;
        let mut longest: Option<(usize, usize)> = None;
        if len > 0 {
            for (run, _) in self.index.after(place).take_while(|(_, shared)| *shared == len) {
                let run = run as usize;
                let Some(session) = self.session(run).filter(|session| (session.gen_start as usize) <= len) else {
                    continue;
                };
                let total = session.tokens.len();
                if total <= len {
                    continue;
                }
                earliest = Some(earliest.map_or(run, |earliest: usize| earliest.min(run)));
                let better = |(best, at): (usize, usize)| total > best || total == best && run < at;
                if longest.is_none_or(better) {
                    longest = Some((total, run));
                }
            }
        }
        let ends_a_track = self.track_ends.within(len).next() == Some(len);
        let track = if ends_a_track { self.track_ends.run_at(len, chain) } else { None };
        let session = longest.map(|(_, run)| Answering { run, from: 0 });
        match (track, longest, earliest) {
            (Some(track), Some((total, _)), Some(earliest)) if track < earliest && total <= len + 1 => {
                Some(Answering { run: track, from: 0 })
            }
            (Some(track), None, _) => Some(Answering { run: track, from: 0 }),
            (None, None, _) if self.options.through_tracks => self.answering_through(chain),
            _ => session,
        }
    }

    /// A track inside whose answer the context ends.
    fn answering_through(&self, chain: &mut Chain<'_>) -> Option<Answering> {
        let len = chain.context.len();
        self.track_ends.within(len).find_map(|context_len| {
            let track = self.track_ends.run_at(context_len, chain)?;
            let from = self.through(track, chain.context);
            let goes_on = || self.track(track).is_some_and(|track| track.answer_len > from as u64);
            (context_len + from == len && goes_on()).then_some(Answering { run: track, from })
        })
    }

    /// How many tokens of a track's answer follow its context in `context`.
    fn through(&self, run: usize, context: &[u32]) -> usize {
        let Some(track) = self.track(run) else { return 0 };
        let Some((before, behind)) = context.split_at_checked(track.context_len as usize) else { return 0 };
        track.decode(before).zip(behind).take_while(|(token, other)| token == *other).count()
    }

    /// An own or foreign session; a foreign one's answer starts past its end.
    fn session(&self, run: usize) -> Option<Session<'_>> {
        let (slot, record) = self.slot(run)?;
        let mut session = Session::parse(record.payload).ok().filter(|_| !slot.is_track)?;
        if slot.at.source < self.own_source() {
            session.gen_start = session.tokens.len() as u32;
        }
        Some(session)
    }

    fn track(&self, run: usize) -> Option<Track<'_>> {
        match self.slot(run)? {
            (Slot { is_track: true, .. }, record) => Track::parse(record.payload).ok(),
            _ => None,
        }
    }
}

impl super::TrackEnds {
    /// Lengths of track contexts that fit into `len` tokens, longest first.
    fn within(&self, len: usize) -> impl Iterator<Item = usize> + '_ {
        let fitting = self.lengths.partition_point(|length| *length as usize <= len);
        self.lengths.get(..fitting).unwrap_or_default().iter().rev().map(|length| *length as usize)
    }

    /// The track whose context is the first `len` tokens of the chain's.
    fn run_at(&self, len: usize, chain: &mut Chain<'_>) -> Option<usize> {
        let hash = chain.at(len);
        self.runs.get(&(u32::try_from(len).ok()?, hash)).map(|run| *run as usize)
    }
}

fn take_answer(tokens: impl Iterator<Item = u32>, max_new: usize, stop: &[u32]) -> (Vec<u32>, End) {
    let mut answer = Vec::new();
    if max_new == 0 {
        return (answer, End::MaxNew);
    }
    for token in tokens {
        answer.push(token);
        if stop.contains(&token) {
            return (answer, End::Stop);
        }
        if answer.len() == max_new {
            return (answer, End::MaxNew);
        }
    }
    (answer, End::Run)
}
