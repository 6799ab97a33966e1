//! What a host has prepared, so that a map can be searched without tables.
//!
//! ```text
//! offset  0   version:u32                               1
//!         4   covered:u32                               bytes of the map that are described, its magic first
//!         8   fingerprint:[u8;8]                        BLAKE2b of these bytes, with an 8-byte digest
//!        16   runs:u32 sessions:u32 tracks:u32 anchors:u32 uses:u32       lengths of the lists, which follow
//!        36   (offset:u32)[runs]                        of each run's record, in order
//!             (run:u32 shared:u32)[sessions]            in order of their tokens; how many of them the one before shares
//!             (len:u32 hash:[u8;8] run:u32)[tracks]     the first track of each context, in order of (len, hash)
//!             (hash:[u8;8] position:u32 offset:u32)[anchors]              the first record of each, in order of hashes
//!             (hash:[u8;8] hits:u64)[uses]              the sum of each, in order of hashes
//! ```
//!
//! All integers are little-endian, at any alignment. Nothing says where the hint lies: beside the map, or behind the bytes
//! that it covers as the payload of a record of a kind that readers skip.
//!
//! A hint follows from its map alone, so [`Hint::check`] can tell whether it is the map's: any other length, byte or order
//! is an error that says what is stale or wrong and where. Use counts are statistics, and are compared by a weighted sum.
//! Answers compare the stored tokens with the context all the same. With more records of runs, anchors or uses behind the
//! covered bytes a hint is stale.

use super::lists::{self, AnchorAt, Lists, TrackEnd, Used};
use crate::chain::PrefixHash;
use crate::content::Content;
use crate::index::shared_tokens;
use crate::record::{Fields, Malformed, NotAMap, Record, Records, record_at};
use crate::run::Session;
use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use core::cmp::Ordering;
use core::fmt;

/// The layout's version.
pub const VERSION: u32 = 1;
/// Bytes before the lists.
const HEADER: usize = 36;

/// Lists that lie in flash.
#[derive(Clone, Copy, Debug)]
pub struct Hint<'h> {
    covered: u32,
    fingerprint: [u8; 8],
    runs: &'h [[u8; 4]],
    sessions: &'h [[u8; 8]],
    tracks: &'h [[u8; 16]],
    anchors: &'h [[u8; 16]],
    uses: &'h [[u8; 16]],
}

/// Why a hint is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintError {
    /// The map is none.
    NotAMap(NotAMap),
    /// It is of another length than its lists are. Positions count from the hint's start.
    Malformed(Malformed),
    /// It has a layout that this crate does not know.
    Version {
        /// Its version.
        found: u32,
    },
    /// It describes more of the map than there is.
    Longer {
        /// Bytes described.
        covered: u32,
        /// Bytes of the map.
        len: usize,
    },
    /// It was made of a map with other bytes.
    Fingerprint {
        /// Bytes described.
        covered: u32,
    },
    /// The map has grown since.
    Stale {
        /// Bytes described.
        covered: u32,
        /// Where the first record starts that is not among them; `covered` itself where that is no record's start.
        offset: usize,
    },
    /// A list has another length than it should have.
    Count {
        /// Which one: "runs", "sessions", "tracks", "anchors" or "uses".
        list: &'static str,
        /// Its length.
        found: usize,
        /// What the map has.
        needed: usize,
    },
    /// An element of a list is wrong, or out of order.
    Entry {
        /// Which list.
        list: &'static str,
        /// Which element.
        index: usize,
        /// Where it is in the hint.
        at: usize,
    },
    /// Use counts don't add up.
    Uses,
}

impl fmt::Display for HintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMap(error) => error.fmt(f),
            Self::Malformed(error) => write!(f, "not a hint: {error}"),
            Self::Version { found } => write!(f, "a hint of version {found}; this library reads version {VERSION}"),
            Self::Longer { covered, len } => {
                write!(f, "the hint is of another map: it describes {covered} bytes, the map has {len}")
            }
            Self::Fingerprint { covered } => {
                write!(f, "the hint is of another map: the first {covered} bytes have another fingerprint")
            }
            Self::Stale { covered, offset } => {
                write!(f, "the hint is stale: it describes {covered} bytes, and offset {offset} is not among them")
            }
            Self::Count { list, found, needed } => write!(f, "the hint has {found} {list}, the map {needed}"),
            Self::Entry { list, index, at } => {
                write!(f, "the hint is wrong: element {index} of its {list}, at byte {at}, is not the map's")
            }
            Self::Uses => f.write_str("the hint is wrong: its use counts don't add up to the map's"),
        }
    }
}

