//! A model on a device: its weights, the kernels of its layers around those of attention, and passes through them.
//!
//! The arithmetic is that of `docs/arithmetic.md`; [`crate::model::cpu`] computes the same on the CPU.

mod build;
mod error;
mod kernels;
mod matrix;
mod product;
mod run;
mod selftest;
mod tune;

pub use error::RunError;
pub use product::{Fetch, Shape};
pub use selftest::{Tested, self_test};
pub use tune::{Trial, tune};

pub(super) use matrix::bytes as matrix_bytes;

use super::ModelConfig;
use crate::attention::{Attention, SelfTest, Tree};
use crate::device::{Gpu, TEXEL_BYTES};
use build::{Layer, Rows};
use kernels::Bound;
use matrix::{Matrix, Operand, Product};
use product::TEXTURE_WIDTH;
use std::rc::Rc;
use wgpu::{BindGroup, Buffer};

/// Bytes of the largest texture that a matrix is put into: as high as every device can.
pub(super) const MOST_TEXTURE_BYTES: u64 = TEXEL_BYTES * TEXTURE_WIDTH as u64 * 8192;

/// Bytes of a row of such a texture.
pub(super) const TEXTURE_ROW_BYTES: u64 = TEXEL_BYTES * TEXTURE_WIDTH as u64;

/// How a model is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rows of a draft tree, its root among them, at most: 1 to 64.
    pub tree_rows: u32,
    /// Rows that pass through the layers at once when a prompt is read.
    pub pass_rows: u32,
    /// Tokens of a native cache.
    pub capacity: u32,
    /// How products are computed: for few rows, and for many.
    pub shapes: [Shape; 2],
}

impl Options {
    /// For a device: the shapes that were the fastest on what is known of its kind.
    pub fn of(gpu: &Gpu) -> Self {
        let shapes = if gpu.info().software {
            [1, 8].map(|columns| Shape { lanes: 16, slices: 1, rows: 8, columns, fetch: Fetch::Texture })
        } else {
            [1, 4].map(|columns| Shape { lanes: 32, slices: 4, rows: 1, columns, fetch: Fetch::Buffer })
        };
        Self { tree_rows: 32, pass_rows: 64, capacity: 1024, shapes }
    }
}

/// A model that runs on a device.
#[derive(Debug)]
pub struct DeviceModel {
    gpu: Rc<Gpu>,
    config: ModelConfig,
    attention: Attention,
    options: Options,
    matrices: Vec<Matrix>,
    operands: Vec<Operand>,
    vectors: Vec<Buffer>,
    rows: Rows,
    /// Which rows are meant, as every kernel's second group.
    bound: BindGroup,
    embed: Vec<Bound>,
    layers: Vec<Layer>,
    /// The final norm of the rows, and of a row that was kept.
    norm: Vec<Bound>,
    kept: Vec<Bound>,
    logits: Product,
    choose: Bound,
    /// Surprises of tokens: with the logits of this pass, and with those of the last token taken in.
    surprise: [Bound; 2],
    /// Whether any head ranks by surprise.
    surprises: bool,
    /// Most rows of a pass: where heads rank by surprise no more than the band has.
    most: u32,
    choice: Option<u32>,
    waiting: Option<Waiting>,
    evaluated: u64,
    passes: u64,
}

/// A tree that was verified.
#[derive(Clone, Debug)]
struct Waiting {
    tokens: Vec<u32>,
    tree: Tree,
    choices: Vec<u32>,
}

impl DeviceModel {
    /// The model's sizes.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Its attention.
    pub fn attention(&self) -> &Attention {
        &self.attention
    }

    /// How it is run.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Sees whether attention's kernels give the same bits however rows are grouped, and takes fewer rows at once where they do not.
    /// Keys and values that are not read as they were stored are an error. The state is empty afterwards.
    pub async fn check_grouping(&mut self) -> Result<SelfTest, RunError> {
        self.forget();
        let found = self.attention.self_test(&self.gpu).await?;
        match found.storage {
            Ok(()) => Ok(found),
            Err(what) => Err(RunError::Storage { what }),
        }
    }

    /// Passes through the layers so far.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Bytes of its weights on the device.
    pub fn weight_bytes(&self) -> u64 {
        let vectors: u64 = self.vectors.iter().map(Buffer::size).sum();
        self.matrices.iter().map(Matrix::bytes).sum::<u64>() + vectors
    }

    /// Bytes of what the layers remember.
    pub fn state_bytes(&self) -> u64 {
        (0..self.attention.layers()).map(|layer| self.attention.state_bytes(layer)).sum()
    }

    /// Frees its memory, which a browser would otherwise keep until its collector comes by. Attention's buffers go with the device.
    pub fn destroy(&self) {
        self.matrices.iter().for_each(Matrix::destroy);
        self.operands.iter().for_each(Operand::destroy);
        self.vectors.iter().chain(self.rows.all()).for_each(Buffer::destroy);
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
