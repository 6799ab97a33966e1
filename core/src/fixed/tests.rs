//! The readers without an allocator against the one with: whatever a map holds, and whatever it is asked.

use super::hint::build;
use super::*;
use crate::Options;
use crate::anchor::{ArraySpec, Dtype, Scalars, Snapshot};
use crate::draft::RailOptions;
use crate::record::{ANCHOR, HEADER_LEN, MAGIC, NotAMap, USE};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroUsize;
use proptest::prelude::*;

type Full = Tables<64, 16, 16, 16>;

#[derive(Clone, Debug)]
enum Step {
    Session(Vec<u32>, usize),
    Track(Vec<u32>, Vec<u32>),
    Anchor(Vec<u32>),
    Use(Vec<u32>, u32),
    Bad(u8),
}

fn written(steps: &[Step]) -> Vec<u8> {
    let mut map = crate::Map::create();
    let mut bytes = map.bytes();
    for step in steps {
        let append = match step {
            Step::Session(tokens, gen_start) => map.prepare_session(tokens, (*gen_start).min(tokens.len())),
            Step::Track(context, answer) => map.prepare_track(context, answer, "src", 2),
            Step::Use(prefix, hits) => map.prepare_use(PrefixHash::of(prefix), *hits),
            Step::Anchor(prefix) => {
                let arrays = vec![ArraySpec::new("a", Dtype::UInt8, [1])];
                let state = Snapshot::new(arrays, vec![Scalars::default()], vec![7]).unwrap();
                map.prepare_anchor(0, prefix.len() as u32, PrefixHash::of(prefix), &state, None)
            }
            // Three bytes are a payload of no kind but of those nobody knows.
            Step::Bad(kind) => {
                bytes.extend([*kind, 3, 0, 0, 0, 1, 2, 3]);
                continue;
            }
        }
        .unwrap();
        map.commit(&append).unwrap();
        bytes.extend(append.bytes());
    }
    bytes
}

fn options(rules: Rules) -> Options<'static> {
    let Rules { stride, draft_only, through_tracks, anchors_past_stride } = rules;
    Options { stride, draft_only, through_tracks, anchors_past_stride, ..Options::reference() }
}

fn rules(stride: usize) -> Rules {
    Rules { stride: NonZeroUsize::new(stride).unwrap(), ..Rules::reference() }
}

/// Everything that one map says of itself and of a context is what the other says.
fn same(map: &mut crate::Map<'_>, fixed: &Map<'_, impl Lists>, contexts: &[Vec<u32>]) {
    assert_eq!((fixed.len(), fixed.is_empty()), (map.len(), map.is_empty()));
    assert_eq!((fixed.valid_len(), fixed.tail()), (map.valid_len(), map.tail()));
    assert!(fixed.problems().eq(map.problems().iter().copied()));
    assert!(fixed.records().eq(map.records()));
    for run in 0..=map.len() {
        assert_eq!((fixed.run(run), fixed.run_offset(run)), (map.run(run), map.run_offset(run)));
    }
    let mut uses: Vec<_> = map.all_uses().collect();
    uses.sort_unstable();
    assert!(fixed.all_uses().eq(uses));
    let mut anchors: Vec<_> = map.anchors().collect();
    anchors.sort_unstable_by_key(|anchor| anchor.hash);
    assert!(fixed.anchors().eq(anchors));
    let mut tree = Tree::<31>::new();
    for context in contexts {
        assert_eq!(fixed.locate(context), map.locate(context), "{context:?}");
        for (max_new, stop) in [(usize::MAX, &[][..]), (2, &[]), (usize::MAX, &[1, 2]), (0, &[])] {
            let answer = fixed.answer(context, max_new, stop).map(|mut answer| {
                let tokens: Vec<u32> = answer.by_ref().collect();
                assert_eq!(answer.next(), None);
                crate::map::locate::Answer { run: answer.run(), tokens, end: answer.end().unwrap() }
            });
            assert_eq!(answer, map.answer(context, max_new, stop), "{context:?}");
        }
        let hash = PrefixHash::of(context);
        assert_eq!(fixed.uses(hash), map.uses(hash));
        assert_eq!(fixed.anchor(hash), map.anchor(hash));
        for run in 0..map.len() {
            let decoded = fixed.track_answer(run, context).map(Iterator::collect::<Vec<_>>);
            assert_eq!(decoded, map.track_answer(run, context, usize::MAX));
        }
        fixed.draft(context, &mut tree);
        let drafted = map.rail().tree(context, 31);
        assert_eq!((tree.tokens(), tree.parents()), (drafted.tokens(), drafted.parents()), "{context:?}");
    }
}

