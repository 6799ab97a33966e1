//! `mrail-gpu` for JavaScript: a model beside its map, in a browser.
//!
//! A thin layer: arguments are checked, the loop of [`mrail_gpu::decode`] is run, and what it says is handed out as plain objects
//! and typed arrays. What the package promises is written down in `types.d.ts`, by hand.
//!
//! * A model's file stays JavaScript's: ranges of it are copied in while weights go to the device.
//! * A generation is a task that owns the model while it runs, and does a step when it is asked for one.
//! * No view of wasm memory leaves this crate, nothing blocks, and every promise settles.

mod args;
mod backend;
mod digest;
mod error;
mod load;
mod map;
mod object;
mod runner;
mod source;
mod text;
mod turn;

pub use digest::Digest;
pub use error::Error;
pub use map::repair_map;
pub use runner::Runner;
pub use turn::Turn;

use mrail_gpu::model::seeded::Seeded;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// A small model of random numbers, for tests: its file. Other seeds give other models.
#[wasm_bindgen(js_name = seededModel, skip_typescript)]
pub fn seeded_model(seed: &JsValue) -> Result<Vec<u8>, Error> {
    let seed = args::optional("seed", seed, args::word)?.unwrap_or(1);
    Ok(Seeded { seed: seed.into(), ..Seeded::default() }.file())
}

/// Bytes of the module's memory, which grows and never shrinks.
#[wasm_bindgen(js_name = memoryBytes, skip_typescript)]
pub fn memory_bytes() -> f64 {
    let memory: js_sys::WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length().into()
}

/// Version of this package.
#[wasm_bindgen(skip_typescript)]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
