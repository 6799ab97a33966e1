//! What an array is: name, element type, shape, and how a delta stores it.

use super::error::AnchorError;
use super::{Dtype, Scalars};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Arrays that deltas store by rows where the JSON names none: those of the reference's runtime.
pub const DEFAULT_ROW_FIELDS: [&str; 4] = ["_frontier_keys", "_frontier_values", "_root_keys", "_root_values"];

/// One array of a state. Every layer has one of this type and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// Its name, unlike those of the others.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Its dimensions, outermost first; none of them means one element.
    pub shape: Vec<u64>,
    /// Whether deltas store the rows that changed instead of the whole array.
    pub by_rows: bool,
}

impl ArraySpec {
    /// An array that is stored by rows if its name is one of [`DEFAULT_ROW_FIELDS`].
    pub fn new(name: impl Into<String>, dtype: Dtype, shape: impl Into<Vec<u64>>) -> Self {
        let name = name.into();
        let by_rows = is_default_row_field(&name);
        Self { name, dtype, shape: shape.into(), by_rows }
    }

    /// The same array, stored by rows whatever its name is.
    #[must_use]
    pub fn stored_by_rows(self) -> Self {
        Self { by_rows: true, ..self }
    }

    /// Bytes of one layer's array, if they can be counted.
    #[must_use]
    pub fn byte_len(&self) -> Option<u64> {
        // A dimension of zero empties the array whatever the others are.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(self.dtype.size() as u64, |bytes, &dimension| bytes.checked_mul(dimension))
    }

    /// Number of rows and bytes of a row: a row is the last dimension.
    pub(super) fn rows(&self) -> Option<(usize, usize)> {
        let (last, leading) = self.shape.split_last().unwrap_or((&1, &[]));
        let rows = leading.iter().try_fold(1_u64, |rows, &dimension| rows.checked_mul(dimension))?;
        let row_len = (self.dtype.size() as u64).checked_mul(*last)?;
        Some((usize::try_from(rows).ok()?, usize::try_from(row_len).ok()?))
    }

    /// Whether a delta against `parent` can store this array by rows so that every reader understands it: the reference
    /// reads rows of `[heads, rows, dim]` only, and none without elements.
    pub(super) fn rows_follow(&self, parent: &Self) -> bool {
        self.same_elements(parent) && matches!(self.shape[..], [_, _, dim] if dim > 0) && self.rows().is_some()
    }

    pub(super) fn same_elements(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.shape == other.shape
    }
}

pub(super) fn is_default_row_field(name: &str) -> bool {
    DEFAULT_ROW_FIELDS.contains(&name)
}

/// Type and shape: `float16[2,24,8]`.
impl fmt::Display for ArraySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (index, dimension) in self.shape.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{dimension}")?;
        }
        f.write_str("]")
    }
}

/// Where each array lies in a layer's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Start and length of each array, in the listed order.
    pub(super) places: Vec<(usize, usize)>,
    /// Bytes of a layer.
    pub(super) layer_len: usize,
    /// Bytes of all layers.
    pub(super) len: usize,
}

impl Layout {
    pub(super) fn of(arrays: &[ArraySpec], scalars: &[Scalars]) -> Result<Self, AnchorError> {
        let mut places = Vec::with_capacity(arrays.len());
        let mut layer_len = 0_usize;
        for array in arrays {
            let too_large = || AnchorError::TooLarge { array: array.name.clone() };
            let len = array.byte_len().and_then(|len| usize::try_from(len).ok()).ok_or_else(too_large)?;
            places.push((layer_len, len));
            layer_len = layer_len.checked_add(len).ok_or_else(too_large)?;
        }
        let len = layer_len
            .checked_mul(scalars.len())
            .ok_or(AnchorError::TooManyLayers { layers: scalars.len(), layer_len })?;
        Ok(Self { places, layer_len, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn sizes_are_counted_or_refused() {
        let bytes = |shape: &[u64]| ArraySpec::new("a", Dtype::Float32, shape).byte_len();
        assert_eq!(bytes(&[]), Some(4));
        assert_eq!(bytes(&[2, 3, 5]), Some(120));
        assert_eq!(bytes(&[u64::MAX, u64::MAX, 0]), Some(0));
        assert_eq!(bytes(&[1 << 62]), None);
        assert_eq!(bytes(&[1 << 32, 1 << 32]), None);
    }

    #[test]
    fn a_row_is_the_last_dimension() {
        let rows = |shape: &[u64]| ArraySpec::new("a", Dtype::Float16, shape).rows();
        assert_eq!(rows(&[2, 24, 8]), Some((48, 16)));
        assert_eq!(rows(&[7]), Some((1, 14)));
        assert_eq!(rows(&[]), Some((1, 2)));
        assert_eq!(rows(&[3, 0]), Some((3, 0)));
        assert_eq!(rows(&[u64::MAX, u64::MAX, 0]), None);
        assert_eq!(rows(&[1, u64::MAX]), None);
    }

    #[test]
    fn a_state_must_fit_into_memory_that_can_be_addressed() {
        let array = |shape: &[u64]| ArraySpec::new("a", Dtype::UInt8, shape);
        let layers = [Scalars::default(), Scalars::default(), Scalars::default()];
        let large = array(&[usize::MAX as u64 / 2]);
        assert_eq!(
            Layout::of(core::slice::from_ref(&large), &layers),
            Err(AnchorError::TooManyLayers { layers: 3, layer_len: usize::MAX / 2 })
        );
        let three = [large.clone(), large.clone(), large];
        assert_eq!(Layout::of(&three, &[]), Err(AnchorError::TooLarge { array: "a".to_string() }));
    }
}
