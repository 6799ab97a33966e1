//! `merge`.

use crate::program::{Folder, line, mrail, sample, samples};
use mrail::{Map, Options};
use std::fs::File;

/// Merges sample maps; returns the first line.
fn merge(out: &str, maps: &[&str]) -> String {
    let ended = mrail([&["merge", out], maps].concat()).with(0);
    ended.out.lines().next().unwrap().to_owned()
}

#[test]
fn the_references_line_comes_first() {
    let folder = Folder::new();
    let out = folder.path("out.mrail").into_os_string().into_string().unwrap();
    // As the reference 0.4.0 prints them, but where maps share runs: it says 254 for the third, here equal runs stay once.
    // At tracks it crashes.
    for (maps, runs) in [
        (&["coding.mrail", "general.mrail"][..], 238),
        (&["coding.mrail"], 198),
        (&["anchors.mrail", "coding.mrail", "general.mrail"], 238),
        (&["empty.mrail"], 0),
    ] {
        let expected = format!("{out}: {runs} runs (anchors are not copied: they belong to the exact model state)");
        assert_eq!(merge(&out, maps), expected);
        std::fs::remove_file(&out).unwrap();
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_merged_map_answers_what_its_parts_do() {
    let folder = Folder::new();
    let out = folder.path("out.mrail").into_os_string().into_string().unwrap();
    let names = ["coding.mrail", "general.mrail", "mixed.mrail", "tracks.mrail", "coding.mrail"];
    let merged = mrail([&["merge", "--json", &out], &names[..]].concat()).with(0).value();
    assert_eq!((merged["runs"].as_u64(), merged["tracks"].as_u64()), (Some(238 + 37), Some(37)), "{merged}");
    mrail(["verify", &out]).with(0);
    let map = Map::open(folder.read("out.mrail"), Options::default()).unwrap();
    for name in names {
        let part = Map::open(sample(name), Options::default()).unwrap();
        for run in 0..part.len() {
            if let Some(mrail::map::Run::Session(session)) = part.run(run) {
                let context: Vec<u32> = session.context().iter().collect();
                let tokens = |map: &Map<'_>| map.answer(&context, 100, &[2]).map(|answer| answer.tokens);
                assert_eq!(tokens(&map), tokens(&part), "{name} run {run}");
            }
        }
    }
    assert_eq!(mrail(["info", "--json", &out]).with(0).value()["uses"], 44);
}

#[test]
fn torn_tails_are_left_out_with_a_warning() {
    let folder = Folder::new();
    let out = folder.path("out.mrail").into_os_string().into_string().unwrap();
    let ended = mrail(["merge", &out, "torn_track.mrail", "torn_header.mrail"]).with(0);
    assert_eq!(ended.err.lines().filter(|line| line.starts_with("warning: torn_")).count(), 2, "{}", ended.err);
    assert!(ended.out.starts_with(&format!("{out}: 40 runs (")), "{}", ended.out);
    mrail(["verify", &out]).with(0);
}

#[test]
fn an_existing_file_is_replaced_only_by_force() {
    let folder = Folder::new();
    let out = folder.file("out.mrail", "precious");
    let error = mrail(["merge", &out, "coding.mrail"]).with(5);
    assert!(error.error().contains("out.mrail: exists already; nothing was written"), "{}", error.err);
    assert_eq!(folder.read("out.mrail"), b"precious");
    mrail(["merge", "--force", &out, "coding.mrail"]).with(0);
    // It may be one of the maps: it is read first.
    let merged = mrail(["merge", "--force", &out, "general.mrail", &out]).with(0);
    assert!(merged.out.starts_with(&format!("{out}: 238 runs")), "{}", merged.out);
    mrail(["verify", &out]).with(0);
    assert_eq!(folder.names(), ["out.mrail"]);
}

#[test]
fn a_bad_map_stops_the_merge_before_anything_is_written() {
    let folder = Folder::new();
    let out = folder.path("out.mrail").into_os_string().into_string().unwrap();
    let page = folder.file("page.mrail", "<!doctype html><title>404</title>");
    let error = mrail(["merge", &out, "coding.mrail", &page]).with(3);
    assert!(error.error().contains("page.mrail: offset 0: not a .mrail map"), "{}", error.err);
    mrail(["merge", &out, "coding.mrail", "nothing.mrail"]).with(3);
    let mut bytes = sample("mixed.mrail");
    bytes[17] = 0xFF;
    let damaged = folder.file("damaged.mrail", &bytes);
    let error = mrail(["merge", &out, &damaged]).with(4);
    assert!(error.error().contains("damaged.mrail: offset 8: a session record"), "{}", error.err);
    let old = folder.file("old.mrail", "old");
    mrail(["merge", "--force", &old, "coding.mrail", &page]).with(3);
    assert_eq!(folder.read("old.mrail"), b"old");
    assert_eq!(folder.names(), ["damaged.mrail", "old.mrail", "page.mrail"]);
    let merged = mrail(["merge", "--skip-damaged", &out, &damaged]).with(0);
    assert!(merged.out.starts_with(&format!("{out}: 9 runs")), "{}", merged.out);
}

#[test]
fn a_place_where_nothing_can_be_written_is_refused() {
    let folder = Folder::new();
    let missing = folder.path("no/out.mrail").into_os_string().into_string().unwrap();
    assert!(mrail(["merge", &missing, "coding.mrail"]).with(5).error().contains("its folder does not exist"));
    let directory = folder.path("").into_os_string().into_string().unwrap();
    mrail(["merge", &directory, "coding.mrail"]).with(5);
    mrail(["merge", "--force", &directory, "coding.mrail"]).with(5);
    line("merge only-out.mrail").with(2);
    assert!(!samples().join("only-out.mrail").exists());
}

#[test]
fn a_map_that_somebody_writes_is_not_replaced() {
    let folder = Folder::new();
    let out = folder.file("out.mrail", sample("empty.mrail"));
    let lock = File::open(&out).unwrap();
    lock.lock().unwrap();
    let error = mrail(["merge", "--force", &out, "coding.mrail"]).with(5);
    assert!(error.error().contains("locked by another process"), "{}", error.err);
    assert_eq!(folder.read("out.mrail"), sample("empty.mrail"));
    drop(lock);
    mrail(["merge", "--force", &out, "coding.mrail"]).with(0);
}

#[cfg(unix)]
#[test]
fn a_new_map_is_readable_like_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
    folder.file("plain", "");
    let out = folder.path("out.mrail").into_os_string().into_string().unwrap();
    mrail(["merge", &out, "coding.mrail"]).with(0);
    assert_eq!(mode("out.mrail"), mode("plain"));
}
