//! A model in a file: where its weights lie and how they are written.
//!
//! * [`gguf`] reads the header of a GGUF file, from whatever gives bytes;
//! * [`quant`] turns blocks of numbers into f32.

pub mod gguf;
pub mod quant;
