//! Deltas: the rows that changed, and everything that is not stored by rows.

use super::error::AnchorError;
use super::spec::Layout;
use super::{ArraySpec, Meta, Snapshot};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

/// How one array of every layer is stored in a delta.
struct Field {
    /// Its place in the list of arrays.
    index: usize,
    /// Where its bytes lie in a layer of the state.
    start: usize,
    len: usize,
    /// Rows and bytes of a row, of an array stored by rows.
    rows: Option<(usize, usize)>,
}

/// What the JSON of a delta says about its body.
pub(super) struct Plan {
    layout: Layout,
    /// Arrays that have bytes or a mask in the body. The others would be work without input.
    fields: Vec<Field>,
    /// Bytes of a body in which no row changed.
    pub(super) at_least: usize,
    /// Bytes of a body in which every row changed.
    pub(super) at_most: usize,
}

impl Plan {
    pub(super) fn of(meta: &Meta) -> Result<Self, AnchorError> {
        let layout = Layout::of(&meta.arrays, &meta.scalars)?;
        let layers = meta.scalars.len();
        let (mut fields, mut fixed, mut changing) = (Vec::new(), 0_usize, 0_usize);
        for (index, (array, &(start, len))) in meta.arrays.iter().zip(&layout.places).enumerate() {
            let too_large = || AnchorError::TooLarge { array: array.name.clone() };
            let rows = if array.by_rows { Some(array.rows().ok_or_else(too_large)?) } else { None };
            let mask = rows.map_or(0, |(rows, _)| rows.div_ceil(8));
            if mask > 0 || len > 0 {
                fields.push(Field { index, start, len, rows });
            }
            fixed = fixed.checked_add(if rows.is_some() { mask } else { len }).ok_or_else(too_large)?;
            changing = changing.checked_add(if rows.is_some() { len } else { 0 }).ok_or_else(too_large)?;
        }
        let all =
            |layer_len: usize| layer_len.checked_mul(layers).ok_or(AnchorError::TooManyLayers { layers, layer_len });
        let (at_least, changing) = (all(fixed)?, all(changing)?);
        let at_most = at_least.checked_add(changing).ok_or(AnchorError::TooManyLayers { layers, layer_len: fixed })?;
        Ok(Self { layout, fields, at_least, at_most })
    }
}

/// The state that a delta with this JSON and decompressed body makes of its parent's. In place where the arrays are the
/// same.
pub(super) fn apply(parent: Snapshot, meta: Meta, plan: Plan, body: &[u8]) -> Result<Snapshot, AnchorError> {
    if body.len() < plan.at_least {
        return Err(AnchorError::BodyLen { declared: plan.at_least, len: body.len() });
    }
    let mut bytes = carry_over(parent, &meta, &plan)?;
    let mut body = Body { bytes: body, at: 0 };
    let layers = if plan.fields.is_empty() { 0 } else { meta.scalars.len() };
    for layer in 0..layers {
        let of_layer = bytes.get_mut(layer * plan.layout.layer_len..).unwrap_or_default();
        for field in &plan.fields {
            let spec = meta.arrays.get(field.index);
            let name = || spec.map(|array| array.name.clone()).unwrap_or_default();
            let ends = |(needs, len)| AnchorError::BodyEnds { layer, array: name(), needs, len };
            let array = of_layer.get_mut(field.start..).and_then(|rest| rest.get_mut(..field.len)).unwrap_or_default();
            let Some((rows, row_len)) = field.rows else {
                array.copy_from_slice(body.take(array.len()).map_err(ends)?);
                continue;
            };
            let mask = body.take(rows.div_ceil(8)).map_err(ends)?;
            if rows % 8 != 0 && mask.last().is_some_and(|&last| last << (rows % 8) != 0) {
                return Err(AnchorError::Padding { layer, array: name(), rows });
            }
            let changed: usize = mask.iter().map(|byte| byte.count_ones() as usize).sum();
            // No more than the array has, which was counted.
            let changed = body.take(changed * row_len).map_err(ends)?;
            replace_rows(array, row_len, mask, changed);
        }
    }
    let (declared, len) = (body.at, body.bytes.len());
    if declared != len {
        return Err(AnchorError::BodyLen { declared, len });
    }
    let Meta { arrays, scalars, describes_rows, .. } = meta;
    Ok(Snapshot { arrays, scalars, bytes, layout: plan.layout, describes_rows })
}

/// The parent's bytes, arranged as the delta's arrays are; what the delta stores whole may hold anything.
fn carry_over(parent: Snapshot, meta: &Meta, plan: &Plan) -> Result<Vec<u8>, AnchorError> {
    let layers = meta.scalars.len();
    let by_rows = || meta.arrays.iter().zip(&plan.layout.places).filter(|(array, _)| array.by_rows);
    if layers > parent.scalars.len() && by_rows().next().is_some() {
        return Err(AnchorError::ParentLayers { layers, parent: parent.scalars.len() });
    }
    let same = |(here, there): (&ArraySpec, &ArraySpec)| here.name == there.name && here.same_elements(there);
    if layers <= parent.scalars.len()
        && meta.arrays.len() == parent.arrays.len()
        && meta.arrays.iter().zip(&parent.arrays).all(same)
    {
        let mut bytes = parent.bytes;
        bytes.truncate(plan.layout.len);
        return Ok(bytes);
    }
    let names: BTreeMap<_, _> = parent.arrays.iter().enumerate().map(|(index, array)| (&*array.name, index)).collect();
    let mut carried = Vec::new();
    for (array, &(start, len)) in by_rows() {
        let index = names.get(&*array.name).copied();
        let Some((index, there)) = index.and_then(|index| Some((index, parent.arrays.get(index)?))) else {
            return Err(AnchorError::ParentLacks { array: array.name.clone() });
        };
        if !array.same_elements(there) {
            let (array, here, parent) = (array.name.clone(), array.to_string(), there.to_string());
            return Err(AnchorError::ParentDiffers { array, here, parent });
        }
        if len > 0 {
            carried.push((index, start, len));
        }
    }
    // Rows that the parent has, and whole arrays that the body is long enough for: nothing here is only declared.
    let mut bytes = vec![0; plan.layout.len];
    let layers = if carried.is_empty() { 0 } else { layers };
    for layer in 0..layers {
        for &(index, start, len) in &carried {
            let from = parent.array(layer, index);
            let to = bytes.get_mut(layer * plan.layout.layer_len + start..).and_then(|rest| rest.get_mut(..len));
            if let (Some(from), Some(to)) = (from, to) {
                to.copy_from_slice(from);
            }
        }
    }
    Ok(bytes)
}

