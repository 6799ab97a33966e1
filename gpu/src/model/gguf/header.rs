//! The header as a whole.

use super::cursor::Cursor;
use super::error::{GgufError, clip};
use super::source::Source;
use super::tensor::{LEAST, MOST_ALIGNMENT, Tensor};
use super::value::{self, Kind, Value};
use std::ops::Range;

/// Most bytes of a header. The largest vocabularies take a few dozen MB.
pub const MOST_BYTES: u64 = 256 << 20;
/// Most entries of the metadata. Models have some dozens.
pub const MOST_ENTRIES: u64 = 1 << 16;
/// Most tensors. Models have some hundreds or a few thousands.
pub const MOST_TENSORS: u64 = 1 << 16;
/// Most bytes of a key or of a tensor's name.
pub const MOST_NAME: u64 = 65535;

/// Bytes in front of the first entry.
const FRONT: u64 = 24;
/// Bytes of the shortest entry of the metadata.
const LEAST_ENTRY: u64 = 8 + 1 + 4 + 1;
/// Bytes that are read first.
const FIRST_READ: u64 = 64 << 10;
/// Alignment where the file does not say it.
const ALIGNMENT: u64 = 32;
const ALIGNMENT_KEY: &str = "general.alignment";

/// The header of a GGUF file. It holds the header's bytes, in which the values lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    bytes: Box<[u8]>,
    parts: Parts,
}

/// What stands where.
#[derive(Clone, Debug, PartialEq)]
struct Parts {
    version: u32,
    /// Sorted by their keys.
    entries: Vec<Entry>,
    /// In the order of the file.
    tensors: Vec<Tensor>,
    /// Their numbers, sorted by their names.
    by_name: Vec<u32>,
    /// End of the table.
    end: u64,
    /// Where tensors begin.
    data: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// Bytes of the key.
    key: Range<u32>,
    kind: Kind,
    value: Range<u32>,
}

impl Entry {
    fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        within(bytes, &self.key)
    }
}

/// A range that was taken from these bytes before.
fn within<'a>(bytes: &'a [u8], range: &Range<u32>) -> &'a [u8] {
    bytes.get(range.start as usize..range.end as usize).unwrap_or_default()
}

impl Header {
    /// Reads a header from the first bytes of a file that has `file_len` in all. The prefix may be longer than the header, and
    /// the file shorter than the prefix: what lies behind its end is not looked at.
    ///
    /// Where the prefix is too short, the error is [`GgufError::Incomplete`], and only then; a fault in the prefix is found
    /// first, and more bytes do not change it.
    pub fn parse(prefix: &[u8], file_len: u64) -> Result<Self, GgufError> {
        let parts = Parts::read(prefix, file_len)?;
        Ok(Self { bytes: prefix[..parts.end as usize].into(), parts })
    }

    /// Reads a header from a source: 64 KiB, and as long as that is not enough, twice as much or what is needed. Of the
    /// tensors at most as many bytes are read as the header has, or those 64 KiB.
    pub fn read(source: &mut impl Source) -> Result<Self, GgufError> {
        let len = source.size();
        let mut bytes = Vec::new();
        let mut needs = FIRST_READ.min(len);
        loop {
            let at = bytes.len() as u64;
            // The parser asks for no more than the largest header, and for no byte that the file does not have.
            bytes.resize(needs as usize, 0);
            source.read_at(at, &mut bytes[at as usize..]).map_err(|error| {
                let why = clip(&error.to_string());
                GgufError::Read { at, bytes: needs - at, why }
            })?;
            match Parts::read(&bytes, len) {
                Ok(parts) => {
                    bytes.truncate(parts.end as usize);
                    return Ok(Self { bytes: bytes.into(), parts });
                }
                Err(GgufError::Incomplete { needs: least }) => {
                    needs = least.max(2 * needs).min(MOST_BYTES).min(len);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The format's version, 2 or 3.
    pub fn version(&self) -> u32 {
        self.parts.version
    }

    /// The value of an entry of the metadata.
    pub fn get(&self, key: &str) -> Option<Value<'_>> {
        let entries = &self.parts.entries;
        let found = entries.binary_search_by(|entry| entry.key(&self.bytes).cmp(key.as_bytes())).ok()?;
        self.value(entries.get(found)?)
    }

    /// All entries, sorted by the bytes of their keys.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.parts.entries.iter().filter_map(|entry| {
            let key = std::str::from_utf8(entry.key(&self.bytes)).ok()?;
            Some((key, self.value(entry)?))
        })
    }

    fn value(&self, entry: &Entry) -> Option<Value<'_>> {
        value::decode(entry.kind, &mut within(&self.bytes, &entry.value))
    }

    /// The tensors, in the order of the file's table.
    pub fn tensors(&self) -> &[Tensor] {
        &self.parts.tensors
    }

    /// A tensor by its name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        let Parts { tensors, by_name, .. } = &self.parts;
        let found = by_name.binary_search_by(|at| tensors[*at as usize].name().cmp(name)).ok()?;
        tensors.get(by_name[found] as usize)
    }

    /// Bytes of the header, up to the padding before the tensors.
    pub fn header_bytes(&self) -> u64 {
        self.parts.end
    }

    /// Where the tensors begin, in bytes from the start of the file.
    pub fn data_start(&self) -> u64 {
        self.parts.data
    }
}

