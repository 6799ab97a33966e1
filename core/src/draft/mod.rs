//! Draft trees.
