//! The kernels and their CPU twins.

mod tree;
pub mod twin;

pub use tree::{MOST_ROWS, Tree, TreeError};
