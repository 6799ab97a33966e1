//! Brings tensors from a file to where a model runs, a few MiB at a time.

use super::gguf::{Source, Tensor, clip};
use super::layout::{Form, GROUP, LayoutError, buffer_words, interleave};
use super::quant::dequantise;
use std::fmt;
use std::ops::Range;

/// Words that are handed over at once, at most, unless 8 rows are more: 4 MiB.
pub const MOST_WORDS: u64 = 1 << 20;

/// How far loading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Bytes of the file that were read.
    pub done: u64,
    /// Bytes of all tensors.
    pub total: u64,
    /// The tensor that is being read.
    pub tensor: &'a str,
}

/// Why a tensor cannot be loaded. Names are cut to what a line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The source gives no bytes.
    Read {
        /// The tensor.
        tensor: String,
        /// From where on in the file.
        at: u64,
        /// How many were asked for.
        bytes: u64,
        /// What kind of error the source gave.
        kind: std::io::ErrorKind,
        /// What it said.
        why: String,
    },
    /// Its rows cannot be laid out.
    Layout {
        /// The tensor.
        tensor: String,
        /// Why not.
        error: LayoutError,
    },
    /// There are no such rows.
    Rows {
        /// The tensor.
        tensor: String,
        /// Rows asked for.
        rows: Range<u64>,
        /// Rows that it has.
        all: u64,
    },
    /// No memory is left.
    Memory {
        /// The tensor.
        tensor: String,
        /// Bytes asked for.
        bytes: u64,
    },
}

