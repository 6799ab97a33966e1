//! The file as a list of records.
//!
//! ```text
//! offset 0   4D 52 41 49 4C 03 00 00          magic, format version 3
//! offset 8   kind:u8 length:u32 payload[length]
//!            kind:u8 length:u32 payload[length]
//!            ...
//! ```
//!
//! All integers are little-endian. This module finds where records begin and end and says what lies behind the last whole
//! one; it does not look into payloads, except to tell a torn record from a damaged one. Any bytes are safe: every
//! length is checked against what is there, a step costs O(1), and nothing is allocated.

use core::fmt;

/// First eight bytes of every map.
pub const MAGIC: [u8; 8] = *b"MRAIL\x03\0\0";
/// Bytes before a record's payload.
pub const HEADER_LEN: usize = 5;

/// Kind of a record that holds a run's tokens.
pub const SESSION: u8 = 1;
/// Kind of a record that holds a whole anchored state.
pub const ANCHOR: u8 = 2;
/// Kind of a record that adds to a prefix's use count.
pub const USE: u8 = 3;
/// Kind of a record that holds an anchored state as changes to another.
pub const DELTA: u8 = 4;
/// Kind of a record that holds a run whose context lives elsewhere.
pub const TRACK: u8 = 5;

/// Name of a record kind, or "unknown".
#[must_use]
pub fn kind_name(kind: u8) -> &'static str {
    match kind {
        SESSION => "session",
        ANCHOR => "anchor",
        USE => "use",
        DELTA => "delta",
        TRACK => "track",
        _ => "unknown",
    }
}

/// Whether this crate knows what a record of a kind holds.
#[must_use]
pub fn is_known(kind: u8) -> bool {
    matches!(kind, SESSION | ANCHOR | USE | DELTA | TRACK)
}

/// Bytes that are no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAMap {
    /// Fewer bytes than the magic has.
    TooShort {
        /// Bytes given.
        len: usize,
    },
    /// The first eight bytes are others. A web page or a cut download, often.
    WrongMagic {
        /// What stands there.
        found: [u8; 8],
    },
    /// A map of a format version that this crate does not know.
    OtherVersion {
        /// The version byte.
        version: u8,
    },
}

impl fmt::Display for NotAMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { len } => write!(f, "not a .mrail map: {len} bytes, and the magic alone has 8"),
            Self::WrongMagic { found } => {
                write!(f, "not a .mrail map: it starts with \"{}\", not with \"MRAIL\"", found.escape_ascii())
            }
            Self::OtherVersion { version } => {
                write!(f, "a .mrail map of format version {version}; this library reads version 3")
            }
        }
    }
}

impl core::error::Error for NotAMap {}

/// One record. Its payload is borrowed and unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where its header starts in the file.
    pub offset: usize,
    /// What it holds; see [`SESSION`] and its neighbours. Never 0.
    pub kind: u8,
    /// Its content.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// Where the next record starts.
    #[must_use]
    pub fn end(&self) -> usize {
        self.offset.saturating_add(HEADER_LEN).saturating_add(self.payload.len())
    }
}

/// The whole records of a file, in order.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// Starts behind the magic, which it checks.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAMap> {
        let Some(found) = bytes.first_chunk::<8>() else {
            return Err(NotAMap::TooShort { len: bytes.len() });
        };
        match found {
            magic if *magic == MAGIC => Ok(Self { bytes, at: MAGIC.len() }),
            [b'M', b'R', b'A', b'I', b'L', version, 0, 0] => Err(NotAMap::OtherVersion { version: *version }),
            _ => Err(NotAMap::WrongMagic { found: *found }),
        }
    }

    /// The same where the magic was checked before.
    #[cfg(feature = "heapless")]
    pub(crate) fn of_map(bytes: &'a [u8]) -> Self {
        Self { bytes, at: MAGIC.len() }
    }

    /// End of the last record handed out: once the iterator is exhausted, the length of the file's valid part.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// What has not been handed out.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let record = record_at(self.bytes, self.at)?;
        self.at = record.end();
        Some(record)
    }
}

/// The whole record whose header is at `offset`, if there is one.
pub(crate) fn record_at(bytes: &[u8], offset: usize) -> Option<Record<'_>> {
    let (kind, length, rest) = header(bytes.get(offset..)?)?;
    let payload = rest.get(..usize::try_from(length).ok()?)?;
    (kind != 0).then_some(Record { offset, kind, payload })
}

/// Appends a record whose payload's length fits its header, as the caller knows.
#[cfg(feature = "alloc")]
pub(crate) fn write_record(out: &mut alloc::vec::Vec<u8>, kind: u8, payload: &[u8]) {
    out.reserve(HEADER_LEN + payload.len());
    out.push(kind);
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend_from_slice(payload);
}

