//! Conformance of `mrail` with the Python reference.
//!
//! [`Driver`] speaks the kit's protocol (kit/PROTOCOL.md): `mrail-driver` runs it over standard input and output for the
//! kit's scripts, which compare it live with the reference, and the tests of this crate run it over the stored vectors.
//! [`vectors`] holds the kit's rules of comparison, [`fuzz`] the bodies of the fuzz targets, [`verdict`] what every reader says about a file.

mod anchors;
mod base64;
mod driver;
pub mod fuzz;
mod host;
pub mod hostile;
mod protocol;
pub mod sha;
mod stats;
pub mod vectors;
pub mod verdict;

pub use driver::Driver;
