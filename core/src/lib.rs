//! Maps of what a language model has already computed.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