impl core::error::Error for HintError {}

impl<'h> Hint<'h> {
    /// Finds the lists. O(1): their content is unread.
    pub fn read(bytes: &'h [u8]) -> Result<Self, HintError> {
        let mut fields = Fields::new(bytes);
        let header = |fields: &mut Fields<'h>| {
            let (version, covered) = (fields.u32("the version")?, fields.u32("the length of the map")?);
            let fingerprint = fields.array("the fingerprint")?;
            let mut counts = [0; 5];
            for count in &mut counts {
                *count = fields.u32("the length of a list")?;
            }
            Ok((version, covered, fingerprint, counts))
        };
        let (version, covered, fingerprint, counts) = header(&mut fields).map_err(HintError::Malformed)?;
        if version != VERSION {
            return Err(HintError::Version { found: version });
        }
        let [runs, sessions, tracks, anchors, uses] = counts;
        let lists = |fields: &mut Fields<'h>| {
            let hint = Self {
                covered,
                fingerprint,
                runs: list(fields, "the runs", runs)?,
                sessions: list(fields, "the sessions", sessions)?,
                tracks: list(fields, "the tracks", tracks)?,
                anchors: list(fields, "the anchors", anchors)?,
                uses: list(fields, "the uses", uses)?,
            };
            fields.end()?;
            Ok(hint)
        };
        lists(&mut fields).map_err(HintError::Malformed)
    }

    /// Bytes of the map that it describes.
    pub fn covered(&self) -> usize {
        self.covered as usize
    }

    /// Checks that this is the hint of a map: length and fingerprint of the bytes described, nothing behind them that it
    /// leaves out, and each element of each list.
    ///
    /// One hash over the bytes, one walk, each run compared with its neighbour: O(bytes + records * log(lists)).
    pub fn check(&self, map: &[u8]) -> Result<(), HintError> {
        let covered = self.covered;
        let mut records = Records::new(map).map_err(HintError::NotAMap)?;
        let described = map.get(..self.covered()).ok_or(HintError::Longer { covered, len: map.len() })?;
        if fingerprint(described) != self.fingerprint {
            return Err(HintError::Fingerprint { covered });
        }
        let mut seen = Seen::default();
        while records.position() < self.covered() {
            let Some(record) = records.next().filter(|record| record.end() <= self.covered()) else {
                return Err(HintError::Stale { covered, offset: self.covered() });
            };
            self.check_record(&record, &mut seen)?;
        }
        let is_known = |record: &Record<'_>| !matches!(Content::of(record), Ok(Content::Unknown) | Err(_));
        if let Some(record) = records.find(is_known) {
            return Err(HintError::Stale { covered, offset: record.offset });
        }
        self.check_counts(&seen)?;
        self.check_order(map)
    }

    fn wrong(&self, list: &'static str, index: usize) -> HintError {
        let starts = [
            ("runs", 4, 0),
            ("sessions", 8, self.runs.as_flattened().len()),
            ("tracks", 16, self.sessions.as_flattened().len()),
            ("anchors", 16, self.tracks.as_flattened().len()),
            ("uses", 16, self.anchors.as_flattened().len()),
        ];
        let mut at = HEADER;
        for (name, size, before) in starts {
            at = at.saturating_add(before);
            if name == list {
                at = at.saturating_add(index.saturating_mul(size));
                break;
            }
        }
        HintError::Entry { list, index, at }
    }

    /// Whether the lists have what a record says. Those of a record that comes first are counted.
    fn check_record(&self, record: &Record<'_>, seen: &mut Seen) -> Result<(), HintError> {
        let Ok(content) = Content::of(record) else { return Ok(()) };
        let run = seen.runs;
        if matches!(content, Content::Session(_) | Content::Track(_)) {
            seen.runs = seen.runs.saturating_add(1);
            if self.run(run).is_some_and(|offset| offset as usize != record.offset) {
                return Err(self.wrong("runs", run));
            }
        }
        match content {
            Content::Session(_) => seen.sessions = seen.sessions.saturating_add(1),
            Content::Track(track) => {
                let key = (track.context_len, track.context_hash);
                let at = lists::track_at(self, key.0, key.1);
                match self.track(at).filter(|end| (end.context_len, end.hash) == key) {
                    Some(end) if end.run as usize == run => seen.tracks = seen.tracks.saturating_add(1),
                    Some(end) if (end.run as usize) < run => {}
                    _ => return Err(self.wrong("tracks", at)),
                }
            }
            Content::Anchor(anchor) => {
                let at = lists::anchor_at(self, anchor.hash);
                match self.anchor(at).filter(|found| found.hash == anchor.hash) {
                    Some(found) if found.offset as usize == record.offset && found.position == anchor.position => {
                        seen.anchors = seen.anchors.saturating_add(1);
                    }
                    Some(found) if (found.offset as usize) < record.offset => {}
                    _ => return Err(self.wrong("anchors", at)),
                }
            }
            Content::Use(added) => {
                let at = lists::use_at(self, added.hash);
                if self.used(at).is_none_or(|used| used.hash != added.hash) {
                    return Err(self.wrong("uses", at));
                }
                seen.hits = seen.hits.wrapping_add(weighted(added.hash, u64::from(added.hits)));
            }
            Content::Unknown => {}
        }
        Ok(())
    }

    fn check_counts(&self, seen: &Seen) -> Result<(), HintError> {
        let lists = [
            ("runs", self.runs.len(), seen.runs),
            ("sessions", self.sessions.len(), seen.sessions),
            ("tracks", self.tracks.len(), seen.tracks),
            ("anchors", self.anchors.len(), seen.anchors),
        ];
        if let Some((list, found, needed)) = lists.into_iter().find(|(_, found, needed)| found != needed) {
            return Err(HintError::Count { list, found, needed });
        }
        let uses = (0..self.uses.len()).filter_map(|at| self.used(at));
        let hits = uses.fold(0_u64, |sum, used| sum.wrapping_add(weighted(used.hash, used.hits)));
        if hits == seen.hits { Ok(()) } else { Err(HintError::Uses) }
    }

    /// Whether each list ascends. Then nothing is in it twice.
    fn check_order(&self, map: &[u8]) -> Result<(), HintError> {
        let mut previous: Option<(Session<'_>, u32)> = None;
        for at in 0..self.sessions.len() {
            let wrong = self.wrong("sessions", at);
            let (run, shared) = self.session(at).ok_or(wrong)?;
            let record = self.run(run as usize).and_then(|offset| record_at(map, offset as usize)).ok_or(wrong)?;
            let Ok(Content::Session(session)) = Content::of(&record) else { return Err(wrong) };
            let (ascends, shares) = match previous {
                None => (true, 0),
                Some((before, number)) => {
                    let order = before.tokens.compare(session.tokens).then(number.cmp(&run));
                    (order == Ordering::Less, shared_tokens(before.tokens, session.tokens))
                }
            };
            if !ascends || shares != shared {
                return Err(wrong);
            }
            previous = Some((session, run));
        }
        let key = |at| self.track(at).map(|end| (end.context_len, end.hash));
        self.ascends("tracks", self.tracks.len(), key)?;
        self.ascends("anchors", self.anchors.len(), |at| self.anchor(at).map(|anchor| anchor.hash))?;
        self.ascends("uses", self.uses.len(), |at| self.used(at).map(|used| used.hash))
    }

    fn ascends<K: PartialOrd>(
        &self,
        list: &'static str,
        len: usize,
        key: impl Fn(usize) -> Option<K>,
    ) -> Result<(), HintError> {
        let falls = |at: &usize| key(at.saturating_sub(1)) >= key(*at);
        (1..len).find(falls).map_or(Ok(()), |at| Err(self.wrong(list, at)))
    }
}

