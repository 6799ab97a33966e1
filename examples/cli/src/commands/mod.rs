//! One file a command.

pub(crate) mod answer;
pub(crate) mod dump;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod locate;
pub(crate) mod merge;
pub(crate) mod repair;
pub(crate) mod size;
pub(crate) mod tracks;
pub(crate) mod tree;
pub(crate) mod verify;
