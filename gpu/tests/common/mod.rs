//! What the tests of this crate share. Declare it as `pub mod common;`: then what a test does not use is not dead code.

pub mod beside;
pub mod bits;
pub mod harness;
pub mod oracle;
pub mod rig;
