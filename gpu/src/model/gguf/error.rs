//! What can be wrong with a GGUF file's header, and where.

use super::header::{MOST_BYTES, MOST_NAME};
use super::tensor::MOST_ALIGNMENT;
use super::value::MOST_NESTED;
use crate::model::quant::Element;
use std::fmt;

/// Why a header cannot be read. Offsets are in bytes from the start of the file; names from the file are cut to what a line
/// holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GgufError {
    /// No fault: the bytes given end inside the header, and the file goes on. Who reads on should at least double what it has,
    /// so that the bytes looked at stay within a small factor of the header's.
    Incomplete {
        /// Bytes from the start of the file without which it is certain to go no further.
        needs: u64,
    },
    /// The file ends inside its header.
    Cut {
        /// What it ends in.
        what: &'static str,
        /// Where that begins.
        at: u64,
        /// Bytes the file needs to have.
        needs: u64,
        /// Bytes it has.
        len: u64,
    },
    /// The first bytes are not "GGUF". A web page or a failed download, often.
    NotGguf {
        /// What stands there, at most 16 bytes.
        found: Vec<u8>,
    },
    /// Integers are big-endian.
    BigEndian {
        /// The format version.
        version: u32,
    },
    /// A format version that this reader does not know.
    OtherVersion {
        /// The version.
        version: u32,
    },
    /// The header is longer than [`MOST_BYTES`].
    HeaderTooLarge {
        /// What reaches past that.
        what: &'static str,
        /// Where it begins.
        at: u64,
        /// Where it ends.
        needs: u64,
    },
    /// A count is larger than the rest of the file can hold, or than any model's.
    Count {
        /// What is counted.
        what: &'static str,
        /// Where the count stands.
        at: u64,
        /// The count.
        count: u64,
        /// The most there can be.
        most: u64,
    },
    /// A key or a name is empty, or longer than [`MOST_NAME`].
    NameLength {
        /// What it is.
        what: &'static str,
        /// Where it begins.
        at: u64,
        /// Its bytes.
        len: u64,
    },
    /// A key or a name is not UTF-8.
    Text {
        /// What it is.
        what: &'static str,
        /// Where the first wrong byte is.
        at: u64,
    },
    /// Two entries of the metadata have the same key.
    DuplicateKey {
        /// The key.
        key: String,
        /// Where the second begins.
        at: u64,
    },
    /// A value is of no kind that there is.
    Kind {
        /// The entry's key.
        key: String,
        /// The kind's number.
        kind: u32,
        /// Where it stands.
        at: u64,
    },
    /// A truth value is neither 0 nor 1.
    Bool {
        /// The entry's key.
        key: String,
        /// Where the value, or the array that it is in, begins.
        at: u64,
    },
    /// Arrays lie in each other deeper than [`MOST_NESTED`].
    Nested {
        /// The entry's key.
        key: String,
        /// Where the array begins that is too deep.
        at: u64,
    },
    /// The alignment of the tensors is no power of two from 8 to [`MOST_ALIGNMENT`].
    Alignment {
        /// What it is; none if it is not even an integer from 0.
        found: Option<u64>,
    },
    /// A tensor does not have 1 to 4 dimensions.
    Dimensions {
        /// The tensor.
        tensor: String,
        /// Its dimensions.
        count: u32,
        /// Where their count stands.
        at: u64,
    },
    /// A dimension is 0, or they multiply to more than 64 bits hold.
    Size {
        /// The tensor.
        tensor: String,
        /// Its dimensions.
        dims: Vec<u64>,
        /// Where they stand.
        at: u64,
    },
    /// A type of numbers that this reader does not know.
    Element {
        /// The tensor.
        tensor: String,
        /// The type's number.
        id: u32,
        /// Its name, if it has one.
        name: Option<&'static str>,
        /// Where it stands.
        at: u64,
    },
    /// A row is not made of whole blocks.
    Row {
        /// The tensor.
        tensor: String,
        /// Numbers in a row.
        row: u64,
        /// How they are written.
        element: Element,
        /// Where the tensor's dimensions stand.
        at: u64,
    },
    /// A tensor's offset is no multiple of the alignment.
    Misaligned {
        /// The tensor.
        tensor: String,
        /// Its offset from where tensors begin.
        offset: u64,
        /// The alignment.
        alignment: u64,
        /// Where the offset stands.
        at: u64,
    },
    /// Two tensors have the same name.
    DuplicateTensor {
        /// The name.
        tensor: String,
        /// Where the second one's entry begins.
        at: u64,
    },
    /// A tensor reaches past the end of the file. A download that was interrupted, often.
    PastEnd {
        /// The tensor.
        tensor: String,
        /// Where its bytes begin.
        start: u64,
        /// How many they are.
        bytes: u64,
        /// Bytes the file has.
        len: u64,
    },
    /// Two tensors share bytes.
    Overlap {
        /// The one that begins first.
        first: String,
        /// The other.
        second: String,
        /// Where the second begins.
        start: u64,
    },
    /// The bytes could not be read.
    Read {
        /// Where the first of them is.
        at: u64,
        /// How many were asked for.
        bytes: u64,
        /// What the source says.
        why: String,
    },
}

