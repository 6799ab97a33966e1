//! Entries of the tensor table.

use super::cursor::Cursor;
use super::error::{GgufError, clip};
use crate::model::quant::Element;
use std::ops::Range;

/// Largest alignment of tensors, in bytes: that of memory pages, with room to spare.
pub const MOST_ALIGNMENT: u64 = 1 << 16;

/// Bytes of the shortest entry of the table.
pub(super) const LEAST: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor, where it lies and how it is written. Its sizes are checked: no product of them exceeds 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    name: Box<str>,
    dims: [u64; 4],
    element: Element,
    /// From where tensors begin until the header is read, then from the start of the file.
    start: u64,
    bytes: u64,
    /// Where its entry begins.
    pub(super) at: u64,
}

impl Tensor {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its dimensions in GGUF's order, the numbers of a row first; those that it does not have are 1.
    pub fn dims(&self) -> [u64; 4] {
        self.dims
    }

    /// Numbers in a row, which are whole blocks.
    pub fn row(&self) -> u64 {
        self.dims[0]
    }

    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.dims[1..].iter().product()
    }

    /// All its numbers.
    pub fn numbers(&self) -> u64 {
        self.dims.iter().product()
    }

    /// How they are written.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Bytes of all its rows, which follow each other without a gap.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        self.bytes / self.rows()
    }

    /// Where it lies in the file.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes
    }

    pub(super) fn read(cursor: &mut Cursor<'_>, alignment: u64) -> Result<Self, GgufError> {
        let entry = cursor.at();
        let name = cursor.name("the name of a tensor")?;
        let tensor = || clip(name);
        let at = cursor.at();
        let count = cursor.u32("the number of a tensor's dimensions")?;
        if count == 0 || count > 4 {
            return Err(GgufError::Dimensions { tensor: tensor(), count, at });
        }
        let dims_at = cursor.at();
        let mut dims = [1; 4];
        for dim in &mut dims[..count as usize] {
            *dim = cursor.u64("a tensor's dimension")?;
        }
        let at = cursor.at();
        let id = cursor.u32("a tensor's type")?;
        let element = Element::of_id(id).ok_or_else(|| {
            let name = Element::name_of_id(id);
            GgufError::Element { tensor: tensor(), id, name, at }
        })?;
        let numbers = dims.iter().try_fold(1_u64, |numbers, dim| numbers.checked_mul(*dim)).filter(|all| *all != 0);
        let size = || GgufError::Size { tensor: tensor(), dims: dims[..count as usize].to_vec(), at: dims_at };
        let numbers = numbers.ok_or_else(size)?;
        if element.bytes_of(dims[0]).is_none() {
            // A row too long for 64 bits is no fault of the blocks.
            let whole = dims[0] % u64::from(element.block_len()) == 0;
            return Err(if whole {
                size()
            } else {
                GgufError::Row { tensor: tensor(), row: dims[0], element, at: dims_at }
            });
        }
        let bytes = element.bytes_of(numbers).ok_or_else(size)?;
        let at = cursor.at();
        let offset = cursor.u64("a tensor's offset")?;
        if offset % alignment != 0 {
            return Err(GgufError::Misaligned { tensor: tensor(), offset, alignment, at });
        }
        Ok(Self { name: name.into(), dims, element, start: offset, bytes, at: entry })
    }

    /// Turns the offset from `data` into one from the start of a file of `len` bytes.
    pub(super) fn place(&mut self, data: u64, len: u64) -> Result<(), GgufError> {
        let start = data.saturating_add(self.start);
        if start.checked_add(self.bytes).is_none_or(|end| end > len) {
            return Err(GgufError::PastEnd { tensor: clip(&self.name), start, bytes: self.bytes, len });
        }
        self.start = start;
        Ok(())
    }
}
