use super::bench::{Bench, list};
use mrail_conformance::sha::{sha256, unhex};
use serde_json::{Value, json};

#[test]
fn chain() {
    let Some((mut bench, vectors)) = Bench::of("chain") else { return };
    for case in list(&vectors) {
        // Long chains are given by a seed.
        let counted =
            |seed: u64| (0..100_000_u64).map(move |i| (i * 2_654_435_761).wrapping_add(seed) as u32).collect();
        let given = |tokens: &Value| serde_json::from_value(tokens.clone()).unwrap();
        let tokens: Vec<u32> = case.get("tokens").map_or_else(|| counted(case["seed"].as_u64().unwrap()), given);
        let answer = bench.ask(&json!({ "op": "chain", "tokens": tokens, "h0": case["h0"] }));
        let hashes: Vec<&str> = list(&answer["hashes"]).iter().filter_map(Value::as_str).collect();
        let mut right = hashes.last().copied() == case["end"].as_str() && hashes.len() == tokens.len() + 1;
        if let Some(all) = case["all_sha256"].as_str() {
            right &= sha256(&unhex(&hashes.concat()).unwrap()) == all;
        }
        if let Some(wanted) = case["hashes"].as_array() {
            right &= hashes.iter().eq(wanted);
        }
        bench.check(right, || format!("{} tokens from {}: ends with {:?}", tokens.len(), case["h0"], hashes.last()));
    }
    bench.done("chain");
}
