//! The arrays that a layer's state consists of: their names, shapes and bytes.

use super::{CarrierSnapshot, HeadSnapshot, LayerSnapshot, surprise_ring};
use crate::state::{Carrier, Config, DECAYS, Storage, TERMS};
use mrail::anchor::Dtype;
use std::fmt;
use std::ops::Range;

/// An array of a layer's state, shown by its name in an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// `band_k` \[`kv_heads`, B + E, `head_dim`], in the layer's storage.
    BandKeys,
    /// `band_v`, as `band_k`.
    BandValues,
    /// `store_k` \[`kv_heads`, S, `head_dim`], in the layer's storage.
    StoreKeys,
    /// `store_v`, as `store_k`.
    StoreValues,
    /// `store_pos` \[`kv_heads`, S], uint32.
    StorePositions,
    /// `store_score` \[`kv_heads`, S], float32.
    StoreScores,
    /// `look` \[`kv_heads`, B + E], float32.
    Looks,
    /// `surprise` \[B + 2 E], float32.
    Surprises,
    /// `decay` \[heads, 5, 9, `head_dim` + 1], float32.
    Decay,
    /// `cell_n` \[`kv_heads`, M], float32.
    CellCounts,
    /// `cell_k` \[`kv_heads`, M, `head_dim`], float32.
    CellKeys,
    /// `cell_v`, as `cell_k`.
    CellValues,
    /// `cell_x`, as `cell_n`.
    CellSquares,
}

impl Field {
    /// Every field, in the order of an anchor's arrays.
    pub const ALL: [Self; 13] = [
        Self::BandKeys,
        Self::BandValues,
        Self::StoreKeys,
        Self::StoreValues,
        Self::StorePositions,
        Self::StoreScores,
        Self::Looks,
        Self::Surprises,
        Self::Decay,
        Self::CellCounts,
        Self::CellKeys,
        Self::CellValues,
        Self::CellSquares,
    ];

