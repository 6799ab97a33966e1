//! Writing: records out, no file touched.
//!
//! Each `prepare_*` checks everything first and returns an [`Append`]: the bytes of one whole record and where they go. The
//! host writes them there, in one write, after cutting whatever the file holds behind that place; then it hands the append
//! back to [`Map::commit`]. Until then the map is as it was, so a refused or failed write leaves no run behind.
//!
//! ```text
//! file     | valid part | torn tail |
//!                       ^ Append::offset      cut the file to this length, then write Append::bytes
//! ```
//!
//! A file has one writer. Hosts lock it; two maps that append to one file would overwrite each other's records.

use super::{At, Map, Tail};
use crate::anchor::{self, AnchorError, Restored, Snapshot};
use crate::chain::PrefixHash;
use crate::copy::{ZeroMinCopy, encode_copy};
use crate::record::{record_at, write_record};
use crate::run::{TOKENS_AT, encode_session};
use crate::track::encode_track;
use crate::usage::Use;
use alloc::vec::Vec;
use core::fmt;

/// One record, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing is written until the host writes the bytes and commits them"]
pub struct Append {
    offset: usize,
    bytes: Vec<u8>,
}

impl Append {
    /// Where the bytes go: the length to which the file is cut first.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The record. Empty where there is nothing to write: the map holds it already.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Does to a file held in memory what a host does to one on disk: cuts it and appends.
    pub fn apply_to(&self, file: &mut Vec<u8>) {
        file.truncate(self.offset);
        file.extend_from_slice(&self.bytes);
    }
}

/// Why nothing can be appended. The map is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// Behind the last whole record stands something that is not plainly one torn record; cutting it could lose good
    /// ones. [`crate::repair`] looks.
    NeedsRepair {
        /// Where the valid part ends.
        offset: usize,
        /// Bytes behind it.
        len: usize,
    },
    /// The answer would start behind the last token.
    AnswerPastEnd {
        /// Where it would start.
        gen_start: usize,
        /// Tokens given.
        len: usize,
    },
    /// A field of the format is too narrow.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: u64,
        /// The largest that fits.
        max: u64,
    },
    /// A copy of nothing would never end.
    ZeroMinCopy,
    /// The state cannot be stored.
    Anchor(AnchorError),
    /// The append was prepared for another end of the file: another one was committed since, or it is of another map.
    Stale {
        /// Where the file ends.
        end: usize,
        /// Where the append would go.
        offset: usize,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsRepair { offset, len } => write!(
                f,
                "{len} bytes behind offset {offset} are not plainly one torn record, and may hide good ones: repair the map first"
            ),
            Self::AnswerPastEnd { gen_start, len } => {
                write!(f, "the answer would start at token {gen_start} of a run of {len} tokens")
            }
            Self::TooLarge { what, size, max } => write!(f, "{what}: {size}, and the format holds at most {max}"),
            Self::ZeroMinCopy => ZeroMinCopy.fmt(f),
            Self::Anchor(error) => error.fmt(f),
            Self::Stale { end, offset } => {
                write!(f, "prepared for offset {offset}, but the map ends at {end}: prepare it again")
            }
        }
    }
}

impl core::error::Error for WriteError {}

fn narrow(what: &'static str, size: usize, max: u64) -> Result<u32, WriteError> {
    let too_large = WriteError::TooLarge { what, size: size as u64, max };
    u32::try_from(size).ok().filter(|size| u64::from(*size) <= max).ok_or(too_large)
}

