//! What the firmware asks, what a computer answers to it, and how the two are compared.

pub mod elf;
pub mod output;

use mrail::{Map, Options, PrefixHash};

/// The map that lies in flash.
pub const MAP: &[u8] = include_bytes!("../../../../tests/data/maps/general.mrail");
/// Prompts that no run of the map is an answer to.
const HELD_OUT: &str = include_str!("../../../../tests/data/maps/heldout.jsonl");

/// Prompts that the map answers, and such that it does not.
pub const KNOWN: usize = 10;
/// See [`KNOWN`]; these come last.
pub const UNKNOWN: usize = 5;
/// Longest answer asked for.
pub const MAX_NEW: usize = 96;
/// What ends an answer: `<|im_end|>`.
pub const STOP: &[u32] = &[2];

fn map() -> Map<'static> {
    Map::open(MAP, Options::default()).expect("the map is a map")
}

/// The map's hint, as `mrail index` writes it.
pub fn hint() -> Vec<u8> {
    mrail::fixed::hint::build(MAP).expect("the map is a map")
}

/// Ten contexts of the map's own runs, from all over it, then five prompts that it has no answer to.
pub fn prompts() -> Vec<Vec<u32>> {
    let map = map();
    let contexts = (0..map.len()).filter_map(|run| match map.run(run)? {
        mrail::map::Run::Session(session) => Some(session.context().iter().collect::<Vec<u32>>()),
        mrail::map::Run::Track(_) => None,
    });
    let known: Vec<_> = contexts.step_by(map.len() / KNOWN).take(KNOWN).collect();
    let held_out = HELD_OUT.lines().map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        serde_json::from_value::<Vec<u32>>(value["prompt"].clone()).expect("a list of token ids")
    });
    let unknown: Vec<_> = held_out.filter(|prompt| map.answer(prompt, 1, STOP).is_none()).take(UNKNOWN).collect();
    assert_eq!((known.len(), unknown.len()), (KNOWN, UNKNOWN));
    [known, unknown].concat()
}

/// What the firmware must print for the prompts, without its measurements: from the reader that has an allocator.
pub fn answers() -> Vec<String> {
    let map = map();
    let answer = |prompt: &Vec<u32>| match map.answer(prompt, MAX_NEW, STOP) {
        Some(answer) => format!("answer {}", joined(answer.tokens.iter())),
        None => format!("unknown after {}", map.locate(prompt).lcp),
    };
    prompts().iter().map(answer).collect()
}

/// A map of one track: an answer of which most is copied from a long context, all prompts one behind the other.
pub fn track() -> Vec<u8> {
    let context = prompts().concat();
    let copied = context.get(100..130).expect("there are some hundred tokens");
    let answer = [&[504, 3575, 282][..], copied, &[30, 2]].concat();
    let map = Map::create();
    let mut file = map.bytes();
    map.prepare_track(&context, &answer, "prompts", 4).expect("it is short").apply_to(&mut file);
    file
}

/// The same for the track, asked for with its context.
pub fn of_track() -> Vec<String> {
    let map = Map::open(track(), Options::default()).expect("it was just made");
    let answer = map.answer(&prompts().concat(), MAX_NEW, STOP).expect("its own context");
    vec![format!("answer {}", joined(answer.tokens.iter()))]
}

/// The same for drafts of 31 nodes: token and parent of each, parents counted from 1.
pub fn drafts() -> Vec<String> {
    let mut map = map();
    let mut draft = |prompt: &Vec<u32>| {
        let tree = map.rail().tree(prompt, 31);
        format!("tree {}", joined(tree.iter().map(|(token, parent)| format!("{token}/{}", parent + 1))))
    };
    prompts().iter().map(&mut draft).collect()
}

/// The same for a map that starts empty and learns an answer to the last prompt, and that it was used once: the file's
/// length and checksum, then its answer.
pub fn grown() -> Vec<String> {
    let prompts = prompts();
    let prompt = prompts.last().expect("there are some");
    let run = [prompt, &[520, 725, 2][..]].concat();
    let mut file = Map::create().bytes();
    let mut map = Map::open(file.clone(), Options::default()).expect("it was just made");
    let session = map.prepare_session(&run, prompt.len()).expect("it is short");
    session.apply_to(&mut file);
    map.commit(&session).expect("nothing came between");
    map.prepare_use(PrefixHash::of(prompt), 1).expect("it is short").apply_to(&mut file);

    let checksum = file.iter().fold(0_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let map = Map::open(&file, Options::default()).expect("it was just made");
    let answer = map.answer(prompt, MAX_NEW, STOP).expect("it was learned");
    vec![format!("file {} {checksum}", file.len()), format!("answer {}", joined(answer.tokens.iter()))]
}

/// The same for a hash.
pub fn hash() -> Vec<String> {
    vec![format!("hash {}", joined(PrefixHash::of(&[1, 2, u32::MAX]).0.iter()))]
}

fn joined(words: impl Iterator<Item: ToString>) -> String {
    words.map(|word| word.to_string()).collect::<Vec<_>>().join(" ")
}