impl LoadError {
    fn memory(tensor: &Tensor, bytes: u64) -> Self {
        Self::Memory { tensor: clip(tensor.name()), bytes }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { tensor, at, bytes, kind: _, why } => {
                write!(f, "tensor {tensor:?}: {bytes} bytes at {at} cannot be read: {why}")
            }
            Self::Layout { tensor, error } => write!(f, "tensor {tensor:?}: {error}"),
            Self::Rows { tensor, rows, all } => {
                write!(f, "tensor {tensor:?} has {all} rows; asked for {} to {}", rows.start, rows.end)
            }
            Self::Memory { tensor, bytes } => write!(f, "tensor {tensor:?}: no memory for {bytes} bytes"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reads rows of a matrix in order, and hands them over as words in the order of [`super::layout`]. The first row is the first of a
/// group; every chunk but the last has [`chunk_rows`] rows.
pub fn rows<S: Source, E: From<LoadError>>(
    source: &mut S,
    tensor: &Tensor,
    rows: Range<u64>,
    mut take: impl FnMut(&[u32]) -> Result<(), E>,
) -> Result<(), E> {
    let all = tensor.rows();
    if rows.start > rows.end || rows.end > all {
        return Err(LoadError::Rows { tensor: clip(tensor.name()), rows, all }.into());
    }
    let element = tensor.element();
    let layout = |error| LoadError::Layout { tensor: clip(tensor.name()), error };
    // A row longer than 32 bits say is more than a matrix has: its kind of error is the same.
    let k = u32::try_from(tensor.row()).map_err(|_| layout(LayoutError::Row { element, k: u32::MAX }))?;
    interleave(element, k, &[], &mut Vec::new()).map_err(layout)?;
    let each = chunk_rows(tensor);
    let (mut bytes, mut words) = (Vec::new(), Vec::new());
    let mut at = rows.start;
    while at < rows.end {
        let end = rows.end.min(at.saturating_add(each));
        read(source, tensor, at * tensor.row_bytes()..end * tensor.row_bytes(), &mut bytes)?;
        words.clear();
        reserve(tensor, &mut words, buffer_words(Form::of(element), end - at, k.into()))?;
        interleave(element, k, &bytes, &mut words).map_err(layout)?;
        take(&words)?;
        at = end;
    }
    Ok(())
}

/// Rows of a matrix that are handed over at once: a multiple of 8, in at most [`MOST_WORDS`], or 8.
pub fn chunk_rows(tensor: &Tensor) -> u64 {
    let group = buffer_words(Form::of(tensor.element()), GROUP as u64, tensor.row()).max(1);
    (MOST_WORDS / group).max(1) * GROUP as u64
}

/// Reads all of a norm or a bias.
pub fn vector<S: Source>(source: &mut S, tensor: &Tensor) -> Result<Vec<f32>, LoadError> {
    let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
    read(source, tensor, 0..tensor.bytes(), &mut bytes)?;
    reserve(tensor, &mut numbers, tensor.numbers())?;
    numbers.resize(tensor.numbers() as usize, 0.0);
    // The header was checked: its bytes are those of its numbers.
    dequantise(tensor.element(), &bytes, &mut numbers).map_err(|_| LoadError::memory(tensor, tensor.bytes()))?;
    Ok(numbers)
}

/// Reads a stretch of a tensor's bytes.
fn read<S: Source>(source: &mut S, tensor: &Tensor, part: Range<u64>, into: &mut Vec<u8>) -> Result<(), LoadError> {
    let (at, bytes) = (tensor.range().start + part.start, part.end - part.start);
    into.clear();
    reserve(tensor, into, bytes)?;
    into.resize(bytes as usize, 0);
    source.read_at(at, into).map_err(|error| {
        let (kind, why) = (error.kind(), clip(&error.to_string()));
        LoadError::Read { tensor: clip(tensor.name()), at, bytes, kind, why }
    })
}

/// Makes room, if there is any.
fn reserve<T>(tensor: &Tensor, numbers: &mut Vec<T>, count: u64) -> Result<(), LoadError> {
    let room = usize::try_from(count).ok().and_then(|count| numbers.try_reserve_exact(count).ok());
    room.ok_or_else(|| LoadError::memory(tensor, count.saturating_mul(size_of::<T>() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gguf::{Header, build::Build};
    use crate::model::quant::Element;

    fn tensor(bytes: &[u8]) -> Tensor {
        Header::parse(bytes, bytes.len() as u64).unwrap().tensors()[0].clone()
    }

    /// A file of one tensor, whose byte i is i modulo 251.
    fn file(dims: &[u64], element: Element) -> (Vec<u8>, Tensor) {
        let mut bytes = Build::default().tensor("t", dims, element).bytes();
        let tensor = tensor(&bytes);
        let data = &mut bytes[tensor.range().start as usize..];
        data.iter_mut().zip(0_u32..).for_each(|(byte, at)| *byte = (at % 251) as u8);
        (bytes, tensor)
    }

    #[test]
    fn chunks_are_the_whole_in_order() {
        for (dims, element, chunks) in [
            ([64, 3], Element::F16, 1),
            ([2048, 1300], Element::F32, 3),
            ([1 << 19, 9], Element::Q4_0, 2),
            ([1 << 18, 25], Element::Q8_0, 4),
        ] {
            let (bytes, tensor) = file(&dims, element);
            let whole = &bytes[tensor.range().start as usize..tensor.range().end as usize];
            let (mut expected, mut found, mut count) = (Vec::new(), Vec::new(), 0);
            interleave(element, dims[0] as u32, whole, &mut expected).unwrap();
            rows(&mut &bytes[..], &tensor, 0..dims[1], |words| {
                let rows = buffer_words(Form::of(element), 8, dims[0]);
                assert!(words.len() as u64 <= MOST_WORDS.max(rows));
                found.extend_from_slice(words);
                count += 1;
                Ok::<_, LoadError>(())
            })
            .unwrap();
            assert_eq!(count, chunks);
            assert!(found == expected, "{element}");
        }
    }

    #[test]
    fn some_rows_are_a_matrix_of_their_own() {
        let (bytes, tensor) = file(&[32, 20], Element::F32);
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let start = tensor.range().start as usize;
        interleave(Element::F32, 32, &bytes[start + 3 * 128..start + 14 * 128], &mut expected).unwrap();
        let take = |words: &[u32]| {
            found.extend_from_slice(words);
            Ok::<_, LoadError>(())
        };
        rows(&mut &bytes[..], &tensor, 3..14, take).unwrap();
        assert_eq!(found, expected);
        let error = rows(&mut &bytes[..], &tensor, 3..21, |_| Ok::<_, LoadError>(())).unwrap_err();
        assert_eq!(error.to_string(), "tensor \"t\" has 20 rows; asked for 3 to 21");
    }

    #[test]
    fn errors_name_the_tensor() {
        let (bytes, tensor) = file(&[32, 20], Element::F32);
        let short = &mut &bytes[..bytes.len() - 1];
        let error = rows(short, &tensor, 0..20, |_| Ok::<_, LoadError>(())).unwrap_err();
        assert!(
            matches!(&error, LoadError::Read { tensor, bytes: 2560, kind: std::io::ErrorKind::UnexpectedEof, .. } if tensor == "t")
        );
        assert!(error.to_string().starts_with("tensor \"t\": 2560 bytes at "), "{error}");
        assert!(matches!(vector(short, &tensor), Err(LoadError::Read { .. })));
        let (bytes, tensor) = file(&[48, 2], Element::F32);
        let error = rows(&mut &bytes[..], &tensor, 0..2, |_| Ok::<_, LoadError>(())).unwrap_err();
        let text = "tensor \"t\": rows of 48 numbers in F32; a matrix has rows of a multiple of 32";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn an_error_of_the_taker_ends_it() {
        #[derive(Debug, PartialEq)]
        struct Enough;
        impl From<LoadError> for Enough {
            fn from(_: LoadError) -> Self {
                unreachable!("nothing else is wrong")
            }
        }
        let (bytes, tensor) = file(&[32, 20], Element::F32);
        assert_eq!(rows(&mut &bytes[..], &tensor, 0..20, |_| Err(Enough)), Err(Enough));
    }

    #[test]
    fn vectors_are_numbers() {
        let bytes = [0x3F80_0000_u32, 0xC000_0000].iter().flat_map(|bits| bits.to_le_bytes()).collect::<Vec<_>>();
        let mut file = Build::default().tensor("norm", &[2], Element::F32).bytes();
        let tensor = tensor(&file);
        let start = tensor.range().start as usize;
        file[start..start + 8].copy_from_slice(&bytes);
        assert_eq!(vector(&mut &file[..], &tensor), Ok(vec![1.0, -2.0]));
    }
}