/// What a walk over the map has met.
#[derive(Default)]
struct Seen {
    runs: usize,
    sessions: usize,
    tracks: usize,
    anchors: usize,
    hits: u64,
}

/// Hits so that the sum over many prefixes tells whose they are. An odd weight keeps every bit of them.
fn weighted(hash: PrefixHash, hits: u64) -> u64 {
    hits.wrapping_mul(u64::from_le_bytes(hash.0) | 1)
}

/// A map's part as a hint names it.
fn fingerprint(bytes: &[u8]) -> [u8; 8] {
    Blake2b::<U8>::digest(bytes).into()
}

/// A list of `count` elements of `N` bytes.
fn list<'h, const N: usize>(
    fields: &mut Fields<'h>,
    name: &'static str,
    count: u32,
) -> Result<&'h [[u8; N]], Malformed> {
    let bytes = fields.bytes(name, u64::from(count).saturating_mul(N as u64))?;
    Ok(bytes.as_chunks().0)
}

/// Three fields of an element: four, eight and four bytes, or the eight first.
fn split<const A: usize, const B: usize, const C: usize>(bytes: [u8; 16]) -> Option<([u8; A], [u8; B], [u8; C])> {
    let (first, rest) = bytes.split_first_chunk()?;
    let (second, rest) = rest.split_first_chunk()?;
    Some((*first, *second, *rest.first_chunk()?))
}

