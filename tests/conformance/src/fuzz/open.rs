//! Any bytes as a map: opened, walked, asked, merged, repaired, appended to and opened again.

use mrail::anchor::{ArraySpec, Dtype, Scalars, Snapshot};
use mrail::map::Run;
use mrail::map::append::{Append, WriteError};
use mrail::map::locate::End;
use mrail::merge::merge;
use mrail::record::{MAGIC, Records};
use mrail::repair::repair;
use mrail::tail::Tail;
use mrail::{Map, Options, PrefixHash};
use std::num::NonZeroUsize;

/// How much of a map is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// What costs no more than opening does: for files that are tried at thousands of places.
    Little,
    /// Everything, of as many runs and anchors as a small map has.
    All,
}

/// The fuzz target: `data` is a map, or the records of one.
pub fn open(data: &[u8]) {
    if data.starts_with(&MAGIC) {
        exercise(data, Effort::All);
    } else {
        exercise(&[&MAGIC[..], data].concat(), Effort::All);
        exercise(data, Effort::All);
    }
}

/// Uses any bytes as a map. Returns whether they are one.
///
/// # Panics
/// A promise of `mrail` is broken.
pub fn exercise(bytes: &[u8], effort: Effort) -> bool {
    let mut map = match Map::open(bytes, Options::default()) {
        Ok(map) => map,
        Err(error) => {
            assert!(!bytes.starts_with(&MAGIC), "a map that is refused: {error}");
            assert!(repair(bytes).is_err() && merge(&[bytes]).is_err());
            return false;
        }
    };
    check_records(&map, bytes);
    match effort {
        Effort::Little => check_runs(&map, 2),
        Effort::All => {
            check_runs(&map, 40);
            check_anchors(&map, 20);
            check_strides(&map, bytes);
            check_drafts(&mut map);
            check_merge(&map, bytes);
        }
    }
    check_repair(&map, bytes);
    check_append(&map, bytes);
    true
}

/// The records lie side by side from the magic to where the valid part ends; each run and problem is one of them.
fn check_records(map: &Map<'_>, bytes: &[u8]) {
    assert_eq!(map.valid_len() + map.tail().len(), bytes.len());
    assert_eq!(map.end(), map.valid_len());
    let end = map.records().fold(MAGIC.len(), |at, record| {
        assert_eq!(record.offset, at);
        record.end()
    });
    assert_eq!(end, map.valid_len());
    let runs = map.records().filter(|record| matches!(record.kind, 1 | 5)).count();
    let bad_runs = map.problems().iter().filter(|problem| matches!(problem.kind, 1 | 5)).count();
    if map.problem_count() == map.problems().len() {
        assert_eq!(map.len() + bad_runs, runs);
    }
    for problem in map.problems() {
        let text = problem.to_string();
        assert!(text.starts_with(&format!("offset {}: ", problem.offset)), "{text}");
    }
}

/// Each run is found with all its tokens, and what answers holds the context and what follows it.
fn check_runs(map: &Map<'_>, most: usize) {
    let step = map.len().div_ceil(most).max(1);
    for run in (0..map.len()).step_by(step) {
        match map.run(run) {
            Some(Run::Session(session)) => {
                let tokens: Vec<u32> = session.tokens.iter().collect();
                let located = map.locate(&tokens);
                assert_eq!((located.lcp, located.shared), (tokens.len(), tokens.len()), "run {run}");
                let start = session.gen_start as usize;
                if (1..tokens.len()).contains(&start) {
                    check_answer(map, &tokens, start);
                }
                let longer = [&tokens[..], &[0x00C0_FFEE]].concat();
                assert!(map.locate(&longer).lcp >= tokens.len());
            }
            Some(Run::Track(track)) => {
                let decodes = map.track_answer(run, &[], usize::MAX);
                assert_eq!(decodes.is_ok(), track.context_len == 0 && track.context_hash == PrefixHash::EMPTY);
                if let Err(error) = decodes {
                    assert!(!error.to_string().is_empty());
                }
            }
            None => panic!("run {run} is counted and not there"),
        }
    }
    for context in [&[][..], &[0], &[u32::MAX], &[1, 2, 3]] {
        let located = map.locate(context);
        assert!(located.lcp <= located.shared && located.shared <= context.len());
        assert_eq!(map.locate_with_chain(context).1.len(), context.len() + 1);
    }
}

