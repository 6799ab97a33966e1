//! The reference's stored vectors and the hostile files, on 32 bits in a browser: the same results as anywhere.
//!
//! The rules of comparison are those of `tests/conformance`. Vectors with contexts of the corpus are left out, as are those
//! that only a file system can run.
#![cfg(target_arch = "wasm32")]

mod common;

use common::data;
use mrail::copy::encode_copy;
use mrail::draft::RailOptions;
use mrail::{Map, Options, PrefixHash, chain};
use mrail_conformance::hostile::hostile;
use mrail_conformance::sha::{hex, sha256, unhex};
use mrail_conformance::vectors::{Group, Place, locate_differs, resolve, sessions, tree_differs};
use mrail_conformance::verdict::verdict;
use serde::Deserialize;
use serde_json::Value;
use std::num::NonZeroUsize;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn words(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

/// A map by its name in the vectors; none for those whose contexts come from the corpus.
fn map(name: &str) -> Option<&'static [u8]> {
    match name {
        "maps/coding.mrail" => Some(data!("maps/coding.mrail")),
        "maps/general.mrail" => Some(data!("maps/general.mrail")),
        "maps/mixed.mrail" => Some(data!("maps/mixed.mrail")),
        "maps/stride64.mrail" => Some(data!("maps/stride64.mrail")),
        "maps/anchors.mrail" => Some(data!("maps/anchors.mrail")),
        "@synthetic.mrail" => Some(data!("vectors/synthetic.mrail")),
        "maps/tracks.mrail" => None,
        other => panic!("{other} is not here"),
    }
}

fn options(open: &Value) -> Options<'static> {
    let mut options = Options::reference();
    if let Some(stride) = open["stride"].as_u64().and_then(|stride| NonZeroUsize::new(stride as usize)) {
        options.stride = stride;
    }
    let RailOptions { nmax, prompts, borders } = options.rail;
    options.rail = RailOptions {
        nmax: open["nmax"].as_u64().map_or(nmax, |nmax| nmax as usize),
        prompts: open["rail_prompts"].as_bool().unwrap_or(prompts),
        borders,
    };
    options
}

