//! Maps of what a language model has already computed.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod anchor;
pub mod chain;
pub mod copy;
pub mod draft;
mod index;
pub mod map;
pub mod merge;
pub mod record;
pub mod repair;
pub mod run;
pub mod tail;
pub mod tokens;
pub mod track;
pub mod usage;

pub use chain::PrefixHash;
pub use map::{Foreign, Map, Options};