impl Map<'_> {
    /// Where the next record goes.
    #[must_use]
    pub fn end(&self) -> usize {
        self.valid_len + self.appended().len()
    }

    fn appended(&self) -> &[u8] {
        self.sources.last().map_or(&[], |bytes| bytes)
    }

    fn prepare(&self, (kind, payload): (u8, Vec<u8>)) -> Result<Append, WriteError> {
        narrow("bytes in a record", payload.len(), u64::from(u32::MAX))?;
        let mut bytes = Vec::new();
        write_record(&mut bytes, kind, &payload);
        Ok(Append { offset: self.end(), bytes })
    }

    fn check_tail(&self) -> Result<(), WriteError> {
        match self.tail {
            Tail::Damaged { len } => Err(WriteError::NeedsRepair { offset: self.valid_len, len }),
            Tail::None | Tail::Torn { .. } => Ok(()),
        }
    }

    /// A session: `tokens[..gen_start]` is what the model was given, the rest what it answered greedily.
    pub fn prepare_session(&self, tokens: &[u32], gen_start: usize) -> Result<Append, WriteError> {
        self.check_tail()?;
        if gen_start > tokens.len() {
            return Err(WriteError::AnswerPastEnd { gen_start, len: tokens.len() });
        }
        narrow("tokens in a session", tokens.len(), (u64::from(u32::MAX) - TOKENS_AT as u64) / 4)?;
        self.prepare(encode_session(self.len() as u32, tokens, gen_start as u32))
    }

    /// A track: an answer to a context that lives elsewhere, at `source`. One hash a context token, and copy coding in
    /// O(context + answer).
    pub fn prepare_track(
        &self,
        context: &[u32],
        answer: &[u32],
        source: &str,
        min_copy: usize,
    ) -> Result<Append, WriteError> {
        self.check_tail()?;
        let context_len = narrow("tokens in a track's context", context.len(), u64::from(u32::MAX))?;
        narrow("bytes in a track's source", source.len(), u64::from(u16::MAX))?;
        let ops = encode_copy(answer, context, min_copy).map_err(|_| WriteError::ZeroMinCopy)?;
        self.prepare(encode_track(context_len, PrefixHash::of(context), source, answer, &ops))
    }

    /// Counts `hits` more uses of a prefix.
    pub fn prepare_use(&self, hash: PrefixHash, hits: u32) -> Result<Append, WriteError> {
        self.check_tail()?;
        self.prepare(Use { hash, hits }.encode())
    }

    /// The model's state after `position` tokens of a run. Stored as changes to `parent`'s state where that saves and can
    /// be read back, else whole. A hash that has an anchor already writes nothing.
    pub fn prepare_anchor(
        &self,
        sid: u32,
        position: u32,
        hash: PrefixHash,
        snapshot: &Snapshot,
        parent: Option<PrefixHash>,
    ) -> Result<Append, WriteError> {
        self.check_tail()?;
        if self.anchors.contains_key(&hash) {
            return Ok(Append { offset: self.end(), bytes: Vec::new() });
        }
        // A parent that is missing or unreadable costs a whole snapshot, not the anchor.
        let parent = parent.and_then(|parent| self.restore(parent).ok());
        let parent = parent.as_ref().map(Restored::as_parent);
        let encoded = anchor::encode(sid, position, hash, snapshot, parent).map_err(WriteError::Anchor)?;
        self.prepare((encoded.kind, encoded.payload))
    }

    /// Takes a written record in. Returns the number of the run that it holds, if it holds one.
    ///
    /// O(log R) comparisons and O(R) moves for a run, O(1) otherwise.
    pub fn commit(&mut self, append: &Append) -> Result<Option<usize>, WriteError> {
        let end = self.end();
        if append.offset != end {
            return Err(WriteError::Stale { end, offset: append.offset });
        }
        let Some(record) = record_at(&append.bytes, 0) else { return Ok(None) };
        let at = At { source: self.sources.len() as u32 - 1, offset: end - self.valid_len };
        let run = self.slots.len();
        // Prepared records are well-formed; one that is not would be left out here as in a file.
        if self.load_record(record, at, true).is_err() {
            return Ok(None);
        }
        if let Some(appended) = self.sources.last_mut() {
            appended.to_mut().extend_from_slice(&append.bytes);
        }
        self.tail = Tail::None;
        if self.slots.len() == run {
            return Ok(None);
        }
        if self.slots.get(run).is_some_and(|slot| !slot.is_track) {
            let mut index = core::mem::take(&mut self.index);
            index.insert(run as u32, |run| self.tokens(run));
            self.index = index;
        } else {
            self.track_ends.sort_last();
        }
        Ok(Some(run))
    }
}
