//! A second implementation, straight from FORMAT.md, that builds the whole trie; and a comparator of the two.

use super::*;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// What is in a log: `None` is a border.
type Log = Vec<Option<u32>>;

#[derive(Default)]
struct Trie {
    weight: f64,
    children: BTreeMap<u32, Trie>,
}

impl Trie {
    /// Adds what the log says from a place on.
    fn add(&mut self, log: &Log, place: usize, weight: f64) {
        let mut node = self;
        let mut decay = 1.0;
        for token in log.iter().skip(place).take(24).map_while(|&token| token) {
            node = node.children.entry(token).or_default();
            node.weight += weight * decay;
            decay *= 0.92;
        }
    }

    fn at(&self, path: &[u32]) -> Option<&Trie> {
        path.iter().try_fold(self, |node, token| node.children.get(token))
    }
}

/// The twin: a log, the states added to it, and a linear search for everything.
struct Twin {
    options: RailOptions,
    log: Log,
    /// (index, 24-bit hash), in order of adding.
    states: Vec<(usize, u32)>,
}

impl Twin {
    fn new(options: RailOptions) -> Self {
        Self { options, log: Log::new(), states: Vec::new() }
    }

    fn push_run(&mut self, run: &[u32], gen_start: usize) {
        let start = if self.options.prompts { 0 } else { gen_start.saturating_sub(self.options.nmax).min(run.len()) };
        if self.options.borders == Borders::Stop && !self.log.is_empty() && start < run.len() {
            self.log.push(None);
        }
        self.log.extend(run[start..].iter().map(|&token| Some(token)));
    }

    fn trie(&self, context: &[u32], state: Option<u32>) -> Trie {
        let mut trie = Trie::default();
        let Some(&last) = context.last() else { return trie };
        let len = self.log.len();
        if let Some(state) = state {
            for (shift, weight) in [(0, 216.0), (12, 27.0)] {
                let same = self.states.iter().rev().filter(|&&(index, hash)| {
                    hash >> shift == state >> shift && self.log.get(index + 1) == Some(&Some(last))
                });
                same.take(24).for_each(|&(index, _)| trie.add(&self.log, index + 2, weight));
            }
        }
        for n in (1..=self.options.nmax.min(context.len())).rev() {
            let gram: Vec<_> = context[context.len() - n..].iter().map(|&token| Some(token)).collect();
            let after = (n..len).rev().filter(|&place| self.log[place - n..place] == gram && self.log[place].is_some());
            let power = (0..n).fold(1.0, |power, _| power * 4.0);
            after.take(24).for_each(|place| trie.add(&self.log, place, power * (1.0 + place as f64 / len as f64)));
        }
        trie
    }
}

/// Tokens, weights and paths of a trie's best nodes, by repeated search for the best one. Ties are in any order.
fn best(trie: &Trie, budget: usize) -> Vec<(f64, u32)> {
    let mut open: Vec<(f64, u32, &Trie)> = Vec::new();
    let mut out = Vec::new();
    let mut node = trie;
    while out.len() < budget {
        open.extend(node.children.iter().map(|(&token, child)| (child.weight, token, child)));
        let better = |a: &(f64, u32, &Trie), b: &(f64, u32, &Trie)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1));
        let Some(at) = (0..open.len()).max_by(|&a, &b| better(&open[a], &open[b])) else { break };
        let (weight, token, child) = open.swap_remove(at);
        out.push((weight, token));
        node = child;
    }
    out
}

/// Whether a tree holds a trie's best nodes: the right tokens in the right order, each on a path of the right weight (to
/// the bit), no path twice. That leaves open the order among nodes of equal weight and token, and nothing else.
fn compare(tokens: &[u32], parents: &[i32], trie: &Trie, budget: usize) -> Result<(), String> {
    let want = best(trie, budget);
    if tokens.len() != want.len() || parents.len() != want.len() {
        return Err(format!("{} tokens and {} parents, not {}", tokens.len(), parents.len(), want.len()));
    }
    let mut paths: Vec<Vec<u32>> = Vec::new();
    for (i, ((&token, &parent), (weight, wanted))) in tokens.iter().zip(parents).zip(want).enumerate() {
        let mut path = match usize::try_from(parent) {
            Ok(parent) => paths.get(parent).cloned().ok_or(format!("node {i} comes before its parent {parent}"))?,
            Err(_) if parent == -1 => Vec::new(),
            Err(_) => return Err(format!("parent {parent} of node {i}")),
        };
        path.push(token);
        let node = trie.at(&path).ok_or(format!("node {i} is not in the trie: {path:?}"))?;
        if token != wanted || node.weight.to_bits() != weight.to_bits() {
            return Err(format!("node {i} is {token} of {}, not {wanted} of {weight}", node.weight));
        }
        if paths.contains(&path) {
            return Err(format!("{path:?} twice"));
        }
        paths.push(path);
    }
    Ok(())
}

