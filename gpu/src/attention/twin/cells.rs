//! Twins of `cells_drop.wgsl` and `cells_finish.wgsl`, and of `source_cells.wgsl`.

use super::block::{Block, put};
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

/// What rows read of the cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Means {
    /// Means of keys and values, by cell.
    pub(super) blocks: Vec<Block>,
    /// Of each cell in which anything is.
    cells: Vec<Option<Mean>>,
}

#[derive(Clone, Copy, Debug)]
struct Mean {
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
pub(super) fn take_in(cells: &mut [Cell], of: &Cells, kv: usize, tokens: &[Dropped]) {
    for token in tokens {
        let cell = &mut cells[nearest(of, kv, &token.key)];
        cell.tokens += 1.0;
        cell.keys.iter_mut().zip(&token.key).for_each(|(sum, k)| *sum += k);
        cell.values.iter_mut().zip(&token.value).for_each(|(sum, v)| *sum += v);
        cell.squares += square(of, kv, &token.key);
    }
}

impl Means {
    pub(super) fn of(cells: &[Cell], of: &Cells, kv: usize) -> Self {
        let mut means = Self::default();
        for (m, cell) in cells.iter().enumerate() {
            let there = cell.tokens >= 1.0;
            // What is not there is not read.
            let tokens = if there { cell.tokens } else { 1.0 };
            let key: Vec<f32> = cell.keys.iter().map(|sum| sum / tokens).collect();
            let variance = (cell.squares / tokens - square(of, kv, &key)).max(0.0);
            put(&mut means.blocks, m, key.into_iter(), cell.values.iter().map(|sum| sum / tokens));
            means.cells.push(there.then(|| Mean { log_tokens: log(tokens), variance }));
        }
        means
    }

    /// What is added to the logits of a query head, for each cell in which anything is.
    pub(super) fn biases(&self, of: &Cells, head: usize) -> Vec<Option<f32>> {
        let bias = |mean: Mean| (of.kappa[head] * mean.variance * 0.5 + of.delta[head]) + mean.log_tokens;
        self.cells.iter().map(|mean| mean.map(bias)).collect()
    }
}
