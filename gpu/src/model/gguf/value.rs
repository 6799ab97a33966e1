//! Values of the metadata, in the header's bytes.

use super::cursor::Cursor;
use super::error::{GgufError, clip};

/// Arrays in arrays, at most.
pub const MOST_NESTED: u32 = 4;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

impl Kind {
    /// By their numbers in the file.
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::Text,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    fn of_id(id: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(id).ok()?).copied()
    }

    /// Bytes of a value, if they are always as many; or else the fewest.
    const fn size(self) -> (bool, u64) {
        match self {
            Self::U8 | Self::I8 | Self::Bool => (true, 1),
            Self::U16 | Self::I16 => (true, 2),
            Self::U32 | Self::I32 | Self::F32 => (true, 4),
            Self::U64 | Self::I64 | Self::F64 => (true, 8),
            Self::Text => (false, 8),
            Self::Array => (false, 12),
        }
    }
}

/// A value. Texts and arrays lie in the header.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// Meant to be UTF-8, which nobody has checked.
    Text(&'a [u8]),
    Array(Array<'a>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl<'a> Value<'a> {
    /// A whole number from 0, whatever its width.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(number) => Some(number.into()),
            Self::U16(number) => Some(number.into()),
            Self::U32(number) => Some(number.into()),
            Self::U64(number) => Some(number),
            Self::I8(number) => number.try_into().ok(),
            Self::I16(number) => number.try_into().ok(),
            Self::I32(number) => number.try_into().ok(),
            Self::I64(number) => number.try_into().ok(),
            _ => None,
        }
    }

    /// A number with a fraction; of double precision, the nearest of single precision.
    pub fn as_f32(&self) -> Option<f32> {
        match *self {
            Self::F32(number) => Some(number),
            Self::F64(number) => Some(number as f32),
            _ => None,
        }
    }

    /// A truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A text that is UTF-8.
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// An array.
    pub fn as_array(&self) -> Option<Array<'a>> {
        match *self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }
}

/// An array, in the header's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array<'a> {
    kind: Kind,
    len: u64,
    elements: &'a [u8],
}

impl<'a> Array<'a> {
    /// What all its elements are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many they are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Decodes them one after the other.
    pub fn iter(&self) -> Elements<'a> {
        Elements { kind: self.kind, left: self.len, bytes: self.elements }
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Elements<'a>;

    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Elements<'a>;

    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// Elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    kind: Kind,
    left: u64,
    bytes: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        decode(self.kind, &mut self.bytes)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // They are in memory, so their number fits.
        (self.left as usize, Some(self.left as usize))
    }
}

/// Steps over a value and checks it; `depth` counts the arrays around it.
pub(super) fn skip(cursor: &mut Cursor<'_>, kind: Kind, key: &str, depth: u32) -> Result<(), GgufError> {
    const WHAT: &str = "a value of the metadata";
    let at = cursor.at();
    match kind {
        Kind::Text => cursor.string(WHAT).map(|_| ()),
        Kind::Array => {
            if depth >= MOST_NESTED {
                return Err(GgufError::Nested { key: clip(key), at });
            }
            let kind = read_kind(cursor, key)?;
            let (fixed, size) = kind.size();
            let count = cursor.count("the length of an array of the metadata", size, u64::MAX)?;
            if fixed {
                // Bounded by what is left of the file, the product fits.
                let elements = cursor.take(WHAT, count * size)?;
                return check_bools(kind, elements, key, at);
            }
            (0..count).try_for_each(|_| skip(cursor, kind, key, depth + 1))
        }
        _ => {
            let value = cursor.take(WHAT, kind.size().1)?;
            check_bools(kind, value, key, at)
        }
    }
}

/// The kind of the value that follows.
pub(super) fn read_kind(cursor: &mut Cursor<'_>, key: &str) -> Result<Kind, GgufError> {
    let at = cursor.at();
    let kind = cursor.u32("the kind of a value")?;
    Kind::of_id(kind).ok_or_else(|| GgufError::Kind { key: clip(key), kind, at })
}

fn check_bools(kind: Kind, values: &[u8], key: &str, at: u64) -> Result<(), GgufError> {
    let good = kind != Kind::Bool || values.iter().all(|value| *value <= 1);
    if good { Ok(()) } else { Err(GgufError::Bool { key: clip(key), at }) }
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn slice<'a>(bytes: &mut &'a [u8], len: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(len).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// Takes a value off the front of bytes that [`skip`] went over. On others it ends with nothing.
pub(super) fn decode<'a>(kind: Kind, bytes: &mut &'a [u8]) -> Option<Value<'a>> {
    Some(match kind {
        Kind::U8 => Value::U8(u8::from_le_bytes(array(bytes)?)),
        Kind::I8 => Value::I8(i8::from_le_bytes(array(bytes)?)),
        Kind::U16 => Value::U16(u16::from_le_bytes(array(bytes)?)),
        Kind::I16 => Value::I16(i16::from_le_bytes(array(bytes)?)),
        Kind::U32 => Value::U32(u32::from_le_bytes(array(bytes)?)),
        Kind::I32 => Value::I32(i32::from_le_bytes(array(bytes)?)),
        Kind::F32 => Value::F32(f32::from_le_bytes(array(bytes)?)),
        Kind::Bool => Value::Bool(array(bytes)? != [0]),
        Kind::Text => {
            let len = u64::from_le_bytes(array(bytes)?);
            Value::Text(slice(bytes, len)?)
        }
        Kind::Array => Value::Array(decode_array(bytes)?),
        Kind::U64 => Value::U64(u64::from_le_bytes(array(bytes)?)),
        Kind::I64 => Value::I64(i64::from_le_bytes(array(bytes)?)),
        Kind::F64 => Value::F64(f64::from_le_bytes(array(bytes)?)),
    })
}

fn decode_array<'a>(bytes: &mut &'a [u8]) -> Option<Array<'a>> {
    let kind = Kind::of_id(u32::from_le_bytes(array(bytes)?))?;
    let len = u64::from_le_bytes(array(bytes)?);
    let (fixed, size) = kind.size();
    let elements = *bytes;
    if fixed {
        let elements = slice(bytes, len.checked_mul(size)?)?;
        return Some(Array { kind, len, elements });
    }
    for _ in 0..len {
        decode(kind, bytes)?;
    }
    let used = elements.len() - bytes.len();
    Some(Array { kind, len, elements: &elements[..used] })
}
