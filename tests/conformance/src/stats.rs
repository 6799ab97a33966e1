//! What a map holds, as the protocol's `stats` lists it.

use crate::sha::sha256_words;
use mrail::Map;
use mrail::map::Run;
use serde_json::{Map as Object, Value, json};

pub(crate) fn stats(map: &mut Map<'_>) -> Value {
    let runs: Vec<_> = (0..map.len()).filter_map(|run| map.run(run)).collect();
    let tracks = runs.iter().filter(|run| matches!(run, Run::Track(_))).count();
    let tokens: usize = runs
        .iter()
        .map(|run| match run {
            Run::Session(session) => session.tokens.len(),
            Run::Track(_) => 0,
        })
        .sum();
    let starts: Vec<u32> = runs
        .iter()
        .map(|run| match run {
            Run::Session(session) => session.gen_start,
            Run::Track(track) => track.context_len,
        })
        .collect();
    let mut anchors: Vec<_> = map.anchors().map(|anchor| (anchor.hash, anchor.position, anchor.parent)).collect();
    anchors.sort_unstable();
    let anchors: Vec<Value> = anchors
        .into_iter()
        .map(|(hash, position, parent)| json!([hash.to_string(), position, parent.map(|hash| hash.to_string())]))
        .collect();
    let mut uses: Vec<_> = map.all_uses().collect();
    uses.sort_unstable();
    let uses: Object<String, Value> = uses.into_iter().map(|(hash, uses)| (hash.to_string(), uses.into())).collect();
    let count = runs.len();
    let rail = map.rail();
    json!({
        "runs": count,
        "tracks": tracks,
        "tokens": tokens,
        "log": rail.len(),
        "log_sha": sha256_words(rail.tokens()),
        "gen": starts,
        "anchors": anchors,
        "use": uses,
    })
}
