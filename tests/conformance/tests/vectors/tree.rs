use super::bench::{Bench, list};
use mrail_conformance::vectors::{Group, tree_differs};
use serde_json::{Value, json};

fn check(bench: &mut Bench, request: &Value, case: &Value, what: &str) {
    let got = bench.ask(request);
    let nodes = |value: &Value| serde_json::from_value::<Vec<(u32, i64)>>(value.clone());
    let groups: Vec<Group> = list(&case["groups"]).iter().map(|group| Group::read(group).unwrap()).collect();
    let fault = match nodes(&got["tree"]) {
        Ok(tree) => tree_differs(&tree, &nodes(&case["tree"]).unwrap(), &groups),
        Err(_) => Some(got.to_string()),
    };
    bench.no_fault(fault, || format!("{what}: {}", case["ctx"]));
}

#[test]
fn tree() {
    let Some((mut bench, vectors)) = Bench::of("tree") else { return };
    for block in list(&vectors) {
        let map = block["map"].as_str();
        match map {
            Some(map) => bench.open(map, &block["open"]),
            None => bench.open_path(&bench.new_path("tree_new.mrail"), &block["open"]),
        }
        let mut added = list(&block["sessions"]).iter();
        let mut count = 0;
        for case in list(&block["cases"]) {
            while count < case["after"].as_u64().unwrap_or(0) {
                bench.ask(&json!({ "op": "add_session", "tokens": added.next(), "gen": 1 }));
                count += 1;
            }
            let context = bench.tokens(map, &case["ctx"]);
            let request = json!({ "op": "tree", "ctx": context, "budget": case["budget"] });
            check(&mut bench, &request, case, &format!("{map:?} {}", block["open"]));
        }
    }
    bench.done("tree");
}

#[test]
fn tree_state() {
    let Some((mut bench, vectors)) = Bench::of("tree_state") else { return };
    let hidden = bench.folder.file("tree_state_hidden.f32").unwrap();
    let (states, _) = hidden.as_chunks::<{ 4 * 1536 }>();
    let state = |index: &Value| base64(&states[index.as_u64().unwrap() as usize]);
    for (index, wanted) in list(&vectors["hash"]).iter().enumerate() {
        let got = bench.ask(&json!({ "op": "state_hash", "hidden": state(&json!(index)) }));
        bench.check(got["hash"] == *wanted, || format!("state {index}: got {got}, want {wanted}"));
    }
    let tie = &vectors["tie_map"];
    let pairs = |adds: &Value, index: &str, hidden: &str| {
        let read = |add: &Value| match add.as_array() {
            Some(pair) => (pair[0].clone(), pair[1].clone()),
            None => (add[index].clone(), add[hidden].clone()),
        };
        list(adds).iter().map(read).collect::<Vec<_>>()
    };
    for (map, block) in [(vectors["map"].as_str(), &vectors), (None, tie)] {
        if let Some(map) = map {
            bench.open(map, &json!({}));
        } else {
            bench.open_path(&bench.new_path("tie.mrail"), &json!({}));
            bench.ask(&json!({ "op": "add_session", "tokens": tie["session"], "gen": tie["gen"] }));
        }
        for (index, hidden) in pairs(&block["adds"], "index", "hidden") {
            bench.ask(&json!({ "op": "add_state", "index": index, "hidden": state(&hidden) }));
        }
        for case in list(&block["cases"]) {
            let context = bench.tokens(None, &case["ctx"]);
            let state = state(&case["state"]);
            let request = json!({ "op": "tree", "ctx": context, "budget": case["budget"], "state": state });
            check(&mut bench, &request, case, &format!("{map:?} state {}", case["state"]));
        }
    }
    bench.done("tree_state");
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
