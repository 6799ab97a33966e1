//! Tests of the map as a whole; conformance with the reference's stored results is tested in `tests/conformance`.

use super::append::WriteError;
use super::locate::{Answer, End, TrackError};
use super::*;
use crate::draft::RailOptions;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

fn add(map: &mut Map<'_>, tokens: &[u32], gen_start: usize) -> usize {
    let append = map.prepare_session(tokens, gen_start).unwrap();
    map.commit(&append).unwrap().unwrap()
}

fn add_track(map: &mut Map<'_>, context: &[u32], answer: &[u32]) -> usize {
    let append = map.prepare_track(context, answer, "src", 4).unwrap();
    map.commit(&append).unwrap().unwrap()
}

fn reopened(map: &Map<'_>, options: Options<'static>) -> Map<'static> {
    Map::open(map.bytes(), options).unwrap()
}

fn stride(stride: usize) -> Options<'static> {
    Options { stride: NonZeroUsize::new(stride).unwrap(), ..Options::reference() }
}

fn answer(map: &Map<'_>, context: &[u32]) -> Option<Vec<u32>> {
    map.answer(context, usize::MAX, &[]).map(|answer| answer.tokens)
}

#[test]
fn a_known_context_is_answered_and_its_end_is_told() {
    let mut map = Map::create();
    add(&mut map, &[1, 2, 3, 4, 5], 2);
    let ask = |max_new, stop: &[u32]| map.answer(&[1, 2], max_new, stop);
    assert_eq!(ask(9, &[]), Some(Answer { run: 0, tokens: vec![3, 4, 5], end: End::Run }));
    assert_eq!(ask(9, &[4]), Some(Answer { run: 0, tokens: vec![3, 4], end: End::Stop }));
    assert_eq!(ask(1, &[]), Some(Answer { run: 0, tokens: vec![3], end: End::MaxNew }));
    assert_eq!(ask(0, &[]), Some(Answer { run: 0, tokens: vec![], end: End::MaxNew }));
    assert_eq!(map.answer(&[1], 9, &[]), None, "a context inside the prompt");
    assert_eq!(map.answer(&[1, 2, 3, 4, 5], 9, &[]), None, "the end of the run");
    assert_eq!(map.answer(&[1, 9], 9, &[]), None, "another context");
    assert_eq!(map.locate(&[1, 2, 3, 9]).lcp, 3);
}

#[test]
fn the_longest_run_answers_and_the_earliest_of_equals() {
    let mut map = Map::create();
    add(&mut map, &[1, 2, 3], 1);
    add(&mut map, &[1, 2, 9], 1);
    assert_eq!(map.locate(&[1, 2]).run, Some(0));
    add(&mut map, &[1, 2, 8, 8], 1);
    assert_eq!(map.locate(&[1, 2]).run, Some(2));
    assert_eq!(map.locate(&[1, 2, 3]), locate::Located { lcp: 3, shared: 3, run: None, anchor: None });
}

#[test]
fn a_track_replaces_nothing_and_is_replaced_by_what_is_longer() {
    let context = [1, 2, 3, 4, 5];
    let with = |order: &[(bool, usize)]| {
        let mut map = Map::create();
        for &(is_track, tail) in order {
            if is_track {
                add_track(&mut map, &context, &[9, 9]);
            } else {
                add(&mut map, &[&context[..], &vec![7; tail]].concat(), 5);
            }
        }
        map.locate(&context).run
    };
    assert_eq!(with(&[(true, 0), (false, 1)]), Some(0), "as long as the track");
    assert_eq!(with(&[(true, 0), (false, 2)]), Some(1), "longer than the track");
    assert_eq!(with(&[(false, 1), (true, 0)]), Some(0), "before the track");
    assert_eq!(with(&[(true, 0), (true, 0)]), Some(0), "two tracks");
    assert_eq!(with(&[(false, 0), (true, 0)]), Some(1), "a session that ends there does not answer");
}

#[test]
fn a_stride_rounds_prompts_down_and_nothing_else() {
    let mut map = Map::create();
    let tokens: Vec<u32> = (100..110).collect();
    add(&mut map, &tokens, 6);
    let map = reopened(&map, stride(4));
    let lcps: Vec<_> = (0..=10).map(|len| map.locate(&tokens[..len]).lcp).collect();
    assert_eq!(lcps, [0, 0, 0, 0, 4, 4, 6, 7, 8, 9, 10]);
    assert_eq!(map.locate(&tokens[..3]).shared, 3);
}

