//! Why a model cannot be run.

use super::Shape;
use crate::attention::{AttentionError, TreeError};
use crate::device::DeviceError;
use crate::model::load::LoadError;
use crate::model::memory::MemoryError;
use std::fmt;

/// Why a model cannot be loaded, or not go on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunError {
    /// The device failed.
    Device(DeviceError),
    /// Attention cannot go on.
    Attention(AttentionError),
    /// The weights cannot be read.
    Load(LoadError),
    /// The model does not fit, whatever memory there is.
    Memory(MemoryError),
    /// A token that the model does not have.
    Token {
        /// The id given.
        token: u32,
        /// Ids are below this.
        vocabulary: u32,
    },
    /// Tokens and rows of a tree are not as many.
    Rows {
        /// Tokens given.
        tokens: usize,
        /// Rows of the tree.
        rows: usize,
    },
    /// A path is none of the tree that was verified.
    Path(TreeError),
    /// Nothing was verified that could be accepted.
    NothingWaits,
    /// No token was taken in yet.
    NoTokens,
    /// A matrix of no tensors.
    NoTensors,
    /// Nothing arranges rows in units of so many numbers.
    Unit(u32),
    /// The last row of a state has another length than the model's rows.
    Hidden {
        /// Numbers given.
        numbers: usize,
        /// Numbers of a row.
        width: u32,
    },
    /// A state knows the surprises of another number of tokens than it has.
    Surprised {
        /// Tokens whose surprise is known.
        found: u32,
        /// Tokens of the state.
        tokens: u32,
    },
    /// A shape that is none: its lanes are no positive multiple of 8, or something else in it is 0.
    Shape(Shape),
    /// The device does not read keys and values as they were stored.
    Storage {
        /// What differs.
        what: String,
    },
    /// The device does not give the answer that is known.
    SelfTest {
        /// Tokens that it chose.
        found: Vec<u32>,
        /// Those that it should have chosen.
        wanted: Vec<u32>,
    },
    /// Layers are set up for another model: their number, or their heads.
    Setups {
        /// Layers given.
        layers: usize,
        /// Layers of the model.
        wanted: u32,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(error) => error.fmt(f),
            Self::Attention(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::Token { token, vocabulary } => write!(f, "token {token} of a vocabulary of {vocabulary}"),
            Self::Rows { tokens, rows } => write!(f, "{tokens} tokens for a tree of {rows} rows"),
            Self::Path(error) => error.fmt(f),
            Self::NothingWaits => f.write_str("nothing was verified that could be accepted"),
            Self::NoTokens => f.write_str("no token was taken in yet"),
            Self::NoTensors => f.write_str("a matrix of no tensors"),
            Self::Unit(unit) => write!(f, "nothing arranges rows in units of {unit} numbers"),
            Self::Hidden { numbers, width } => write!(f, "a last row of {numbers} numbers, where rows have {width}"),
            Self::Surprised { found, tokens } => {
                write!(f, "a state of {tokens} tokens that knows the surprises of {found}")
            }
            Self::Shape(shape) => write!(f, "no shape of a product: {shape:?}"),
            Self::Storage { what } => write!(f, "this GPU does not read what it stored: {what}"),
            Self::SelfTest { found, wanted } => {
                let parts = found.iter().zip(wanted).take_while(|(a, b)| a == b).count();
                write!(
                    f,
                    "this GPU, or its driver, computes wrongly: of {} known tokens it parts at {parts}",
                    wanted.len()
                )
            }
            Self::Setups { layers, wanted } => {
                write!(
                    f,
                    "attention is set up for {layers} layers or other heads than the model's {wanted} layers have"
                )
            }
        }
    }
}

impl std::error::Error for RunError {}

impl From<DeviceError> for RunError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl From<AttentionError> for RunError {
    fn from(error: AttentionError) -> Self {
        Self::Attention(error)
    }
}

impl From<LoadError> for RunError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<MemoryError> for RunError {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}
