use super::bench::{Bench, list};
use serde_json::{Value, json};

/// States come back bit for bit. Those that the reference itself cannot rebuild bit for bit are left out, as in the kit.
fn check(family: &str) {
    let Some((mut bench, vectors)) = Bench::of(family) else { return };
    bench.open(vectors["map"].as_str().unwrap(), &json!({}));
    for anchor in list(&vectors["anchors"]).iter().filter(|anchor| anchor["bit_exact_in_reference"] == true) {
        let got = bench.ask(&json!({ "op": "get_layers", "hash": anchor["hash"] }));
        for key in ["sha", "meta"] {
            let right = got.get(key).unwrap_or(&Value::Null) == &anchor[key];
            bench.check(right, || format!("{key} of the anchor at {}: {got}", anchor["P"]));
        }
    }
    bench.done(family);
}

#[test]
fn anchors() {
    check("anchors");
}

#[test]
fn anchors_dup() {
    check("anchors_dup");
}