fn check(rail: &mut Rail, twin: &Twin, context: &[u32], budget: usize, state: Option<u32>) {
    let trie = twin.trie(context, state);
    let mut tree = DraftTree::default();
    rail.tree_into(context, budget, state.map(SimHash::from_bits), &mut tree);
    if let Err(why) = compare(tree.tokens(), tree.parents(), &trie, budget) {
        panic!("{why}; context {context:?}, budget {budget}, state {state:?}, log {:?}", twin.log);
    }
    // The weights that nodes say they have are those of their paths.
    let weights = tree.paths().map(|path| trie.at(&path).map(|node| node.weight.to_bits()));
    assert!(
        weights.eq(tree.weights().map(|weight| Some(weight.to_bits()))),
        "{:?}",
        tree.weights().collect::<Vec<_>>()
    );
}

#[derive(Clone, Debug)]
enum Step {
    Run(Vec<u32>, usize),
    State(usize, u32),
    Tree(Vec<u32>, usize, Option<u32>),
}

/// Few tokens, so that n-grams meet again; the greatest one among them.
fn token() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..3_u32, 2 => 3..40_u32, 1 => Just(u32::MAX)]
}

/// Few hashes: some equal, some equal in their top 12 bits only.
fn hash() -> impl Strategy<Value = u32> {
    (0..2_u32, 0..2_u32).prop_map(|(top, low)| top << 20 | low)
}

fn step() -> impl Strategy<Value = Step> {
    let run = prop_oneof![
        4 => prop::collection::vec(token(), 0..60),
        1 => prop::collection::vec(0..2_u32, 0..300),
        1 => (token(), 0..120_usize).prop_map(|(token, n)| vec![token; n]),
    ];
    prop_oneof![
        3 => (run, 0..70_usize).prop_map(|(run, gen_start)| Step::Run(run, gen_start)),
        2 => (0..300_usize, hash()).prop_map(|(index, hash)| Step::State(index, hash)),
        4 => (prop::collection::vec(token(), 0..9), 0..80_usize, prop::option::of(hash()))
            .prop_map(|(context, budget, state)| Step::Tree(context, budget, state)),
    ]
}

fn options() -> impl Strategy<Value = RailOptions> {
    let borders = prop_oneof![Just(Borders::Cross), Just(Borders::Stop)];
    (1..=7_usize, any::<bool>(), borders).prop_map(|(nmax, prompts, borders)| RailOptions { nmax, prompts, borders })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn trees_equal_the_twin(options in options(), steps in prop::collection::vec(step(), 1..40)) {
        let mut rail = Rail::new(options).unwrap();
        let mut twin = Twin::new(options);
        for step in steps {
            match step {
                Step::Run(run, gen_start) => {
                    let at = rail.push_run(run.iter().copied(), gen_start).unwrap();
                    twin.push_run(&run, gen_start);
                    prop_assert_eq!(rail.len(), twin.log.len());
                    prop_assert_eq!(at.end, rail.len());
                    prop_assert!(at.clone().map(|i| rail.token(i)).eq(twin.log[at].iter().copied()));
                }
                Step::State(index, hash) => {
                    rail.add_state(index, SimHash::from_bits(hash));
                    twin.states.push((index, hash));
                }
                Step::Tree(context, budget, state) => check(&mut rail, &twin, &context, budget, state),
            }
        }
        prop_assert!(rail.tokens().eq(twin.log.iter().copied().flatten()));
        // Every place of the log is a context, and one that no step asked for.
        for end in (1..=twin.log.len()).step_by(7) {
            let context: Vec<u32> = twin.log[end.saturating_sub(8)..end].iter().copied().flatten().collect();
            check(&mut rail, &twin, &context, 31, None);
        }
    }
}