/// FORMAT.md's prefix index, word for word: a table from each indexed prefix to its entry.
fn table_lcp(runs: &[(Vec<u32>, usize)], stride: usize, context: &[u32]) -> (usize, Option<usize>) {
    let indexed = |(tokens, gen_start): &(Vec<u32>, usize), len: usize| {
        len <= tokens.len() && tokens[..len] == context[..len] && (len.is_multiple_of(stride) || len >= *gen_start)
    };
    let lcp = (1..=context.len()).rev().find(|len| runs.iter().any(|run| indexed(run, *len))).unwrap_or(0);
    let mut entry: Option<usize> = None;
    for (number, (tokens, gen_start)) in runs.iter().enumerate() {
        let len = context.len();
        let answers = len > 0 && *gen_start <= len && len < tokens.len() && tokens[..len] == *context;
        if answers && entry.is_none_or(|entry| tokens.len() > runs[entry].0.len()) {
            entry = Some(number);
        }
    }
    (lcp, entry)
}

proptest! {
    #[test]
    fn locating_equals_a_table_of_prefixes(
        runs in prop::collection::vec((prop::collection::vec(0u32..3, 0..12), 0usize..13), 0..10),
        context in prop::collection::vec(0u32..3, 0..12),
        step in 1usize..6,
        opened in any::<bool>(),
    ) {
        let runs: Vec<_> = runs.into_iter().map(|(tokens, gen_start)| {
            let gen_start = gen_start.min(tokens.len());
            (tokens, gen_start)
        }).collect();
        let mut map = Map::open(Map::create().bytes(), stride(step)).unwrap();
        for (tokens, gen_start) in &runs {
            add(&mut map, tokens, *gen_start);
        }
        if opened {
            map = reopened(&map, stride(step));
        }
        let located = map.locate(&context);
        prop_assert_eq!((located.lcp, located.run), table_lcp(&runs, step, &context));
        prop_assert_eq!(located.shared, table_lcp(&runs, 1, &context).0);
    }

    #[test]
    fn what_is_written_is_read(
        runs in prop::collection::vec((prop::collection::vec(any::<u32>(), 0..20), any::<prop::sample::Index>()), 0..8),
    ) {
        let mut map = Map::create();
        for (tokens, gen_start) in &runs {
            add(&mut map, tokens, gen_start.index(tokens.len() + 1));
        }
        let read = reopened(&map, Options::default());
        prop_assert_eq!(read.tail(), Tail::None);
        prop_assert_eq!(read.len(), runs.len());
        for (number, (tokens, gen_start)) in runs.iter().enumerate() {
            let Some(Run::Session(session)) = read.run(number) else { panic!("run {number} is gone") };
            prop_assert!(session.tokens.iter().eq(tokens.iter().copied()));
            prop_assert_eq!(session.gen_start as usize, gen_start.index(tokens.len() + 1));
        }
    }
}

#[test]
fn the_middle_of_a_tracks_answer_is_found_when_asked_for() {
    let mut map = Map::create();
    let context: Vec<u32> = (0..50).collect();
    add_track(&mut map, &context, &[10, 11, 12, 13, 99]);
    let ask = |map: &Map<'_>, tail: &[u32]| {
        let context = [&context[..], tail].concat();
        (map.locate(&context).lcp, answer(map, &context))
    };
    assert_eq!(ask(&map, &[10, 11, 12]), (53, Some(vec![13, 99])));
    assert_eq!(ask(&map, &[10, 11, 12, 13, 99]), (55, None), "its end answers nothing");
    assert_eq!(ask(&map, &[10, 7]), (51, None));
    let reference = reopened(&map, Options::reference());
    assert_eq!(ask(&reference, &[10, 11, 12]), (50, None));
    assert_eq!(ask(&reference, &[]), (50, Some(vec![10, 11, 12, 13, 99])));
}

#[test]
fn a_track_is_decoded_for_its_own_context_alone() {
    let mut map = Map::create();
    let context: Vec<u32> = (0..50).collect();
    let run = add_track(&mut map, &context, &[10, 11, 12, 13, 99]);
    assert_eq!(map.track_answer(run, &context, 5), Ok(vec![10, 11, 12, 13, 99]));
    assert_eq!(map.track_answer(run, &context, 4), Err(TrackError::TooLong { len: 5, limit: 4 }));
    let wrong = TrackError::WrongContext { expected: 50, given: 49 };
    assert_eq!(map.track_answer(run, &context[1..], 9), Err(wrong));
    let other = [&context[..49], &[7]].concat();
    assert_eq!(map.track_answer(run, &other, 9), Err(TrackError::WrongContext { expected: 50, given: 50 }));
    assert_eq!(map.track_answer(7, &context, 9), Err(TrackError::NotATrack { run: 7 }));
}

