//! Constant-state attention on wgpu, beside maps of what a model has already computed.
//!
//! * [`device`]: finds and opens a GPU, and turns all that can fail there into typed errors;
//! * [`state`]: what a layer remembers (a band of recent tokens, a carrier over every far one, a fixed exact store) and its bytes;
//! * [`model`]: what a GGUF file says of its model, where its weights lie and what memory they take;
//! * [`attention`]: the WGSL kernels and, beside each, a CPU twin with the same order of operations.
#![forbid(unsafe_code)]

pub mod attention;
pub mod device;
pub mod model;
pub mod state;
