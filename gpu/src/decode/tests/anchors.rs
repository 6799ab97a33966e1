//! States that are anchored, restored, and refused.

use super::*;
use mrail::anchor::{Dtype, Snapshot};
use mrail::record::DELTA;

const PROMPT: AnchorRule = AnchorRule { prompt: true, ..AnchorRule::NONE };

fn every(tokens: usize) -> AnchorRule {
    AnchorRule { every: NonZeroUsize::new(tokens), ..AnchorRule::NONE }
}

fn positions(map: &Map<'_>) -> Vec<u32> {
    let mut positions: Vec<_> = map.anchors().map(|anchor| anchor.position).collect();
    positions.sort_unstable();
    positions
}

/// A decoder that knows what is in a journal, and nothing else.
fn reopened(shared: &Shared) -> Decoder<Mock> {
    let mut decoder = decoder();
    decoder.attach(shared.open(), Some(Box::new(shared.clone()))).unwrap();
    decoder
}

#[test]
fn only_what_is_behind_the_anchor_is_read() {
    for len in [1, 63, 64, 65, 200, 300] {
        let (mut decoder, shared) = with_map();
        let context = context(1, len);
        let outcome = generate(&mut decoder, &context, &Options { anchors: PROMPT, ..options(5) });
        assert_eq!((outcome.stats.anchors, positions(&shared.open())), (1, vec![len as u32]));
        for behind in [1, 2, 70] {
            let longer: Vec<u32> = context.iter().copied().chain((0..behind).map(|at| (at * 3 + 1) % 40)).collect();
            let mut decoder = reopened(&shared);
            let outcome = generate(&mut decoder, &longer, &options(9));
            assert_eq!(outcome.ids(), plain(&longer, 9, &[]));
            assert_eq!((outcome.stats.restored, outcome.stats.read), (len, behind as usize));
            assert_eq!(outcome.stats.evaluated, u64::from(behind) + 8);
            assert_eq!(outcome.stats.faults, []);
        }
    }
}

#[test]
fn a_context_that_ends_at_an_anchor_reads_nothing() {
    let (mut decoder, shared) = with_map();
    let context = context(2, 150);
    generate(&mut decoder, &context, &Options { anchors: PROMPT, ..options(5) });
    // Nothing but the anchor helps here: the run is of another question, one token longer.
    let mut fresh = reopened(&shared);
    let outcome = generate(&mut fresh, &context, &options(20));
    assert_eq!((outcome.stats.served, outcome.stats.restored, outcome.stats.read), (5, 150, 5));
    assert_eq!((outcome.ids(), outcome.stats.evaluated), (plain(&context, 20, &[]), 5 + 14));
    let one = reopened(&shared);
    let mut map = one.map().unwrap().clone();
    let other = [&context[..], &[1, 2, 3]].concat();
    let append = map.prepare_session(&other, 151).unwrap();
    map.commit(&append).unwrap();
    let mut asked = decoder_of(map);
    let outcome = generate(&mut asked, &context[..150], &Options { max_new: 1, ..options(1) });
    assert_eq!((outcome.stats.evaluated, outcome.ids()), (0, plain(&context, 1, &[])));
}

fn decoder_of(map: Map<'static>) -> Decoder<Mock> {
    let mut decoder = decoder();
    decoder.attach(map, None).unwrap();
    decoder
}

#[test]
fn anchors_stand_where_the_rule_says_and_are_deltas() {
    for draft in [0, 8, 31] {
        let (mut decoder, shared) = with_map();
        let context = context(3, 210);
        let asked = Options { anchors: every(20), draft, ..options(100) };
        let outcome = generate(&mut decoder, &context, &asked);
        assert_eq!(outcome.ids(), plain(&context, 100, &[]));
        // The answer's last token is not taken in.
        let map = shared.open();
        assert_eq!(positions(&map), (1..=15).map(|at| at * 20).collect::<Vec<_>>());
        assert_eq!((outcome.stats.anchors, decoder.engine().states), (15, 15));
        assert_eq!(map.records().filter(|record| record.kind == DELTA).count(), 13);
        // Each of them is a state to go on from.
        let all = [&context[..], &outcome.ids()].concat();
        for anchor in map.anchors() {
            let position = anchor.position as usize;
            assert_eq!(anchor.hash, PrefixHash::of(&all[..position]));
            let mut fresh = reopened(&shared);
            now(fresh.restore(anchor.hash, position, &all)).unwrap();
            assert_eq!(fresh.engine().choice(), Some(next(&all[..position])));
        }
        // The second time nothing is written again.
        let again = generate(&mut reopened(&shared), &context, &Options { max_new: 50, ..asked });
        assert_eq!((again.stats.anchors, again.stats.served), (0, 50));
    }
}

#[test]
fn the_place_where_contexts_part_is_anchored() {
    let (mut decoder, shared) = with_map();
    let common = context(4, 90);
    let [one, other, third] = [[1, 2], [3, 4], [5, 6]].map(|end| [&common[..], &end].concat());
    let shares = |least| AnchorRule { shared: NonZeroUsize::new(least), ..AnchorRule::NONE };
    let asked = |least| Options { anchors: shares(least), ..options(4) };
    generate(&mut decoder, &one, &asked(64));
    assert!(positions(&shared.open()).is_empty());
    // Too little would be saved.
    let mut fresh = reopened(&shared);
    generate(&mut fresh, &other, &asked(91));
    assert!(positions(&shared.open()).is_empty());
    let mut fresh = reopened(&shared);
    generate(&mut fresh, &third, &asked(90));
    assert_eq!(positions(&shared.open()), [90]);
    let fourth = [&common[..], &[7, 8]].concat();
    let outcome = generate(&mut reopened(&shared), &fourth, &asked(64));
    assert_eq!((outcome.stats.restored, outcome.stats.read, outcome.stats.anchors), (90, 2, 0));
}

