//! Benchmarks of draft trees.
fn main() {}
