//! What happens to rows between the matrices: plain functions, twins of the kernels of the same names.
//!
//! Each is what `docs/arithmetic.md` says, operation by operation.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]

use crate::attention::twin::number::{LOWEST, exp, log};
use crate::model::{Pairing, Rope};
use crate::parallel::{Task, vectorised};

/// Adds partial sums up: t += t + h for all t < h, h = half of them, a quarter, ... 1.
#[inline(always)]
fn halve<const N: usize>(mut partial: [f32; N]) -> f32 {
    let mut half = N / 2;
    while half > 0 {
        for t in 0..half {
            partial[t] += partial[t + half];
        }
        half /= 2;
    }
    partial[0]
}

/// RMS norm of a row: `out` and `weight` are as long as it.
pub fn norm(row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    vectorised(Norm { row, weight, epsilon, out });
}

struct Norm<'a> {
    row: &'a [f32],
    weight: &'a [f32],
    epsilon: f32,
    out: &'a mut [f32],
}

impl Task for Norm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: pulp::Simd>(self, _: S) {
        let Self { row, weight, epsilon, out } = self;
        let mut partial = [0.0; 64];
        for part in row.chunks(64) {
            for (sum, x) in partial.iter_mut().zip(part) {
                *sum += x * x;
            }
        }
        let v = halve(partial) * (1.0 / row.len() as f32) + epsilon;
        let half = 0.5 * v;
        let mut root = f32::from_bits(0x5f37_59df_u32.wrapping_sub(v.to_bits() >> 1));
        for _ in 0..4 {
            root = root * (1.5 - (half * root) * root);
        }
        for (out, (x, weight)) in out.iter_mut().zip(row.iter().zip(weight)) {
            *out = (x * root) * weight;
        }
    }
}

/// Cosines and sines of the rotary embedding, \[positions, dims / 2] each.
pub fn angles(rope: &Rope, positions: impl IntoIterator<Item = u32>) -> (Vec<f32>, Vec<f32>) {
    let (base, dims) = (f64::from(rope.base), f64::from(rope.dims));
    let turns: Vec<f64> = (0..rope.dims / 2).map(|pair| libm::pow(base, -2.0 * f64::from(pair) / dims)).collect();
    let (mut cosines, mut sines) = (Vec::new(), Vec::new());
    for position in positions {
        for turn in &turns {
            let angle = f64::from(position) * turn;
            cosines.push(libm::cos(angle) as f32);
            sines.push(libm::sin(angle) as f32);
        }
    }
    (cosines, sines)
}

/// Turns the heads of a row, \[heads, `head_dim`], by the angles of its position, \[dims / 2] each.
pub fn rotate(rope: &Rope, head_dim: usize, row: &mut [f32], cosines: &[f32], sines: &[f32]) {
    let half = cosines.len();
    for head in row.chunks_exact_mut(head_dim) {
        for (pair, (cosine, sine)) in cosines.iter().zip(sines).enumerate() {
            let (i, j) = match rope.pairing {
                Pairing::Neighbours => (2 * pair, 2 * pair + 1),
                Pairing::Halves => (pair, pair + half),
            };
            let (a, b) = (head[i], head[j]);
            head[i] = a * cosine - b * sine;
            head[j] = a * sine + b * cosine;
        }
    }
}

/// The gate: silu(g) u, to where g stands.
pub fn gate(gates: &mut [f32], up: &[f32]) {
    vectorised(Gate { gates, up });
}

struct Gate<'a> {
    gates: &'a mut [f32],
    up: &'a [f32],
}

impl Task for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: pulp::Simd>(self, _: S) {
        for (g, u) in self.gates.iter_mut().zip(self.up) {
            *g = (*g / (1.0 + exp(-*g))) * u;
        }
    }
}

/// The largest logit's token: of equal ones the lowest id. A NaN is never chosen; where there is nothing else, id 0.
pub fn choice(logits: &[f32]) -> u32 {
    let mut best: Option<(u32, f32)> = None;
    for (id, logit) in (0..).zip(logits) {
        if best.map_or(!logit.is_nan(), |(_, most)| *logit > most) {
            best = Some((id, *logit));
        }
    }
    best.map_or(0, |(id, _)| id)
}

