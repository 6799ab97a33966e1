//! Files and arguments that are wrong, and readers that go away.

use crate::program::{Folder, command, line, mrail, sample};
use std::io::Read;
use std::process::Stdio;

/// Every command that reads one map.
fn commands(map: &str) -> Vec<Vec<&str>> {
    let ask = |command| vec![command, map, "--tokens", "1,9690,198"];
    vec![
        vec!["info", map],
        vec!["verify", map],
        vec!["dump", map],
        vec!["tracks", map],
        ask("locate"),
        ask("answer"),
        ask("tree"),
        vec!["repair", "--dry-run", map],
    ]
}

#[test]
fn what_is_no_map_is_one_line_and_code_3() {
    let folder = Folder::new();
    let directory = folder.path("").into_os_string().into_string().unwrap();
    let newer = folder.file("newer", b"MRAIL\x04\0\0");
    for (path, what) in [
        (&*folder.file("empty", b""), "not a .mrail map: 0 bytes, and the magic alone has 8"),
        (&*folder.file("page", b"\n <!DOCTYPE html>..."), "not with \"MRAIL\" (a web page, it seems)"),
        (&*folder.file("noise", b"\x1b[2J\xFF\x00\x00\x00\x00"), "it starts with \"\\x1b[2J\\xff\\x00\\x00\\x00\""),
        (&*newer, "a .mrail map of format version 4"),
        (&*directory, "cannot be read: "),
        ("no/such.mrail", "cannot be read: "),
    ] {
        for args in commands(path) {
            for json in [false, true] {
                let args = [&args[..], if json { &["--json"] } else { &[] }].concat();
                let ended = mrail(&args).with(3);
                let error = ended.error();
                assert!(error.starts_with(&format!("{path}: ")) && error.contains(what), "{args:?}: {error}");
                assert_eq!(ended.out, "", "{args:?}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_code_3() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.file("secret", sample("empty.mrail"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_ok() {
        return; // Nothing is secret to an administrator.
    }
    assert!(mrail(["info", &path]).with(3).error().contains("ermission denied"));
    mrail(["repair", &path]).with(3);
}

#[test]
fn usage_is_code_2() {
    for args in [
        "",
        "frobnicate",
        "info",
        "verify",
        "merge out.mrail",
        "index coding.mrail",
        "locate coding.mrail",
        "locate coding.mrail --tokens x",
        "locate coding.mrail --tokens 4294967296",
        "locate coding.mrail --tokens 1 --run 2",
        "locate coding.mrail --at 3",
        "locate coding.mrail --tokens 1 --stride -1",
        "answer coding.mrail --run 1 --stop x",
        "tree coding.mrail --run 1 --budget -1",
    ] {
        assert_eq!(line(args).with(2).out, "", "{args}");
    }
}

#[test]
fn a_damaged_map_is_never_more_than_an_exit_code() {
    let folder = Folder::new();
    let whole = [sample("mixed.mrail"), sample("dup_anchor.mrail").split_off(8)].concat();
    let mut damaged: Vec<Vec<u8>> = (0..whole.len()).step_by(211).map(|cut| whole[..cut].to_vec()).collect();
    damaged.extend((8..whole.len()).step_by(173).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x81;
        bytes
    }));
    for bytes in damaged {
        let path = folder.file("map.mrail", &bytes);
        for args in commands(&path) {
            let ended = mrail(&args);
            assert!((0..=4).contains(&ended.code) && ended.code != 2, "{args:?} {ended:?}");
            assert!(!ended.err.contains("panicked"), "{args:?} {ended:?}");
        }
        if bytes.len() >= 8 {
            // Repair gives a map that opens whole, at which nothing is left to do.
            mrail(["repair", &path]).with(0);
            mrail(["repair", "--dry-run", &path]).with(0);
            let info = mrail(["info", "--json", &path]).with(0).value();
            assert!(info["tail"].is_null() && info["problem_count"] == 0, "{info}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [["dump", "anchors.mrail"], ["dump", "coding.mrail"]] {
        let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((child.wait().unwrap().code(), err), (Some(0), String::new()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(["dump", "coding.mrail"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: standard output: cannot be written"));
}
