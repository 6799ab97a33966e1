//! Reads the front of a file, of which a part is there.

use super::error::GgufError;
use super::header::{MOST_BYTES, MOST_NAME};

/// A place in a file whose first bytes are there.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    prefix: &'a [u8],
    /// Bytes of the whole file.
    len: u64,
    at: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(prefix: &'a [u8], len: u64) -> Self {
        // Bytes behind what is said to be the end belong to something else.
        let end = usize::try_from(len).unwrap_or(usize::MAX).min(prefix.len());
        Self { prefix: &prefix[..end], len, at: 0 }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn file_len(&self) -> u64 {
        self.len
    }

    /// What was taken since an earlier place.
    pub(super) fn since(&self, start: u64) -> std::ops::Range<u32> {
        // The header's bytes are fewer than 2^32.
        start as u32..self.at as u32
    }

    pub(super) fn take(&mut self, what: &'static str, count: u64) -> Result<&'a [u8], GgufError> {
        let at = self.at;
        let needs = at.saturating_add(count);
        if needs > self.len {
            return Err(GgufError::Cut { what, at, needs, len: self.len });
        }
        if needs > MOST_BYTES {
            return Err(GgufError::HeaderTooLarge { what, at, needs });
        }
        // Both fit: `needs` is below 2^32, and `at` is within the prefix.
        let taken = self.prefix.get(at as usize..needs as usize).ok_or(GgufError::Incomplete { needs })?;
        self.at = needs;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], GgufError> {
        let taken = self.take(what, N as u64)?;
        // `take` took exactly N.
        Ok(taken.first_chunk().copied().unwrap_or([0; N]))
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, GgufError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, GgufError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count of things that take at least `least` bytes each, of which there may be `most`, whatever the file's length.
    pub(super) fn count(&mut self, what: &'static str, least: u64, most: u64) -> Result<u64, GgufError> {
        let at = self.at;
        let count = self.u64(what)?;
        self.bounded(what, at, count, least, most)
    }

    /// Checks a count that stands at `at` against the bytes that follow this place.
    pub(super) fn bounded(
        &self,
        what: &'static str,
        at: u64,
        count: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, GgufError> {
        let most = (self.len.min(MOST_BYTES).saturating_sub(self.at) / least).min(most);
        if count <= most { Ok(count) } else { Err(GgufError::Count { what, at, count, most }) }
    }

    /// A string's bytes.
    pub(super) fn string(&mut self, what: &'static str) -> Result<&'a [u8], GgufError> {
        let len = self.u64(what)?;
        self.take(what, len)
    }

    /// A key or a tensor's name.
    pub(super) fn name(&mut self, what: &'static str) -> Result<&'a str, GgufError> {
        let at = self.at;
        let len = self.u64(what)?;
        if len == 0 || len > MOST_NAME {
            return Err(GgufError::NameLength { what, at, len });
        }
        let bytes = self.take(what, len)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let at = self.at - len + error.valid_up_to() as u64;
            GgufError::Text { what, at }
        })
    }
}
