//! The kit's stored vectors and its rules of comparison (kit/check.py), so that `cargo test` needs no Python.
//!
//! The rules are functions that return what is wrong; each has a test in which it must find something.

mod corpus;
mod folder;
mod locate;
mod recipe;
mod records;
mod tree;

pub use corpus::corpus;
pub use folder::{Folder, data, sample_map};
pub use locate::{Place, locate_differs};
pub use recipe::resolve;
pub use records::{Described, describe, described_differs, sessions};
pub use tree::{Group, tree_differs};
