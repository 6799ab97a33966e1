//! The header of a GGUF file: its metadata, and where its tensors lie.
//!
//! ```text
//! offset 0   47 47 55 46                          magic, "GGUF"
//! offset 4   version:u32                          2 or 3
//! offset 8   tensors:u64 entries:u64
//! offset 24  key:string kind:u32 value            entries times
//!            name:string n:u32 dims:u64[n] element:u32 offset:u64
//!                                                 tensors times
//!            padding                              to the next multiple of general.alignment, 32 where it is not said
//!            bytes of tensors                     each at its offset from here
//!
//! string     length:u64 bytes
//! array      kind:u32 count:u64 elements
//! ```
//!
//! All integers are little-endian. Any bytes are safe: [`Header::parse`] does not panic, every length and count is checked in 64
//! bits against what is left of the file before anything is done with it, and arrays lie in each other at most
//! [`MOST_NESTED`] deep. Memory and time are within a small factor of the header's bytes, which are at most [`MOST_BYTES`].
//! Values stay in the header's bytes and are decoded when they are asked for. The bytes of the tensors are not looked at.

mod cursor;
mod error;
mod header;
mod source;
mod tensor;
mod value;
pub(super) mod write;

pub use error::GgufError;
pub(super) use error::clip;
pub use header::{Header, MOST_BYTES, MOST_ENTRIES, MOST_NAME, MOST_TENSORS};
pub use source::{Seekable, Source};
pub use tensor::{MOST_ALIGNMENT, Tensor};
pub use value::{Array, Elements, Kind, MOST_NESTED, Value};

#[cfg(test)]
pub(super) mod build;
#[cfg(test)]
mod tests;
