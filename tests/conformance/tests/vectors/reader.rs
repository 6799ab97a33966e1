use super::bench::{Bench, list};
use mrail_conformance::sha::sha256;
use serde_json::json;

#[test]
fn reader() {
    let Some((mut bench, vectors)) = Bench::of("reader") else { return };
    for case in list(&vectors) {
        bench.open(case["map"].as_str().unwrap(), &case["open"]);
        let got = bench.ask(&json!({ "op": "stats" }));
        for (key, wanted) in case["stats"].as_object().unwrap() {
            let right = match key.as_str() {
                "anchors_sha" => sha256(got["anchors"].to_string().as_bytes()) == wanted.as_str().unwrap(),
                key => got.get(key) == Some(wanted),
            };
            bench.check(right, || format!("{} {}: {key}: got {}, want {wanted}", case["map"], case["open"], got[key]));
        }
    }
    bench.done("reader");
}
