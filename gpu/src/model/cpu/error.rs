//! Why a model cannot be run on the CPU.

use crate::attention::TreeError;
use crate::attention::twin::TwinError;
use crate::model::load::LoadError;
use crate::state::params::ParamsError;
use crate::state::snapshot::SnapshotError;
use std::fmt;

/// Why a model cannot be loaded or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CpuError {
    /// A tensor cannot be loaded.
    Load(LoadError),
    /// There are setups for another number of layers than the model has.
    Layers {
        /// Setups given, or layers of a state.
        found: usize,
        /// Layers of the model.
        wanted: usize,
    },
    /// A layer has other heads than the model, or another band or mode than the first one.
    Unlike {
        /// The layer.
        layer: usize,
    },
    /// A carrier's parameters do not fit its layer.
    Carrier {
        /// The layer.
        layer: usize,
        /// What is wrong with them.
        error: ParamsError,
    },
    /// No threads can be started.
    Threads {
        /// Why not.
        why: String,
    },
    /// There is no such token.
    Token {
        /// Its id.
        token: u32,
        /// Ids are below this.
        vocabulary: u32,
    },
    /// No rows, or not as many tokens as the tree has rows, or more than were asked for at the start.
    Rows {
        /// Tokens given.
        tokens: usize,
        /// Rows of the tree.
        rows: usize,
        /// The most that a tree may have.
        most: u32,
    },
    /// There are no logits before the first token.
    NoTokens,
    /// Positions end here.
    TooLong {
        /// Tokens taken in.
        tokens: u32,
        /// Tokens given.
        more: usize,
        /// The most that there can be.
        most: u32,
    },
    /// Nothing was verified that could be accepted.
    NothingWaits,
    /// A path is none of the tree that waits.
    Tree(TreeError),
    /// A verified root waits, before which a block has left: the state is none of a number of tokens. Accept it first.
    RootWaits,
    /// Attention does not go on.
    Attention(TwinError),
    /// A state is none of this model's.
    State(SnapshotError),
    /// The row of a state has another width than the model, or there is one where there are no tokens.
    Hidden {
        /// Its numbers.
        found: usize,
        /// What it should have.
        wanted: usize,
    },
    /// A state's row, or a layer, is of another number of tokens than the first layer.
    Tokens {
        /// The layer.
        layer: usize,
    },
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::Layers { found, wanted } => write!(f, "{found} layers, where the model has {wanted}"),
            Self::Unlike { layer } => {
                write!(f, "layer {layer} has other heads than the model, or another band or mode than layer 0")
            }
            Self::Carrier { layer, error } => write!(f, "layer {layer}: {error}"),
            Self::Threads { why } => write!(f, "no threads can be started: {why}"),
            Self::Token { token, vocabulary } => write!(f, "token {token}, where ids are below {vocabulary}"),
            Self::Rows { tokens, rows, most } => {
                write!(f, "{tokens} tokens for a tree of {rows} rows, which may have {most}")
            }
            Self::NoTokens => f.write_str("there are no logits before the first token"),
            Self::TooLong { tokens, more, most } => {
                write!(f, "{more} tokens behind {tokens} are more than the {most} that there can be")
            }
            Self::NothingWaits => f.write_str("nothing was verified that could be accepted"),
            Self::Tree(error) => error.fmt(f),
            Self::RootWaits => f.write_str("a verified root waits, before which a block has left: accept it first"),
            Self::Attention(error) => error.fmt(f),
            Self::State(error) => error.fmt(f),
            Self::Hidden { found, wanted } => write!(f, "a last row of {found} numbers, which should be {wanted}"),
            Self::Tokens { layer } => write!(f, "layer {layer} is of another number of tokens than layer 0"),
        }
    }
}

impl std::error::Error for CpuError {}

impl From<LoadError> for CpuError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<TwinError> for CpuError {
    fn from(error: TwinError) -> Self {
        match error {
            TwinError::Tree(error) => Self::Tree(error),
            TwinError::NothingWaits => Self::NothingWaits,
            error => Self::Attention(error),
        }
    }
}

impl From<SnapshotError> for CpuError {
    fn from(error: SnapshotError) -> Self {
        Self::State(error)
    }
}
