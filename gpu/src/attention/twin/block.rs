//! Keys and values of a piece's tokens.

use crate::state::BLOCK;

/// Tokens of a piece.
pub(super) const LEN: usize = BLOCK as usize;

/// Up to 64 keys and values. Rows that nobody wrote to are zero.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// \[dim, 64]: the keys' numbers side by side, so that 64 products with a query are summed together, each in its order.
    pub(super) keys: Vec<[f32; LEN]>,
    /// \[64, dim].
    pub(super) values: Vec<f32>,
}

impl Block {
    pub(super) fn new(dim: usize) -> Self {
        Self { keys: vec![[0.0; LEN]; dim], values: vec![0.0; LEN * dim] }
    }

    pub(super) fn dim(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn put(&mut self, at: usize, key: impl IntoIterator<Item = f32>, value: impl IntoIterator<Item = f32>) {
        let dim = self.dim();
        self.keys.iter_mut().zip(key).for_each(|(numbers, k)| numbers[at] = k);
        self.values[at * dim..][..dim].iter_mut().zip(value).for_each(|(number, v)| *number = v);
    }

    pub(super) fn key(&self, at: usize) -> Vec<f32> {
        self.keys.iter().map(|numbers| numbers[at]).collect()
    }

    pub(super) fn value(&self, at: usize) -> &[f32] {
        &self.values[at * self.dim()..][..self.dim()]
    }
}

/// Writes a row of blocks that follow each other, and makes them where they are not there yet.
pub(super) fn put(
    blocks: &mut Vec<Block>,
    row: usize,
    key: impl ExactSizeIterator<Item = f32>,
    value: impl IntoIterator<Item = f32>,
) {
    while blocks.len() <= row / LEN {
        blocks.push(Block::new(key.len()));
    }
    blocks[row / LEN].put(row % LEN, key, value);
}