#[test]
fn an_anchor_that_is_broken_or_foreign_costs_time_alone() {
    let (mut decoder, shared) = with_map();
    let context = context(5, 100);
    generate(&mut decoder, &context, &Options { anchors: PROMPT, ..options(5) });
    let longer = [&context[..], &[1]].concat();
    let map = shared.open();
    let offset = map.anchor_offset(PrefixHash::of(&context)).unwrap();
    let end = map.records().find(|record| record.offset == offset).unwrap().end();
    let wanted = plain(&longer, 6, &[]);
    // Damage in what it says of itself, and in its body.
    for at in [offset + 60, end - 40, end - 1] {
        let mut bytes = shared.0.borrow().clone();
        bytes[at] ^= 0x55;
        let mut fresh = decoder_of(Map::open(bytes, mrail::Options::default()).unwrap());
        let outcome = generate(&mut fresh, &longer, &options(6));
        assert_eq!((outcome.ids(), outcome.stats.restored, outcome.stats.read), (wanted.clone(), 0, 101));
        assert_eq!(outcome.stats.faults.len(), 1, "{at}");
    }
    // Another model's layers.
    let mut other = Decoder::new(Mock::default(), vec![layer(); 2]);
    other.attach(shared.open(), None).unwrap();
    let outcome = generate(&mut other, &longer, &options(6));
    assert_eq!((outcome.ids(), outcome.stats.read), (wanted.clone(), 101));
    assert_eq!(outcome.stats.faults[0].to_string(), "the anchor has 1 layers, and should have 2");
    // An engine that refuses it, and what it had is gone.
    let mut fresh = reopened(&shared);
    fresh.engine_mut().fails_in = Some(0);
    let outcome = generate(&mut fresh, &longer, &options(6));
    assert_eq!((outcome.ids(), outcome.stats.read), (wanted, 101));
    assert_eq!(outcome.stats.faults, [AnchorFault::Engine("Asked".into())]);
}

fn state(tokens: &[u32]) -> State {
    let mut engine = Mock::default();
    now(engine.extend(tokens)).unwrap();
    now(engine.state()).unwrap()
}

#[test]
fn a_state_comes_back_with_its_row() {
    let setup = layer();
    let sizes = [(&setup.config, &setup.carrier)];
    for tokens in [1, 64, 65, 129, 300] {
        let state = state(&context(1, tokens));
        let snapshot = to_anchor(&sizes, &state).unwrap();
        let read = from_anchor(&snapshot, &sizes, tokens).unwrap();
        assert_eq!(read.hidden, state.hidden);
        assert_eq!(read.layers[0].first_difference(&state.layers[0]), None);
        let error = from_anchor(&snapshot, &sizes, tokens + 1).unwrap_err();
        assert_eq!(error, AnchorFault::Position { found: tokens as u32, wanted: tokens + 1 });
    }
    // Of two layers, the last one has the row.
    let one = state(&context(1, 70));
    let two = State { layers: vec![one.layers[0].clone(), one.layers[0].clone()], hidden: one.hidden.clone() };
    let sizes = [sizes[0], sizes[0]];
    let snapshot = to_anchor(&sizes, &two).unwrap();
    assert!(snapshot.named(0, "hidden").unwrap().iter().all(|&byte| byte == 0));
    assert_eq!(from_anchor(&snapshot, &sizes, 70).unwrap().hidden, two.hidden);
    let error = to_anchor(&sizes[..1], &two).unwrap_err();
    assert_eq!(error.to_string(), "the anchor has 2 layers, and should have 1");
    assert!(to_anchor(&[], &State::default()).is_err());
}

#[test]
fn rows_that_make_no_sense_are_told() {
    let setup = layer();
    let sizes = [(&setup.config, &setup.carrier); 2];
    let one = state(&context(1, 70));
    let two = State { layers: vec![one.layers[0].clone(), one.layers[0].clone()], hidden: one.hidden };
    let snapshot = to_anchor(&sizes, &two).unwrap();
    let changed = |change: &dyn Fn(&mut Vec<mrail::anchor::ArraySpec>, &mut Vec<u8>)| {
        let (mut arrays, mut bytes) = (snapshot.arrays().to_vec(), snapshot.bytes().to_vec());
        change(&mut arrays, &mut bytes);
        let snapshot = Snapshot::new(arrays, snapshot.scalars().to_vec(), bytes).unwrap();
        from_anchor(&snapshot, &sizes, 70).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(changed(&|arrays, _| arrays.last_mut().unwrap().name = "other".into()), "array \"hidden\" is missing");
    let dtype = |arrays: &mut Vec<mrail::anchor::ArraySpec>, _: &mut Vec<u8>| {
        arrays.last_mut().unwrap().dtype = Dtype::UInt32;
    };
    assert_eq!(changed(&dtype), "array \"hidden\" is no row of float32");
    let len = snapshot.bytes().len();
    let set =
        |at: usize| move |_: &mut Vec<_>, bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&[0, 0, 192, 127]);
    assert_eq!(changed(&set(len - 4)), "array \"hidden\" has a number that is not finite");
    assert_eq!(changed(&set(len / 2 - 4)), "array \"hidden\" has numbers in a layer that is not the last");
}
