//! States to and from the host. Nothing here belongs in a decode loop.

use super::layer::{Layer, Own};
use super::pass::{Clock, PassError};
use super::plan::TURN;
use super::{Attention, AttentionError};
use crate::device::{DeviceError, Gpu};
use crate::state::snapshot::{SnapshotError, same_surprises, surprise_ring};
use crate::state::{BLOCK, Carrier, CarrierSnapshot, HeadSnapshot, LayerSnapshot};
use wgpu::Buffer;

/// What the last turnover did to one KV head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// Positions of the tokens that left for good, in order; they entered the carrier where there is one.
    pub dropped: Vec<u32>,
    /// Slots of the store that were written, in order.
    pub written: Vec<u32>,
}

impl Attention {
    /// Reads the state of all layers back. Rows and slots that no token was written to come as zeros, whatever lies there.
    ///
    /// Refused between [`Attention::verify`] and [`Attention::accept`] where a block left before the root: that is no state of a
    /// number of tokens.
    pub async fn snapshot(&self, gpu: &Gpu) -> Result<Vec<LayerSnapshot>, AttentionError> {
        if self.clock.start != self.rules.schedule.left(self.clock.tokens) {
            return Err(AttentionError::RootWaits);
        }
        let (known, most) = (self.clock.surprised, self.clock.tokens + 1);
        if known > most {
            return Err(PassError::TooManySurprises { known, most }.into());
        }
        let surprises = numbers(&gpu.read(&self.shared.surprises, 0..self.shared.surprises.size()).await?);
        let mut snapshots = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            snapshots.push(self.layer_snapshot(gpu, layer, &surprises).await?);
        }
        Ok(snapshots)
    }

    async fn layer_snapshot(&self, gpu: &Gpu, layer: &Layer, ring: &[f32]) -> Result<LayerSnapshot, DeviceError> {
        let Own { keys, values, looks, positions, scores, carrier, .. } = &layer.own;
        let whole = |buffer| (buffer, 0..Buffer::size(buffer));
        // Each as large as a binding may be: together they may be larger than a buffer.
        let (keys, values) = (gpu.read(keys, 0..keys.size()).await?, gpu.read(values, 0..values.size()).await?);
        let read = gpu.read_many(&[looks, positions, scores, carrier].map(whole)).await?;
        let [looks, positions, scores, carrier] = read.as_slice() else {
            return Err(DeviceError::Driver { what: "a read".into(), message: "parts are missing".into() });
        };
        let (looks, scores) = (numbers(looks), numbers(scores));
        let positions: Vec<u32> = positions.chunks_exact(4).map(word).collect();
        let config = &layer.setup.config;
        let tokens = self.clock.tokens as usize;
        let row = (config.shape().head_dim * config.storage().size()) as usize;
        let head = |kv: usize| {
            let (store, first) = (config.store(kv) as usize, layer.plan.first_rows[kv] as usize);
            let slot = layer.plan.first_slots[kv] as usize;
            let stored = (self.clock.start as usize).min(store);
            let capacity = layer.plan.ring as usize;
            // Native mode keeps no more rows than tokens in a snapshot.
            let ring = if layer.capacity().is_some() { tokens } else { capacity };
            let rows = |of: &[u8], first: usize, written: usize, count: usize| {
                let mut rows = of[first * row..(first + written) * row].to_vec();
                rows.resize(count * row, 0);
                rows
            };
            let in_band = tokens.min(ring);
            let padded = |of: &[f32], first: usize, written: usize, count: usize| {
                let mut part = of[first..first + written].to_vec();
                part.resize(count, 0.0);
                part
            };
            let mut store_positions = positions[slot..slot + stored].to_vec();
            store_positions.resize(store, 0);
            HeadSnapshot {
                band_keys: rows(&keys, first + store, in_band, ring),
                band_values: rows(&values, first + store, in_band, ring),
                store_keys: rows(&keys, first, stored, store),
                store_values: rows(&values, first, stored, store),
                store_positions,
                store_scores: padded(&scores, slot, stored, store),
                looks: match layer.capacity() {
                    Some(_) => Vec::new(),
                    None => padded(&looks, kv * capacity, in_band, capacity),
                },
            }
        };
        let carrier = carrier_snapshot(layer, &numbers(carrier));
        let heads = (0..config.shape().kv_heads as usize).map(head).collect();
        let (surprised, kept) = (self.clock.surprised as usize, surprise_ring(config));
        let surprises = (0..kept).map(|at| latest(surprised, kept, at).map_or(0.0, |u| ring[u % ring.len()]));
        let surprised = if kept > 0 { self.clock.surprised } else { 0 };
        Ok(LayerSnapshot { tokens: self.clock.tokens, surprised, surprises: surprises.collect(), heads, carrier })
    }

    /// Puts a state in place of the present one: all layers of it, checked before anything is written.
    pub fn restore(&mut self, gpu: &Gpu, snapshots: &[LayerSnapshot]) -> Result<(), AttentionError> {
        if snapshots.len() != self.layers.len() {
            return Err(SnapshotError::LayerCount { found: snapshots.len(), wanted: self.layers.len() }.into());
        }
        let mut clock = Clock::default();
        for (layer, snapshot) in self.layers.iter().zip(snapshots) {
            snapshot.check(&layer.setup.config, &layer.setup.carrier)?;
            let tokens = snapshot.tokens;
            if let Some(most) = layer.capacity().filter(|&most| tokens > most) {
                return Err(PassError::Capacity { needs: tokens, most }.into());
            }
            let surprised = snapshot.surprised.max(clock.surprised);
            clock = Clock { tokens, start: self.rules.schedule.left(tokens), surprised };
        }
        if let Some(other) = snapshots.iter().find(|snapshot| snapshot.tokens != clock.tokens) {
            return Err(SnapshotError::LayerTokens { found: other.tokens, wanted: clock.tokens }.into());
        }
        same_surprises(snapshots)?;
        for (layer, snapshot) in self.layers.iter().zip(snapshots) {
            self.write_layer(gpu, layer, snapshot)?;
        }
        self.clock = clock;
        self.waiting = None;
        self.epoch += 1;
        self.finish_cells(gpu);
        Ok(())
    }

    fn write_layer(&self, gpu: &Gpu, layer: &Layer, snapshot: &LayerSnapshot) -> Result<(), DeviceError> {
        let (own, config) = (&layer.own, &layer.setup.config);
        let row = u64::from(config.shape().head_dim * config.storage().size());
        for (kv, head) in snapshot.heads.iter().enumerate() {
            let first = u64::from(layer.plan.first_rows[kv]) * row;
            let band = first + u64::from(config.store(kv)) * row;
            gpu.write(&own.keys, first, &head.store_keys)?;
            gpu.write(&own.values, first, &head.store_values)?;
            gpu.write(&own.keys, band, &head.band_keys)?;
            gpu.write(&own.values, band, &head.band_values)?;
            let slot = 4 * u64::from(layer.plan.first_slots[kv]);
            gpu.write(&own.positions, slot, bytemuck::cast_slice(&head.store_positions))?;
            gpu.write(&own.scores, slot, bytemuck::cast_slice(&head.store_scores))?;
            let looks = 4 * kv as u64 * u64::from(layer.plan.ring);
            if !head.looks.is_empty() {
                gpu.write(&own.looks, looks, bytemuck::cast_slice(&head.looks))?;
            }
        }
        gpu.write(&own.carrier, 0, bytemuck::cast_slice(&carrier_numbers(layer, &snapshot.carrier)))?;
        gpu.write(&own.turn, 0, &vec![0; own.turn.size() as usize])?;
        let kept = snapshot.surprises.len();
        if kept > 0 {
            let ring = (self.shared.surprises.size() / 4) as usize;
            let mut all = vec![0.0_f32; ring];
            let surprised = snapshot.surprised as usize;
            for u in surprised.saturating_sub(kept)..surprised {
                all[u % ring] = snapshot.surprises[u % kept];
            }
            gpu.write(&self.shared.surprises, 0, bytemuck::cast_slice(&all))?;
        }
        Ok(())
    }

    /// What the last turnover of a layer did, for each KV head; nothing where none was yet.
    pub async fn last_turnover(&self, gpu: &Gpu, layer: usize) -> Result<Vec<Turnover>, AttentionError> {
        let layer = self.layer(layer)?;
        let lists = gpu.read(&layer.own.turn, 0..layer.own.turn.size()).await?;
        let of_head = |(list, &first): (&[u8], &u32)| {
            let words: Vec<u32> = list.chunks_exact(4).map(word).collect();
            let (drops, moves) = (words[4 * BLOCK as usize] as usize, words[4 * BLOCK as usize + 1] as usize);
            let entry = |i: usize, part: usize| words[4 * i + part];
            let mut written: Vec<u32> = (0..moves).map(|i| entry(i, 3) - first).collect();
            written.sort_unstable();
            Turnover { dropped: (0..drops).map(|i| entry(i, 1)).collect(), written }
        };
        Ok(lists.chunks_exact(TURN as usize).zip(&layer.plan.first_rows).map(of_head).collect())
    }

    /// Numbers of keys and values of a layer that did not fit its storage since it was set up, those of drafts included.
    pub async fn overflows(&self, gpu: &Gpu, layer: usize) -> Result<u32, AttentionError> {
        let bytes = gpu.read(&self.layer(layer)?.own.overflows, 0..4).await?;
        Ok(word(&bytes))
    }

    /// Bytes of the state of one layer, as the device has them: the same whatever the context in constant state.
    ///
    /// # Panics
    ///
    /// Where there is no such layer.
    pub fn state_bytes(&self, layer: usize) -> u64 {
        self.layers[layer].plan.state_bytes()
    }

    /// Fills with NaN what no token was written to, the rows that wait and all scratch memory: whatever is read of these shows.
    /// For tests.
    #[doc(hidden)]
    pub fn poison(&self, gpu: &Gpu) -> Result<(), AttentionError> {
        let nan = |bytes: u64| [0xff; 4].repeat(bytes as usize / 4);
        let shared = &self.shared;
        for buffer in [&shared.partial, &shared.sums, &shared.weights, &shared.shares, &shared.out] {
            gpu.write(buffer, 0, &nan(buffer.size()))?;
        }
        for layer in &self.layers {
            gpu.write(&layer.own.seen, 0, &nan(layer.own.seen.size()))?;
            let config = &layer.setup.config;
            let row = u64::from(config.shape().head_dim * config.storage().size());
            for (kv, &first) in layer.plan.first_rows.iter().enumerate() {
                let store = config.store(kv);
                let band = self.clock.tokens.min(layer.plan.ring);
                let unused = [
                    (first + self.clock.start.min(store), first + store),
                    (first + store + band, first + store + layer.plan.ring + layer.plan.rows),
                ];
                for (from, to) in unused {
                    for buffer in [&layer.own.keys, &layer.own.values] {
                        gpu.write(buffer, u64::from(from) * row, &nan(u64::from(to - from) * row))?;
                    }
                }
                if layer.capacity().is_none() {
                    let looks = 4 * u64::from(kv as u32 * layer.plan.ring + band);
                    gpu.write(&layer.own.looks, looks, &nan(4 * u64::from(layer.plan.ring - band)))?;
                }
            }
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_bits(word(bytes))).collect()
}

