//! Reading a region: the committed records, one after the other, through the caller's buffer.

use super::error::Error;
use super::io::Io;
use super::layout::BUFFER;
use super::walk::{Frame, State, Unit};
use crate::record::HEADER_LEN;
use embedded_storage::nor_flash::NorFlash;

/// The committed records of a region, in order.
#[derive(Debug)]
pub struct Entries<'r, F> {
    io: &'r mut Io<F>,
    at: u32,
}

impl<'r, F: NorFlash> Entries<'r, F> {
    pub(super) fn new(io: &'r mut Io<F>, at: u32) -> Self {
        Self { io, at }
    }

    /// The next record. It borrows the flash, so this is no `Iterator`: `while let Some(entry) = entries.next()? { ... }`.
    #[allow(clippy::should_implement_trait, reason = "it lends, and an Iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Entry<'_, F>>, Error<F::Error>> {
        loop {
            match self.io.unit_at(self.at)? {
                Unit::End => return Ok(None),
                Unit::Frame(Frame { record, length, next, state }) => {
                    self.at = next;
                    if let State::Committed { kind } = state {
                        return Ok(Some(Entry { io: self.io, record, kind, length }));
                    }
                }
            }
        }
    }
}

/// A committed record. Its checksum was right when it was handed out.
#[derive(Debug)]
pub struct Entry<'e, F> {
    io: &'e mut Io<F>,
    record: u32,
    kind: u8,
    length: u32,
}

impl<F: NorFlash> Entry<'_, F> {
    /// What it holds; see [`record`](crate::record).
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Bytes of its payload.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether its payload is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where its header is in the region.
    #[must_use]
    pub fn offset(&self) -> u32 {
        self.record
    }

    /// Copies payload bytes from position `from` on: as many as there are and `buffer` holds. Returns what was copied.
    pub fn read<'b>(&mut self, from: u32, buffer: &'b mut [u8]) -> Result<&'b [u8], Error<F::Error>> {
        let rest = self.length.saturating_sub(from) as usize;
        let size = rest.min(buffer.len());
        let part = buffer.get_mut(..size).unwrap_or_default();
        let payload = self.record.saturating_add(HEADER_LEN as u32);
        self.io.read(payload.saturating_add(from), part)?;
        Ok(part)
    }

    /// Hands the whole record out, header first, piece by piece.
    pub(super) fn copy(&mut self, mut out: impl FnMut(&[u8])) -> Result<(), Error<F::Error>> {
        let end = self.record.saturating_add(HEADER_LEN as u32).saturating_add(self.length);
        self.io.pieces(self.record, end, &mut [0; BUFFER], |_, piece| {
            out(piece);
            true
        })?;
        Ok(())
    }
}
