//! Which model a file is.

use crate::Error;
use crate::args::bytes;
use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest as _};
use std::fmt::Write as _;
use wasm_bindgen::prelude::*;

/// The hash of a file, taken in piece by piece; `Digest` of `types.d.ts`. What `mrail-decode` writes beside a map.
#[wasm_bindgen(skip_typescript)]
#[derive(Clone, Debug, Default)]
pub struct Digest(Blake2b<U16>);

#[wasm_bindgen]
impl Digest {
    /// Of nothing so far.
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next piece.
    #[wasm_bindgen(skip_typescript)]
    pub fn update(&mut self, piece: &JsValue) -> Result<(), Error> {
        self.0.update(bytes("piece", piece)?);
        Ok(())
    }

    /// The hash of what was taken in.
    #[wasm_bindgen(skip_typescript)]
    pub fn hex(&self) -> String {
        self.0.clone().finalize().iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string does not fail.
            write!(hex, "{byte:02x}").ok();
            hex
        })
    }
}
