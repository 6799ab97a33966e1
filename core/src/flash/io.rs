//! Reading and writing flash at any length: aligned, bounded, and no word twice.

use super::layout::{BUFFER, ERASED, Shape, is_erased};
use embedded_storage::nor_flash::NorFlash;

/// A range of a flash. Offsets count from its start; the caller keeps them inside.
#[derive(Debug)]
pub(super) struct Io<F> {
    pub(super) flash: F,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl<F: NorFlash> Io<F> {
    fn absolute(&self, at: u32) -> u32 {
        self.start.saturating_add(at)
    }

    /// Fills `out` from `at` on.
    pub(super) fn read(&mut self, mut at: u32, mut out: &mut [u8]) -> Result<(), F::Error> {
        while !out.is_empty() {
            let skew = at as usize % F::READ;
            let whole = if skew == 0 { out.len() / F::READ * F::READ } else { 0 };
            let taken = if whole > 0 {
                let Some(direct) = out.get_mut(..whole) else { break };
                self.flash.read(self.absolute(at), direct)?;
                whole
            } else {
                let mut block = [0; BUFFER];
                let Some(block) = block.get_mut(..F::READ) else { break };
                self.flash.read(self.absolute(at.saturating_sub(skew as u32)), block)?;
                let part = block.get(skew..).unwrap_or_default();
                for (slot, byte) in out.iter_mut().zip(part) {
                    *slot = *byte;
                }
                part.len().min(out.len())
            };
            at = at.saturating_add(taken as u32);
            out = out.get_mut(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads `from..to` piece by piece into `buffer`, as long as `each` returns true.
    pub(super) fn pieces(
        &mut self,
        from: u32,
        to: u32,
        buffer: &mut [u8; BUFFER],
        mut each: impl FnMut(u32, &[u8]) -> bool,
    ) -> Result<(), F::Error> {
        let mut at = from;
        while at < to {
            let size = to.saturating_sub(at).min(BUFFER as u32);
            let Some(piece) = buffer.get_mut(..size as usize) else { break };
            self.read(at, piece)?;
            if !each(at, piece) {
                break;
            }
            at = at.saturating_add(size);
        }
        Ok(())
    }

    /// The first byte of `from..to` that is not erased.
    pub(super) fn first_written(&mut self, from: u32, to: u32) -> Result<Option<u32>, F::Error> {
        let mut found = None;
        self.pieces(from, to, &mut [0; BUFFER], |at, piece| {
            found = piece.iter().position(|&byte| byte != ERASED).map(|index| at.saturating_add(index as u32));
            found.is_none()
        })?;
        Ok(found)
    }

    /// Writes whole words. Words of ones are left erased, which reads the same: so what reads as erased was never written.
    pub(super) fn write(&mut self, mut at: u32, mut words: &[u8]) -> Result<(), F::Error> {
        while !words.is_empty() {
            let blank = words.chunks(F::WORD).take_while(|word| is_erased(word)).count().saturating_mul(F::WORD);
            at = at.saturating_add(blank as u32);
            words = words.get(blank..).unwrap_or_default();
            let run = words.chunks(F::WORD).take_while(|word| !is_erased(word)).count().saturating_mul(F::WORD);
            let Some((run, rest)) = words.split_at_checked(run) else { break };
            if !run.is_empty() {
                self.flash.write(self.absolute(at), run)?;
            }
            at = at.saturating_add(run.len() as u32);
            words = rest;
        }
        Ok(())
    }

    /// Writes whole words, the first one after the others.
    pub(super) fn write_first_last(&mut self, at: u32, words: &[u8]) -> Result<(), F::Error> {
        let (first, later) = words.split_at_checked(F::WORD).unwrap_or_default();
        self.write(at.saturating_add(F::WORD as u32), later)?;
        self.write(at, first)
    }

    /// Erases all of it, the first unit before the others.
    pub(super) fn erase(&mut self) -> Result<(), F::Error> {
        let end = self.absolute(self.len);
        let second = self.absolute(F::ERASE_SIZE as u32).min(end);
        self.flash.erase(self.start, second)?;
        if second < end {
            self.flash.erase(second, end)?;
        }
        Ok(())
    }
}
