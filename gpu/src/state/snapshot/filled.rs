//! States made of noise.

use super::{CarrierSnapshot, LayerSnapshot};
use crate::state::{Carrier, Config, DECAYS, Storage, TERMS};

/// Pseudo-random numbers: `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub(crate) fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// From -2 to 2.
    pub(crate) fn signed(&mut self) -> f32 {
        4.0 * self.uniform() - 2.0
    }

    pub(crate) fn signeds(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.signed()).collect()
    }
}

impl LayerSnapshot {
    /// A state that a layer could be in after `tokens` tokens of noise, the same for the same seed: for self-tests and
    /// benchmarks, which need a long context and not what is in it. Costs as much as the state is large; no attention is computed.
    pub fn of_noise(config: &Config, carrier: &Carrier, tokens: u32, seed: u64) -> Self {
        let mut noise = Noise::new(seed);
        let mut state = Self { tokens, ..Self::empty(config, carrier) };
        let left = config.schedule().left(tokens);
        let row = config.shape().head_dim as usize;
        let stored = |numbers: Vec<f32>| -> Vec<u8> {
            match config.storage() {
                Storage::F16 => numbers.iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect(),
                Storage::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            }
        };
        for (kv, head) in state.heads.iter_mut().enumerate() {
            let ring = config.schedule().most_in_band().unwrap_or(tokens);
            let mut rows = |written: u32, all: u32| {
                let mut bytes = stored(noise.signeds(written as usize * row));
                bytes.resize(all as usize * row * config.storage().size() as usize, 0);
                bytes
            };
            let store = config.store(kv);
            let filled = left.min(store);
            (head.band_keys, head.band_values) = (rows(tokens.min(ring), ring), rows(tokens.min(ring), ring));
            (head.store_keys, head.store_values) = (rows(filled, store), rows(filled, store));
            for slot in 0..filled as usize {
                // Spread over all that has left, the first token among them.
                head.store_positions[slot] = (slot as u64 * u64::from(left) / u64::from(filled.max(1))) as u32;
                // Weights among some hundred tokens are small.
                head.store_scores[slot] = noise.uniform() / 64.0;
            }
            let band = head.looks.iter_mut().take(tokens as usize);
            band.for_each(|look| *look = noise.uniform() / 64.0);
        }
        if !state.surprises.is_empty() {
            state.surprised = tokens;
            // They are of the text: the same for all layers.
            let mut of_text = Noise::new(0);
            let known = state.surprises.iter_mut().take(tokens as usize);
            known.for_each(|surprise| *surprise = of_text.uniform());
        }
        if left > 0 {
            state.carrier = noise_carrier(&state.carrier, row, &mut noise);
        }
        state
    }
}

/// Sums as after many tokens.
fn noise_carrier(empty: &CarrierSnapshot, dim: usize, noise: &mut Noise) -> CarrierSnapshot {
    match empty {
        CarrierSnapshot::None => CarrierSnapshot::None,
        CarrierSnapshot::Decay(sums) => {
            debug_assert!(sums.len().is_multiple_of(DECAYS * TERMS * (dim + 1)));
            let sum = |at: usize, noise: &mut Noise| {
                if at % (dim + 1) == dim { 1.0 + noise.uniform() } else { noise.signed() }
            };
            CarrierSnapshot::Decay((0..sums.len()).map(|at| sum(at, noise)).collect())
        }
        CarrierSnapshot::Cells { counts, keys, values, squares } => CarrierSnapshot::Cells {
            counts: counts.iter().map(|_| 1.0 + (noise.uniform() * 8.0).floor()).collect(),
            keys: noise.signeds(keys.len()),
            values: noise.signeds(values.len()),
            squares: squares.iter().map(|_| 10.0 * noise.uniform()).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::state::{Admission, Carrier, Config, LayerSnapshot, Memory, Shape, Storage};

    #[test]
    fn noise_is_a_state() {
        let shape = Shape { heads: 4, kv_heads: 2, head_dim: 8 };
        let constant = Config::uniform(shape, Storage::F16, 64, 128, Admission::Surprise).expect("good sizes");
        let native = Config::new(shape, Storage::F32, Memory::Native).expect("good sizes");
        for config in [constant, native] {
            for tokens in [0, 1, 100, 128, 129, 256, 300, 1000] {
                let state = LayerSnapshot::of_noise(&config, &Carrier::None, tokens, 1);
                assert_eq!(state.check(&config, &Carrier::None), Ok(()), "{tokens} tokens");
            }
        }
    }
}
