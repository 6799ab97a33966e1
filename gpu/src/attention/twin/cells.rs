//! Twins of `cells_drop.wgsl` and `cells_finish.wgsl`, and of `source_cells.wgsl`.

use super::decay::Dropped;
use super::number::{LOWEST, dot, log};
use crate::state::Cells;

/// One cell: sums over the tokens in it.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) tokens: f32,
    pub(super) keys: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) squares: f32,
}

/// What a row reads of a cell.
pub(super) struct Mean {
    pub(super) key: Vec<f32>,
    pub(super) value: Vec<f32>,
    log_tokens: f32,
    variance: f32,
}

impl Cell {
    pub(super) fn empty(dim: usize) -> Self {
        Self { tokens: 0.0, keys: vec![0.0; dim], values: vec![0.0; dim], squares: 0.0 }
    }
}

/// |Aᵀ (k - mean)|².
fn square(of: &Cells, kv: usize, key: &[f32]) -> f32 {
    let dim = key.len();
    let mean = &of.mean[kv * dim..][..dim];
    let image = |row: &[f32]| (0..dim).fold(0.0, |sum, i| sum + row[i] * (key[i] - mean[i]));
    let metric = of.metric.chunks_exact(dim).skip(kv * of.rank as usize).take(of.rank as usize);
    metric.map(image).fold(0.0, |sum, image| sum + image * image)
}

/// The cell of a key: the lowest of the nearest.
fn nearest(of: &Cells, kv: usize, key: &[f32]) -> usize {
    let cells = of.cells as usize;
    let mut best = (0, LOWEST);
    for m in 0..cells {
        let code = &of.codebook[(kv * cells + m) * key.len()..][..key.len()];
        let near = dot(key, code) + of.beta[kv * cells + m];
        if near > best.1 {
            best = (m, near);
        }
    }
    best.0
}

/// Takes tokens in.
pub(super) fn take_in(cells: &mut [Cell], of: &Cells, kv: usize, tokens: &[Dropped<'_>]) {
    for token in tokens {
        let cell = &mut cells[nearest(of, kv, token.key)];
        cell.tokens += 1.0;
        cell.keys.iter_mut().zip(token.key).for_each(|(sum, k)| *sum += k);
        cell.values.iter_mut().zip(token.value).for_each(|(sum, v)| *sum += v);
        cell.squares += square(of, kv, token.key);
    }
}

/// What a row reads of a cell, if anything is in it.
pub(super) fn finish(cell: &Cell, of: &Cells, kv: usize) -> Option<Mean> {
    (cell.tokens >= 1.0).then(|| {
        let key: Vec<f32> = cell.keys.iter().map(|sum| sum / cell.tokens).collect();
        let variance = (cell.squares / cell.tokens - square(of, kv, &key)).max(0.0);
        let value = cell.values.iter().map(|sum| sum / cell.tokens).collect();
        Mean { key, value, log_tokens: log(cell.tokens), variance }
    })
}

impl Mean {
    /// What is added to the logit of a query head.
    pub(super) fn bias(&self, of: &Cells, head: usize) -> f32 {
        (of.kappa[head] * self.variance * 0.5 + of.delta[head]) + self.log_tokens
    }
}
