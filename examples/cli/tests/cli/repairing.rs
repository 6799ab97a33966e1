//! `repair`.

use crate::program::{Folder, mrail, sample};
use std::fs::File;

#[test]
fn a_torn_tail_is_cut_and_the_old_file_stays() {
    for name in ["torn_header", "torn_header5", "torn_payload", "torn_track", "torn_anchor"] {
        let torn = sample(&format!("{name}.mrail"));
        let folder = Folder::new();
        let path = folder.file("map.mrail", &torn);
        let report = mrail(["repair", "--json", &path]).with(0).value();
        assert_eq!((&report["written"], &report["recovered"]), (&true.into(), &0.into()), "{report}");
        assert_eq!(report["backup"].as_str(), Some(&*format!("{path}.bak")));
        assert_eq!(folder.names(), ["map.mrail", "map.mrail.bak"]);
        assert_eq!(folder.read("map.mrail.bak"), torn);
        let repaired = folder.read("map.mrail");
        assert!(torn.starts_with(&repaired) && repaired.len() < torn.len());
        mrail(["verify", &path]).with(0);
        assert_eq!(mrail(["merge", "--json", "--force", &path, &path]).with(0).err, "");
    }
}

#[test]
fn a_good_map_is_not_touched() {
    let folder = Folder::new();
    for name in ["coding.mrail", "anchors.mrail", "mixed.mrail", "tracks.mrail", "unknown_kind.mrail", "empty.mrail"] {
        let path = folder.file(name, sample(name));
        let before = std::fs::metadata(&path).unwrap();
        let text = mrail(["repair", &path]).with(0).out;
        assert!(text.contains("nothing to repair"), "{text}");
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    }
    assert_eq!(folder.names().len(), 6);
}

#[test]
fn hidden_records_are_found_and_no_backup_is_overwritten() {
    let folder = Folder::new();
    let whole = sample("general.mrail");
    let mut bytes = whole.clone();
    // The first record's length.
    bytes[11] = 0x70;
    let path = folder.file("map.mrail", &bytes);
    folder.file("map.mrail.bak", "older");
    folder.file("map.mrail.bak1", "old");
    mrail(["verify", &path]).with(4);
    let dry = mrail(["repair", "--dry-run", "--json", &path]).with(4).value();
    assert_eq!((&dry["written"], &dry["damaged"], &dry["kept"]), (&false.into(), &true.into(), &53.into()));
    assert_eq!(folder.read("map.mrail"), bytes);
    let report = mrail(["repair", "--json", &path]).with(0).value();
    assert_eq!((&report["kept"], &report["recovered"]), (&53.into(), &53.into()), "{report}");
    assert_eq!(folder.names(), ["map.mrail", "map.mrail.bak", "map.mrail.bak1", "map.mrail.bak2"]);
    assert_eq!((&*folder.read("map.mrail.bak"), &*folder.read("map.mrail.bak1")), (&b"older"[..], &b"old"[..]));
    assert_eq!(folder.read("map.mrail.bak2"), bytes);
    mrail(["verify", &path]).with(0);
    assert_eq!(mrail(["info", "--json", &path]).with(0).value()["uses"], 42);
}

#[test]
fn what_is_no_map_is_not_repaired() {
    let folder = Folder::new();
    for bytes in [&b""[..], b"MRAIL", b"<html>", b"MRAIL\x04\0\0", &[0; 64]] {
        let path = folder.file("map.mrail", bytes);
        mrail(["repair", &path]).with(3);
        assert_eq!(folder.read("map.mrail"), bytes);
    }
    assert_eq!(folder.names(), ["map.mrail"]);
    let directory = folder.path("").into_os_string().into_string().unwrap();
    mrail(["repair", &directory]).with(5);
    mrail(["repair", "nothing.mrail"]).with(3);
}

#[test]
fn a_map_that_somebody_writes_is_not_repaired() {
    let folder = Folder::new();
    let torn = sample("torn_header.mrail");
    let path = folder.file("map.mrail", &torn);
    let lock = File::open(&path).unwrap();
    lock.lock().unwrap();
    assert!(mrail(["repair", &path]).with(5).error().contains("locked by another process; nothing was written"));
    assert_eq!((folder.read("map.mrail"), folder.names().len()), (torn, 1));
    drop(lock);
    mrail(["repair", &path]).with(0);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let torn = sample("torn_header.mrail");
    folder.file("map.mrail", &torn);
    std::fs::set_permissions(folder.path("map.mrail"), PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::create_dir(folder.path("links")).unwrap();
    symlink(folder.path("map.mrail"), folder.path("links/link.mrail")).unwrap();
    let link = folder.path("links/link.mrail").into_os_string().into_string().unwrap();
    let report = mrail(["repair", "--json", &link]).with(0).value();
    assert!(report["backup"].as_str().unwrap().ends_with("map.mrail.bak"), "{report}");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(folder.names(), ["links", "map.mrail", "map.mrail.bak"]);
    assert_eq!(std::fs::metadata(folder.path("map.mrail")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(folder.read("map.mrail.bak"), torn);
}
