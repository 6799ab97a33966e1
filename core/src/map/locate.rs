//! Finding a context in a map, and answering it.
//!
//! The rules are in `rules`, where the reader without an allocator follows them too; here is what this map answers them.

use super::{Map, Slot};
use crate::chain::{PrefixHash, chain, longer};
use crate::index::Index;
use crate::rules::{self, Answering, Reader, Rules, Taken, prefixes};
use crate::run::Session;
use crate::track::Track;
use alloc::vec::Vec;

pub use crate::rules::{End, Located, TrackError};

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

/// So many times the limit of one track's answer is that of all on the draft rail.
const LEARNT_LIMITS: usize = 16;

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
        let last = self.hashes.last().copied().unwrap_or_default();
        let missing = self.context.get(self.hashes.len() - 1..len).unwrap_or_default();
        self.hashes.extend(longer(last, missing));
        self.hashes.get(len).copied().unwrap_or_default()
    }
}

impl Map<'_> {
    /// Finds a context. O(context + log R) token comparisons, and one hash a token where the map has tracks or anchors
    /// that could matter.
    #[must_use]
    pub fn locate(&self, context: &[u32]) -> Located {
        rules::locate(self, context, prefixes(context))
    }

    /// Finds a context and returns its whole chain too, the empty prefix first. One hash a token.
    #[must_use]
    pub fn locate_with_chain(&self, context: &[u32]) -> (Located, Vec<PrefixHash>) {
        let chain = chain(context);
        (rules::locate(self, context, chain.iter().copied()), chain)
    }

    /// What the model answered to exactly this context: at most `max_new` tokens, ending with the first of `stop`.
    /// `None` when no own run answers it.
    ///
    /// A session answers only after all its tokens before were compared with the context. A track's context rests on its
    /// length and 64-bit hash.
    #[must_use]
    pub fn answer(&self, context: &[u32], max_new: usize, stop: &[u32]) -> Option<Answer> {
        let Answering { run, from } = rules::answering(self, context, prefixes(context))?;
        let run = run as usize;
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
    /// All of them together get room for 16 times the limit, since a track of some bytes may copy its context thousands of
    /// times; those that have none left are passed over.
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
            let answer = limit.min(usize::try_from(track.answer_len).unwrap_or(usize::MAX));
            let total = self.learnt_tokens.saturating_add(answer);
            if total > limit.saturating_mul(LEARNT_LIMITS) {
                continue;
            }
            let tokens: Vec<u32> = lead.iter().copied().chain(track.decode(context).take(limit)).collect();
            if self.rail().push_draft_only(tokens).is_err() {
                break;
            }
            self.learnt_tokens = total;
            self.learnt.insert(at);
            learnt += 1;
        }
        learnt
    }
}

impl Reader for Map<'_> {
    type Sorted = Index;
    const OWN_LIST: bool = true;

    fn rules(&self) -> Rules {
        let super::Options { stride, draft_only, through_tracks, anchors_past_stride, .. } = self.options;
        Rules { stride, draft_only, through_tracks, anchors_past_stride }
    }

    fn sorted(&self) -> &Index {
        &self.index
    }

    fn session(&self, run: u32) -> Option<Session<'_>> {
        let (slot, record) = self.slot(run as usize)?;
        let mut session = Session::parse(record.payload).ok().filter(|_| !slot.is_track)?;
        if slot.at.source < self.own_source() {
            session.gen_start = session.tokens.len() as u32;
        }
        Some(session)
    }

    fn track(&self, run: u32) -> Option<Track<'_>> {
        match self.slot(run as usize)? {
            (Slot { is_track: true, .. }, record) => Track::parse(record.payload).ok(),
            _ => None,
        }
    }

    fn longest_track(&self, len: usize) -> Option<usize> {
        let lengths = &self.track_ends.lengths;
        let fitting = lengths.partition_point(|length| *length as usize <= len);
        lengths.get(fitting.checked_sub(1)?).map(|length| *length as usize)
    }

    fn next_track(&self, len: usize) -> Option<usize> {
        let lengths = &self.track_ends.lengths;
        lengths.get(lengths.partition_point(|length| (*length as usize) < len)).map(|length| *length as usize)
    }

    fn track_at(&self, len: usize, hash: PrefixHash) -> Option<u32> {
        self.track_ends.runs.get(&(u32::try_from(len).ok()?, hash)).copied()
    }

    fn has_anchors(&self) -> bool {
        !self.anchors.is_empty()
    }

    fn is_anchored(&self, hash: PrefixHash) -> bool {
        self.anchors.contains_key(&hash)
    }
}

fn take_answer(tokens: impl Iterator<Item = u32>, max_new: usize, stop: &[u32]) -> (Vec<u32>, End) {
    let mut taken = Taken::new(tokens, max_new, stop);
    let tokens = taken.by_ref().collect();
    (tokens, taken.end.unwrap_or(End::Run))
}
