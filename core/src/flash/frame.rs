//! Writing one record with its BEGIN and its SEAL, the words of its header last.

use super::io::Io;
use super::layout::{BUFFER, Crc, ERASED, Shape, begin, header, put, seal_header};
use embedded_storage::nor_flash::NorFlash;

/// A record under way. What is put in is written chunk by chunk, except for the words that hold the header.
pub(super) struct FrameWriter<'a, F> {
    io: &'a mut Io<F>,
    /// Where the record's header is.
    record: u32,
    length: u32,
    sealed: u32,
    crc: Crc,
    /// The words of the header.
    held: [u8; BUFFER],
    /// What comes behind them.
    chunk: [u8; BUFFER],
    /// Bytes put in so far.
    put: u32,
    /// Bytes of them in `chunk`.
    filled: usize,
}

impl<'a, F: NorFlash> FrameWriter<'a, F> {
    /// `sealed` bytes from `record` on, and a BEGIN's before it, are erased and in the region.
    pub(super) fn new(io: &'a mut Io<F>, record: u32, length: u32, sealed: u32) -> Self {
        let (held, chunk) = ([ERASED; BUFFER], [ERASED; BUFFER]);
        Self { io, record, length, sealed, crc: Crc::START, held, chunk, put: 0, filled: 0 }
    }

    /// Writes the BEGIN.
    pub(super) fn begin(&mut self, kind: u8) -> Result<(), F::Error> {
        let at = self.record.saturating_sub(F::BEGIN_LEN as u32);
        put(&mut self.chunk, 0, &begin(self.length, F::BEGIN_LEN));
        self.io.write_first_last(at, self.chunk.get(..F::BEGIN_LEN).unwrap_or_default())?;
        self.put(&header(kind, self.length))
    }

    /// Takes the next bytes of the payload.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        self.crc.update(bytes);
        self.place(bytes)
    }

    fn place(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        for &byte in bytes {
            let slot = if (self.put as usize) < F::HEADER_WORDS {
                self.held.get_mut(self.put as usize)
            } else {
                self.filled = self.filled.saturating_add(1);
                self.chunk.get_mut(self.filled.saturating_sub(1))
            };
            if let Some(slot) = slot {
                *slot = byte;
            }
            self.put = self.put.saturating_add(1);
            if self.filled >= F::CHUNK {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), F::Error> {
        let at = self.record.saturating_add(self.put).saturating_sub(self.filled as u32);
        let filled = self.chunk.get(..self.filled).unwrap_or_default();
        self.filled = 0;
        self.io.write(at, filled)
    }

    /// Seals the record and commits it: the word with its kind comes last.
    pub(super) fn commit(&mut self) -> Result<(), F::Error> {
        let crc = self.crc.value();
        self.place(&seal_header(self.length, self.sealed))?;
        self.place(&crc.to_le_bytes())?;
        while self.put < self.sealed {
            self.place(&[ERASED])?;
        }
        self.flush()?;
        self.io.write_first_last(self.record, self.held.get(..F::HEADER_WORDS).unwrap_or_default())
    }
}
