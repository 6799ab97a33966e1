//! `info` and `dump`.

use crate::program::{Folder, command, ended, line, mrail, sample, samples};
use serde_json::Value;

/// What the reference prints for these maps (`python -m mrail info MAP`, version 0.4.0).
const REFERENCE: [&str; 11] = [
    "coding.mrail: 198 runs, 31678 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.13 MB",
    "general.mrail: 40 runs, 4305 tokens, 0 anchors (0 full, 0 delta), 42 uses, 0.02 MB",
    "anchors.mrail: 16 runs, 3935 tokens, 83 anchors (12 full, 71 delta), 4294967395 uses, 0.36 MB",
    "stride64.mrail: 92 runs, 50055 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.20 MB",
    "empty.mrail: 0 runs, 0 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.00 MB",
    "dup_anchor.mrail: 0 runs, 0 tokens, 4 anchors (1 full, 3 delta), 0 uses, 0.00 MB",
    "unknown_kind.mrail: 30 runs, 4098 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.02 MB",
    "torn_header.mrail: 30 runs, 4098 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.02 MB",
    "torn_header5.mrail: 30 runs, 4098 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.02 MB",
    "torn_payload.mrail: 30 runs, 4098 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.02 MB",
    "torn_anchor.mrail: 3 runs, 734 tokens, 15 anchors (3 full, 12 delta), 4 uses, 0.07 MB",
];

/// Maps with tracks, at which the reference crashes.
const WITH_TRACKS: [&str; 3] = [
    "tracks.mrail: 37 runs, 111 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.01 MB",
    "mixed.mrail: 10 runs, 772 tokens, 0 anchors (0 full, 0 delta), 2 uses, 0.00 MB",
    "torn_track.mrail: 10 runs, 0 tokens, 0 anchors (0 full, 0 delta), 0 uses, 0.00 MB",
];

fn all() -> impl Iterator<Item = &'static str> {
    REFERENCE.into_iter().chain(WITH_TRACKS)
}

#[test]
fn info_prints_the_references_line_first() {
    for expected in all() {
        let name = expected.split(':').next().unwrap();
        let ended = mrail(["info", name]).with(0);
        assert_eq!(ended.out.lines().next(), Some(expected));
        assert_eq!(ended.err, "");
    }
    let names: Vec<_> = all().map(|expected| expected.split(':').next().unwrap()).collect();
    let together = mrail([&["info"], &names[..]].concat()).with(0);
    for expected in all() {
        assert!(together.out.lines().any(|line| line == expected), "{expected}");
    }
}

#[test]
fn info_in_json_counts_what_the_maps_were_made_with() {
    let stats: Value = serde_json::from_slice(&sample("STATS.json")).unwrap();
    for (name, stats) in stats.as_object().unwrap() {
        let info = mrail(["info", "--json", name]).with(0).value();
        // A torn record whose header is there was counted when the sample was made.
        let torn =
            u64::from(["torn_header5", "torn_payload", "torn_anchor", "torn_track"].contains(&&name[..name.len() - 6]));
        let number = |value: &Value, key: &str| value[key].as_u64().unwrap_or_else(|| panic!("{name} {key}"));
        for (here, there) in [
            ("bytes", "bytes"),
            ("sessions", "runs"),
            ("tracks", "tracks"),
            ("tokens", "tokens"),
            ("answer_tokens", "model_tokens"),
            ("uses", "use"),
        ] {
            assert_eq!(number(&info, here), number(stats, there), "{name} {here}");
        }
        assert_eq!(number(&info, "records") + torn, number(stats, "records"), "{name}");
        assert_eq!(number(&info, "prompt_tokens") + number(&info, "answer_tokens"), number(&info, "tokens"));
        let kinds = info["kinds"].as_object().unwrap();
        let of_kinds: u64 = kinds.values().map(|kind| kind["records"].as_u64().unwrap()).sum();
        assert_eq!(of_kinds, number(&info, "records"), "{name}");
        let bytes: u64 = kinds.values().map(|kind| kind["bytes"].as_u64().unwrap()).sum();
        assert_eq!(8 + bytes, number(&info, "valid_bytes"), "{name}");
        assert_eq!(info["tail"].is_null(), !name.starts_with("torn"), "{name}");
        if name != "dup_anchor.mrail" {
            assert_eq!(number(&info, "anchors_full"), number(stats, "anchors_full"), "{name}");
            assert_eq!(number(&info, "anchors_delta"), number(stats, "anchors_delta"), "{name}");
        }
    }
}