/// The latest of `count` things that a ring of `len` holds in place `at`.
fn latest(count: usize, len: usize, at: usize) -> Option<usize> {
    (count > at).then(|| at + (count - 1 - at) / len * len)
}

/// On the device, a cell's numbers lie together.
fn carrier_snapshot(layer: &Layer, state: &[f32]) -> CarrierSnapshot {
    let dim = layer.setup.config.shape().head_dim as usize;
    match &layer.setup.carrier {
        Carrier::None => CarrierSnapshot::None,
        Carrier::Decay(_) => CarrierSnapshot::Decay(state.to_vec()),
        Carrier::Cells(_) => {
            let (mut counts, mut keys, mut values, mut squares) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for cell in state.chunks_exact(2 * dim + 2) {
                keys.extend_from_slice(&cell[..dim]);
                values.extend_from_slice(&cell[dim..2 * dim]);
                counts.push(cell[2 * dim]);
                squares.push(cell[2 * dim + 1]);
            }
            CarrierSnapshot::Cells { counts, keys, values, squares }
        }
    }
}

fn carrier_numbers(layer: &Layer, snapshot: &CarrierSnapshot) -> Vec<f32> {
    let dim = layer.setup.config.shape().head_dim as usize;
    match snapshot {
        CarrierSnapshot::None => Vec::new(),
        CarrierSnapshot::Decay(state) => state.clone(),
        CarrierSnapshot::Cells { counts, keys, values, squares } => {
            let rows = keys.chunks_exact(dim).zip(values.chunks_exact(dim));
            let sums = counts.iter().zip(squares);
            rows.zip(sums).flat_map(|((k, v), (n, x))| k.iter().chain(v).chain([n, x]).copied()).collect()
        }
    }
}