/// Splits a header off: kind, declared length, what follows.
pub(crate) fn header(bytes: &[u8]) -> Option<(u8, u32, &[u8])> {
    let ([kind, length @ ..], rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
    Some((*kind, u32::from_le_bytes(*length), rest))
}

/// A payload whose content disagrees with its length or breaks a rule of its kind. Positions count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It ends inside a field.
    Short {
        /// The field.
        field: &'static str,
        /// Bytes it needs, from the start of the payload.
        needs: u64,
        /// Bytes there are.
        len: usize,
    },
    /// It goes on behind its last field.
    Long {
        /// Where the last field ends.
        needs: usize,
        /// Bytes there are.
        len: usize,
    },
    /// A text is not UTF-8.
    Text {
        /// The field.
        field: &'static str,
        /// Where the first wrong byte is.
        at: usize,
    },
    /// An operation of a track is neither LIT nor COPY.
    UnknownOp {
        /// Its code.
        code: u8,
        /// Where it is.
        at: usize,
    },
    /// A copy reaches past the end of the track's context.
    CopyPastContext {
        /// First position copied.
        position: u32,
        /// Tokens copied.
        len: u16,
        /// Tokens in the context.
        context: u32,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { field, needs, len } => write!(f, "{field} needs {needs} bytes, the payload has {len}"),
            Self::Long { needs, len } => write!(f, "its content ends after {needs} bytes, the payload has {len}"),
            Self::Text { field, at } => write!(f, "{field} is not UTF-8 at byte {at} of the payload"),
            Self::UnknownOp { code, at } => write!(f, "unknown operation {code} at byte {at} of the payload"),
            Self::CopyPastContext { position, len, context } => {
                write!(f, "a copy of {len} tokens at {position} reaches past the context of {context}")
            }
        }
    }
}

impl core::error::Error for Malformed {}

/// Reads a payload field by field; every error names the field.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    payload: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { payload, at: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.payload.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn bytes(&mut self, field: &'static str, count: u64) -> Result<&'a [u8], Malformed> {
        let taken = usize::try_from(count).ok().and_then(|count| self.rest().get(..count));
        let taken = taken.ok_or(Malformed::Short {
            field,
            needs: (self.at as u64).saturating_add(count),
            len: self.payload.len(),
        })?;
        self.at = self.at.saturating_add(taken.len());
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let taken = self.bytes(field, N as u64)?;
        // `bytes` took exactly N.
        Ok(taken.first_chunk().copied().unwrap_or([0; N]))
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array(field).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Everything must have been read.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        match self.rest() {
            [] => Ok(()),
            _ => Err(Malformed::Long { needs: self.at, len: self.payload.len() }),
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::{string::ToString, vec::Vec};

    fn kinds(bytes: &[u8]) -> (Vec<u8>, usize) {
        let mut records = Records::new(bytes).unwrap();
        let kinds = records.by_ref().map(|record| record.kind).collect();
        (kinds, records.position())
    }

    #[test]
    fn records_follow_each_other_and_unknown_kinds_are_records_too() {
        let bytes = [&MAGIC[..], &[1, 2, 0, 0, 0, 7, 8], &[200, 0, 0, 0, 0]].concat();
        assert_eq!(kinds(&bytes), (Vec::from([1, 200]), bytes.len()));
    }

    #[test]
    fn every_cut_leaves_the_records_before_it() {
        let bytes = [&MAGIC[..], &[1, 2, 0, 0, 0, 7, 8], &[9, 1, 0, 0, 0, 7]].concat();
        for cut in 8..=bytes.len() {
            let (whole, valid) = match cut {
                8..15 => (0, 8),
                15..21 => (1, 15),
                _ => (2, 21),
            };
            let (found, position) = kinds(&bytes[..cut]);
            assert_eq!((found.len(), position), (whole, valid), "cut at {cut}");
        }
    }

    #[test]
    fn kind_zero_ends_the_file() {
        let bytes = [&MAGIC[..], &[3, 0, 0, 0, 0], &[0; 10], &[3, 0, 0, 0, 0]].concat();
        assert_eq!(kinds(&bytes), (Vec::from([3]), 13));
    }

    #[test]
    fn the_kinds_that_have_a_name_are_known() {
        assert!((0..=u8::MAX).all(|kind| is_known(kind) == (kind_name(kind) != "unknown")));
        assert_eq!((0..=u8::MAX).filter(|kind| is_known(*kind)).count(), 5);
    }

    #[test]
    fn a_length_of_4_gib_is_a_torn_record() {
        let bytes = [&MAGIC[..], &[1, 255, 255, 255, 255, 1]].concat();
        assert_eq!(kinds(&bytes), (Vec::new(), 8));
    }

    #[test]
    fn what_is_no_map_is_told_apart() {
        let text = |bytes: &[u8]| Records::new(bytes).unwrap_err().to_string();
        assert_eq!(text(b"MRA"), "not a .mrail map: 3 bytes, and the magic alone has 8");
        assert_eq!(text(b"<!doctype html>"), "not a .mrail map: it starts with \"<!doctyp\", not with \"MRAIL\"");
        assert_eq!(text(b"MRAIL\x04\0\0"), "a .mrail map of format version 4; this library reads version 3");
    }

    #[test]
    fn fields_name_what_is_missing() {
        let mut fields = Fields::new(&[1, 0, 0, 0, 9]);
        assert_eq!(fields.u32("count"), Ok(1));
        assert_eq!(fields.end(), Err(Malformed::Long { needs: 4, len: 5 }));
        assert_eq!(fields.u16("length"), Err(Malformed::Short { field: "length", needs: 6, len: 5 }));
        assert_eq!(fields.u8("code"), Ok(9));
        assert_eq!(fields.end(), Ok(()));
    }
}