/// Calls `check` for each case of each block whose map is here, and says how many there were.
fn each(vectors: &[u8], mut check: impl FnMut(&mut Map<'_>, Vec<u32>, &Value) -> Option<String>) -> usize {
    let mut checked = 0;
    for block in list(&json(vectors)) {
        let Some(name) = block["map"].as_str() else { continue };
        let Some(bytes) = map(name) else { continue };
        let mut map = Map::open(bytes, options(&block["open"])).unwrap();
        let own = sessions(bytes).unwrap();
        for case in list(&block["cases"]) {
            let context = resolve(&case["ctx"], &own).unwrap();
            if let Some(fault) = check(&mut map, context, case) {
                panic!("{name} {} {}: {fault}", block["open"], case["ctx"]);
            }
            checked += 1;
        }
    }
    checked
}

#[wasm_bindgen_test]
fn chains() {
    let vectors = json(data!("vectors/chain.json"));
    let mut checked = 0;
    for case in list(&vectors) {
        let counted = |seed: u64| (0..100_000u64).map(|i| (i * 2_654_435_761).wrapping_add(seed) as u32).collect();
        let tokens: Vec<u32> = case.get("tokens").map_or_else(|| counted(case["seed"].as_u64().unwrap()), words);
        let start: PrefixHash = case["h0"].as_str().unwrap().parse().unwrap();
        let hashes: Vec<String> = chain::chain_from(start, &tokens).iter().map(ToString::to_string).collect();
        assert_eq!((hashes.last().map(String::as_str), hashes.len()), (case["end"].as_str(), tokens.len() + 1));
        if let Some(all) = case["all_sha256"].as_str() {
            assert_eq!(sha256(&unhex(&hashes.concat()).unwrap()), all);
        }
        if let Some(wanted) = case["hashes"].as_array() {
            assert!(hashes.iter().eq(wanted), "{} tokens", tokens.len());
        }
        checked += 1;
    }
    assert_eq!(checked, 61);
}

#[wasm_bindgen_test]
fn contexts_are_located() {
    let checked = each(data!("vectors/locate.json"), |map, context, case| {
        let found = map.locate(&context);
        let got = Place {
            lcp: found.lcp,
            sid: found.run.map_or(-1, |run| i64::try_from(run).unwrap()),
            anchor: found.anchor.map(|(hash, _)| hash.to_string()),
            position: found.anchor.map_or(0, |(_, position)| position as u32),
        };
        locate_differs(&got, &Place::deserialize(case).unwrap(), case["nonmono"] == true)
    });
    assert_eq!(checked, 1300);
}

#[wasm_bindgen_test]
fn contexts_are_answered() {
    let checked = each(data!("vectors/exact.json"), |map, context, case| {
        let max_new = case["max_new"].as_u64().unwrap() as usize;
        // The reference does not tell "unknown" from "nothing".
        let found = map.answer(&context, max_new, &words(&case["stop"])).map(|answer| answer.tokens);
        let found = found.filter(|tokens| !tokens.is_empty());
        let wanted = (!case["answer"].is_null()).then(|| words(&case["answer"]));
        (found != wanted).then(|| format!("got {found:?}, want {wanted:?}"))
    });
    assert_eq!(checked, 1321);
}

fn tree(map: &mut Map<'_>, context: &[u32], case: &Value) -> Option<String> {
    let budget = case["budget"].as_u64().unwrap() as usize;
    let got: Vec<(u32, i64)> =
        map.rail().tree(context, budget).iter().map(|(token, parent)| (token, i64::from(parent))).collect();
    let groups: Vec<Group> = list(&case["groups"]).iter().map(|group| Group::read(group).unwrap()).collect();
    tree_differs(&got, &serde_json::from_value::<Vec<(u32, i64)>>(case["tree"].clone()).unwrap(), &groups)
}

#[wasm_bindgen_test]
fn drafts() {
    let vectors = data!("vectors/tree.json");
    let mut checked = each(vectors, |map, context, case| tree(map, &context, case));
    // A map that grows between the drafts.
    for block in list(&json(vectors)).iter().filter(|block| block["map"].is_null()) {
        let mut map = Map::open(Map::create().bytes(), options(&block["open"])).unwrap();
        let mut added = list(&block["sessions"]).iter();
        for case in list(&block["cases"]) {
            while (map.len() as u64) < case["after"].as_u64().unwrap_or(0) {
                let append = map.prepare_session(&words(added.next().unwrap()), 1).unwrap();
                map.commit(&append).unwrap();
            }
            let context = resolve(&case["ctx"], &[]).unwrap();
            assert_eq!(tree(&mut map, &context, case), None, "{}", case["ctx"]);
            checked += 1;
        }
    }
    assert_eq!(checked, 468);
}

#[wasm_bindgen_test]
fn answers_are_coded_as_copies() {
    let mut checked = 0;
    for case in list(&json(data!("vectors/encode_copy.json"))) {
        if list(&case["ctx"]).iter().any(|part| part.get("c").is_some()) {
            continue;
        }
        let (context, answer) = (resolve(&case["ctx"], &[]).unwrap(), words(&case["ans"]));
        let min_copy = case["min_copy"].as_u64().unwrap() as usize;
        assert!(encode_copy(&answer, &context, min_copy).is_ok());
        let map = Map::create();
        let append = map.prepare_track(&context, &answer, case["src"].as_str().unwrap(), min_copy).unwrap();
        assert_eq!(hex(&append.bytes()[5..]), case["packed"].as_str().unwrap(), "{answer:?}");
        checked += 1;
    }
    assert_eq!(checked, 120);
}

#[wasm_bindgen_test]
fn hostile_files_get_the_same_verdicts_as_anywhere() {
    let golden = json(include_bytes!("../../tests/fuzz/verdicts.json"));
    let files = hostile().unwrap();
    assert!(files.len() > 80);
    for (name, bytes) in files {
        assert_eq!(verdict(&bytes), golden[format!("{name}.mrail")], "{name}");
    }
}
