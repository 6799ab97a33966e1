//! A model in a file: what it says of itself, where its weights lie, what they are, and what memory they take.
//!
//! * [`gguf`] reads the header of a GGUF file, from whatever gives bytes;
//! * [`Model`] finds in it a transformer of a kind that is known, with every tensor that it needs;
//! * [`quant`] turns blocks of numbers into f32;
//! * [`layout`] says how a matrix lies where a model runs, and [`load`] brings it there;
//! * [`memory`] says what the model takes on a device, and whether that fits, before a byte of the weights is read;
//! * [`text`] turns text into the model's tokens and back, and a conversation into the text that the model expects;
//! * [`device`] runs it on a device, [`cpu`] without one;
//! * [`seeded`] makes small models of random numbers, for tests.

mod config;
pub mod cpu;
pub mod device;
mod error;
pub mod gguf;
pub mod layout;
pub mod load;
pub mod memory;
pub mod quant;
pub mod seeded;
pub mod text;
mod weights;

pub use config::{Architecture, ModelConfig, Pairing, Rope};
pub use error::ModelError;
pub use weights::{LayerWeights, Weights};

use gguf::Header;

/// A model as its file's header describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its sizes.
    pub config: ModelConfig,
    /// Where its weights lie.
    pub weights: Weights,
}

impl Model {
    /// Reads a model's sizes and finds its tensors. Everything that it needs is there afterwards, in the right shape, and
    /// nothing else is.
    pub fn read(header: &Header) -> Result<Self, ModelError> {
        let config = ModelConfig::read(header)?;
        let weights = Weights::find(header, &config)?;
        Ok(Self { config, weights })
    }
}

#[cfg(test)]
mod tests;