#[test]
fn a_foreign_map_drafts_and_never_answers() {
    let mut foreign = Map::create();
    let context: Vec<u32> = (0..50).collect();
    add_track(&mut foreign, &context, &[10, 11, 12, 13, 99]);
    add(&mut foreign, &[1, 2, 3, 4], 2);
    let mut bytes = foreign.bytes();
    bytes.truncate(bytes.len() + 5);
    bytes.extend([1, 255, 0]);
    let options = Options { foreign: vec![Foreign { bytes: bytes.into(), limit: None }], ..Options::default() };
    let mut map = Map::open(Map::create().bytes(), options).unwrap();
    assert_eq!((map.len(), map.is_foreign(0)), (1, true));
    assert_eq!((map.locate(&[1, 2]).lcp, answer(&map, &[1, 2])), (2, None));
    assert_eq!(map.rail().tree(&[1, 2], 1).tokens(), [3]);
    assert_eq!(answer(&map, &context), None);
    assert!(map.rail().tree(&[13], 1).is_empty());
    assert_eq!((map.learn_tracks(&context, 99), map.learn_tracks(&context, 99)), (1, 0));
    assert_eq!(map.rail().tree(&[13], 1).tokens(), [99]);
}

// Twenty tracks of some bytes that copy their context again and again.
#[test]
fn tracks_on_the_rail_take_a_bounded_number_of_tokens() {
    let mut map = Map::create();
    let context: Vec<u32> = (0..1000).collect();
    for answer in 0..20 {
        let repeated = context.repeat(9).into_iter().chain([answer]).collect::<Vec<_>>();
        add_track(&mut map, &context, &repeated);
    }
    assert_eq!(map.learn_tracks(&context, 1000), 16);
    assert_eq!(map.rail().len(), 16 * 1006);
    assert_eq!(map.learn_tracks(&context, 1000), 0);
}

