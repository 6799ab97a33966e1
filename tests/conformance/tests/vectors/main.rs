//! The reference's stored vectors, one test a family, over the driver in this process.
//!
//! `MRAIL_VECTORS` names another folder of the same shape; families that it lacks are left out, but not all of them.

mod anchors;
mod bench;
mod chain;
mod exact;
mod locate;
mod reader;
mod tracks;
mod tree;
mod write;

use mrail_conformance::vectors::Folder;

/// Each family's test passes where the folder lacks it, so a folder of something else would pass them all.
#[test]
fn the_folder_has_some_family() {
    const FAMILIES: [&str; 11] = [
        "anchors",
        "anchors_dup",
        "chain",
        "encode_copy",
        "exact",
        "locate",
        "reader",
        "tracks",
        "tree",
        "tree_state",
        "write",
    ];
    let folder = Folder::find().unwrap();
    assert!(FAMILIES.iter().any(|family| folder.family(family).unwrap().is_some()), "{folder:?}");
}
