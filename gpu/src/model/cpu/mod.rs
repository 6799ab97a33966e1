//! Runs a model on the CPU: natively over the cores that there are, in browsers on the one thread.
//!
//! Every sum has one order, that of `docs/arithmetic.md`, whatever the number of rows, the threads or the machine's instructions:
//! the same file, state and tokens give the same bits wherever this runs.

mod codes;
mod engine;
mod error;
mod matrix;
mod network;
mod product;
pub mod rows;
mod strips;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use error::CpuError;

use super::gguf::Source;
use super::load::Progress;
use super::{Model, ModelConfig};
use crate::attention::twin::Twin;
use crate::attention::{LayerSetup, MOST_ROWS, Tree};
use crate::parallel::Threads;
use crate::state::Config;
use network::Network;

/// How a model is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads; none: as many as the machine runs at once. Browsers have one.
    pub threads: Option<usize>,
    /// Rows of a draft tree at most, its root among them: up to [`MOST_ROWS`].
    pub tree_rows: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: None, tree_rows: 32 }
    }
}

/// A model on the CPU, and its state.
#[derive(Debug)]
pub struct CpuModel {
    network: Network,
    /// Of each layer.
    twins: Vec<Twin>,
    setups: Vec<LayerSetup>,
    wants_surprises: bool,
    threads: Threads,
    tree_rows: u32,
    /// Tokens taken in.
    tokens: u32,
    /// Tokens whose surprise the layers know.
    surprised: u32,
    /// \[width]: the last token's row after the final norm.
    hidden: Vec<f32>,
    /// \[vocabulary]: the logits behind it.
    logits: Vec<f32>,
    choice: Option<u32>,
    waiting: Option<Waiting>,
    evaluated: u64,
}

/// A tree that was verified.
#[derive(Debug)]
struct Waiting {
    tree: Tree,
    tokens: Vec<u32>,
    /// \[rows, width].
    hidden: Vec<f32>,
    /// \[rows, vocabulary].
    logits: Vec<f32>,
    choices: Vec<u32>,
}

impl CpuModel {
    /// Loads a model's weights, with one setup for each of its layers. `progress` is told before each tensor, and at the end.
    pub fn load<S: Source>(
        source: &mut S,
        model: &Model,
        setups: Vec<LayerSetup>,
        options: Options,
        progress: impl FnMut(Progress<'_>),
    ) -> Result<Self, CpuError> {
        check(&model.config, &setups)?;
        let threads = Threads::new(options.threads).map_err(|why| CpuError::Threads { why })?;
        let network = Network::load(source, model, progress)?;
        let twin = |setup: &LayerSetup| Twin::new(setup.config.clone(), setup.carrier.clone(), setup.scale);
        Ok(Self {
            twins: setups.iter().map(twin).collect(),
            wants_surprises: setups.iter().any(|setup| setup.config.wants_surprises()),
            network,
            setups,
            threads,
            tree_rows: options.tree_rows.clamp(1, MOST_ROWS as u32),
            tokens: 0,
            surprised: 0,
            hidden: Vec::new(),
            logits: Vec::new(),
            choice: None,
            waiting: None,
            evaluated: 0,
        })
    }

    /// The model's sizes.
    pub fn config(&self) -> &ModelConfig {
        &self.network.config
    }

    /// What the layers were set up with.
    pub fn setups(&self) -> &[LayerSetup] {
        &self.setups
    }

    /// Bytes that its matrices take.
    pub fn weight_bytes(&self) -> u64 {
        self.network.bytes()
    }

    /// Bytes of the keys and values that the layers keep: at their most, or natively of the tokens taken in.
    pub fn state_bytes(&self) -> u64 {
        self.setups.iter().map(|setup| layer_bytes(&setup.config, self.tokens.into())).sum()
    }
}

/// Bytes of the keys and values that a layer keeps, in f32: of the most tokens that it can keep, or natively of so many.
pub(crate) fn layer_bytes(config: &Config, tokens: u64) -> u64 {
    let shape = config.shape();
    let each = 2 * u64::from(shape.kv_heads) * u64::from(shape.head_dim) * 4;
    config.exact_until().unwrap_or(tokens).saturating_mul(each)
}

/// One setup a layer, all of the model's heads and of one schedule.
fn check(config: &ModelConfig, setups: &[LayerSetup]) -> Result<(), CpuError> {
    if setups.len() != config.layers as usize {
        return Err(CpuError::Layers { found: setups.len(), wanted: config.layers as usize });
    }
    for (layer, setup) in setups.iter().enumerate() {
        if setup.config.shape() != config.shape || setup.config.schedule() != setups[0].config.schedule() {
            return Err(CpuError::Unlike { layer });
        }
        setup.carrier.check(config.shape).map_err(|error| CpuError::Carrier { layer, error })?;
    }
    Ok(())
}
