//! The index: the runs sorted by their tokens.
//!
//! The longest prefix that a context shares with any run is one that it shares with a neighbour of the place where it
//! would stand in sorted order. Finding that place is a binary search over the tokens themselves, so opening hashes
//! nothing and no collision can answer. Each entry also holds how many tokens it shares with the entry before (the LCP
//! array of a suffix array; Manber and Myers 1990), so walking away from the place, to runs that share less and less,
//! compares no tokens at all. Eight bytes a run.

use crate::tokens::Tokens;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A run in its place among the sorted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) run: u32,
    /// Tokens shared with the entry before; 0 for the first.
    pub(crate) shared: u32,
}

/// Runs in the order of their tokens, equal ones in the order of their numbers, wherever the list lies.
pub(crate) trait Sorted {
    fn len(&self) -> usize;
    fn entry(&self, at: usize) -> Option<Entry>;
}

/// Where a context stands among the runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number of runs that sort before the context.
    at: usize,
    /// Tokens shared with the run before, and with the run at the place.
    before: usize,
    after: usize,
}

impl Place {
    /// The longest prefix that the context shares with any run.
    pub(crate) fn shared(self) -> usize {
        self.before.max(self.after)
    }
}

/// Finds where `context` stands. O(context + log R) token comparisons for ordinary maps: each step starts behind what
/// both ends of the interval are known to share.
pub(crate) fn find<'t>(sorted: &impl Sorted, context: &[u32], tokens: impl Fn(u32) -> Tokens<'t>) -> Place {
    let (mut low, mut high) = (0, sorted.len());
    let (mut before, mut after) = (0_usize, 0_usize);
    while low < high {
        let middle = low + (high - low) / 2;
        let Some(entry) = sorted.entry(middle) else { break };
        let run = tokens(entry.run);
        let known = before.min(after);
        let shared = known.saturating_add(run.from(known).common_prefix(context.get(known..).unwrap_or_default()));
        let run_is_less = match (run.get(shared), context.get(shared)) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(token), Some(&other)) => token < other,
        };
        if run_is_less {
            (low, before) = (middle + 1, shared);
        } else {
            (high, after) = (middle, shared);
        }
    }
    Place { at: low, before, after }
}

/// Runs from the place upwards, each with the tokens it shares with the context: never more than the one before it.
/// All runs that begin with the whole context are among them.
pub(crate) fn after(sorted: &impl Sorted, place: Place) -> impl Iterator<Item = (u32, usize)> {
    (place.at..sorted.len()).map_while(|at| sorted.entry(at)).enumerate().scan(place.after, |shared, (i, entry)| {
        if i > 0 {
            *shared = (*shared).min(entry.shared as usize);
        }
        Some((entry.run, *shared))
    })
}

/// Runs from the place downwards, likewise.
pub(crate) fn before(sorted: &impl Sorted, place: Place) -> impl Iterator<Item = (u32, usize)> {
    (0..place.at).rev().map_while(|at| sorted.entry(at)).scan(place.before, |shared, entry| {
        let this = (entry.run, *shared);
        *shared = (*shared).min(entry.shared as usize);
        Some(this)
    })
}

/// Where a run whose number is higher than all others' belongs, and its entry, for the caller to put there. The entry
/// behind it is told what it will share. O(log R) comparisons.
pub(crate) fn make_way<'t>(entries: &mut [Entry], run: u32, tokens: impl Fn(u32) -> Tokens<'t>) -> (usize, Entry) {
    let new = tokens(run);
    let at = entries.partition_point(|entry| tokens(entry.run).compare(new) != Ordering::Greater);
    let before = at.checked_sub(1).and_then(|before| entries.get(before));
    let shared = before.map_or(0, |entry| shared_tokens(tokens(entry.run), new));
    if let Some(after) = entries.get_mut(at) {
        after.shared = shared_tokens(new, tokens(after.run));
    }
    (at, Entry { run, shared })
}

/// The sorted runs of a map that grows.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    entries: Vec<Entry>,
}

#[cfg(feature = "alloc")]
impl Sorted for Index {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, at: usize) -> Option<Entry> {
        self.entries.get(at).copied()
    }
}

#[cfg(feature = "alloc")]
impl Index {
    /// Sorts `runs`. O(N log R) token comparisons at most for R runs with N tokens in all, O(R) memory.
    pub(crate) fn build<'t>(mut runs: Vec<u32>, tokens: impl Fn(u32) -> Tokens<'t>) -> Self {
        runs.sort_by(|&a, &b| tokens(a).compare(tokens(b)).then(a.cmp(&b)));
        let mut previous = Tokens::default();
        let entries = runs
            .into_iter()
            .map(|run| {
                let current = tokens(run);
                let shared = shared_tokens(previous, current);
                previous = current;
                Entry { run, shared }
            })
            .collect();
        Self { entries }
    }

    /// Adds a run whose number is higher than all others'. O(log R) comparisons and O(R) moves.
    pub(crate) fn insert<'t>(&mut self, run: u32, tokens: impl Fn(u32) -> Tokens<'t>) {
        let (at, entry) = make_way(&mut self.entries, run, tokens);
        self.entries.insert(at, entry);
    }
}

/// Tokens that two runs share from the first on.
pub(crate) fn shared_tokens(a: Tokens<'_>, b: Tokens<'_>) -> u32 {
    a.iter().zip(b.iter()).take_while(|(a, b)| a == b).count() as u32
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::tokens::write_tokens;
    use alloc::vec;
    use proptest::prelude::*;

    fn common(run: &[u32], context: &[u32]) -> usize {
        run.iter().zip(context).take_while(|(a, b)| a == b).count()
    }

    /// Every run is walked to, with what it shares with the context.
    fn check(runs: &[Vec<u32>], context: &[u32], inserted: usize) {
        let bytes: Vec<Vec<u8>> = runs
            .iter()
            .map(|run| {
                let mut bytes = vec![];
                write_tokens(&mut bytes, run);
                bytes
            })
            .collect();
        let tokens = |run: u32| Tokens::new(&bytes[run as usize]).unwrap();
        let built = runs.len() - inserted;
        let mut index = Index::build((0..built as u32).collect(), tokens);
        for run in built..runs.len() {
            index.insert(run as u32, tokens);
        }
        let place = find(&index, context, tokens);
        assert_eq!(place.shared(), runs.iter().map(|run| common(run, context)).max().unwrap_or(0));
        let walked: Vec<_> = before(&index, place).chain(after(&index, place)).collect();
        assert_eq!(walked.len(), runs.len());
        for (run, shared) in walked {
            assert_eq!(shared, common(&runs[run as usize], context), "run {run}");
        }
        for (run, _) in before(&index, place) {
            assert!(runs[run as usize].as_slice() < context);
        }
        let order: Vec<_> = index.entries.iter().map(|entry| (runs[entry.run as usize].clone(), entry.run)).collect();
        assert!(order.is_sorted());
    }

    proptest! {
        #[test]
        fn every_run_is_found_with_what_it_shares(
            runs in prop::collection::vec(prop::collection::vec(0u32..3, 0..8), 0..12),
            context in prop::collection::vec(0u32..3, 0..8),
            inserted in 0usize..6,
        ) {
            check(&runs, &context, inserted.min(runs.len()));
        }
    }

    #[test]
    fn an_empty_index_and_an_empty_context() {
        check(&[], &[1], 0);
        check(&[vec![], vec![1], vec![]], &[], 1);
    }
}
