//! The twin's state as a snapshot, and back.

use super::block::{Block, LEN, put};
use super::cells::Cell;
use super::head::{Head, base};
use super::rank::Stored;
use super::{Layer, Twin};
use crate::state::snapshot::{SnapshotError, surprise_ring};
use crate::state::{CarrierSnapshot, DECAYS, HeadSnapshot, LayerSnapshot, Storage, TERMS};
use half::f16;

impl Twin {
    /// The state, as it is read back from a device.
    pub fn snapshot(&self) -> LayerSnapshot {
        let mut state = LayerSnapshot::empty(&self.of.config, &self.of.carrier);
        state.tokens = self.of.tokens;
        let kept = state.surprises.len();
        if kept > 0 {
            state.surprised = self.surprises.len() as u32;
            for (at, surprise) in state.surprises.iter_mut().enumerate() {
                *surprise = latest(self.surprises.len(), kept, at).map_or(0.0, |u| self.surprises[u]);
            }
        }
        state.heads.iter_mut().zip(&self.heads).for_each(|(state, head)| self.of.head(state, head));
        let cells = || self.heads.iter().flat_map(|head| &head.cells);
        match &mut state.carrier {
            CarrierSnapshot::None => {}
            CarrierSnapshot::Decay(sums) => {
                let own = self.heads.iter().flat_map(|head| head.decays.iter().flatten().flatten());
                sums.iter_mut().zip(own).for_each(|(sum, own)| *sum = *own);
            }
            CarrierSnapshot::Cells { counts, keys, values, squares } => {
                *counts = cells().map(|cell| cell.tokens).collect();
                *keys = cells().flat_map(|cell| &cell.keys).copied().collect();
                *values = cells().flat_map(|cell| &cell.values).copied().collect();
                *squares = cells().map(|cell| cell.squares).collect();
            }
        }
        state
    }

    /// Goes on from a state. What waited is forgotten. After an error nothing has changed.
    pub fn restore(&mut self, state: &LayerSnapshot) -> Result<(), SnapshotError> {
        state.check(&self.of.config, &self.of.carrier)?;
        let known = state.surprised as usize;
        let surprise = |u: usize| {
            let at = u % surprise_ring(&self.of.config).max(1);
            let last = latest(known, state.surprises.len().max(1), at) == Some(u);
            state.surprises.get(at).copied().filter(|_| last).unwrap_or(0.0)
        };
        self.surprises = (0..known).map(surprise).collect();
        self.waiting = None;
        self.of.tokens = state.tokens;
        self.of.start = self.of.config.schedule().left(state.tokens);
        self.heads = (0..self.heads.len()).map(|kv| Head::new(&self.of, kv)).collect();
        for (kv, head) in self.heads.iter_mut().enumerate() {
            self.of.restore_head(head, &state.heads[kv]);
            match &state.carrier {
                CarrierSnapshot::None => {}
                CarrierSnapshot::Decay(sums) => {
                    let dim = self.of.config.shape().head_dim as usize;
                    let (group, each) = (head.decays.len(), DECAYS * TERMS * (dim + 1));
                    let own = sums[kv * group * each..].chunks_exact(dim + 1);
                    head.decays.iter_mut().flatten().zip(own).for_each(|(sums, own)| sums.copy_from_slice(own));
                }
                CarrierSnapshot::Cells { counts, keys, values, squares } => {
                    let count = head.cells.len();
                    for (m, cell) in (kv * count..).zip(&mut head.cells) {
                        let dim = cell.keys.len();
                        let row = |of: &[f32]| of[m * dim..(m + 1) * dim].to_vec();
                        *cell = Cell { tokens: counts[m], keys: row(keys), values: row(values), squares: squares[m] };
                    }
                }
            }
            head.finish(&self.of);
        }
        Ok(())
    }

    /// Forgets all tokens.
    pub fn clear(&mut self) {
        let Layer { config, carrier, scale, .. } = &self.of;
        *self = Self::new(config.clone(), carrier.clone(), *scale);
    }
}

