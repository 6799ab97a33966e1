//! Constant-state attention on wgpu, beside maps of what a model has already computed.
//!
//! **Nothing is implemented here yet.** The crate holds the place in the workspace that its own issues fill:
//!
//! * `state`: what a layer remembers (a band of recent tokens, a carrier over every far one, a fixed exact store) and its bytes;
//! * `attention`: the WGSL kernels and, beside each, a CPU twin with the same order of operations;
//! * `model`: GGUF, weights, layers;
//! * `decode`: greedy decoding with a map in front and verified drafts.
//!
//! It exports no items, so nothing can be called that would pretend to work.
#![forbid(unsafe_code)]