#[test]
fn the_comparator_refuses_what_is_wrong() {
    let options = RailOptions::default();
    let mut twin = Twin::new(options);
    twin.push_run(&[1, 2, 3, 4, 1, 2, 5, 6, 1, 2, 3, 7], 0);
    let trie = twin.trie(&[1, 2], None);
    let mut rail = Rail::new(options).unwrap();
    rail.push_run([1, 2, 3, 4, 1, 2, 5, 6, 1, 2, 3, 7], 0).unwrap();
    let (tokens, parents) = rail.tree(&[1, 2], 8).into_parts();
    compare(&tokens, &parents, &trie, 8).unwrap();

    let wrong = |change: fn(&mut Vec<u32>, &mut Vec<i32>)| {
        let (mut tokens, mut parents) = (tokens.clone(), parents.clone());
        change(&mut tokens, &mut parents);
        compare(&tokens, &parents, &trie, 8).unwrap_err()
    };
    wrong(|tokens, _| tokens[1] += 1);
    wrong(|tokens, parents| {
        tokens.swap(0, 1);
        parents.swap(0, 1);
    });
    wrong(|_, parents| parents[0] = 0);
    wrong(|_, parents| parents[1] = -2);
    wrong(|_, parents| parents[2] = i32::MAX);
    wrong(|tokens, parents| {
        tokens.pop();
        parents.pop();
    });
    wrong(|tokens, parents| {
        tokens[7] = tokens[6];
        parents[7] = parents[6];
    });
    // The right tokens with a weight that is off by one bit, and a trie with a weight that is no number.
    let mut off = twin.trie(&[1, 2], None);
    let first = off.children.get_mut(&tokens[0]).unwrap();
    first.weight = f64::from_bits(first.weight.to_bits() + 1);
    assert!(compare(&tokens, &parents, &off, 8).is_ok(), "a trie is compared with itself");
    off.children.get_mut(&tokens[0]).unwrap().weight = 0.0;
    assert!(compare(&tokens, &parents, &off, 8).is_err());
}

#[test]
fn nothing_comes_of_nothing() {
    let mut rail = Rail::new(RailOptions::default()).unwrap();
    assert!(rail.tree(&[1, 2], 31).is_empty());
    rail.push_run([], 0).unwrap();
    assert!(rail.is_empty());
    rail.push_run([1], 0).unwrap();
    assert!(rail.tree(&[1], 31).is_empty(), "nothing follows the log's last token");
    rail.push_run([1, 2], 0).unwrap();
    assert!(rail.tree(&[], 31).is_empty());
    assert!(rail.tree(&[1], 0).is_empty());
    assert!(rail.tree(&[7], 31).is_empty());
    assert_eq!(rail.tree(&[7, 1], usize::MAX).into_parts(), (vec![2, 1, 2], vec![-1, -1, 1]));
}

#[test]
fn a_tree_is_read_by_paths() {
    let mut rail = Rail::new(RailOptions::default()).unwrap();
    rail.push_run([1, 2, 3, 1, 2, 4, 1], 0).unwrap();
    let tree = rail.tree(&[1, 2], 5);
    assert_eq!(tree.tokens(), [4, 1, 3, 1, 2]);
    assert_eq!(tree.parents(), [-1, 0, -1, 2, 3]);
    assert_eq!(tree.depths(), [0, 1, 0, 1, 2]);
    assert_eq!(tree.path(4), [3, 1, 2]);
    assert!(tree.path(5).is_empty());
    assert_eq!(tree.paths().map(|path| path.len() as u32 - 1).collect::<Vec<_>>(), tree.depths());
    assert_eq!((tree.parent(4), tree.parent(2), tree.parent(9)), (Some(3), None, None));
    assert_eq!(tree.iter().len(), tree.len());
    let (tokens, parents) = rail.tree(&[1, 2], 3).into_parts();
    assert_eq!((&tokens[..], &parents[..]), (&tree.tokens()[..3], &tree.parents()[..3]));
}