impl Layer {
    /// Bytes of a row.
    fn row(&self) -> usize {
        (self.config.shape().head_dim * self.config.storage().size()) as usize
    }

    /// Position of the token that lies in a row of the band.
    fn ring(&self, row: usize) -> Option<u32> {
        let tokens = self.tokens as usize;
        latest(tokens, self.config.schedule().most_in_band().map_or(tokens, |most| most as usize), row)
            .map(|position| position as u32)
    }

    fn head(&self, state: &mut HeadSnapshot, head: &Head) {
        let (row, base) = (self.row(), base(self.start));
        if self.config.schedule().most_in_band().is_none() {
            state.band_keys.resize(self.tokens as usize * row, 0);
            state.band_values.resize(self.tokens as usize * row, 0);
        }
        let band = state.band_keys.chunks_exact_mut(row).zip(state.band_values.chunks_exact_mut(row));
        for (at, (key, value)) in band.enumerate() {
            if let Some(position) = self.ring(at) {
                let behind = (position - base) as usize;
                self.write(&head.band, behind, key, value);
                if let Some(look) = state.looks.get_mut(at) {
                    *look = head.looks[behind];
                }
            }
        }
        let rows = state.store_keys.chunks_exact_mut(row).zip(state.store_values.chunks_exact_mut(row));
        let slots = state.store_positions.iter_mut().zip(&mut state.store_scores);
        for (slot, ((key, value), (token, (position, score)))) in rows.zip(head.store.iter().zip(slots)).enumerate() {
            self.write(&head.slots, slot, key, value);
            (*position, *score) = (token.position, token.score);
        }
    }

    fn write(&self, blocks: &[Block], row: usize, key: &mut [u8], value: &mut [u8]) {
        let block = &blocks[row / LEN];
        self.bytes(&block.key(row % LEN), key);
        self.bytes(block.value(row % LEN), value);
    }

    /// Numbers as they are stored.
    fn bytes(&self, numbers: &[f32], out: &mut [u8]) {
        match self.config.storage() {
            Storage::F16 => {
                let out = out.as_chunks_mut().0.iter_mut();
                out.zip(numbers).for_each(|(out, x)| *out = f16::from_f32(*x).to_le_bytes());
            }
            Storage::F32 => {
                let out = out.as_chunks_mut().0.iter_mut();
                out.zip(numbers).for_each(|(out, x)| *out = x.to_le_bytes());
            }
        }
    }

    fn numbers(&self, bytes: &[u8]) -> Vec<f32> {
        match self.config.storage() {
            Storage::F16 => bytes.as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect(),
            Storage::F32 => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        }
    }

    /// The lengths were checked.
    fn restore_head(&self, head: &mut Head, state: &HeadSnapshot) {
        let (row, base) = (self.row(), base(self.start));
        let constant = self.config.schedule().most_in_band().is_some();
        head.looks = vec![0.0; if constant { (self.tokens - base) as usize } else { 0 }];
        let band = state.band_keys.chunks_exact(row).zip(state.band_values.chunks_exact(row));
        for (at, (key, value)) in band.enumerate() {
            let Some(position) = self.ring(at) else { continue };
            let behind = (position - base) as usize;
            put(&mut head.band, behind, self.numbers(key).into_iter(), self.numbers(value));
            if let (Some(look), Some(seen)) = (head.looks.get_mut(behind), state.looks.get(at)) {
                *look = *seen;
            }
        }
        let rows = state.store_keys.chunks_exact(row).zip(state.store_values.chunks_exact(row));
        let tokens = state.store_positions.iter().zip(&state.store_scores);
        let filled = self.start as usize;
        for (slot, ((key, value), (position, score))) in rows.zip(tokens).take(filled).enumerate() {
            head.store.push(Stored { position: *position, score: *score });
            put(&mut head.slots, slot, self.numbers(key).into_iter(), self.numbers(value));
        }
    }
}

/// The latest of `count` things that a ring of `len` holds in place `at`.
fn latest(count: usize, len: usize, at: usize) -> Option<usize> {
    (count > at).then(|| at + (count - 1 - at) / len * len)
}
