//! Maps made of a file of prompts: interrupted, resumed, refused.

use crate::program::Folder;
use mrail::Map;
use serde_json::json;

const MAKE: &str = "make --model tiny.gguf --backend cpu --max-new 12 --json";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("prompts.txt", "one\n\ntwo words\nthree of them\nfour\n");
    folder
}

#[test]
fn a_map_answers_what_it_was_made_of() {
    let folder = folder();
    let made = folder.run(&format!("{MAKE} out.mrail prompts.txt")).with(0).value();
    assert_eq!((&made["prompts"], &made["made"], &made["known"]), (&json!(4), &json!(4), &json!(0)));
    let about: serde_json::Value = serde_json::from_slice(&folder.bytes("out.json")).expect("JSON");
    assert_eq!(about["model"]["name"], "tiny.gguf");
    assert_eq!(about["numerics"]["kv"], "f16");
    let map = Map::open(folder.bytes("out.mrail"), mrail::Options::default()).expect("a map");
    assert_eq!(map.len(), 4);
    let asked = folder.run("--model tiny.gguf --max-new 12 --json --prompt two%words --map out.mrail").with(0).value();
    assert_eq!((&asked["from"], &asked["evaluated"]), (&json!("map"), &json!(0)));
    // What it knows is not computed again.
    let again = folder.run(&format!("{MAKE} out.mrail prompts.txt")).with(0).value();
    assert_eq!((&again["made"], &again["known"], &again["evaluated"]), (&json!(0), &json!(4), &json!(0)));
    // People get a line.
    let told = folder.run("make --model tiny.gguf --max-new 12 out.mrail prompts.txt").with(0);
    assert!(told.err.starts_with("out.mrail: 0 answers made, 4 known before"), "{}", told.err);
}

#[test]
fn what_was_interrupted_goes_on_to_the_same_map() {
    let folder = folder();
    folder.run(&format!("{MAKE} whole.mrail prompts.txt")).with(0);
    let whole = folder.bytes("whole.mrail");
    let made = folder.run(&format!("{MAKE} part.mrail prompts.txt --limit 2")).with(0).value();
    assert_eq!(made["made"], 2);
    let two = folder.bytes("part.mrail");
    assert!(whole.starts_with(&two) && two.len() < whole.len());
    // Killed in the middle of the third record, or of the magic.
    for cut in [two.len() + 1, two.len() + 20, whole.len() - 1, 3, 8, 0] {
        std::fs::write(folder.path("part.mrail"), &whole[..cut]).expect("written");
        folder.run(&format!("{MAKE} part.mrail prompts.txt")).with(0);
        assert!(folder.bytes("part.mrail") == whole, "cut at {cut}");
    }
}

#[test]
fn prompts_may_be_tokens() {
    let folder = folder();
    folder.write(
        "prompts.jsonl",
        "{\"prompt\": [5, 6, 7], \"answer\": [1]}\n{\"request\": \"four\"}\n{\"prompt\": \"one\"}\n",
    );
    let made = folder.run(&format!("{MAKE} out.mrail prompts.jsonl")).with(0).value();
    assert_eq!(made["made"], 3);
    let made = folder.run(&format!("{MAKE} out.mrail prompts.txt")).with(0).value();
    assert_eq!((&made["made"], &made["known"]), (&json!(2), &json!(2)));
    folder.write("bad.jsonl", "{\"prompt\": [5]}\n{\"prompt\": [999]}\n");
    let refused = folder.run(&format!("{MAKE} bad.mrail bad.jsonl")).with(2);
    assert_eq!(refused.error(), "bad.jsonl: prompt 2: token 0 of the context is 999, and the model's are below 320");
}

#[test]
fn damaged_maps_and_those_of_others_are_left_alone() {
    let folder = folder();
    folder.run(&format!("{MAKE} out.mrail prompts.txt --limit 1")).with(0);
    let refused = folder.run(&format!("{MAKE} out.mrail prompts.txt --kv f32")).with(4);
    assert!(refused.error().contains("--foreign"), "{}", refused.err);
    // One without a record, and without anything that says whose it is, is taken as new.
    std::fs::write(folder.path("begun.mrail"), Map::create().bytes()).expect("written");
    folder.run(&format!("{MAKE} begun.mrail prompts.txt --limit 1")).with(0);
    folder.run(&format!("{MAKE} begun.mrail prompts.txt --kv f32")).with(4);
    let mut bytes = folder.bytes("out.mrail");
    bytes.extend([1, 200, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
    std::fs::write(folder.path("out.mrail"), &bytes).expect("written");
    let refused = folder.run(&format!("{MAKE} out.mrail prompts.txt")).with(4);
    assert!(refused.error().contains("`mrail repair` looks"), "{}", refused.err);
    assert_eq!(folder.bytes("out.mrail"), bytes);
}
