//! The readers without an allocator (`mrail::fixed`), with tables and with a hint, on the host: the reference's vectors, and
//! the hostile files. What they say is compared with the vectors and with what the map with an allocator says.

use mrail::draft::RailOptions;
use mrail::fixed::{self, Hint, Lists, Rules, Tables, Tree, hint};
use mrail::tail::Tail;
use mrail::{Map, Options};
use mrail_conformance::vectors::{Folder, Group, Place, locate_differs, resolve, sessions, tree_differs};
use serde::Deserialize;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::path::Path;

/// Room for every sample map and hostile file.
type Room = Tables<256, 128, 128, 64>;

/// A block of vectors over one map that is opened in one way.
struct Block {
    name: String,
    bytes: Vec<u8>,
    sessions: Vec<Option<Vec<u32>>>,
    open: Value,
    cases: Vec<Value>,
}

impl Block {
    /// The blocks of a family. None where the folder has none of it.
    fn all(family: &str) -> Vec<Self> {
        let folder = Folder::find().unwrap();
        let Some(vectors) = folder.family(family).unwrap() else { return Vec::new() };
        let blocks = vectors.as_array().unwrap().iter().filter_map(|block| {
            // The others are of a map that grows.
            let name = block["map"].as_str()?.to_owned();
            let bytes = std::fs::read(folder.map(&name)).unwrap();
            let sessions = sessions(&bytes).unwrap();
            let cases = block["cases"].as_array().unwrap().clone();
            Some(Self { name, bytes, sessions, open: block["open"].clone(), cases })
        });
        blocks.collect()
    }

    fn rules(&self) -> Rules {
        let stride = self.open["stride"].as_u64().and_then(|stride| NonZeroUsize::new(stride as usize));
        Rules { stride: stride.unwrap_or(NonZeroUsize::MIN), ..Rules::reference() }
    }

    fn map(&self) -> Map<'_> {
        Map::open(&self.bytes, Options { stride: self.rules().stride, ..Options::reference() }).unwrap()
    }

    fn with_tables(&self) -> fixed::Map<'_, Room> {
        fixed::Map::open(&self.bytes, self.rules()).unwrap()
    }

    fn with_hint<'h>(&'h self, hint: &'h [u8]) -> fixed::Map<'h, Hint<'h>> {
        fixed::Map::open_with_hint(&self.bytes, hint, self.rules()).unwrap()
    }

    fn context(&self, case: &Value) -> Vec<u32> {
        resolve(&case["ctx"], &self.sessions).unwrap()
    }
}

fn place(located: fixed::Located) -> Place {
    Place {
        lcp: located.lcp,
        sid: located.run.map_or(-1, |run| i64::try_from(run).unwrap()),
        anchor: located.anchor.map(|(hash, _)| hash.to_string()),
        position: located.anchor.map_or(0, |(_, len)| len as u32),
    }
}

#[test]
fn locate() {
    for block in Block::all("locate") {
        let hint = hint::build(&block.bytes).unwrap();
        let (map, tables, hinted) = (block.map(), block.with_tables(), block.with_hint(&hint));
        for case in &block.cases {
            let context = block.context(case);
            let located = tables.locate(&context);
            assert_eq!(located, hinted.locate(&context), "{case}");
            assert_eq!(located, map.locate(&context), "{case}");
            let want = Place::deserialize(case).unwrap();
            let fault = locate_differs(&place(located), &want, case["nonmono"] == true);
            assert_eq!(fault, None, "{} {} {case}", block.name, block.open);
        }
    }
}

fn answer(map: &fixed::Map<'_, impl Lists>, context: &[u32], max_new: usize, stop: &[u32]) -> Option<Vec<u32>> {
    let mut answer = map.answer(context, max_new, stop)?;
    let tokens = answer.by_ref().collect();
    assert!(answer.end().is_some());
    Some(tokens)
}

#[test]
fn exact() {
    for block in Block::all("exact") {
        let hint = hint::build(&block.bytes).unwrap();
        let (tables, hinted) = (block.with_tables(), block.with_hint(&hint));
        for case in &block.cases {
            let context = block.context(case);
            let max_new = case["max_new"].as_u64().unwrap() as usize;
            let stop = Vec::<u32>::deserialize(&case["stop"]).unwrap();
            let got = answer(&tables, &context, max_new, &stop);
            assert_eq!(got, answer(&hinted, &context, max_new, &stop), "{case}");
            // The reference's answer is none where it is empty.
            let want = Option::<Vec<u32>>::deserialize(&case["answer"]).unwrap();
            assert_eq!(got.filter(|tokens| !tokens.is_empty()), want, "{} {case}", block.name);
        }
    }
}

