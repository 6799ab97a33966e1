//! Twins of `decay_drop.wgsl` and `decay_read.wgsl`.

use super::block::LEN;
use super::number::{LOWEST, dot, exp, exp2, log};
use super::softmax::Piece;
use crate::state::{BLOCK, DECAYS, Decay, RANK, TERMS};

/// The decays of one query head: for each decay and term, sums of values and, last, of weights.
pub(super) type Sums = Vec<Vec<f32>>;

/// Nothing has entered yet.
pub(super) fn empty(dim: usize) -> Sums {
    vec![vec![0.0; dim + 1]; DECAYS * TERMS]
}

/// One token that enters.
pub(super) struct Dropped {
    pub(super) position: u32,
    pub(super) key: Vec<f32>,
    pub(super) value: Vec<f32>,
}

/// Takes tokens in when the band's start has grown to `start`.
pub(super) fn take_in(sums: &mut Sums, of: &Decay, head: usize, start: u32, tokens: &[Dropped]) {
    let weights: Vec<[f32; TERMS]> = tokens
        .iter()
        .map(|token| {
            let dim = token.key.len();
            let plain = exp(dot(&of.bias[head * dim..][..dim], &token.key).clamp(-40.0, 40.0));
            let mut weights = [plain; TERMS];
            for r in 0..RANK {
                let psi = dot(&of.psi[(head * RANK + r) * dim..][..dim], &token.key) + of.psi_bias[head * RANK + r];
                weights[r + 1] = plain * psi.clamp(0.0, 1000.0);
            }
            weights
        })
        .collect();
    for (n, sum) in sums.iter_mut().enumerate() {
        let (decay, term) = (n / TERMS, n % TERMS);
        let half_life = of.half_life[head * DECAYS + decay];
        let block = exp2(-(BLOCK as f32) / half_life);
        let fades = tokens.iter().map(|token| exp2(-((start - token.position) as f32) / half_life));
        let coefficients: Vec<f32> = weights.iter().zip(fades).map(|(weights, fade)| weights[term] * fade).collect();
        for (i, number) in sum.iter_mut().enumerate() {
            *number *= block;
            for (token, coefficient) in tokens.iter().zip(&coefficients) {
                *number += token.value.get(i).map_or(*coefficient, |v| v * coefficient);
            }
        }
    }
}

/// Of a piece of one term.
fn weight_of(weight: f32) -> [f32; LEN] {
    std::array::from_fn(|at| if at == 0 { weight } else { 0.0 })
}

/// The one term that the decays are for a query `age` tokens behind the band's start.
pub(super) fn read(sums: &Sums, of: &Decay, head: usize, query: &[f32], age: u32) -> Piece {
    let dim = query.len();
    let mut terms = [1.0; TERMS];
    for r in 0..RANK {
        let phi = dot(&of.phi[(head * RANK + r) * dim..][..dim], query) + of.phi_bias[head * RANK + r];
        terms[r + 1] = phi.clamp(0.0, 1000.0);
    }
    let weight = |n: usize| {
        let at = head * DECAYS + n / TERMS;
        of.mix[at] * exp2(-(age as f32) / of.half_life[at]) * terms[n % TERMS]
    };
    let weights: Vec<f32> = (0..DECAYS * TERMS).map(weight).collect();
    let sum_of = |i: usize| sums.iter().zip(&weights).fold(0.0, |sum, (numbers, weight)| sum + numbers[i] * weight);
    let mass = sum_of(dim);
    if mass > 1.0e-30 {
        let value = (0..dim).map(|i| sum_of(i) / mass).collect();
        Piece { most: log(mass), total: 1.0, value, weights: weight_of(1.0) }
    } else {
        Piece { most: LOWEST, total: 0.0, value: vec![0.0; dim], weights: weight_of(0.0) }
    }
}
