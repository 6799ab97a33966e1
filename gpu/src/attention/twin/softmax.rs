//! Twins of `pieces.wgsl` and `merge.wgsl`: a softmax that is summed piece by piece.

use super::number::{LOWEST, dot, exp};

/// One term of a softmax.
pub(super) struct Term<'a> {
    pub(super) key: &'a [f32],
    pub(super) value: &'a [f32],
    /// Added to the logit.
    pub(super) bias: Option<f32>,
}

/// A piece, summed relative to its largest logit.
pub(super) struct Piece {
    pub(super) most: f32,
    pub(super) total: f32,
    pub(super) value: Vec<f32>,
    pub(super) weights: Vec<f32>,
}

/// Sums one piece; a term that is not there weighs nothing.
pub(super) fn piece(query: &[f32], scale: f32, terms: &[Option<Term<'_>>]) -> Piece {
    let logit = |term: &Term<'_>| {
        let product = dot(query, term.key) * scale;
        term.bias.map_or(product, |bias| product + bias)
    };
    let logits: Vec<f32> = terms.iter().map(|term| term.as_ref().map_or(LOWEST, logit)).collect();
    let most = logits.iter().copied().fold(LOWEST, f32::max);
    let weights: Vec<f32> =
        terms.iter().zip(&logits).map(|(term, logit)| if term.is_some() { exp(logit - most) } else { 0.0 }).collect();
    let mut value = vec![0.0; query.len()];
    for (term, weight) in terms.iter().zip(&weights) {
        if let Some(term) = term {
            value.iter_mut().zip(term.value).for_each(|(sum, v)| *sum += weight * v);
        }
    }
    Piece { most, total: weights.iter().sum(), value, weights }
}

/// A whole softmax.
pub(super) struct Merged {
    pub(super) out: Vec<f32>,
    /// What a weight of each piece counts.
    pub(super) shares: Vec<f32>,
}

/// Brings pieces to one scale and adds them in their order.
pub(super) fn merge(pieces: &[Piece], dim: usize) -> Merged {
    let most = pieces.iter().map(|piece| piece.most).fold(LOWEST, f32::max);
    let factors: Vec<f32> = pieces.iter().map(|piece| exp(piece.most - most)).collect();
    let (mut total, mut out) = (0.0, vec![0.0; dim]);
    for (piece, factor) in pieces.iter().zip(&factors) {
        total += piece.total * factor;
        out.iter_mut().zip(&piece.value).for_each(|(sum, v)| *sum += v * factor);
    }
    for sum in &mut out {
        *sum /= total;
    }
    Merged { out, shares: factors.iter().map(|factor| factor / total).collect() }
}