#[test]
fn borders_stop_n_grams_and_drafts() {
    let stop = RailOptions { borders: Borders::Stop, ..RailOptions::default() };
    let (mut cross, mut stop) = (Rail::new(RailOptions::default()).unwrap(), Rail::new(stop).unwrap());
    for rail in [&mut cross, &mut stop] {
        rail.push_run([5, 6, 7], 1).unwrap();
        rail.push_run([], 0).unwrap();
    }
    assert_eq!(cross.push_run([8, 9], 1), Ok(3..5));
    assert_eq!(stop.push_run([8, 9], 1), Ok(4..6));
    assert_eq!(cross.tree(&[6], 9).tokens(), [7, 8, 9]);
    assert_eq!(stop.tree(&[6], 9).tokens(), [7]);
    assert_eq!(cross.tree(&[7], 9).tokens(), [8, 9]);
    assert!(stop.tree(&[7], 9).is_empty());
    assert_eq!((stop.token(3), stop.token(4), stop.token(6)), (None, Some(8), None));
    assert!(stop.tokens().eq([5, 6, 7, 8, 9]));
    // The newest 24 places are places that are followed by something.
    for _ in 0..30 {
        stop.push_run([1, 6], 1).unwrap();
    }
    assert_eq!(stop.tree(&[1, 6], 9).tokens(), [7]);
}

// As seen from the reference: what is logged with prompts off, and a start past the end.
#[test]
fn answers_only() {
    let run: Vec<u32> = (100..120).collect();
    for (nmax, gen_start, logged) in [
        (6, 0, 20),
        (6, 6, 20),
        (6, 7, 19),
        (6, 10, 16),
        (6, 19, 7),
        (6, 20, 6),
        (6, 25, 1),
        (6, 26, 0),
        (1, 10, 11),
        (12, 10, 20),
    ] {
        let options = RailOptions { nmax, prompts: false, ..RailOptions::default() };
        let mut rail = Rail::new(options).unwrap();
        assert_eq!(rail.push_run(run.iter().copied(), gen_start), Ok(0..logged), "{nmax} {gen_start}");
        assert!(rail.tokens().eq(run[20 - logged..].iter().copied()));
        assert_eq!(rail.push_draft_only([1, 2, 3]), Ok(logged..logged + 3));
    }
}

// As seen from the reference: the state at token i is filed with token i + 1, even if that comes later.
#[test]
fn states_wait_for_their_token() {
    let mut rail = Rail::new(RailOptions::default()).unwrap();
    let state = SimHash::from_bits(0xABC_DEF);
    rail.push_run([1, 2, 3], 0).unwrap();
    rail.add_state(2, state);
    rail.add_state(4, state);
    rail.add_state(usize::MAX, state);
    assert!(rail.tree_with_state(&[4], 9, state).is_empty());
    rail.push_run([4, 5, 6], 0).unwrap();
    let heavy = rail.tree_with_state(&[4], 1, state);
    assert_eq!(heavy.tokens(), [5]);
    assert!(rail.tree_with_state(&[6], 1, state).is_empty(), "nothing follows, though the state is known");
    rail.push_run([9], 0).unwrap();
    assert_eq!(rail.tree_with_state(&[6], 1, state).tokens(), [9]);
}

/// Buckets long enough that samples and counted searches are used, around every kind of border between their keys.
#[test]
fn long_buckets() {
    for (distinct, nmax) in [(1, 2), (2, 3), (5, 6), (40, 4), (300, 2), (1500, 6)] {
        let options = RailOptions { nmax, ..RailOptions::default() };
        let (mut rail, mut twin) = (Rail::new(options).unwrap(), Twin::new(options));
        let mut state = 1_u32;
        let mut token = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Every other token is the same one, and of the others some are much more frequent than others.
            let x = u64::from(state >> 8);
            if x % 2 == 0 { 9 } else { ((x * x % 0xFFFF * distinct) >> 16) as u32 }
        };
        let mut run: Vec<u32> = (0..6000).map(|_| token()).collect();
        rail.push_run(run.iter().copied(), 0).unwrap();
        twin.push_run(&run, 0);
        run.extend(0..distinct as u32);
        for i in 0..60 {
            let at = i * 97;
            let context = [&run[at..at + 5], &[run[run.len() - 1 - i % distinct as usize], 9][i % 2..]].concat();
            check(&mut rail, &twin, &context, 31, None);
        }
    }
}

