//! Twins of `pieces.wgsl` and `merge.wgsl`: a softmax that is summed piece by piece.
//!
//! Loops, not `for_each` and `fold`: those are functions of their own, compiled for any processor, where they are not inlined.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]

use super::block::{Block, LEN};
use super::number::{LOWEST, exp};

/// A piece, summed relative to its largest logit.
pub(super) struct Piece {
    pub(super) most: f32,
    pub(super) total: f32,
    pub(super) value: Vec<f32>,
    /// Of its terms; 0 behind them.
    pub(super) weights: [f32; LEN],
}

/// Sums the first terms of a block; one that is not there weighs nothing. `biases` are added to the logits, where there are any;
/// a term without one is not there.
#[inline(always)]
pub(super) fn piece(query: &[f32], scale: f32, block: &Block, count: usize, biases: Option<&[Option<f32>]>) -> Piece {
    let mut logits = [0.0_f32; LEN];
    for (part, logits) in logits.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        for (q, keys) in query.iter().zip(&block.keys) {
            for (logit, key) in logits.iter_mut().zip(&keys[16 * part..][..16]) {
                *logit += q * key;
            }
        }
    }
    for logit in &mut logits {
        *logit *= scale;
    }
    if let Some(biases) = biases {
        for (logit, bias) in logits.iter_mut().zip(biases) {
            *logit = bias.map_or(LOWEST, |bias| *logit + bias);
        }
    }
    let there = |at: usize| at < count && biases.is_none_or(|biases| biases[at].is_some());
    let mut most = LOWEST;
    for logit in &logits[..count] {
        most = most.max(*logit);
    }
    let mut weights = [0.0; LEN];
    for (weight, logit) in weights.iter_mut().zip(&logits) {
        *weight = exp(logit - most);
    }
    for (at, weight) in weights.iter_mut().enumerate() {
        *weight = if there(at) { *weight } else { 0.0 };
    }
    let value = if biases.is_none() {
        values(block, &weights[..count])
    } else {
        let mut value = vec![0.0; query.len()];
        for at in (0..count).filter(|at| there(*at)) {
            for (sum, v) in value.iter_mut().zip(block.value(at)) {
                *sum += weights[at] * v;
            }
        }
        value
    };
    Piece { most, total: weights[..count].iter().sum(), value, weights }
}

/// The sum of weighted values, in order: 32 or 8 numbers of them at once stay in registers.
#[inline(always)]
fn values(block: &Block, weights: &[f32]) -> Vec<f32> {
    #[inline(always)]
    fn part<const N: usize>(block: &Block, weights: &[f32], out: &mut [f32], first: usize) {
        let mut sums = [0.0; N];
        for (weight, row) in weights.iter().zip(block.values.chunks_exact(block.dim())) {
            for (sum, v) in sums.iter_mut().zip(&row[first..][..N]) {
                *sum += weight * v;
            }
        }
        out[first..][..N].copy_from_slice(&sums);
    }
    let dim = block.dim();
    let mut out = vec![0.0; dim];
    for at in 0..dim / 32 {
        part::<32>(block, weights, &mut out, 32 * at);
    }
    for at in dim / 32 * 4..dim / 8 {
        part::<8>(block, weights, &mut out, 8 * at);
    }
    out
}

/// A whole softmax.
pub(super) struct Merged {
    pub(super) out: Vec<f32>,
    /// What a weight of each piece counts.
    pub(super) shares: Vec<f32>,
}

/// Brings pieces to one scale and adds them in their order.
#[inline(always)]
pub(super) fn merge(pieces: &[Piece], dim: usize) -> Merged {
    let mut most = LOWEST;
    for piece in pieces {
        most = most.max(piece.most);
    }
    let factors: Vec<f32> = pieces.iter().map(|piece| exp(piece.most - most)).collect();
    let (mut total, mut out) = (0.0, vec![0.0; dim]);
    for (piece, factor) in pieces.iter().zip(&factors) {
        total += piece.total * factor;
        for (sum, v) in out.iter_mut().zip(&piece.value) {
            *sum += v * factor;
        }
    }
    for sum in &mut out {
        *sum /= total;
    }
    Merged { out, shares: factors.iter().map(|factor| factor / total).collect() }
}