impl Parts {
    fn read(prefix: &[u8], file_len: u64) -> Result<Self, GgufError> {
        let cursor = &mut Cursor::new(prefix, file_len);
        let version = front(cursor)?;
        let at = cursor.at();
        let tensors = cursor.u64("the number of tensors")?;
        let entries = cursor.count("the number of entries", LEAST_ENTRY, MOST_ENTRIES)?;
        let tensors = cursor.bounded("the number of tensors", at, tensors, LEAST, MOST_TENSORS)?;
        let entries = read_entries(cursor, prefix, entries)?;
        let alignment = alignment(&entries, prefix)?;
        let mut tensors = (0..tensors).map(|_| Tensor::read(cursor, alignment)).collect::<Result<Vec<_>, _>>()?;
        let by_name = sort_by_name(&tensors)?;
        let end = cursor.at();
        let data = end.next_multiple_of(alignment);
        tensors.iter_mut().try_for_each(|tensor| tensor.place(data, file_len))?;
        check_apart(&tensors)?;
        Ok(Self { version, entries, tensors, by_name, end, data })
    }
}

/// The magic and the version.
fn front(cursor: &mut Cursor<'_>) -> Result<u32, GgufError> {
    const WHAT: &str = "the first fields";
    // All of what a page that is no model begins with is worth showing, so the first fields come together.
    let file = cursor.file_len();
    let start = cursor.clone().take(WHAT, file.min(FRONT))?;
    let found = || GgufError::NotGguf { found: start[..start.len().min(16)].to_vec() };
    if start.get(..4).is_none_or(|magic| magic != b"GGUF") {
        return Err(found());
    }
    cursor.take(WHAT, 4)?;
    let version = cursor.u32(WHAT)?;
    match version {
        2 | 3 => Ok(version),
        _ if matches!(version.swap_bytes(), 1..=0xFFFF) => Err(GgufError::BigEndian { version: version.swap_bytes() }),
        _ => Err(GgufError::OtherVersion { version }),
    }
}

/// Reads the entries and sorts them by their keys.
fn read_entries(cursor: &mut Cursor<'_>, prefix: &[u8], count: u64) -> Result<Vec<Entry>, GgufError> {
    let mut entries = Vec::new();
    for _ in 0..count {
        let key = cursor.name("a key of the metadata")?;
        let end = cursor.at();
        let key_range = cursor.since(end - key.len() as u64);
        let kind = value::read_kind(cursor, key)?;
        let start = cursor.at();
        value::skip(cursor, kind, key, 0)?;
        entries.push(Entry { key: key_range, kind, value: cursor.since(start) });
    }
    // Equal keys stay in the order of the file, so that the later one is named.
    entries.sort_by(|a, b| a.key(prefix).cmp(b.key(prefix)));
    for pair in entries.windows(2) {
        if pair[0].key(prefix) == pair[1].key(prefix) {
            let key = clip(&String::from_utf8_lossy(pair[1].key(prefix)));
            return Err(GgufError::DuplicateKey { key, at: u64::from(pair[1].key.start) - 8 });
        }
    }
    Ok(entries)
}

fn alignment(entries: &[Entry], prefix: &[u8]) -> Result<u64, GgufError> {
    let found = entries.binary_search_by(|entry| entry.key(prefix).cmp(ALIGNMENT_KEY.as_bytes()));
    let Ok(found) = found else { return Ok(ALIGNMENT) };
    let entry = &entries[found];
    let found = value::decode(entry.kind, &mut within(prefix, &entry.value)).and_then(|value| value.as_u64());
    let good = found.filter(|found| found.is_power_of_two() && (8..=MOST_ALIGNMENT).contains(found));
    good.ok_or(GgufError::Alignment { found })
}

fn sort_by_name(tensors: &[Tensor]) -> Result<Vec<u32>, GgufError> {
    let mut order: Vec<u32> = (0..tensors.len() as u32).collect();
    let tensor = |at: &u32| &tensors[*at as usize];
    order.sort_by(|a, b| tensor(a).name().cmp(tensor(b).name()));
    for pair in order.windows(2) {
        let (first, second) = (tensor(&pair[0]), tensor(&pair[1]));
        if first.name() == second.name() {
            return Err(GgufError::DuplicateTensor { tensor: clip(second.name()), at: second.at });
        }
    }
    Ok(order)
}

/// No two tensors share a byte.
fn check_apart(tensors: &[Tensor]) -> Result<(), GgufError> {
    let mut order: Vec<&Tensor> = tensors.iter().collect();
    order.sort_by_key(|tensor| tensor.range().start);
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if second.range().start < first.range().end {
            let (first, second) = (clip(first.name()), clip(second.name()));
            return Err(GgufError::Overlap { first, second, start: pair[1].range().start });
        }
    }
    Ok(())
}
