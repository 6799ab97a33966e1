//! A model in a file: how its numbers are written.
//!
//! * [`quant`] turns blocks of numbers into f32.

pub mod quant;
