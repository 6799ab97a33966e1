//! States that are made up here, and what comes of them.

mod anchors;
mod checks;
mod differences;

use super::*;
use crate::state::{Admission, Cells, Constant, Decay, HALF_LIVES, HeadMemory, Memory, Shape, Storage};

const SHAPE: Shape = Shape { heads: 4, kv_heads: 2, head_dim: 8 };
const LOOK: Admission = Admission::Look { from: 16 };

/// A band of 64 tokens and a store for each of the two heads.
fn config(storage: Storage, stores: [(u32, Admission); 2]) -> Config {
    let heads = stores.map(|(store, admission)| HeadMemory { store, admission }).to_vec();
    Config::new(SHAPE, storage, Memory::Constant(Constant { band: 64, heads })).unwrap()
}

fn uniform(store: u32, admission: Admission) -> Config {
    config(Storage::F16, [(store, admission); 2])
}

fn native() -> Config {
    Config::new(SHAPE, Storage::F32, Memory::Native).unwrap()
}

fn decay() -> Carrier {
    let some = |len: usize| vec![0.25; len];
    Carrier::Decay(Decay {
        bias: some(4 * 8),
        mix: some(4 * 5),
        half_life: HALF_LIVES.iter().copied().cycle().take(4 * 5).collect(),
        phi: some(4 * 8 * 8),
        phi_bias: some(4 * 8),
        psi: some(4 * 8 * 8),
        psi_bias: some(4 * 8),
    })
}

fn cells(cells: u32) -> Carrier {
    let some = |len: u32| vec![0.25; len as usize];
    Carrier::Cells(Cells {
        cells,
        rank: 2,
        codebook: some(2 * cells * 8),
        beta: some(2 * cells),
        mean: some(2 * 8),
        metric: some(2 * 2 * 8),
        kappa: some(4),
        delta: some(4),
    })
}

/// Numbers that no two places share by accident.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// From 1 to 2.
    fn float(&mut self) -> f32 {
        f32::from_bits(0x3f80_0000 | self.next() & 0x7f_ffff)
    }

    /// A finite number that is not zero, in the storage.
    fn number(&mut self, storage: Storage) -> Vec<u8> {
        match storage {
            Storage::F16 => ((self.next() & 0x83ff | 0x3c00) as u16).to_le_bytes().to_vec(),
            Storage::F32 => self.float().to_le_bytes().to_vec(),
        }
    }

    fn row(&mut self, storage: Storage) -> Vec<u8> {
        (0..SHAPE.head_dim).flat_map(|_| self.number(storage)).collect()
    }
}

/// What a layer of these sizes could hold after so many tokens, different for every seed.
fn state(config: &Config, carrier: &Carrier, tokens: u32, seed: u64) -> LayerSnapshot {
    let (mut random, storage) = (Random(seed), config.storage());
    let mut state = LayerSnapshot::empty(config, carrier);
    state.tokens = tokens;
    let left = config.schedule().left(tokens);
    for (index, head) in state.heads.iter_mut().enumerate() {
        let written = tokens.min(config.schedule().most_in_band().unwrap_or(tokens));
        if *config.memory() == Memory::Native {
            let bytes = (tokens * SHAPE.head_dim * storage.size()) as usize;
            head.band_keys.resize(bytes, 0);
            head.band_values.resize(bytes, 0);
        }
        put(&mut head.band_keys, (0..written).flat_map(|_| random.row(storage)));
        put(&mut head.band_values, (0..written).flat_map(|_| random.row(storage)));
        let filled = left.min(config.store(index));
        put(&mut head.store_keys, (0..filled).flat_map(|_| random.row(storage)));
        put(&mut head.store_values, (0..filled).flat_map(|_| random.row(storage)));
        // The first token, then the last that left, latest first.
        put(&mut head.store_positions, (0..filled).map(|slot| if slot == 0 { 0 } else { left - slot }));
        put(&mut head.store_scores, (0..filled).map(|_| random.float()));
        put(&mut head.looks, (0..written).map(|_| random.float()));
    }
    if config.wants_surprises() {
        state.surprised = tokens + 1;
        let known = state.surprised as usize;
        // They are the text's: the same for all layers.
        let mut of_text = Random(99);
        put(&mut state.surprises, (0..known).map(|_| of_text.float()));
    }
    match &mut state.carrier {
        CarrierSnapshot::None => {}
        CarrierSnapshot::Decay(sums) => sums.fill_with(|| random.float()),
        CarrierSnapshot::Cells { counts, keys, values, squares } => {
            for numbers in [counts, keys, values, squares] {
                numbers.fill_with(|| random.float());
            }
        }
    }
    state.check(config, carrier).unwrap();
    state
}

/// Writes elements from the start on, as many as there is room for.
fn put<T>(to: &mut [T], from: impl Iterator<Item = T>) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
}
