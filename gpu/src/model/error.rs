//! Why a file's model cannot be run.

use super::gguf::{GgufError, clip};
use super::quant::Element;
use crate::state::ConfigError;
use std::fmt;

/// Why a file whose header can be read holds no model that can be run. Keys and names are cut to what a line holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelError {
    /// The header cannot be read.
    Gguf(GgufError),
    /// An entry of the metadata is needed and not there.
    MissingKey {
        /// Its key.
        key: String,
    },
    /// An entry of the metadata has a value that it cannot have.
    Value {
        /// Its key.
        key: String,
        /// What it should be.
        wants: &'static str,
        /// What it is.
        found: String,
    },
    /// The model is of another architecture.
    Architecture {
        /// Its name.
        name: String,
    },
    /// The file asks for something that is not supported, and without which the model would be another one.
    Unsupported {
        /// The entry or the tensor that asks for it.
        what: String,
        /// What it asks for.
        found: String,
    },
    /// The width is no multiple of the heads, and no width of a head is said.
    HeadWidth {
        /// Numbers of a row.
        width: u32,
        /// Query heads.
        heads: u32,
    },
    /// Attention has no such heads.
    Heads(ConfigError),
    /// The tokens that are listed, or their number, are not as many as the embedding has rows.
    Vocabulary {
        /// The entry that says how many they are.
        key: String,
        /// How many it says.
        tokens: u64,
        /// Rows of the embedding.
        rows: u64,
    },
    /// A tensor is needed and not there.
    MissingTensor {
        /// Its name.
        tensor: String,
    },
    /// A tensor has another shape than the metadata says.
    Shape {
        /// The tensor.
        tensor: String,
        /// The shape that the metadata asks for, numbers of a row first.
        wants: Vec<u64>,
        /// The shape that it has, without ones at its end.
        found: Vec<u64>,
    },
    /// A norm or a bias is in blocks.
    Vector {
        /// The tensor.
        tensor: String,
        /// How its numbers are written.
        element: Element,
    },
    /// A tensor is no part of such a model. Without it the model would be another one.
    UnknownTensor {
        /// Its name.
        tensor: String,
    },
}

impl ModelError {
    pub(super) fn unsupported(what: &str, found: impl fmt::Display) -> Self {
        Self::Unsupported { what: clip(what), found: clip(&found.to_string()) }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gguf(error) => error.fmt(f),
            Self::MissingKey { key } => write!(f, "the metadata does not say {key}"),
            Self::Value { key, wants, found } => write!(f, "{key} is {found}, and should be {wants}"),
            Self::Architecture { name } => {
                write!(f, "a model of architecture {name:?}, which is not supported; llama and qwen2 are")
            }
            Self::Unsupported { what, found } => write!(f, "{what} asks for {found}, which is not supported"),
            Self::HeadWidth { width, heads } => write!(f, "a width of {width} does not divide into {heads} heads"),
            Self::Heads(error) => error.fmt(f),
            Self::Vocabulary { key, tokens, rows } => {
                write!(f, "{key} says {tokens} tokens, and the embedding has {rows} rows")
            }
            Self::MissingTensor { tensor } => write!(f, "tensor {tensor:?} is missing"),
            Self::Shape { tensor, wants, found } => {
                write!(f, "tensor {tensor:?} has shape {found:?}, and should have {wants:?}")
            }
            Self::Vector { tensor, element } => {
                write!(f, "tensor {tensor:?} is of type {element}; a norm or a bias may be F32, F16 or BF16")
            }
            Self::UnknownTensor { tensor } => write!(f, "tensor {tensor:?} is no part of such a model"),
        }
    }
}

impl std::error::Error for ModelError {}

impl From<GgufError> for ModelError {
    fn from(error: GgufError) -> Self {
        Self::Gguf(error)
    }
}
