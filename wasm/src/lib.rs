//! `mrail` for JavaScript.
//!
//! A thin layer: arguments are checked and copied in, core is called, results are copied out as plain objects and typed
//! arrays. What the package promises is written down in `types.d.ts`, by hand; this crate implements it and adds nothing
//! that core does not know.
//!
//! No view of wasm memory leaves this crate: such a view dies when the memory grows.

mod args;
mod error;
mod map;
mod plain;

pub use error::Error;
pub use map::MrailMap;
pub use plain::Plain;

use mrail::PrefixHash;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// Prefix hash of a context, 16 hexadecimal digits.
#[wasm_bindgen(js_name = prefixHash, skip_typescript)]
pub fn prefix_hash(context: &JsValue) -> Result<String, Error> {
    Ok(PrefixHash::of(&args::tokens("context", context)?).to_string())
}

/// Version of this package.
#[wasm_bindgen(skip_typescript)]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
