//! What a reader of maps says about a file: every reader of this project must say the same.

use mrail::map::Run;
use mrail::tail::Tail;
use mrail::{Map, Options};
use serde_json::{Value, json};

/// What `mrail` says about bytes: what they hold and what is wrong with them, or why they are no map.
#[must_use]
pub fn verdict(bytes: &[u8]) -> Value {
    let map = match Map::open(bytes, Options::default()) {
        Ok(map) => map,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let tracks = (0..map.len()).filter(|run| matches!(map.run(*run), Some(Run::Track(_)))).count();
    let tail = match map.tail() {
        Tail::None => "none",
        Tail::Torn { .. } => "torn",
        Tail::Damaged { .. } => "damaged",
    };
    let mut anchors: Vec<_> = map.anchors().map(|anchor| anchor.hash).collect();
    anchors.sort_unstable();
    // By hash alone: what is too large to be addressed depends on the machine, and so does the text.
    let unreadable = anchors.iter().filter(|hash| map.restore(**hash).is_err());
    json!({
        "runs": map.len(),
        "tracks": tracks,
        "anchors": anchors.len(),
        "unreadable_anchors": unreadable.map(ToString::to_string).collect::<Vec<_>>(),
        "uses": map.all_uses().map(|(_, uses)| uses).fold(0, u64::saturating_add),
        "valid_len": map.valid_len(),
        "tail": tail,
        "tail_len": map.tail().len(),
        "problems": map.problems().iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