/// Trees of the reference's n-grams up to `NMAX`, over maps whose prompts are drafted from.
fn trees<const NMAX: usize>(blocks: &[Block]) -> usize {
    let mut checked = 0;
    for block in blocks {
        if block.open["nmax"] != NMAX || block.open["rail_prompts"] != true {
            continue;
        }
        let hint = hint::build(&block.bytes).unwrap();
        let (tables, hinted) = (block.with_tables(), block.with_hint(&hint));
        let rail = RailOptions { nmax: NMAX, ..RailOptions::default() };
        let mut map = Map::open(&block.bytes, Options { rail, ..Options::reference() }).unwrap();
        let (mut tree, mut other) = (Box::new(Tree::<1000, NMAX>::new()), Box::new(Tree::<31, NMAX>::new()));
        for case in &block.cases {
            let context = block.context(case);
            tables.draft(&context, &mut tree);
            let drafted = map.rail().tree(&context, 1000);
            assert_eq!((tree.tokens(), tree.parents()), (drafted.tokens(), drafted.parents()), "{case}");
            hinted.draft(&context, &mut other);
            assert!(other.iter().eq(tree.iter().take(31)), "{case}");
            let budget = case["budget"].as_u64().unwrap() as usize;
            let nodes: Vec<_> = tree.iter().take(budget).map(|(token, parent)| (token, i64::from(parent))).collect();
            let want = Vec::<(u32, i64)>::deserialize(&case["tree"]).unwrap();
            let groups: Vec<_> =
                case["groups"].as_array().into_iter().flatten().map(|group| Group::read(group).unwrap()).collect();
            assert_eq!(tree_differs(&nodes, &want, &groups), None, "{} {case}", block.name);
            checked += 1;
        }
    }
    checked
}

#[test]
fn tree() {
    let blocks = Block::all("tree");
    let checked = trees::<1>(&blocks) + trees::<2>(&blocks) + trees::<3>(&blocks) + trees::<6>(&blocks);
    assert!(checked > 0 || blocks.is_empty());
}

/// A verdict in the words of `mrail_conformance::verdict`.
fn verdict(bytes: &[u8], map: Result<fixed::Map<'_, impl Lists>, String>) -> Value {
    let map = match map {
        Ok(map) => map,
        Err(error) => return json!({ "error": error }),
    };
    let tracks = (0..map.len()).filter(|run| matches!(map.run(*run), Some(fixed::Run::Track(_)))).count();
    let tail = match map.tail() {
        Tail::None => "none",
        Tail::Torn { .. } => "torn",
        Tail::Damaged { .. } => "damaged",
    };
    assert_eq!(map.valid_len() + map.tail().len(), bytes.len());
    json!({
        "runs": map.len(),
        "tracks": tracks,
        "anchors": map.anchors().count(),
        "uses": map.all_uses().map(|(_, uses)| uses).fold(0, u64::saturating_add),
        "valid_len": map.valid_len(),
        "tail": tail,
        "tail_len": map.tail().len(),
        "problems": map.problems().map(|problem| problem.to_string()).collect::<Vec<_>>(),
    })
}

#[test]
fn hostile_files_get_the_golden_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let golden = std::fs::read(folder.join("verdicts.json")).unwrap();
    let golden: serde_json::Map<String, Value> = serde_json::from_slice(&golden).unwrap();
    assert!(!golden.is_empty());
    for (name, mut want) in golden {
        let bytes = std::fs::read(folder.join("corpus/open").join(&name)).unwrap();
        // Anchors are found, not restored.
        want.as_object_mut().unwrap().remove("unreadable_anchors");
        let mut tables = Box::new(Room::new());
        let with_tables = tables.open(&bytes, Rules::default()).map_err(|error| error.to_string());
        assert_eq!(verdict(&bytes, with_tables), want, "{name}");
        let hint = hint::build(&bytes);
        let with_hint = match &hint {
            Ok(hint) => Ok(fixed::Map::open_with_hint(&bytes, hint, Rules::default()).unwrap()),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(verdict(&bytes, with_hint), want, "{name}");
    }
}
