//! One of two engines, where which one is known only when the program runs.

use super::{Engine, State};
use crate::attention::Tree;
use std::fmt;

/// One of two engines: one that runs on a device, say, and one that does not.
#[derive(Clone, Debug)]
pub enum Either<A, B> {
    /// The first.
    A(A),
    /// The second.
    B(B),
}

impl<A: fmt::Display, B: fmt::Display> fmt::Display for Either<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A(a) => a.fmt(f),
            Self::B(b) => b.fmt(f),
        }
    }
}

impl<A: std::error::Error, B: std::error::Error> std::error::Error for Either<A, B> {}

/// What either engine says to a question, or does when it is told to.
macro_rules! of {
    ($engine:expr, $call:ident $(, $given:expr)*) => {
        match $engine {
            Either::A(engine) => engine.$call($($given),*),
            Either::B(engine) => engine.$call($($given),*),
        }
    };
    (await $engine:expr, $call:ident $(, $given:expr)*) => {
        match $engine {
            Either::A(engine) => engine.$call($($given),*).await.map_err(Either::A),
            Either::B(engine) => engine.$call($($given),*).await.map_err(Either::B),
        }
    };
}

impl<A: Engine, B: Engine> Engine for Either<A, B> {
    type Error = Either<A::Error, B::Error>;

    fn vocabulary(&self) -> u32 {
        of!(self, vocabulary)
    }

    fn tokens(&self) -> u32 {
        of!(self, tokens)
    }

    fn capacity(&self) -> Option<u32> {
        of!(self, capacity)
    }

    fn tree_rows(&self) -> u32 {
        of!(self, tree_rows)
    }

    fn depth_left(&self) -> u32 {
        of!(self, depth_left)
    }

    fn evaluated(&self) -> u64 {
        of!(self, evaluated)
    }

    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, Self::Error> {
        of!(await self, extend, tokens)
    }

    fn choice(&self) -> Option<u32> {
        of!(self, choice)
    }

    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, Self::Error> {
        of!(await self, verify, tokens, tree)
    }

    async fn accept(&mut self, path: &[u32]) -> Result<(), Self::Error> {
        of!(await self, accept, path)
    }

    async fn logits(&mut self) -> Result<Vec<f32>, Self::Error> {
        of!(await self, logits)
    }

    async fn state(&mut self) -> Result<State, Self::Error> {
        of!(await self, state)
    }

    async fn restore(&mut self, state: &State) -> Result<(), Self::Error> {
        of!(await self, restore, state)
    }

    async fn clear(&mut self) -> Result<(), Self::Error> {
        of!(await self, clear)
    }
}
