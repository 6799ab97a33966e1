//! Writing one record with its BEGIN and its SEAL, the words of its header last.

use super::io::Io;
use super::layout::{BUFFER, Crc, ERASED, Shape, begin, header, seal_header};
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
    /// Writes the BEGIN at `at`. `sealed` bytes behind it are erased and in the region.
    pub(super) fn begin(
        io: &'a mut Io<F>,
        at: u32,
        kind: u8,
        length: u32,
        sealed: u32,
    ) -> Result<FrameWriter<'a, F>, F::Error> {
        let record = at.saturating_add(F::BEGIN_LEN as u32);
        let chunk = begin(length, F::BEGIN_LEN);
        io.write_first_last(at, chunk.get(..F::BEGIN_LEN).unwrap_or_default())?;
        let (crc, held) = (Crc::START, [ERASED; BUFFER]);
        let mut frame = Self { io, record, length, sealed, crc, held, chunk, put: 0, filled: 0 };
        frame.put(&header(kind, length))?;
        Ok(frame)
    }

    /// Takes the next bytes of the payload.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        self.crc.update(bytes);
        self.put_unchecked(bytes)
    }

    fn put_unchecked(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        for &byte in bytes {
            if let Some(slot) = self.held.get_mut(self.put as usize).filter(|_| (self.put as usize) < F::HEADER_WORDS) {
                *slot = byte;
            } else if let Some(slot) = self.chunk.get_mut(self.filled) {
                *slot = byte;
                self.filled = self.filled.saturating_add(1);
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
    pub(super) fn commit(mut self) -> Result<(), F::Error> {
        let crc = self.crc.value();
        self.put_unchecked(&seal_header(self.length, self.sealed))?;
        self.put_unchecked(&crc.to_le_bytes())?;
        while self.put < self.sealed {
            self.put_unchecked(&[ERASED])?;
        }
        self.flush()?;
        self.io.write_first_last(self.record, self.held.get(..F::HEADER_WORDS).unwrap_or_default())
    }
}
