//! Maps of what a language model has already computed.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod anchor;
pub mod chain;
pub mod draft;

pub use chain::PrefixHash;
