//! The driver of the conformance kit.
fn main() {}
