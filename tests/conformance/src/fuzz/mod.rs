//! Bodies of the fuzz targets (tests/fuzz), as plain functions: the same inputs are replayed by `cargo test`.
//!
//! Each takes any bytes and panics where `mrail` breaks a promise.

mod locate;
mod naive;
mod open;
mod scenario;

pub use locate::locate;
pub use open::{Effort, exercise, open};