impl Lists for Hint<'_> {
    const CHECKED: bool = false;

    fn runs(&self) -> usize {
        self.runs.len()
    }

    fn run(&self, at: usize) -> Option<u32> {
        self.runs.get(at).map(|offset| u32::from_le_bytes(*offset))
    }

    fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn session(&self, at: usize) -> Option<(u32, u32)> {
        let [a, b, c, d, e, f, g, h] = *self.sessions.get(at)?;
        Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
    }

    fn tracks(&self) -> usize {
        self.tracks.len()
    }

    fn track(&self, at: usize) -> Option<TrackEnd> {
        let (len, hash, run) = split(*self.tracks.get(at)?)?;
        Some(TrackEnd { context_len: u32::from_le_bytes(len), hash: PrefixHash(hash), run: u32::from_le_bytes(run) })
    }

    fn anchors(&self) -> usize {
        self.anchors.len()
    }

    fn anchor(&self, at: usize) -> Option<AnchorAt> {
        let (hash, position, offset) = split(*self.anchors.get(at)?)?;
        let (position, offset) = (u32::from_le_bytes(position), u32::from_le_bytes(offset));
        Some(AnchorAt { hash: PrefixHash(hash), position, offset })
    }

    fn uses(&self) -> usize {
        self.uses.len()
    }

    fn used(&self, at: usize) -> Option<Used> {
        let (hash, hits, []) = split(*self.uses.get(at)?)?;
        Some(Used { hash: PrefixHash(hash), hits: u64::from_le_bytes(hits) })
    }
}

#[cfg(feature = "alloc")]
pub use build::build;

#[cfg(feature = "alloc")]
mod build {
    use super::super::OpenError;
    use super::{HEADER, VERSION, fingerprint};
    use crate::content::Content;
    use crate::index::{Index, Sorted};
    use crate::record::{Records, record_at};
    use crate::run::Session;
    use crate::tokens::write_tokens;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    /// Makes the hint of a map: of all its whole records, without its tail.
    pub fn build(map: &[u8]) -> Result<Vec<u8>, OpenError> {
        let mut records = Records::new(map).map_err(OpenError::NotAMap)?;
        if u32::try_from(map.len()).is_err() {
            return Err(OpenError::TooLong { len: map.len() });
        }
        let (mut runs, mut sessions) = (Vec::new(), Vec::new());
        let (mut tracks, mut anchors, mut uses) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::<_, u64>::new());
        for record in records.by_ref() {
            let (offset, run) = (record.offset as u32, runs.len() as u32);
            match Content::of(&record) {
                Ok(Content::Session(_)) => {
                    runs.push(offset);
                    sessions.push(run);
                }
                Ok(Content::Track(track)) => {
                    runs.push(offset);
                    tracks.entry((track.context_len, track.context_hash)).or_insert(run);
                }
                Ok(Content::Anchor(anchor)) => {
                    anchors.entry(anchor.hash).or_insert((anchor.position, offset));
                }
                Ok(Content::Use(used)) => {
                    let hits = uses.entry(used.hash).or_default();
                    *hits = hits.saturating_add(u64::from(used.hits));
                }
                Ok(Content::Unknown) | Err(_) => {}
            }
        }
        let covered = records.position();
        let index = Index::build(sessions, |run| {
            let record = runs.get(run as usize).and_then(|offset| record_at(map, *offset as usize));
            let session = record.and_then(|record| Session::parse(record.payload).ok());
            session.map(|session| session.tokens).unwrap_or_default()
        });

        let others = tracks.len() + anchors.len() + uses.len();
        let mut hint = Vec::with_capacity(HEADER + runs.len() * 4 + index.len() * 8 + others * 16);
        write_tokens(&mut hint, &[VERSION, covered as u32]);
        hint.extend(fingerprint(map.get(..covered).unwrap_or_default()));
        let counts = [runs.len(), index.len(), tracks.len(), anchors.len(), uses.len()];
        write_tokens(&mut hint, &counts.map(|count| count as u32));
        write_tokens(&mut hint, &runs);
        for entry in (0..index.len()).filter_map(|at| index.entry(at)) {
            write_tokens(&mut hint, &[entry.run, entry.shared]);
        }
        for ((len, hash), run) in tracks {
            write_tokens(&mut hint, &[len]);
            hint.extend(hash.0);
            write_tokens(&mut hint, &[run]);
        }
        for (hash, (position, offset)) in anchors {
            hint.extend(hash.0);
            write_tokens(&mut hint, &[position, offset]);
        }
        for (hash, hits) in uses {
            hint.extend(hash.0);
            hint.extend(hits.to_le_bytes());
        }
        Ok(hint)
    }
}
