use super::bench::{Bench, list};
use serde_json::json;

#[test]
fn exact() {
    let Some((mut bench, vectors)) = Bench::of("exact") else { return };
    for block in list(&vectors) {
        let map = block["map"].as_str().unwrap();
        bench.open(map, &block["open"]);
        for case in list(&block["cases"]) {
            let context = bench.tokens(Some(map), &case["ctx"]);
            if bench.leaves_out(&context) {
                continue;
            }
            let request = json!({ "op": "exact", "ctx": context, "max_new": case["max_new"], "stop": case["stop"] });
            let got = bench.ask(&request);
            bench.check(got.get("answer") == Some(&case["answer"]), || format!("{map} {case}: {got}"));
        }
    }
    bench.done("exact");
}