impl fmt::Display for GgufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { needs } => write!(f, "the first {needs} bytes of the file are needed to go on"),
            Self::Cut { what, at, needs, len } => {
                write!(f, "the file ends in {what} at byte {at}: {needs} bytes are needed, it has {len}")
            }
            Self::NotGguf { found } => {
                write!(f, "not a GGUF file: it starts with \"{}\", not with \"GGUF\"", found.escape_ascii())?;
                let first = found.iter().find(|byte| !byte.is_ascii_whitespace() && byte.is_ascii());
                if first == Some(&b'<') { f.write_str("; it may be a web page") } else { Ok(()) }
            }
            Self::BigEndian { version } => {
                write!(f, "a big-endian GGUF file of version {version}; only little-endian ones are read")
            }
            Self::OtherVersion { version } => write!(f, "a GGUF file of version {version}; 2 and 3 are read"),
            Self::HeaderTooLarge { what, at, needs } => {
                write!(f, "{what} at byte {at} ends at byte {needs}, and a header has at most {MOST_BYTES}")
            }
            Self::Count { what, at, count, most } => {
                write!(f, "{what} at byte {at} is {count}, and there can be at most {most}")
            }
            Self::NameLength { what, at, len } => {
                write!(f, "{what} at byte {at} has {len} bytes, and they may be from 1 to {MOST_NAME}")
            }
            Self::Text { what, at } => write!(f, "{what} is not UTF-8 at byte {at}"),
            Self::DuplicateKey { key, at } => write!(f, "a second entry {key:?} at byte {at}"),
            Self::Kind { key, kind, at } => write!(f, "{key:?} has a value of the unknown kind {kind} at byte {at}"),
            Self::Bool { key, at } => write!(f, "{key:?} has a truth value at byte {at} that is neither 0 nor 1"),
            Self::Nested { key, at } => {
                write!(f, "{key:?} has arrays at byte {at} that lie deeper in each other than {MOST_NESTED}")
            }
            Self::Alignment { found } => {
                let text = found.map_or_else(|| "no whole number".to_owned(), |found| found.to_string());
                write!(f, "general.alignment is {text}; it may be a power of two from 8 to {MOST_ALIGNMENT}")
            }
            Self::Dimensions { tensor, count, at } => {
                write!(f, "tensor {tensor:?} has {count} dimensions at byte {at}; it may have 1 to 4")
            }
            Self::Size { tensor, dims, at } => {
                write!(
                    f,
                    "tensor {tensor:?} has dimensions {dims:?} at byte {at}: none may be 0, and 64 bits must hold its size"
                )
            }
            Self::Element { tensor, id, name: Some(name), at } => {
                write!(f, "tensor {tensor:?} is of type {name} ({id}) at byte {at}, which is not supported")
            }
            Self::Element { tensor, id, name: None, at } => {
                write!(f, "tensor {tensor:?} is of the unknown type {id} at byte {at}")
            }
            Self::Row { tensor, row, element, at } => {
                let block = element.block_len();
                write!(
                    f,
                    "tensor {tensor:?} has rows of {row} numbers at byte {at}, and {element} has blocks of {block}"
                )
            }
            Self::Misaligned { tensor, offset, alignment, at } => {
                write!(f, "tensor {tensor:?} has offset {offset} at byte {at}, no multiple of {alignment}")
            }
            Self::DuplicateTensor { tensor, at } => write!(f, "a second tensor {tensor:?} at byte {at}"),
            Self::PastEnd { tensor, start, bytes, len } => {
                write!(f, "tensor {tensor:?} has {bytes} bytes from byte {start} on, and the file has {len} in all")
            }
            Self::Overlap { first, second, start } => {
                write!(f, "tensor {second:?} begins at byte {start}, inside of {first:?}")
            }
            Self::Read { at, bytes, why } => write!(f, "{bytes} bytes from byte {at} on could not be read: {why}"),
        }
    }
}

impl std::error::Error for GgufError {}

/// A name from a file, cut to what a line holds.
pub(in crate::model) fn clip(name: &str) -> String {
    const MOST: usize = 96;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