/// Puts the rows that the mask names, one after the other in `changed`, into their places.
fn replace_rows(array: &mut [u8], row_len: usize, mask: &[u8], changed: &[u8]) {
    if row_len == 0 {
        return;
    }
    let mut changed = changed.chunks_exact(row_len);
    for (&byte, eight) in mask.iter().zip(array.chunks_mut(row_len.saturating_mul(8))) {
        let mut byte = byte;
        for row in eight.chunks_exact_mut(row_len) {
            if byte & 0x80 != 0
                && let Some(new) = changed.next()
            {
                row.copy_from_slice(new);
            }
            byte <<= 1;
        }
    }
}

/// The decompressed body, taken piece by piece.
struct Body<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Body<'b> {
    /// The next bytes, or how many would be needed and how many there are.
    fn take(&mut self, count: usize) -> Result<&'b [u8], (u64, usize)> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let taken = taken.ok_or(((self.at as u64).saturating_add(count as u64), self.bytes.len()))?;
        self.at += count;
        Ok(taken)
    }
}

/// The body of a delta that makes `state` of `parent`, unless that takes more than the format has: rows are stored of
/// arrays that the parent has in the same type and shape, and of layers that it has. Rows are compared as bytes, so
/// that the sign of a zero is a change and a NaN that stays is none.
pub(super) fn difference(parent: &Snapshot, state: &Snapshot) -> Option<Vec<u8>> {
    if state.scalars.len() > parent.scalars.len() {
        return None;
    }
    let names: BTreeMap<_, _> = parent.arrays.iter().enumerate().map(|(index, array)| (&*array.name, index)).collect();
    let mut fields = Vec::with_capacity(state.arrays.len());
    for (index, (array, &(_, len))) in state.arrays.iter().zip(&state.layout.places).enumerate() {
        let mut there = None;
        if array.by_rows {
            let index = *names.get(&*array.name)?;
            if !array.rows_follow(parent.arrays.get(index)?) {
                return None;
            }
            there = Some((index, array.rows()?.1));
        }
        if len > 0 {
            fields.push((index, there));
        }
    }
    let (mut body, mut changed) = (Vec::new(), Vec::new());
    let layers = if fields.is_empty() { 0 } else { state.scalars.len() };
    for layer in 0..layers {
        for &(index, there) in &fields {
            let array = state.array(layer, index)?;
            match there {
                None => body.extend_from_slice(array),
                Some((index, row_len)) => {
                    push_changes(parent.array(layer, index)?, array, row_len, &mut body, &mut changed);
                }
            }
        }
    }
    Some(body)
}

/// Appends mask and changed rows. `row_len` is not zero; `changed` is room to work in.
fn push_changes(parent: &[u8], array: &[u8], row_len: usize, body: &mut Vec<u8>, changed: &mut Vec<u8>) {
    changed.clear();
    let eight = row_len.saturating_mul(8);
    for (old, new) in parent.chunks(eight).zip(array.chunks(eight)) {
        let mut byte = 0;
        for (row, (old, new)) in old.chunks(row_len).zip(new.chunks(row_len)).enumerate() {
            if old != new {
                byte |= 0x80_u8 >> row;
                changed.extend_from_slice(new);
            }
        }
        body.push(byte);
    }
    body.extend_from_slice(changed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::{Dtype, Scalars};

    // Golden bodies of the reference.
    #[test]
    fn masks_have_the_first_row_in_the_highest_bit() {
        let state = |bytes: [u8; 10]| {
            let arrays = vec![ArraySpec::new("_root_keys", Dtype::UInt8, [2, 5, 1])];
            Snapshot::new(arrays, vec![Scalars::default()], bytes.to_vec()).unwrap()
        };
        let body = difference(&state([0; 10]), &state([1, 0, 0, 2, 0, 0, 3, 0, 0, 4]));
        assert_eq!(body.as_deref(), Some(&[0x92, 0x40, 1, 2, 3, 4][..]));
    }

    #[test]
    fn bodies_go_layer_by_layer_and_array_by_array() {
        let state = |bytes: Vec<u8>| {
            let arrays =
                vec![ArraySpec::new("q", Dtype::UInt8, [1]), ArraySpec::new("_root_keys", Dtype::UInt8, [1, 2, 2])];
            Snapshot::new(arrays, vec![Scalars::default(); 2], bytes).unwrap()
        };
        let body = difference(&state(vec![0; 10]), &state(vec![7, 1, 1, 1, 1, 8, 2, 2, 2, 2]));
        assert_eq!(body.as_deref(), Some(&[7, 0xc0, 1, 1, 1, 1, 8, 0xc0, 2, 2, 2, 2][..]));
    }
}
