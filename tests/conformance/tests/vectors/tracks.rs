use super::bench::{Bench, list};
use mrail_conformance::sha::hex;
use serde_json::{Value, json};

#[test]
fn encode_copy() {
    let Some((mut bench, vectors)) = Bench::of("encode_copy") else { return };
    for (index, case) in list(&vectors).iter().enumerate() {
        let context = bench.tokens(None, &case["ctx"]);
        let min_copy = &case["min_copy"];
        let got = bench.ask(&json!({ "op": "encode_copy", "ans": case["ans"], "ctx": context, "min_copy": min_copy }));
        bench.check(got["ops"] == case["ops"], || format!("{} {min_copy}: {got}", case["ans"]));
        let path = bench.new_path(&format!("{index}.mrail"));
        bench.open_path(&path, &json!({}));
        let track = json!({ "op": "add_track", "ctx": context, "answer": case["ans"], "src": case["src"], "min_copy": min_copy });
        let got = bench.ask(&track);
        let file = std::fs::read(&path).unwrap();
        // Magic and one record's header, then its payload.
        let right = file.get(8) == Some(&5) && hex(&file[13..]) == case["packed"].as_str().unwrap();
        bench.check(right, || format!("the record of case {index}: {got}"));
    }
    bench.done("encode_copy");
}

#[test]
fn tracks() {
    let Some((mut bench, vectors)) = Bench::of("tracks") else { return };
    bench.open(vectors["map"].as_str().unwrap(), &json!({ "stride": 256, "rail_prompts": false }));
    for track in list(&vectors["tracks"]) {
        let got = bench.ask(&json!({ "op": "track", "sid": track["sid"] }));
        let right = ["ctx_len", "h_ctx", "src", "ops"].into_iter().all(|key| got.get(key) == track.get(key));
        bench.check(right, || format!("track {}: {got}", track["sid"]));
        let context = bench.tokens(None, &track["ctx"]);
        let got = bench.ask(&json!({ "op": "exact", "ctx": context, "max_new": 1_000_000 }));
        let want = if list(&track["answer"]).is_empty() { &Value::Null } else { &track["answer"] };
        bench.check(got.get("answer") == Some(want), || format!("answer of track {}: {got}", track["sid"]));
    }
    bench.done("tracks");
}