#[test]
fn info_tells_of_tails_and_of_records_that_cannot_be_read() {
    let torn = line("info torn_track.mrail").with(0);
    assert!(torn.out.contains("offset 3621: 53 bytes of one torn record"), "{}", torn.out);
    let folder = Folder::new();
    let mut bytes = sample("mixed.mrail");
    // The number of tokens of the first session.
    bytes[17] = 0xFF;
    bytes.extend([0xFF; 40]);
    let damaged = mrail(["info", &folder.file("damaged.mrail", bytes)]).with(0);
    assert!(damaged.out.contains("offset 8: a session record that cannot be read"), "{}", damaged.out);
    assert!(damaged.out.contains("40 bytes that are no record"), "{}", damaged.out);
}

#[test]
fn info_goes_on_after_a_bad_file() {
    let ended = line("info STATS.json nothing.mrail empty.mrail").with(3);
    assert!(ended.out.starts_with("empty.mrail: 0 runs"), "{}", ended.out);
    assert_eq!(ended.err.lines().count(), 2);
}

#[test]
fn dump_prints_every_record_and_the_tail() {
    let stats: Value = serde_json::from_slice(&sample("STATS.json")).unwrap();
    for name in ["coding.mrail", "anchors.mrail", "mixed.mrail", "unknown_kind.mrail", "empty.mrail"] {
        let records = mrail(["dump", "--json", name]).with(0).values();
        assert_eq!(records.len() as u64, stats[name]["records"].as_u64().unwrap(), "{name}");
        let mut at = 8;
        for record in &records {
            assert_eq!(record["offset"].as_u64(), Some(at), "{name}");
            at += record["bytes"].as_u64().unwrap();
        }
        assert_eq!(at, stats[name]["bytes"].as_u64().unwrap());
        let runs: Vec<_> = records.iter().filter_map(|record| record["run"].as_u64()).collect();
        assert!(runs.iter().copied().eq(0..runs.len() as u64), "{name}");
        let lines = mrail(["dump", name]).with(0).out;
        let heads = lines.lines().filter(|line| !line.starts_with(' ')).count();
        assert_eq!(heads, records.len(), "{name}");
    }
    let torn = line("dump --json torn_track.mrail").with(0).values();
    assert_eq!(torn.len(), 11);
    assert_eq!(torn[10]["tail"]["state"], "torn");
}

#[test]
fn dump_prints_whole_runs_as_they_were_recorded() {
    let runs = String::from_utf8(sample("coding_runs.jsonl")).unwrap();
    let dumped = line("dump --json coding.mrail").with(0).values();
    for (run, record) in runs.lines().zip(dumped) {
        let run: Value = serde_json::from_str(run).unwrap();
        let numbers = |key: &str| run[key].as_array().unwrap_or_else(|| panic!("{key} of {run}")).clone();
        assert_eq!(record["tokens"].as_array().unwrap()[..], [numbers("prompt"), numbers("answer")].concat());
    }
    let one = line("dump --run 6 mixed.mrail").with(0).out;
    assert!(one.contains("source    \"corpus:0:20000\"\n") && one.contains("literal   7 2\n"), "{one}");
    assert_eq!(line("dump --run 10 mixed.mrail").with(2).error(), "--run 10: the map has runs 0 to 9");
}

#[test]
fn a_track_cannot_speak_to_the_terminal() {
    let folder = Folder::new();
    let mut map = mrail::Map::create();
    crate::program::append(&mut map, |map| map.prepare_track(&[1], &[2], "\u{1b}[2J\u{202e}x\n", 4).unwrap());
    let path = folder.file("a.mrail", map.bytes());
    for args in [vec!["tracks", &path], vec!["tracks", &path, "--run", "0"], vec!["dump", &path]] {
        let out = mrail(args).with(0).out;
        assert!(out.contains("\\u{1b}[2J\\u{202e}x\\n") && !out.contains('\u{1b}'), "{out}");
    }
}

#[test]
fn no_colour_but_on_a_terminal() {
    for args in ["info mixed.mrail", "verify torn_header.mrail", "dump mixed.mrail", "info nothing", "--help"] {
        let ended = line(args);
        assert!(!ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'), "{args}");
    }
    let forced = ended(command(["info", "torn_header.mrail"]).env("CLICOLOR_FORCE", "1")).with(0);
    assert!(forced.out.contains('\u{1b}'));
    let refused = ended(command(["info", "torn_header.mrail"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
    assert!(!refused.out.contains('\u{1b}'), "{}", refused.out);
}

#[test]
fn help_documents_the_exit_codes() {
    let help = line("--help").with(0).out;
    for code in ["0  done", "1  the map does not know", "2  usage", "3  a file", "4  damaged", "5  refused"] {
        assert!(help.contains(code), "{code}");
    }
    assert!(samples().is_dir());
}
