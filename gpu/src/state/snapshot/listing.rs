//! What the bytes of an anchor are.

use super::Field;
use mrail::anchor::{ArraySpec, Snapshot};
use std::collections::BTreeMap;

/// Bytes of an anchored state by what they are, over all layers and before compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Arrays of which deltas store the rows that changed: keys and values of band and store.
    pub row_bytes: u64,
    /// State of the carriers, which every delta stores whole.
    pub carrier_bytes: u64,
    /// Everything else, which every delta stores whole: positions, scores, looks, surprises.
    pub other_bytes: u64,
}

/// Adds up an anchored state's bytes by what they are. Arrays are told apart by their names.
pub fn listing(snapshot: &Snapshot) -> Listing {
    let layers = snapshot.scalars().len() as u64;
    let mut listing = Listing::default();
    for array in snapshot.arrays() {
        // The state is in memory, so its bytes can be counted.
        let bytes = array.byte_len().unwrap_or(0).saturating_mul(layers);
        let name = array.name.rsplit('.').next().unwrap_or_default();
        let sum = if array.by_rows {
            &mut listing.row_bytes
        } else if Field::ALL.iter().any(|field| field.of_carrier() && field.name() == name) {
            &mut listing.carrier_bytes
        } else {
            &mut listing.other_bytes
        };
        *sum = sum.saturating_add(bytes);
    }
    listing
}

/// The rows of one array that a delta holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRows {
    /// Layer of the anchor, from 0.
    pub layer: usize,
    /// The array.
    pub array: String,
    /// Rows of each head.
    pub rows: u64,
    /// Rows that changed, of each head of the array.
    pub changed: Vec<u64>,
    /// Bytes of a row.
    pub row_bytes: u64,
}

/// What a delta from one state to another holds of the arrays that are stored by rows. None where there can be no
/// delta, since such an array or a layer is not the parent's: then the child is stored whole.
pub fn changed_rows(parent: &Snapshot, child: &Snapshot) -> Option<Vec<ChangedRows>> {
    let layers = child.scalars().len();
    if layers > parent.scalars().len() {
        return None;
    }
    let parents: BTreeMap<&str, (usize, &ArraySpec)> =
        parent.arrays().iter().enumerate().map(|(place, array)| (&*array.name, (place, array))).collect();
    let mut by_rows = Vec::new();
    for (place, array) in child.arrays().iter().enumerate().filter(|(_, array)| array.by_rows) {
        let &(parent_place, before) = parents.get(&*array.name)?;
        let &[_, rows, dim] = &array.shape[..] else { return None };
        if dim == 0 || before.dtype != array.dtype || before.shape != array.shape {
            return None;
        }
        by_rows.push((place, parent_place, array, rows, dim));
    }
    let mut all = Vec::new();
    for layer in 0..layers {
        for &(place, parent_place, array, rows, dim) in &by_rows {
            let (before, after) = (parent.array(layer, parent_place)?, child.array(layer, place)?);
            let row_bytes = dim.saturating_mul(array.dtype.size() as u64);
            let row = usize::try_from(row_bytes).ok()?;
            let head = usize::try_from(rows).ok()?.saturating_mul(row);
            // Arrays without bytes have no heads to tell of.
            let heads = before.chunks(head.max(1)).zip(after.chunks(head.max(1)));
            let changed = heads.map(|(before, after)| {
                before.chunks(row).zip(after.chunks(row)).filter(|(before, after)| before != after).count() as u64
            });
            all.push(ChangedRows { layer, array: array.name.clone(), rows, changed: changed.collect(), row_bytes });
        }
    }
    Some(all)
}
