//! `locate`, `answer`, `tree`, `tracks`.

use crate::program::{Folder, append, fed, line, mrail, sample, samples};
use mrail::{Map, Options};
use serde_json::{Value, json};

#[test]
fn every_run_answers_its_own_context() {
    for run in [0, 1, 57, 197] {
        let dumped = line(&format!("dump --json coding.mrail --run {run}")).with(0).value();
        let start = dumped["gen_start"].as_u64().unwrap() as usize;
        let expected = &dumped["tokens"].as_array().unwrap()[start..];
        let answer = line(&format!("answer --json coding.mrail --run {run}")).with(0).value();
        assert_eq!(answer["tokens"].as_array().unwrap(), expected);
        let located = line(&format!("locate --json coding.mrail --run {run}")).with(0).value();
        assert_eq!((located["lcp"].as_u64(), &located["run"]), (Some(start as u64), &answer["run"]));
        // One token into the answer.
        let answer = line(&format!("answer --json coding.mrail --run {run} --at {}", start + 1)).with(0).value();
        assert_eq!(answer["tokens"].as_array().unwrap(), &expected[1..]);
    }
}

#[test]
fn answers_end_with_stop_max_new_or_their_run() {
    let end = |more: &str| line(&format!("answer --json mixed.mrail --run 1 {more}")).with(0).value();
    assert_eq!(end("")["end"], "run");
    assert_eq!(end("--stop 7,2")["end"], "stop");
    assert_eq!(end("--stop 282"), json!({"known": true, "run": 1, "tokens": [504, 3575, 282], "end": "stop"}));
    assert_eq!(end("--max-new 1"), json!({"known": true, "run": 1, "tokens": [504], "end": "max_new"}));
    assert_eq!(end("--max-new 0")["tokens"], json!([]));
    let text = line("answer mixed.mrail --run 1 --max-new 3").with(0).out;
    assert_eq!(text, "  run       1\n  answer    3 tokens, ends with --max-new\n  tokens    504 3575 282\n");
}

#[test]
fn what_a_map_does_not_know_is_told_and_is_code_1() {
    let unknown = line("answer --json coding.mrail --tokens 1,9690,7").with(1).value();
    assert_eq!(unknown, json!({"known": false, "lcp": 2, "context": 3}));
    let text = line("answer coding.mrail --tokens 1,9690,7").with(1).out;
    assert!(text.contains("3 tokens; it knows the first 2 tokens"), "{text}");
    assert_eq!(line("locate --json coding.mrail --tokens 5").with(1).value()["lcp"], 0);
    assert_eq!(line("locate --json coding.mrail --tokens 1,5").with(0).value()["lcp"], 1);
    assert_eq!(line("tree --json coding.mrail --tokens 4294967295").with(1).value()["tokens"], json!([]));
    line("answer empty.mrail --tokens 1").with(1);
    mrail(["locate", "empty.mrail", "--tokens", ""]).with(1);
}

#[test]
fn contexts_come_from_arguments_files_and_standard_input() {
    let folder = Folder::new();
    let located = |args: &[&str]| mrail([&["locate", "--json", "coding.mrail"], args].concat()).with(0).value();
    let expected = located(&["--tokens", "1,9690,198"]);
    assert_eq!(expected["lcp"], 3);
    assert_eq!(located(&["--tokens", "1 9690 198"]), expected);
    for text in ["[1, 9690, 198]\n", "1\n9690\n198\n", "1,9690,198"] {
        assert_eq!(located(&["--tokens-file", &folder.file("tokens", text)]), expected, "{text}");
        assert_eq!(fed("locate --json coding.mrail --tokens-file -", text).with(0).value(), expected, "{text}");
    }
    let bad = folder.file("bad", "1 2 x");
    let error = mrail(["locate", "coding.mrail", "--tokens-file", &bad]).with(2);
    assert!(error.error().ends_with("bad: \"x\", at place 2, is no token id (0 to 4294967295)"), "{}", error.err);
    line("locate coding.mrail --tokens-file nothing").with(3);
    let binary = folder.file("binary", [0xFF, 0xFE, 0]);
    mrail(["locate", "coding.mrail", "--tokens-file", &binary]).with(3);
}

#[test]
fn trees_are_the_librarys() {
    let bytes = sample("coding.mrail");
    let mut map = Map::open(&bytes[..], Options::default()).unwrap();
    let Some(mrail::map::Run::Session(session)) = map.run(3) else { panic!() };
    let context: Vec<u32> = session.context().iter().collect();
    for budget in [0, 1, 31, 500] {
        let tree = map.rail().tree(&context, budget);
        let code = i32::from(budget == 0);
        let drawn = line(&format!("tree --json coding.mrail --run 3 --budget {budget}")).with(code).value();
        assert_eq!((&drawn["tokens"], &drawn["parents"]), (&json!(tree.tokens()), &json!(tree.parents())));
        let text = line(&format!("tree coding.mrail --run 3 --budget {budget}")).with(code).out;
        let tokens = text.lines().skip(2).flat_map(|line| line.split(' ')).filter(|word| word.parse::<u32>().is_ok());
        assert_eq!(tokens.count(), tree.len(), "{text}");
    }
}

