//! The twin's state as a snapshot.

use super::Twin;
use crate::state::snapshot::surprise_ring;
use crate::state::{Carrier, CarrierSnapshot, Config, HeadSnapshot, LayerSnapshot, Storage};

/// Numbers as a layer stores them.
fn bytes(storage: Storage, numbers: &[f32]) -> Vec<u8> {
    match storage {
        Storage::F16 => numbers.iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect(),
        Storage::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

impl Twin {
    /// The state, as it is read back from a device.
    pub fn snapshot(&self) -> LayerSnapshot {
        let tokens = self.tokens as usize;
        let kept = surprise_ring(&self.config);
        LayerSnapshot {
            tokens: self.tokens,
            surprised: if kept > 0 { self.surprises.len() as u32 } else { 0 },
            surprises: (0..kept)
                .map(|at| latest(self.surprises.len(), kept, at).map_or(0.0, |u| self.surprises[u]))
                .collect(),
            heads: (0..self.heads.len()).map(|kv| self.head(&self.config, kv, tokens)).collect(),
            carrier: self.carrier_snapshot(),
        }
    }

    fn head(&self, config: &Config, kv: usize, tokens: usize) -> HeadSnapshot {
        let (head, dim) = (&self.heads[kv], config.shape().head_dim as usize);
        let ring = config.schedule().most_in_band().map_or(tokens, |most| most as usize);
        let zeros = vec![0.0; dim];
        let rows = |of: &[Vec<f32>], at: &dyn Fn(usize) -> Option<usize>, count: usize| {
            let rows = (0..count).map(|row| at(row).map_or(&zeros, |position| &of[position]));
            bytes(config.storage(), &rows.flatten().copied().collect::<Vec<_>>())
        };
        let in_band = |row: usize| latest(tokens, ring, row);
        let in_store = |slot: usize| head.store.get(slot).map(|token| token.position as usize);
        let slots = config.store(kv) as usize;
        HeadSnapshot {
            band_keys: rows(&head.keys, &in_band, ring),
            band_values: rows(&head.values, &in_band, ring),
            store_keys: rows(&head.keys, &in_store, slots),
            store_values: rows(&head.values, &in_store, slots),
            store_positions: (0..slots).map(|slot| head.store.get(slot).map_or(0, |token| token.position)).collect(),
            store_scores: (0..slots).map(|slot| head.store.get(slot).map_or(0.0, |token| token.score)).collect(),
            looks: match config.schedule().most_in_band() {
                Some(_) => (0..ring).map(|row| in_band(row).map_or(0.0, |position| head.looks[position])).collect(),
                None => Vec::new(),
            },
        }
    }

    fn carrier_snapshot(&self) -> CarrierSnapshot {
        let cells = || self.heads.iter().flat_map(|head| &head.cells);
        match &self.carrier {
            Carrier::None => CarrierSnapshot::None,
            Carrier::Decay(_) => CarrierSnapshot::Decay(self.decays.iter().flatten().flatten().copied().collect()),
            Carrier::Cells(_) => CarrierSnapshot::Cells {
                counts: cells().map(|cell| cell.tokens).collect(),
                keys: cells().flat_map(|cell| &cell.keys).copied().collect(),
                values: cells().flat_map(|cell| &cell.values).copied().collect(),
                squares: cells().map(|cell| cell.squares).collect(),
            },
        }
    }
}

/// The latest of `count` things that a ring of `len` holds in place `at`.
fn latest(count: usize, len: usize, at: usize) -> Option<usize> {
    (count > at).then(|| at + (count - 1 - at) / len * len)
}
