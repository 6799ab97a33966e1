//! What a record holds, by its kind; and what every reader says of records and runs.

use crate::anchor::Anchor;
use crate::record::{ANCHOR, DELTA, Malformed, Record, SESSION, TRACK, USE, kind_name};
use crate::run::Session;
use crate::track::Track;
use crate::usage::Use;
use core::fmt;

/// A record's payload, read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    // Read by the reader without an allocator alone; the other parses a session where it needs one.
    #[cfg_attr(not(feature = "heapless"), allow(dead_code))]
    Session(Session<'a>),
    Track(Track<'a>),
    Anchor(Anchor<'a>),
    Use(Use),
    /// Of a kind that this crate does not know.
    Unknown,
}

impl<'a> Content<'a> {
    /// Reads a payload and checks it. O(1), for tracks O(operations).
    pub(crate) fn of(record: &Record<'a>) -> Result<Self, Malformed> {
        Ok(match record.kind {
            SESSION => Self::Session(Session::parse(record.payload)?),
            TRACK => Self::Track(Track::parse(record.payload)?),
            ANCHOR | DELTA => Self::Anchor(Anchor::parse(record.kind, record.payload)?),
            USE => Self::Use(Use::parse(record.payload)?),
            _ => Self::Unknown,
        })
    }
}

/// One run as a map holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run<'m> {
    /// Its tokens are here. `gen_start` of a foreign one is its length: it answers nothing.
    Session(Session<'m>),
    /// Its context lives elsewhere.
    Track(Track<'m>),
}

/// A record that was skipped since it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which foreign map it is in; `None` for the map's own bytes.
    pub foreign: Option<usize>,
    /// Where it starts.
    pub offset: usize,
    /// Its kind.
    pub kind: u8,
    /// What is wrong with it.
    pub error: Malformed,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(foreign) = self.foreign {
            write!(f, "foreign map {foreign}, ")?;
        }
        let Self { offset, kind, error, .. } = self;
        write!(f, "offset {offset}: a {} record that cannot be read: {error}", kind_name(*kind))
    }
}