#[test]
fn foreign_maps_draft_and_count_first_but_never_answer() {
    let folder = Folder::new();
    let coding = samples().join("coding.mrail");
    let colon = folder.file("a:7", sample("coding.mrail"));
    let question = ["general.mrail", "--json", "--tokens-file"];
    let dumped = line("dump --json coding.mrail --run 2").with(0).value();
    let start = dumped["gen_start"].as_u64().unwrap() as usize;
    let context = Value::from(dumped["tokens"].as_array().unwrap()[..start].to_vec());
    let context = folder.file("context", context.to_string());
    let ask = |command: &str, foreign: &str| {
        let args = [&[command], &question[..], &[&context, "--foreign", foreign]].concat();
        mrail(args)
    };
    for foreign in [coding.to_str().unwrap(), &colon, &format!("{colon}:3")] {
        ask("answer", foreign).with(1);
        assert_eq!(ask("locate", foreign).with(0).value()["lcp"].as_u64(), Some(start as u64), "{foreign}");
    }
    // Two runs of the foreign map do not reach the third.
    assert_ne!(ask("locate", &format!("{colon}:2")).with(0).value()["lcp"].as_u64(), Some(start as u64));
    let log = |foreign: &str| ask("tree", foreign).value()["log"].as_u64().unwrap();
    assert_eq!(log(&colon), 31678 + 4305);
    assert_eq!(log(&format!("{colon}:0")), 4305);
    // Foreign runs are numbered first.
    let shifted = mrail(["answer", "general.mrail", "--json", "--run", "5", "--foreign", &format!("{colon}:5")]);
    assert_eq!(shifted.with(0).value()["run"], 5);
    let missing = ask("locate", "nothing:3").with(3);
    assert!(missing.error().starts_with("nothing: cannot be read"), "{}", missing.err);
    let html = folder.file("page", "<html></html>");
    let error = ask("locate", &html).with(3);
    assert!(error.error().contains("page: offset 0: not a .mrail map"), "{}", error.err);
}

#[test]
fn a_stride_indexes_fewer_prefixes_of_prompts() {
    let locate = |more: &str| line(&format!("locate --json stride64.mrail --run 91 --at 5000 {more}"));
    assert_eq!(locate("").with(0).value()["lcp"], 5000);
    let some = locate("--stride 64").with(0).value();
    assert_eq!((&some["lcp"], &some["shared"]), (&json!(4992), &json!(5000)));
    let none = locate("--stride 18446744073709551615").with(1).value();
    assert_eq!((&none["lcp"], &none["shared"]), (&json!(0), &json!(5000)));
    line("answer stride64.mrail --run 0 --stride 18446744073709551615").with(0);
    line("locate stride64.mrail --run 0 --stride 0").with(2);
    line("locate stride64.mrail --run 0 --stride 18446744073709551616").with(2);
}

#[test]
fn tracks_are_listed_and_decoded_against_their_context() {
    let tracks = line("tracks --json tracks.mrail").with(0).values();
    assert_eq!(tracks.len(), 36);
    let made: Value = serde_json::from_slice(&sample("tracks.json")).unwrap();
    for (track, made) in tracks.iter().zip(made["tracks"].as_array().unwrap()) {
        assert_eq!(track["answer_len"].as_u64(), Some(made["answer"].as_array().unwrap().len() as u64));
    }
    assert_eq!(line("tracks general.mrail").with(0).out, "  no tracks\n");
    assert_eq!(line("tracks general.mrail --run 0").with(2).error(), "--run 0: a session, and no track");
    line("tracks tracks.mrail --tokens 1").with(2);

    let folder = Folder::new();
    let mut map = Map::create();
    append(&mut map, |map| map.prepare_track(&[1, 2, 3, 4, 5], &[2, 3, 4, 5, 9], "source", 4).unwrap());
    let path = folder.file("a.mrail", map.bytes());
    let ops = mrail(["tracks", "--json", &path, "--run", "0"]).with(0).value();
    assert_eq!(ops["ops"], json!([{"copy": [1, 4]}, {"lit": [9]}]));
    let context = folder.file("context", "[1,2,3,4,5]");
    let decoded = mrail(["tracks", "--json", &path, "--run", "0", "--tokens-file", &context]).with(0).value();
    assert_eq!(decoded["tokens"], json!([2, 3, 4, 5, 9]));
    let wrong = mrail(["tracks", &path, "--run", "0", "--tokens", "1,2,3,4,6"]).with(1).out;
    assert!(wrong.contains("none: these 5 tokens are not the track's context"), "{wrong}");
    // Its context answers, and so does a place inside its answer.
    let answer = mrail(["answer", "--json", &path, "--tokens", "1,2,3,4,5,2"]).with(0).value();
    assert_eq!(answer["tokens"], json!([3, 4, 5, 9]));
    let drafted = mrail(["tree", "--json", &path, "--tokens", "1,2,3,4,5"]).with(0).value();
    assert_eq!(drafted["tracks"], 1);
    assert!(drafted["tokens"].as_array().unwrap().starts_with(&[2, 3, 4, 5, 9].map(Value::from)), "{drafted}");
}

#[test]
fn runs_that_are_not_there_are_usage() {
    assert_eq!(line("answer coding.mrail --run 198").with(2).error(), "--run 198: the map has runs 0 to 197");
    assert_eq!(line("answer empty.mrail --run 0").with(2).error(), "--run 0: the map has no runs");
    assert!(line("answer mixed.mrail --run 1 --at 46").with(2).error().starts_with("--at 46: run 1 has 45 tokens"));
    assert!(line("answer mixed.mrail --run 6").with(2).error().contains("a track"));
    // The end of a run answers nothing.
    line("answer mixed.mrail --run 1 --at 45").with(1);
    assert_eq!(line("answer --limit 1 mixed.mrail --run 1").with(2).error(), "--run 1: the map has one run, 0");
}