/// How much a token surprises, in nat, where these logits stand before it.
pub fn surprise(logits: &[f32], token: u32) -> f32 {
    vectorised(Surprise { logits, token })
}

struct Surprise<'a> {
    logits: &'a [f32],
    token: u32,
}

impl Task for Surprise<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: pulp::Simd>(self, _: S) -> f32 {
        let Self { logits, token } = self;
        let mut most = [LOWEST; 64];
        for part in logits.chunks(64) {
            for (most, logit) in most.iter_mut().zip(part) {
                *most = most.max(*logit);
            }
        }
        let most = most.into_iter().fold(LOWEST, f32::max);
        let mut partial = [0.0; 256];
        for part in logits.chunks(256) {
            for (sum, logit) in partial.iter_mut().zip(part) {
                *sum += exp(logit - most);
            }
        }
        log(halve(partial)) - (logits.get(token as usize).copied().unwrap_or(LOWEST) - most)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "numbers that are exact are compared")]

    use super::*;

    #[test]
    fn a_norm_makes_the_mean_square_one() {
        for width in [32, 64, 100, 576] {
            let row: Vec<f32> = (0..width).map(|i| (i % 13) as f32 - 5.5).collect();
            let mut out = vec![0.0; width];
            norm(&row, &vec![2.0; width], 1e-5, &mut out);
            let square = out.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / width as f64;
            assert!((square - 4.0).abs() < 1e-5, "{square}");
            assert!((out[3] / out[0] - row[3] / row[0]).abs() < 1e-6);
        }
        let mut out = [f32::NAN; 32];
        norm(&[0.0; 32], &[1.0; 32], 1e-5, &mut out);
        assert_eq!(out, [0.0; 32]);
    }

    #[test]
    fn angles_turn_pairs() {
        let rope = |pairing| Rope { base: 100.0, dims: 4, pairing };
        let (cosines, sines) = angles(&rope(Pairing::Halves), [0, 7]);
        assert_eq!((&cosines[..2], &sines[..2]), (&[1.0, 1.0][..], &[0.0, 0.0][..]));
        assert!(
            (f64::from(cosines[2]) - 7_f64.cos()).abs() < 1e-7 && (f64::from(sines[3]) - 0.7_f64.sin()).abs() < 1e-7
        );
        let turned = |pairing| {
            let mut row: Vec<f32> = (0..6).map(|i| i as f32).collect();
            rotate(&rope(pairing), 6, &mut row, &[0.0, 1.0], &[1.0, 0.0]);
            row
        };
        assert_eq!(turned(Pairing::Neighbours), [-1.0, 0.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(turned(Pairing::Halves), [-2.0, 1.0, 0.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn a_gate_is_silu_times_up() {
        let mut gates = [0.0, 1.0, -2.0, 100.0, -100.0];
        gate(&mut gates, &[5.0, 2.0, 1.0, 1.0, 1.0]);
        assert_eq!((gates[0], gates[3]), (0.0, 100.0));
        assert!(
            (gates[1] - 1.462_117_2).abs() < 1e-6 && (gates[2] + 0.238_405_84).abs() < 1e-6 && gates[4].abs() < 1e-30
        );
    }

    #[test]
    fn the_largest_logit_is_chosen() {
        assert_eq!(choice(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(choice(&[f32::NAN, -2.0, f32::NAN, -1.0]), 3);
        assert_eq!(choice(&[f32::NAN, f32::NEG_INFINITY]), 1);
        assert_eq!(choice(&[f32::NAN; 3]), 0);
        assert_eq!(choice(&[]), 0);
    }

    #[test]
    fn surprises_are_those_of_a_softmax() {
        let logits: Vec<f32> = (0..700).map(|i| (i % 37) as f32 * 0.25 - 3.0).collect();
        let total = logits.iter().map(|logit| f64::from(*logit).exp()).sum::<f64>();
        for token in [0, 36, 699] {
            let want = total.ln() - f64::from(logits[token]);
            let got = f64::from(surprise(&logits, token as u32));
            assert!((got - want).abs() < 1e-5, "{got} {want}");
        }
    }
}
