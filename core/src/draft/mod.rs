//! Draft trees: what a model may say next, guessed from what it has said before.
//!
//! A [`Rail`] is the log of the tokens of all runs, with an index of the n-grams in it (FORMAT.md, "Draft rail").
//! [`Rail::tree`] looks up the last tokens of a context, follows the newest places where they were seen, and merges what
//! came after them into a [`DraftTree`] of the most promising continuations, to be verified by the model in one pass.
//! The field knows this as *n-gram* or *prompt lookup* drafting, with the token trees of speculative decoding.
//!
//! A rail can also look up by *thought* (FORMAT.md, "Thought rail"): [`Planes`] turn a hidden state of the model into a
//! [`SimHash`] (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002), places of the log are
//! filed under theirs, and a tree may follow the places whose states looked alike.
//!
//! What this module does not do: it never checks a draft (that is the model's part, and acceptance is no proof of
//! correctness), knows no map and no file, and holds no hidden states.
//!
//! A draft depends on the log and the context alone. Weights are `f64` and are added in the order of the format, so that
//! trees are the same on every machine.

mod index;
mod rail;
mod ranks;
mod thought;
mod tree;

#[cfg(test)]
mod tests;

pub use rail::{Borders, NMAX_LIMIT, Rail, RailError, RailOptions};
pub use thought::{PLANES, Planes, PlanesError, SimHash};
pub use tree::DraftTree;

/// The newest occurrences of one n-gram that a tree follows, and the newest places of one hash.
const ENTRIES: usize = 24;
/// The tokens that each of them adds.
const DEPTH: usize = 24;