fn check_answer(map: &Map<'_>, tokens: &[u32], start: usize) {
    let context = &tokens[..start];
    let answer = map.answer(context, usize::MAX, &[]).expect("an own run answers its context");
    assert_eq!(map.locate(context).run, Some(answer.run));
    assert_eq!(answer.end, End::Run);
    match map.run(answer.run) {
        Some(Run::Session(session)) => {
            assert_eq!(session.tokens.common_prefix(context), start);
            assert!(session.tokens.from(start).iter().eq(answer.tokens.iter().copied()));
        }
        Some(Run::Track(track)) => assert!(track.context_len as usize <= start),
        None => panic!("a run that is not there answers"),
    }
    let first = map.answer(context, 1, &[]).unwrap();
    assert_eq!((first.tokens.len(), first.end), (1, End::MaxNew));
    let stopped = map.answer(context, usize::MAX, &answer.tokens[..1]).unwrap();
    assert_eq!((stopped.tokens.len(), stopped.end), (1, End::Stop));
    assert!(map.answer(context, 0, &[]).unwrap().tokens.is_empty());
}

/// A state is as large as its arrays say, or an error says why there is none.
fn check_anchors(map: &Map<'_>, most: usize) {
    let mut anchors: Vec<_> = map.anchors().map(|anchor| anchor.hash).collect();
    anchors.sort_unstable();
    for hash in anchors.into_iter().take(most) {
        assert!(map.anchor_offset(hash).is_some_and(|offset| offset < map.valid_len()));
        match map.restore(hash) {
            Ok(restored) => {
                assert_eq!(restored.anchor.hash, hash);
                let state = restored.snapshot;
                let layers =
                    (0..state.scalars().len()).map(|layer| state.layer(layer).map(|(_, a)| a.len()).sum::<usize>());
                assert_eq!(layers.sum::<usize>(), state.bytes().len());
            }
            Err(error) => assert!(error.to_string().starts_with("anchor "), "{error}"),
        }
    }
    assert!(map.restore(PrefixHash(*b"is not a")).is_err());
}

/// A stride, a limit and being foreign change what is indexed, and nothing else.
fn check_strides(map: &Map<'_>, bytes: &[u8]) {
    let stride = NonZeroUsize::new(7).expect("7 is not 0");
    let strided = Map::open(bytes, Options { stride, ..Options::reference() }).unwrap();
    let limited = Map::open(bytes, Options { limit: Some(1), ..Options::reference() }).unwrap();
    let foreign = vec![mrail::Foreign { bytes: bytes.into(), limit: None }];
    let foreign = Map::open(&MAGIC[..], Options { foreign, ..Options::default() }).unwrap();
    assert_eq!((strided.len(), limited.len()), (map.len(), map.len().min(1)));
    assert_eq!(foreign.problem_count(), map.problem_count());
    for run in (0..map.len()).take(20) {
        if let Some(Run::Session(session)) = map.run(run) {
            let tokens: Vec<u32> = session.tokens.iter().collect();
            let located = strided.locate(&tokens);
            assert!(located.lcp + 7 > tokens.len() && located.shared == tokens.len());
            assert_eq!(foreign.locate(&tokens).lcp, tokens.len());
            assert_eq!(foreign.answer(&tokens[..tokens.len() / 2], 9, &[]), None);
        }
    }
}

/// Draft trees are trees of tokens that were said.
fn check_drafts(map: &mut Map<'_>) {
    let contexts: Vec<Vec<u32>> = (0..map.len())
        .filter_map(|run| match map.run(run)? {
            Run::Session(session) => Some(session.context().iter().collect()),
            Run::Track(_) => None,
        })
        .take(5)
        .collect();
    for context in contexts.iter().map(Vec::as_slice).chain([&[][..], &[1, 2, 3]]) {
        map.learn_tracks(context, 1000);
        let tree = map.rail().tree(context, 16);
        assert!(tree.len() <= 16);
        assert!((0..).zip(tree.parents()).all(|(node, &parent)| (-1..node).contains(&parent)));
    }
}

