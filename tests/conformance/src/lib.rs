//! Conformance of `mrail` with the Python reference.
//!
//! [`Driver`] speaks the kit's protocol (kit/PROTOCOL.md): `mrail-driver` runs it over standard input and output for the
//! kit's scripts, which compare it live with the reference, and the tests of this crate run it over the stored vectors.
//! [`vectors`] holds the kit's rules of comparison.

mod anchors;
mod base64;
mod driver;
mod host;
mod protocol;
pub mod sha;
mod stats;
pub mod vectors;

pub use driver::Driver;
