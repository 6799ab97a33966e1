//! A map that grows, and where its bytes go.

use super::{AttachError, WriteFault};
use mrail::Map;
use mrail::map::Run;
use mrail::map::append::Append;
use mrail::track::Op;
use std::fmt;
use std::io;

/// Where a map's new records are written: a file, or what stands for one.
///
/// It starts as the bytes that the map was opened from; those of a new map are [`Map::bytes`] of [`Map::create`].
pub trait Journal {
    /// Cuts to `offset` bytes what there is, and writes `bytes` there, in one write. When it returns, they are there; after an
    /// error, or a crash in the middle of it, everything before `offset` still is.
    fn append_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
}

/// A journal in memory.
impl Journal for Vec<u8> {
    fn append_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).ok().filter(|&offset| offset <= self.len());
        self.truncate(offset.ok_or(io::ErrorKind::InvalidInput)?);
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// The map that answers and is written to.
pub(super) struct Own {
    pub(super) map: Map<'static>,
    journal: Option<Box<dyn Journal>>,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let journal = self.journal.is_some();
        f.debug_struct("Own").field("runs", &self.map.len()).field("journal", &journal).finish_non_exhaustive()
    }
}

impl Own {
    pub(super) fn new(map: Map<'static>, journal: Option<Box<dyn Journal>>) -> Self {
        Self { map, journal }
    }

    /// Writes a record, then takes it in: what the map says is there is in the journal.
    pub(super) fn write(&mut self, append: &Append) -> Result<(), WriteFault> {
        if append.bytes().is_empty() {
            return Ok(());
        }
        if let Some(journal) = &mut self.journal {
            let written = journal.append_at(append.offset() as u64, append.bytes());
            written.map_err(|error| WriteFault::Journal(error.to_string()))?;
        }
        self.map.commit(append)?;
        Ok(())
    }

    /// Keeps an answer, unless the map gives it already. Returns whether it was written.
    pub(super) fn keep(&mut self, tokens: &[u32], given: usize) -> Result<bool, WriteFault> {
        let (context, answer) = tokens.split_at_checked(given).unwrap_or((tokens, &[]));
        let known = self.map.answer(context, answer.len(), &[]);
        if answer.is_empty() || known.is_some_and(|known| known.tokens == answer) {
            return Ok(false);
        }
        let run = self.map.prepare_session(tokens, given)?;
        self.write(&run)?;
        Ok(true)
    }
}

/// Is every token of a map one of the model's? O(tokens).
pub(super) fn check(map: &Map<'_>, vocabulary: u32) -> Result<(), AttachError> {
    let none_of = |token: &u32| *token >= vocabulary;
    for run in 0..map.len() {
        let found = match map.run(run) {
            Some(Run::Session(session)) => session.tokens.iter().find(none_of),
            // What it copies is the context's.
            Some(Run::Track(track)) => track.ops().find_map(|op| match op {
                Op::Lit(tokens) => tokens.iter().find(none_of),
                Op::Copy { .. } => None,
            }),
            None => None,
        };
        if let Some(token) = found {
            return Err(AttachError::Vocabulary { run, token, vocabulary });
        }
    }
    Ok(())
}