#[test]
fn the_newest_places_of_a_state_are_followed() {
    let options = RailOptions::default();
    let (mut rail, mut twin) = (Rail::new(options).unwrap(), Twin::new(options));
    let run: Vec<u32> = (0..400).map(|i| if i % 2 == 0 { 7 } else { i % 11 + 10 }).collect();
    rail.push_run(run.iter().copied(), 0).unwrap();
    twin.push_run(&run, 0);
    for i in 0..130 {
        // Not in the order of the log, some twice, every other one with the full hash.
        let index = i * 37 % 199 / 2 * 4 + 1;
        let hash = 0xABC_000 | u32::from(i % 2 == 0);
        rail.add_state(index, SimHash::from_bits(hash));
        twin.states.push((index, hash));
        check(&mut rail, &twin, &[7], 60, Some(0xABC_001));
    }
}

/// A run that is longer than any log.
struct Endless;
impl Iterator for Endless {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        Some(1)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (u32::MAX as usize, Some(u32::MAX as usize))
    }
}
impl ExactSizeIterator for Endless {}

#[test]
fn errors_say_the_numbers() {
    for nmax in [0, NMAX_LIMIT + 1, usize::MAX] {
        let options = RailOptions { nmax, ..RailOptions::default() };
        assert_eq!(Rail::new(options).unwrap_err(), RailError::Nmax { nmax });
    }
    let mut rail = Rail::new(RailOptions::default()).unwrap();
    rail.push_run([1, 2], 0).unwrap();
    let full = RailError::Full { len: 2, adding: u32::MAX as usize };
    assert_eq!(rail.push_run(Endless, 0), Err(full));
    assert_eq!(format!("{full}"), "a log of 2 tokens has no room for 4294967295 more");
    assert_eq!(rail.len(), 2, "a refused run leaves nothing behind");
}

/// Logs that could make a look-up or a build slow: 50k tokens here, in a debug build; the work must stay in proportion.
#[test]
fn hostile_logs() {
    const LEN: u32 = 50_000;
    type Token = fn(u32) -> u32;
    let logs: [(&str, Token); 5] = [
        ("one token", |_| u32::MAX),
        ("all distinct", |i| u32::MAX - i),
        ("two tokens in turn", |i| i % 2),
        ("one token, then others", |i| if i % 1000 == 999 { i } else { 7 }),
        ("few tokens, no pattern", |i| i.wrapping_mul(0x9E37_79B9) >> 30),
    ];
    for (name, token) in logs {
        for borders in [Borders::Cross, Borders::Stop] {
            let mut rail = Rail::new(RailOptions { borders, ..RailOptions::default() }).unwrap();
            rail.push_run((0..LEN - 50).map(token), 0).unwrap();
            let context: Vec<u32> = (LEN - 100..LEN - 90).map(token).collect();
            rail.tree(&context, 31);
            for i in LEN - 50..LEN {
                rail.push_run([token(i)], 0).unwrap();
                let tree = rail.tree(&context, 31);
                assert_eq!(tree.len(), if name == "one token" { 24 } else { tree.len() }, "{name}");
                assert!(!tree.is_empty(), "{name}");
            }
            assert!(rail.memory() < 60 * LEN as usize, "{name}: {} bytes", rail.memory());
        }
    }
}

#[test]
fn segments_stay_few() {
    let options = RailOptions::default();
    let (mut rail, mut twin) = (Rail::new(options).unwrap(), Twin::new(options));
    let token = |i: u32| i.wrapping_mul(0x9E37_79B9) >> 28;
    let mut most = 0;
    for i in 0..3000_u32 {
        let run: Vec<u32> = (0..i % 5).map(|k| token(i * 5 + k)).collect();
        rail.push_run(run.iter().copied(), 0).unwrap();
        twin.push_run(&run, 0);
        rail.index();
        most = most.max(rail.segments());
        if i % 100 == 50 {
            let context: Vec<u32> = (i..i + 6).map(token).collect();
            check(&mut rail, &twin, &context, 31, None);
        }
    }
    assert!((2..=13).contains(&most), "{most} segments for 6000 tokens");
}