/// Merging a map with itself keeps each of its runs once.
fn check_merge(map: &Map<'_>, bytes: &[u8]) {
    let (merged, report) = merge(&[bytes, bytes]).unwrap();
    let reopened = Map::open(&merged, Options::default()).unwrap();
    assert_eq!((reopened.problem_count(), reopened.tail(), reopened.len()), (0, Tail::None, report.runs));
    assert_eq!(report.runs + report.repeated, 2 * map.len());
    assert_eq!(merge(&[&merged]).unwrap().0, merged);
}

/// A repaired map has no problems, is written as it was found, and takes appends.
fn check_repair(map: &Map<'_>, bytes: &[u8]) {
    let repaired = repair(bytes).unwrap();
    let cut: usize = repaired.cut.iter().map(ExactSizeIterator::len).sum();
    assert_eq!(repaired.bytes.len() + cut, bytes.len());
    if map.tail().is_empty() && repaired.unchanged() {
        assert_eq!(repaired.bytes, bytes);
    }
    let reopened = Map::open(&repaired.bytes, Options::default()).unwrap();
    assert_eq!((reopened.problem_count(), reopened.tail()), (0, Tail::None));
    assert_eq!(reopened.records().count(), repaired.kept);
    assert!(reopened.prepare_session(&[1], 1).is_ok());
}

/// Nothing that was there is lost behind an append, and what was appended is there.
fn check_append(map: &Map<'_>, bytes: &[u8]) {
    const TOKENS: [u32; 3] = [0xFEED_0001, 0xFEED_0002, 0xFEED_0003];
    let uses = map.uses(PrefixHash::of(&TOKENS));
    if let Tail::Damaged { len } = map.tail() {
        let refused = map.prepare_session(&TOKENS, 1).unwrap_err();
        assert_eq!(refused, WriteError::NeedsRepair { offset: map.valid_len(), len });
        return;
    }
    let mut file = bytes.to_vec();
    let mut written = Map::open(bytes.to_vec(), Options::default()).unwrap();
    let mut write = |map: &mut Map<'_>, append: &Append| {
        append.apply_to(&mut file);
        map.commit(append).unwrap()
    };
    let session = written.prepare_session(&TOKENS, 1).unwrap();
    let run = write(&mut written, &session).expect("a session is a run");
    assert_eq!(run, map.len());
    let track = written.prepare_track(&TOKENS, &[9, TOKENS[0], TOKENS[1]], "source", 2).unwrap();
    write(&mut written, &track).expect("a track is a run");
    let hash = PrefixHash::of(&TOKENS);
    let hits = written.prepare_use(hash, 7).unwrap();
    write(&mut written, &hits);
    let state = Snapshot::new(vec![ArraySpec::new("a", Dtype::UInt8, [3])], vec![Scalars::default()], vec![1, 2, 3]);
    let state = state.unwrap();
    let parent = map.anchors().map(|anchor| anchor.hash).next();
    let anchor = written.prepare_anchor(0, 3, hash, &state, parent).unwrap();
    write(&mut written, &anchor);

    assert_eq!(file, written.bytes());
    assert_eq!(file[..map.valid_len()], bytes[..map.valid_len()]);
    let reopened = Map::open(&file, Options::default()).unwrap();
    assert_eq!(reopened.tail(), Tail::None);
    assert_eq!((reopened.len(), reopened.problem_count()), (map.len() + 2, map.problem_count()));
    for map in [&written, &reopened] {
        assert_eq!(map.answer(&TOKENS[..1], 9, &[]).unwrap().tokens, TOKENS[1..]);
        assert_eq!(map.track_answer(run + 1, &TOKENS, 9).unwrap(), [9, TOKENS[0], TOKENS[1]]);
        assert_eq!(map.uses(hash), uses.saturating_add(7));
        assert_eq!(map.locate(&TOKENS).anchor, Some((hash, 3)));
    }
    if map.anchor(hash).is_none() {
        assert_eq!(reopened.restore(hash).unwrap().snapshot.bytes(), [1, 2, 3]);
    }
    assert_eq!(
        Records::new(&file).unwrap().count(),
        map.records().count() + 4 - usize::from(anchor.bytes().is_empty())
    );
}
