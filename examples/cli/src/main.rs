//! The `mrail` command line.
fn main() {}