#[test]
fn lengths_of_tracks_are_in_order_after_each_commit() {
    let mut map = Map::create();
    for len in [7, 3, 9, 3, 1, 8, 7] {
        let context: Vec<u32> = (0..len).collect();
        let track = add_track(&mut map, &context, &[len]);
        assert_eq!(map.track_answer(track, &context, 1), Ok(vec![len]));
        let longer: Vec<u32> = context.iter().copied().chain([99]).collect();
        assert_eq!(map.locate(&longer).lcp, len as usize, "the longest that fits");
        assert!(map.track_ends.lengths.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn a_map_that_only_drafts_is_read_in_full_and_answers_nothing() {
    let mut map = Map::create();
    let context: Vec<u32> = (0..50).collect();
    let track = add_track(&mut map, &context, &[10, 11, 12, 13, 99]);
    let session = add(&mut map, &[1, 2, 3, 4], 2);
    let snapshot = crate::anchor::Snapshot::new(vec![], vec![], vec![]).unwrap();
    let append = map.prepare_anchor(0, 2, PrefixHash::of(&[1, 2]), &snapshot, None).unwrap();
    map.commit(&append).unwrap();
    let mut map = reopened(&map, Options { draft_only: true, ..Options::default() });
    let Some(Run::Session(read)) = map.run(session) else { panic!() };
    assert_eq!((read.gen_start, map.anchors().count(), map.is_foreign(session)), (2, 1, false));
    let through = [&context[..], &[10]].concat();
    for context in [&[1, 2][..], &[1, 2, 3], &context, &through] {
        let lcp = context.len();
        assert_eq!(map.locate(context), locate::Located { lcp, shared: lcp, run: None, anchor: None });
        assert_eq!(answer(&map, context), None);
    }
    assert_eq!(map.rail().tree(&[1, 2], 1).tokens(), [3]);
    assert_eq!(map.track_answer(track, &context, 9).unwrap().len(), 5, "a track can be looked at");
}

#[test]
fn limits_count_own_runs_and_leave_the_rest() {
    let mut map = Map::create();
    add_track(&mut map, &[1, 2, 3, 4, 5], &[6]);
    add(&mut map, &[1, 2], 1);
    add(&mut map, &[5, 6], 1);
    let hash = PrefixHash::of(&[1]);
    let append = map.prepare_use(hash, 3).unwrap();
    assert_eq!(map.commit(&append), Ok(None));
    let limited = reopened(&map, Options { limit: Some(2), ..Options::default() });
    assert_eq!((limited.len(), limited.uses(hash), limited.locate(&[5]).lcp), (2, 3, 0));
    assert_eq!(add(&mut limited.clone(), &[5, 6], 1), 2);
}

#[test]
fn use_counts_add_up_past_32_bits() {
    let mut map = Map::create();
    for _ in 0..3 {
        let append = map.prepare_use(PrefixHash::EMPTY, u32::MAX).unwrap();
        map.commit(&append).unwrap();
    }
    assert_eq!(reopened(&map, Options::default()).uses(PrefixHash::EMPTY), 3 * u64::from(u32::MAX));
}

#[test]
fn nothing_changes_when_an_append_is_refused_or_never_committed() {
    let map = Map::create();
    let refused = [
        map.prepare_session(&[1, 2], 3).unwrap_err(),
        map.prepare_track(&[1], &[1], &"x".repeat(65_536), 4).unwrap_err(),
        map.prepare_track(&[1], &[1], "", 0).unwrap_err(),
    ];
    let texts = refused.map(|error| error.to_string());
    assert_eq!(
        texts,
        [
            "the answer would start at token 3 of a run of 2 tokens",
            "bytes in a track's source: 65536, and the format holds at most 65535",
            "min_copy is 0, and a copy has at least one token",
        ]
    );
    drop(map.prepare_session(&[1, 2], 1).unwrap());
    assert_eq!((map.len(), map.bytes().len()), (0, 8));
}

#[test]
fn an_append_prepared_for_another_end_is_refused() {
    let mut map = Map::create();
    let (first, second) = (map.prepare_session(&[1], 1).unwrap(), map.prepare_session(&[2], 1).unwrap());
    assert_eq!(map.commit(&first), Ok(Some(0)));
    assert_eq!(map.commit(&second), Err(WriteError::Stale { end: 29, offset: 8 }));
    assert_eq!(map.len(), 1);
}

#[test]
fn nothing_acknowledged_is_lost_behind_any_cut() {
    let mut map = Map::create();
    add(&mut map, &[1, 2, 3], 1);
    add_track(&mut map, &[1, 2, 3, 4, 5], &[6, 7]);
    let append = map.prepare_use(PrefixHash::of(&[1]), 3).unwrap();
    map.commit(&append).unwrap();
    let whole = map.bytes();
    for cut in 8..=whole.len() {
        let mut file = whole[..cut].to_vec();
        let mut map = Map::open(file.clone(), Options::default()).unwrap();
        let kept = map.len();
        for tokens in [[500, 501], [600, 601]] {
            let append = map.prepare_session(&tokens, 1).unwrap();
            append.apply_to(&mut file);
            map.commit(&append).unwrap();
        }
        let read = Map::open(file.clone(), Options::default()).unwrap();
        assert_eq!((read.len(), read.tail(), file == map.bytes()), (kept + 2, Tail::None, true), "cut at {cut}");
        assert_eq!((answer(&read, &[500]), answer(&read, &[600])), (Some(vec![501]), Some(vec![601])));
        assert_eq!(read.problem_count(), 0);
    }
}

#[test]
fn a_damaged_tail_is_not_cut() {
    let mut map = Map::create();
    add(&mut map, &[1, 2, 3], 1);
    add(&mut map, &[4, 5, 6], 1);
    let mut bytes = map.bytes();
    bytes[10] = 9;
    let mut map = Map::open(bytes, Options::default()).unwrap();
    let error = map.prepare_session(&[1], 1).unwrap_err();
    assert_eq!(error, WriteError::NeedsRepair { offset: 8, len: 58 });
    assert_eq!(map.rail().len(), 0);
}

#[test]
fn a_bad_record_is_skipped_and_reported_and_the_rest_opens() {
    let good = |tokens: &[u32]| {
        let mut map = Map::create();
        add(&mut map, tokens, 1);
        map.bytes()[8..].to_vec()
    };
    for bad in
        [&[1, 0, 0, 0, 0][..], &[2, 3, 0, 0, 0, 1, 2, 3], &[3, 1, 0, 0, 0, 9], &[4, 0, 0, 0, 0], &[5, 0, 0, 0, 0]]
    {
        let bytes = [&crate::record::MAGIC[..], &good(&[1, 2]), bad, &good(&[3, 4])].concat();
        let map = Map::open(bytes, Options::default()).unwrap();
        assert_eq!((map.len(), map.problem_count()), (2, 1), "{bad:?}");
        assert_eq!((map.problems()[0].offset, map.problems()[0].kind), (33, bad[0]));
        assert_eq!((answer(&map, &[1]), answer(&map, &[3])), (Some(vec![2]), Some(vec![4])));
    }
}

#[test]
fn records_are_listed_with_their_offsets_in_the_file() {
    let mut map = Map::create();
    add(&mut map, &[1], 1);
    let mut map = reopened(&map, Options::default());
    add(&mut map, &[2], 1);
    let offsets: Vec<_> = map.records().map(|record| record.offset).collect();
    assert_eq!(offsets, [8, 29]);
    assert_eq!((map.run_offset(1), map.end()), (Some(29), 50));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let options = Options { rail: RailOptions { nmax: 0, ..RailOptions::default() }, ..Options::default() };
    assert!(matches!(Map::open(Map::create().bytes(), options), Err(OpenError::Rail(_))));
    let options = Options { foreign: vec![Foreign { bytes: b"hello"[..].into(), limit: None }], ..Options::default() };
    let error = Map::open(Map::create().bytes(), options).unwrap_err();
    assert_eq!(error.to_string(), "foreign map 0: not a .mrail map: 5 bytes, and the magic alone has 8");
}
