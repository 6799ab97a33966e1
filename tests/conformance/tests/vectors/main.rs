//! The reference's stored vectors, one test a family, over the driver in this process.
//!
//! `MRAIL_VECTORS` names another folder of the same shape; families that it lacks are left out.

mod anchors;
mod bench;
mod chain;
mod exact;
mod locate;
mod reader;
mod tracks;
mod tree;
mod write;
