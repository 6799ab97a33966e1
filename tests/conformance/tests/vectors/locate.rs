use super::bench::{Bench, list};
use mrail_conformance::vectors::{Place, locate_differs};
use serde::Deserialize;
use serde_json::json;

#[test]
fn locate() {
    let Some((mut bench, vectors)) = Bench::of("locate") else { return };
    for block in list(&vectors) {
        let map = block["map"].as_str().unwrap();
        bench.open(map, &block["open"]);
        for case in list(&block["cases"]) {
            let context = bench.tokens(Some(map), &case["ctx"]);
            if bench.leaves_out(&context) {
                continue;
            }
            let got = bench.ask(&json!({ "op": "locate", "ctx": context }));
            let want = Place::deserialize(case).unwrap();
            let what = || format!("{map} {} {}", block["open"], case["kind"]);
            let Ok(got) = Place::deserialize(&got) else {
                bench.check(false, || format!("{}: {got}", what()));
                continue;
            };
            bench.no_fault(locate_differs(&got, &want, case["nonmono"] == true), what);
            // Longer than the reference's, where its search is blind, but never longer than what is there.
            if let Some(longest) = case["longest_indexed"].as_u64() {
                bench.check(got.lcp as u64 <= longest, || format!("{}: {got:?}, and only {longest} is there", what()));
            }
        }
    }
    bench.done("locate");
}
