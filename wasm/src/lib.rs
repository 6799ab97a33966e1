//! wasm-bindgen layer over `mrail`.
