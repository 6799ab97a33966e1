//! What can go wrong between a context and its answer.

use mrail::map::append::WriteError;
use std::fmt;

/// Why there is no answer, or why it could not be kept. `E` is the engine's error.
#[derive(Debug)]
pub enum DecodeError<E> {
    /// A context without tokens: there is nothing to go on from.
    EmptyContext,
    /// A token of the context is none of the model's.
    Vocabulary {
        /// Its place in the context.
        at: usize,
        /// The token.
        token: u32,
        /// Ids are below this.
        vocabulary: u32,
    },
    /// The context is longer than the engine's memory.
    Capacity {
        /// Tokens of the context.
        tokens: usize,
        /// Tokens that there is room for.
        capacity: u32,
    },
    /// The engine failed.
    Engine(E),
    /// The engine does not say what follows.
    Silent {
        /// Tokens that it has taken in.
        tokens: u32,
    },
    /// The answer is whole and could not be kept.
    Write(WriteFault),
}

impl<E: fmt::Display> fmt::Display for DecodeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyContext => f.write_str("the context is empty"),
            Self::Vocabulary { at, token, vocabulary } => {
                write!(f, "token {at} of the context is {token}, and the model's are below {vocabulary}")
            }
            Self::Capacity { tokens, capacity } => {
                write!(f, "a context of {tokens} tokens, and there is room for {capacity}")
            }
            Self::Engine(error) => error.fmt(f),
            Self::Silent { tokens } => write!(f, "the engine does not say what follows its {tokens} tokens"),
            Self::Write(fault) => write!(f, "the answer could not be kept: {fault}"),
        }
    }
}

impl<E: std::error::Error> std::error::Error for DecodeError<E> {}

/// Why a record is not in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The map takes no such record.
    Map(WriteError),
    /// The journal did not take the bytes: what it said.
    Journal(String),
}

impl fmt::Display for WriteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(error) => error.fmt(f),
            Self::Journal(said) => f.write_str(said),
        }
    }
}

impl std::error::Error for WriteFault {}

impl From<WriteError> for WriteFault {
    fn from(error: WriteError) -> Self {
        Self::Map(error)
    }
}

/// Why a map is not the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// A run holds a token that the model does not have: the map is another model's.
    Vocabulary {
        /// The run.
        run: usize,
        /// The token.
        token: u32,
        /// Ids are below this.
        vocabulary: u32,
    },
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Vocabulary { run, token, vocabulary } = self;
        write!(f, "a map of another model: run {run} holds token {token}, and this model's are below {vocabulary}")
    }
}

impl std::error::Error for AttachError {}
