//! `size` and `index`.

use crate::program::{Folder, line, mrail, sample};
use mrail::fixed::{Map, Rules, Tables};
use std::fs;

#[test]
fn the_type_that_size_prints_holds_the_map() {
    let text = line("size coding.mrail").with(0).out;
    let paste = text.lines().next().unwrap();
    assert_eq!(paste, "type Tables = mrail::fixed::Tables<198, 0, 0, 0>;");
    assert!(Map::<Tables<198, 0, 0, 0>>::open(&sample("coding.mrail"), Rules::default()).is_ok());
    assert!(text.contains("\n  RAM       2,396 bytes"), "{text}");
    let sizes = line("size --json mixed.mrail").with(0).value();
    let size = |name: &str| sizes[name].as_u64().unwrap();
    let (runs, tracks, anchors, uses) = (size("runs"), size("tracks"), size("anchors"), size("uses"));
    assert_eq!(size("ram_bytes"), 12 * runs + 16 * (tracks + anchors + uses) + 20);
    assert_eq!(sizes["type"], format!("Tables<{runs}, {tracks}, {anchors}, {uses}>"));
    line("size coding_runs.jsonl").with(3);
}

#[test]
fn a_map_answers_with_the_hint_that_index_writes() {
    let folder = Folder::new();
    let out = folder.path("general.idx").into_os_string().into_string().unwrap();
    mrail(["index", "general.mrail", "-o", &out]).with(0);
    let (map, hint) = (sample("general.mrail"), folder.read("general.idx"));
    let fixed = Map::open_with_hint(&map, &hint, Rules::default()).unwrap();
    assert_eq!(line("size --json general.mrail").value()["hint_bytes"], hint.len());
    let run = fixed.run(3).unwrap();
    let mrail::fixed::Run::Session(session) = run else { panic!("a session") };
    let context: Vec<u32> = session.context().iter().collect();
    assert!(fixed.answer(&context, 9, &[]).is_some());
    let value = mrail(["index", "--json", "--force", "general.mrail", "--out", &out]).with(0).value();
    assert_eq!(
        (value["bytes"].as_u64(), value["covered_bytes"].as_u64()),
        (Some(hint.len() as u64), Some(map.len() as u64))
    );
    assert_eq!(folder.read("general.idx"), hint);
}

#[test]
fn a_hint_replaces_nothing_unasked_and_no_map_at_all() {
    let folder = Folder::new();
    let out = folder.file("out.idx", "precious");
    let error = mrail(["index", "general.mrail", "-o", &out]).with(5);
    assert!(error.error().contains("exists already"), "{}", error.err);
    assert_eq!(folder.read("out.idx"), b"precious");
    let map = folder.file("map.mrail", sample("mixed.mrail"));
    mrail(["index", "--force", &map, "-o", &map]).with(2);
    assert_eq!(fs::read(&map).unwrap(), sample("mixed.mrail"));
}

#[test]
fn a_torn_tail_is_left_out_of_a_hint() {
    let folder = Folder::new();
    let out = folder.path("torn.idx").into_os_string().into_string().unwrap();
    let ended = mrail(["index", "torn_header.mrail", "-o", &out]).with(0);
    assert!(ended.err.starts_with("warning: torn_header.mrail: offset "), "{}", ended.err);
    assert!(Map::open_with_hint(&sample("torn_header.mrail"), &folder.read("torn.idx"), Rules::default()).is_ok());
}