    /// Its name in an anchor, without a layer or a head.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BandKeys => "band_k",
            Self::BandValues => "band_v",
            Self::StoreKeys => "store_k",
            Self::StoreValues => "store_v",
            Self::StorePositions => "store_pos",
            Self::StoreScores => "store_score",
            Self::Looks => "look",
            Self::Surprises => "surprise",
            Self::Decay => "decay",
            Self::CellCounts => "cell_n",
            Self::CellKeys => "cell_k",
            Self::CellValues => "cell_v",
            Self::CellSquares => "cell_x",
        }
    }

    /// Do deltas store the rows that changed instead of the whole array?
    pub const fn by_rows(self) -> bool {
        matches!(self, Self::BandKeys | Self::BandValues | Self::StoreKeys | Self::StoreValues)
    }

    /// Is it state of the carrier?
    pub const fn of_carrier(self) -> bool {
        matches!(self, Self::Decay | Self::CellCounts | Self::CellKeys | Self::CellValues | Self::CellSquares)
    }

    /// Is it kept of each key-value head by itself, where store sizes differ?
    pub(super) const fn of_head(self) -> bool {
        self.by_rows() || matches!(self, Self::StorePositions | Self::StoreScores | Self::Looks)
    }

    /// Is it of the store's slots?
    pub(super) const fn in_store(self) -> bool {
        matches!(self, Self::StoreKeys | Self::StoreValues | Self::StorePositions | Self::StoreScores)
    }

    pub(super) const fn dtype(self, config: &Config) -> Dtype {
        match (self.by_rows(), config.storage()) {
            (true, Storage::F16) => Dtype::Float16,
            (false, _) if matches!(self, Self::StorePositions) => Dtype::UInt32,
            _ => Dtype::Float32,
        }
    }

    /// Its dimensions over some heads of a layer, in a state of so many tokens. One of them is 0 where the layer does
    /// not have the field.
    pub(super) fn dimensions(
        self,
        config: &Config,
        carrier: &Carrier,
        kv_heads: &Range<usize>,
        tokens: u32,
    ) -> Vec<u64> {
        let shape = config.shape();
        let (dim, heads) = (u64::from(shape.head_dim), kv_heads.len() as u64);
        let ring = config.schedule().most_in_band();
        let store = u64::from(config.store(kv_heads.start));
        let cells = if let Carrier::Cells(cells) = carrier { u64::from(cells.cells) } else { 0 };
        match self {
            Self::BandKeys | Self::BandValues => vec![heads, u64::from(ring.unwrap_or(tokens)), dim],
            Self::StoreKeys | Self::StoreValues => vec![heads, store, dim],
            Self::StorePositions | Self::StoreScores => vec![heads, store],
            Self::Looks => vec![heads, u64::from(ring.unwrap_or(0))],
            Self::Surprises => vec![surprise_ring(config) as u64],
            Self::Decay => match carrier {
                Carrier::Decay(_) => vec![u64::from(shape.heads), DECAYS as u64, TERMS as u64, dim + 1],
                _ => vec![0],
            },
            Self::CellCounts | Self::CellSquares => vec![heads, cells],
            Self::CellKeys | Self::CellValues => vec![heads, cells, dim],
        }
    }

    /// Appends what a layer holds of it, of some key-value heads.
    pub(super) fn append(self, layer: &LayerSnapshot, kv_heads: &Range<usize>, out: &mut Vec<u8>) {
        for head in layer.heads.get(kv_heads.clone()).unwrap_or_default() {
            match self.of(head) {
                Some(Array::Bytes(bytes)) => out.extend_from_slice(bytes),
                Some(Array::Numbers(numbers)) => out.extend(numbers.iter().flat_map(|x| x.to_le_bytes())),
                Some(Array::Floats(numbers)) => out.extend(numbers.iter().flat_map(|x| x.to_le_bytes())),
                None => {}
            }
        }
        let numbers = if self == Self::Surprises { &layer.surprises[..] } else { self.of_state(&layer.carrier) };
        out.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    }

    /// Puts the bytes of some key-value heads into a layer's state, whose heads are there.
    pub(super) fn fill(self, layer: &mut LayerSnapshot, kv_heads: &Range<usize>, bytes: &[u8]) {
        let each = (bytes.len() / kv_heads.len().max(1)).max(1);
        let heads = layer.heads.get_mut(kv_heads.clone()).unwrap_or_default();
        for (head, bytes) in heads.iter_mut().zip(bytes.chunks(each)) {
            match self {
                Self::BandKeys => head.band_keys = bytes.to_vec(),
                Self::BandValues => head.band_values = bytes.to_vec(),
                Self::StoreKeys => head.store_keys = bytes.to_vec(),
                Self::StoreValues => head.store_values = bytes.to_vec(),
                Self::StorePositions => head.store_positions = words(bytes).map(u32::from_le_bytes).collect(),
                Self::StoreScores => head.store_scores = floats(bytes),
                Self::Looks => head.looks = floats(bytes),
                _ => {}
            }
        }
        match (self, &mut layer.carrier) {
            (Self::Surprises, _) => layer.surprises = floats(bytes),
            (Self::Decay, CarrierSnapshot::Decay(sums)) => *sums = floats(bytes),
            (Self::CellCounts, CarrierSnapshot::Cells { counts, .. }) => *counts = floats(bytes),
            (Self::CellKeys, CarrierSnapshot::Cells { keys, .. }) => *keys = floats(bytes),
            (Self::CellValues, CarrierSnapshot::Cells { values, .. }) => *values = floats(bytes),
            (Self::CellSquares, CarrierSnapshot::Cells { squares, .. }) => *squares = floats(bytes),
            _ => {}
        }
    }

    /// Its array in a key-value head, if it is one of these.
    pub(super) fn of(self, head: &HeadSnapshot) -> Option<Array<'_>> {
        Some(match self {
            Self::BandKeys => Array::Bytes(&head.band_keys),
            Self::BandValues => Array::Bytes(&head.band_values),
            Self::StoreKeys => Array::Bytes(&head.store_keys),
            Self::StoreValues => Array::Bytes(&head.store_values),
            Self::StorePositions => Array::Numbers(&head.store_positions),
            Self::StoreScores => Array::Floats(&head.store_scores),
            Self::Looks => Array::Floats(&head.looks),
            _ => return None,
        })
    }

    /// Its numbers in a carrier's state; none if it is no field of that carrier.
    pub(super) fn of_state(self, carrier: &CarrierSnapshot) -> &[f32] {
        match (self, carrier) {
            (Self::Decay, CarrierSnapshot::Decay(sums)) => sums,
            (Self::CellCounts, CarrierSnapshot::Cells { counts, .. }) => counts,
            (Self::CellKeys, CarrierSnapshot::Cells { keys, .. }) => keys,
            (Self::CellValues, CarrierSnapshot::Cells { values, .. }) => values,
            (Self::CellSquares, CarrierSnapshot::Cells { squares, .. }) => squares,
            _ => &[],
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One array of a key-value head.
pub(super) enum Array<'s> {
    Bytes(&'s [u8]),
    Numbers(&'s [u32]),
    Floats(&'s [f32]),
}

impl Array<'_> {
    /// Elements, bytes counted one by one.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Floats(numbers) => numbers.len(),
        }
    }

    /// The first element at or behind `start` whose bits are not all zero.
    pub(super) fn first_set(&self, start: usize) -> Option<usize> {
        let found = match self {
            Self::Bytes(bytes) => bytes.get(start..)?.iter().position(|&byte| byte != 0),
            Self::Numbers(numbers) => numbers.get(start..)?.iter().position(|&number| number != 0),
            Self::Floats(numbers) => numbers.get(start..)?.iter().position(|number| number.to_bits() != 0),
        };
        Some(start + found?)
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.chunks_exact(4).map(|four| four.try_into().unwrap_or_default())
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    words(bytes).map(f32::from_le_bytes).collect()
}