/// The same with tables, tables elsewhere, a hint, and a hint unread.
fn all_same(bytes: &[u8], rules: Rules, contexts: &[Vec<u32>]) {
    let mut map = crate::Map::open(bytes, options(rules)).unwrap();
    same(&mut map, &Map::<Full>::open(bytes, rules).unwrap(), contexts);
    let mut tables = Full::new();
    same(&mut map, &tables.open(bytes, rules).unwrap(), contexts);
    let hint = build(bytes).unwrap();
    same(&mut map, &Map::open_with_hint(bytes, &hint, rules).unwrap(), contexts);
    same(&mut map, &Map::open_with_hint_unread(bytes, &hint, rules).unwrap(), contexts);
}

fn tokens() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0u32..3, 0..10)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (tokens(), 0usize..10).prop_map(|(tokens, gen_start)| Step::Session(tokens, gen_start)),
        2 => (tokens(), tokens()).prop_map(|(context, answer)| Step::Track(context, answer)),
        1 => tokens().prop_map(Step::Anchor),
        1 => (tokens(), any::<u32>()).prop_map(|(prefix, hits)| Step::Use(prefix, hits)),
        1 => (1u8..9).prop_map(Step::Bad),
    ]
}

proptest! {
    #[test]
    fn all_readers_say_the_same(
        steps in prop::collection::vec(step(), 0..16),
        mut contexts in prop::collection::vec(tokens(), 1..6),
        stride in 1usize..5,
        (draft_only, through_tracks, anchors_past_stride) in any::<(bool, bool, bool)>(),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = written(&steps);
        if is_cut {
            bytes.truncate(MAGIC.len() + cut.index(bytes.len() - MAGIC.len() + 1));
        }
        for step in &steps {
            if let Step::Track(context, answer) = step {
                contexts.push([&context[..], &answer[..answer.len() / 2]].concat());
            }
        }
        let rules = Rules { draft_only, through_tracks, anchors_past_stride, ..rules(stride) };
        all_same(&bytes, rules, &contexts);
    }

    #[test]
    fn smaller_trees_are_those_of_a_smaller_rail(
        runs in prop::collection::vec(prop::collection::vec(0u32..4, 0..60), 0..6),
        context in prop::collection::vec(0u32..4, 0..8),
    ) {
        let steps: Vec<_> = runs.into_iter().map(|run| Step::Session(run, 0)).collect();
        let bytes = written(&steps);
        let rail = RailOptions { nmax: 3, ..RailOptions::default() };
        let mut map = crate::Map::open(&bytes, Options { rail, ..Options::reference() }).unwrap();
        let fixed = Map::<Full>::open(&bytes, Rules::reference()).unwrap();
        let mut tree = Tree::<7, 3>::new();
        fixed.draft(&context, &mut tree);
        let drafted = map.rail().tree(&context, 7);
        prop_assert!(tree.iter().eq(drafted.iter()));
        // Fewer places and less depth are no other log: each path is still one that was said.
        let mut small = Tree::<9, 2, 3, 4>::new();
        fixed.draft(&context, &mut small);
        let all = map.rail().tree(&context, 10_000);
        let known: Vec<_> = all.paths().collect();
        for (node, token) in small.tokens().iter().enumerate() {
            let mut path = vec![*token];
            let mut parent = small.parents()[node];
            while let Ok(node) = usize::try_from(parent) {
                path.insert(0, small.tokens()[node]);
                parent = small.parents()[node];
            }
            prop_assert!(path.len() <= 4 && known.contains(&path));
        }
    }

    /// Any bytes, both readers: the same map, or the same error.
    #[test]
    fn any_bytes_are_read_alike(
        records in prop::collection::vec((0u8..7, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        steps in prop::collection::vec(step(), 0..5),
    ) {
        let mut bytes = written(&steps);
        for (kind, payload) in records {
            bytes.extend([kind, payload.len() as u8, 0, 0, 0]);
            bytes.extend(payload);
        }
        for (index, value) in flips {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        match crate::Map::open(&bytes, Options::default()) {
            Ok(_) => all_same(&bytes, Rules::default(), &[vec![], vec![1], vec![0, 1, 2]]),
            Err(error) => {
                prop_assert_eq!(Map::<Full>::open(&bytes, Rules::default()).unwrap_err().to_string(), error.to_string());
                prop_assert_eq!(build(&bytes).unwrap_err().to_string(), error.to_string());
            }
        }
    }
}

/// A map with two of everything, the second of each like the first.
fn sample() -> Vec<u8> {
    written(&[
        Step::Use(vec![1], 5),
        Step::Session(vec![1, 2, 3, 4, 5], 2),
        Step::Anchor(vec![1, 2]),
        Step::Track(vec![9, 8, 7, 6], vec![1, 9, 8, 7, 2]),
        Step::Session(vec![1, 2, 3], 1),
        Step::Use(vec![1, 2], 6),
        Step::Bad(200),
        Step::Session(vec![1, 2, 4, 4], 1),
        Step::Track(vec![9, 8], vec![3]),
        Step::Track(vec![9, 8], vec![4]),
        Step::Anchor(vec![1]),
        Step::Anchor(vec![1, 2]),
        Step::Use(vec![1], 7),
    ])
}

fn sample_contexts() -> Vec<Vec<u32>> {
    let mut contexts = vec![vec![], vec![7], vec![9, 8, 7, 6, 1, 9], vec![9, 8, 3], vec![1, 2, 4, 9]];
    for run in [&[1, 2, 3, 4, 5][..], &[9, 8, 7, 6, 1, 9, 8, 7, 2], &[1, 2, 4, 4]] {
        contexts.extend((1..=run.len()).map(|len| run[..len].to_vec()));
    }
    contexts
}

#[test]
fn a_full_table_names_itself_and_the_size_that_it_needs() {
    let bytes = sample();
    let map = crate::Map::open(&bytes, Options::default()).unwrap();
    let sizes = Sizes::of(&map);
    assert_eq!(sizes, Sizes { runs: 6, tracks: 2, anchors: 2, uses: 2 });
    assert_eq!(sizes.to_string(), "Tables<6, 2, 2, 2>");
    assert!(Map::<Tables<6, 2, 2, 2>>::open(&bytes, Rules::default()).is_ok());
    let full = |table, size, needed| Some(OpenError::Full { table, size, needed });
    let error = |opened: Result<(), OpenError>| opened.err();
    let rules = Rules::default();
    assert_eq!(error(Map::<Tables<5, 2, 2, 2>>::open(&bytes, rules).map(drop)), full("runs", 5, 6));
    assert_eq!(error(Map::<Tables<0, 0, 0, 0>>::open(&bytes, rules).map(drop)), full("runs", 0, 6));
    assert_eq!(error(Map::<Tables<6, 0, 0, 0>>::open(&bytes, rules).map(drop)), full("tracks", 0, 2));
    assert_eq!(error(Map::<Tables<6, 1, 0, 0>>::open(&bytes, rules).map(drop)), full("tracks", 1, 2));
    assert_eq!(error(Map::<Tables<9, 2, 1, 0>>::open(&bytes, rules).map(drop)), full("anchors", 1, 2));
    assert_eq!(error(Map::<Tables<9, 2, 9, 1>>::open(&bytes, rules).map(drop)), full("uses", 1, 2));
    let text = full("uses", 1, 2).unwrap().to_string();
    assert_eq!(text, "the map has 2 uses, and their table is of size 1");
    assert!(Map::<Tables<0, 0, 0, 0>>::open(&MAGIC, rules).unwrap().is_empty());
}

#[test]
fn tables_take_the_bytes_that_sizes_say() {
    fn check<const R: usize, const T: usize, const A: usize, const U: usize>() {
        let sizes = Sizes { runs: R, tracks: T, anchors: A, uses: U };
        assert_eq!(sizes.bytes(), size_of::<Tables<R, T, A, U>>() as u64);
    }
    check::<0, 0, 0, 0>();
    check::<1, 0, 0, 0>();
    check::<2, 0, 0, 0>();
    check::<3, 1, 0, 0>();
    check::<228, 0, 3, 12>();
    assert!(size_of::<Tree<31>>() <= 31 * 8 + 6 * 24 * 48 + 128);
}

#[test]
fn tables_can_be_filled_again() {
    let bytes = sample();
    let mut tables = Full::new();
    assert_eq!(tables.open(&bytes, Rules::default()).unwrap().len(), 6);
    assert_eq!(tables.open(&MAGIC, Rules::default()).unwrap().len(), 0);
    assert_eq!(tables.open(b"?", Rules::default()).unwrap_err(), OpenError::NotAMap(NotAMap::TooShort { len: 1 }));
}

#[test]
fn every_byte_of_a_hint_counts() {
    let bytes = sample();
    let hint = build(&bytes).unwrap();
    assert_eq!(hint.len(), 36 + 6 * 4 + 3 * 8 + 6 * 16);
    for at in 0..hint.len() {
        for bit in 0..8 {
            let mut wrong = hint.clone();
            wrong[at] ^= 1 << bit;
            let error = Map::open_with_hint(&bytes, &wrong, Rules::default()).unwrap_err();
            assert!(!error.to_string().is_empty());
            if let HintError::Entry { at: found, .. } = error {
                assert!((36..=hint.len()).contains(&found), "{error}");
            }
            // Unread, it may not find what is there, but a session answers with its own tokens or not at all.
            let Ok(map) = Map::open_with_hint_unread(&bytes, &wrong, Rules::default()) else { continue };
            for context in sample_contexts() {
                map.locate(&context);
                let Some(answer) = map.answer(&context, 9, &[]) else { continue };
                if let Some(Run::Session(session)) = map.run(answer.run()) {
                    let known: Vec<u32> = session.tokens.iter().collect();
                    assert!(known.starts_with(&context), "byte {at}: {context:?} is not in {known:?}");
                    assert!(answer.eq(known[context.len()..].iter().copied()));
                }
            }
        }
    }
    for len in 0..hint.len() {
        let error = Hint::read(&hint[..len]).unwrap_err();
        assert!(matches!(error, HintError::Malformed(crate::record::Malformed::Short { .. })), "{len}: {error}");
    }
    let longer = [&hint[..], &[0]].concat();
    assert!(matches!(Hint::read(&longer), Err(HintError::Malformed(crate::record::Malformed::Long { .. }))));
}

#[test]
fn a_hint_of_another_map_is_told() {
    let bytes = sample();
    let hint = build(&bytes).unwrap();
    let check = |map: &[u8]| Hint::read(&hint).unwrap().check(map);
    assert_eq!(check(&bytes), Ok(()));
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 4;
        assert!(check(&other).is_err(), "{at}");
    }
    let covered = bytes.len() as u32;
    assert_eq!(check(&bytes[..bytes.len() - 1]), Err(HintError::Longer { covered, len: bytes.len() - 1 }));
    // A map that has grown, by what matters, what doesn't, and part of a record.
    let session = written(&[Step::Session(vec![1], 0)]).split_off(MAGIC.len());
    let grown = [&bytes[..], &session].concat();
    assert_eq!(check(&grown), Err(HintError::Stale { covered, offset: bytes.len() }));
    let unknown = [&bytes[..], &[77, 1, 0, 0, 0, 9]].concat();
    assert_eq!(check(&unknown), Ok(()));
    let behind = [&unknown[..], &session].concat();
    assert_eq!(check(&behind), Err(HintError::Stale { covered, offset: unknown.len() }));
    assert_eq!(check(&grown[..grown.len() - 1]), Ok(()));
}

/// A hint that was made for the map by someone who means ill: its fingerprint is right.
#[test]
fn crafted_lists_are_refused() {
    let bytes = sample();
    let hint = build(&bytes).unwrap();
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut crafted = hint.clone();
        change(&mut crafted);
        Map::open_with_hint(&bytes, &crafted, Rules::default()).unwrap_err()
    };
    let entry = |list, index, at| HintError::Entry { list, index, at };
    // Runs, sessions, tracks, anchors and uses start at 36, 60, 84, 116 and 148.
    assert_eq!(error(&|hint| hint[40] += 1), entry("runs", 1, 40));
    assert_eq!(error(&|hint| hint.copy_within(60..68, 68)), entry("sessions", 1, 68));
    assert_eq!(error(&|hint| hint[72] += 1), entry("sessions", 1, 68));
    assert_eq!(error(&|hint| hint[96] += 1), entry("tracks", 0, 84));
    assert_eq!(error(&|hint| hint[124] += 1), entry("anchors", 0, 116));
    assert_eq!(error(&|hint| hint[160] += 1), HintError::Uses);
    let fewer = |hint: &mut Vec<u8>| {
        hint[20] -= 1;
        hint.drain(60..68);
    };
    assert_eq!(error(&fewer), HintError::Count { list: "sessions", found: 2, needed: 3 });
    assert_eq!(error(&|hint| hint[0] = 2), HintError::Version { found: 2 });
}

#[test]
fn hints_work_at_every_alignment() {
    let bytes = sample();
    let hint = build(&bytes).unwrap();
    for shift in 0..4 {
        let (shifted_map, shifted_hint) =
            ([&vec![0; shift][..], &bytes].concat(), [&vec![0; shift][..], &hint].concat());
        let mut map = crate::Map::open(&bytes, options(Rules::default())).unwrap();
        let fixed = Map::open_with_hint(&shifted_map[shift..], &shifted_hint[shift..], Rules::default()).unwrap();
        same(&mut map, &fixed, &sample_contexts());
    }
}

#[test]
fn the_sample_is_read_alike() {
    for rules in [Rules::default(), Rules::reference(), rules(3)] {
        all_same(&sample(), rules, &sample_contexts());
    }
}

#[test]
fn records_that_cannot_be_read_take_no_room() {
    let mut bytes = sample();
    for kind in [SESSION, ANCHOR, USE, TRACK] {
        bytes.extend([kind, 1, 0, 0, 0, 0]);
    }
    let map = Map::<Tables<6, 2, 2, 2>>::open(&bytes, Rules::default()).unwrap();
    let offsets: Vec<_> = map.problems().map(|problem| problem.offset).collect();
    let first = bytes.len() - 4 * (HEADER_LEN + 1);
    assert_eq!(offsets, [first, first + 6, first + 12, first + 18]);
}
