//! Decoding with a map: what is known is answered or restored, what is guessed is verified, and what is computed is kept.

mod engine;

pub use engine::{Engine, State};
