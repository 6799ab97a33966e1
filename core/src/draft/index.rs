//! The n-gram index: places of the log, sorted by what stands before them.
//!
//! An index is a list of segments over consecutive stretches of the log. For each n, a segment holds its places in one
//! order: by the token before the place, then by the one before that, up to n of them, then by position. The places
//! after one n-gram are a range of that order, found by binary search, and the newest of them stand at its end:
//!
//! ```text
//! log       a b c a b d a b        order 1:  | 1 4 7 | 2 5 | 3 | 6 |     after a, b, c, d
//! position  0 1 2 3 4 5 6 7        order 2:  | 1 4 7 | 2 5 | 3 | 6 |     after _a ca da, ab, bc, bd
//! ```
//!
//! All orders of a segment have the same buckets by last token, since a place in front of which fewer than n tokens stand
//! is kept as if borders stood there. So one table of bucket starts serves every n, and each n searches its own bucket.
//!
//! Order n + 1 comes from order n by one counting sort: the places in order n, each moved one to the right, are sorted by
//! everything but the token before them; a stable sort by that one is order n + 1. Building is O(n-max * (length +
//! distinct tokens)), with four bytes a token for each n.
//!
//! In a long log each look at another place is a cache miss or two, and these are what a look-up costs. So all n are
//! searched in the order for the longest, which has the range of every shorter n-gram where the order for that one has
//! it; the first and longest of these searches, for the token before the last one, begins in a table of every 32nd of
//! its keys; and several keys are fetched at a time, whether all of them are needed or not.
//!
//! Appending makes a segment of what is new; segments that are not more than twice as long as what follows them are built
//! again together with it. Each is then more than twice as long as the next, so there are at most log2 of them, and a
//! place is sorted again O(log) times.

use super::ranks::BORDER;
use alloc::vec;
use alloc::vec::Vec;

/// Sorted places of one stretch of the log.
#[derive(Clone, Debug)]
struct Segment {
    /// The stretch: places from here...
    start: usize,
    /// ...up to here.
    end: usize,
    /// The ranks before its places, ascending; empty when buckets are numbered by the ranks themselves.
    ranks: Vec<u32>,
    /// Where each bucket starts in every order, and where the last one ends. Bucket 0 is the border's and is empty.
    starts: Vec<u32>,
    /// The orders for n = 1, 2, ..., one behind the other, all of the same length.
    orders: Vec<u32>,
    /// The rank before the last one at every [`SAMPLED`]th place of the longest order.
    samples: Vec<u32>,
    /// Their length.
    len: usize,
}

/// The n-gram index of a log.
///
/// The log is passed to each call: ranks of tokens, with `nmax` borders in front, so that a place has `nmax` ranks
/// before it. Places count from the start of that log, borders included.
#[derive(Clone, Debug)]
pub(super) struct Index {
    nmax: usize,
    segments: Vec<Segment>,
    /// Places before this one are in a segment.
    end: usize,
}

/// One of so many keys is in the table that the second rank of an n-gram is looked up in.
const SAMPLED: usize = 32;
/// So many keys are fetched together and counted rather than searched.
const COUNTED: usize = 16;

/// A range of places in one order of one segment.
type Found = (u32, u32);

impl Index {
    /// An empty index. The log must start with `nmax` borders.
    pub(super) fn new(nmax: usize) -> Self {
        Self { nmax, segments: Vec::new(), end: nmax }
    }

    /// Takes in what was appended to the log since the last call. `distinct` is the highest rank in the log.
    ///
    /// A place after the log's last token is not indexed: nothing follows there yet.
    pub(super) fn update(&mut self, log: &[u32], distinct: usize) {
        if log.len() <= self.end {
            return;
        }
        let mut start = self.end;
        while let Some(last) = self.segments.pop_if(|last| last.end - last.start <= 2 * (log.len() - start)) {
            start = last.start;
        }
        self.segments.push(Segment::build(log, start, self.nmax, distinct));
        self.end = log.len();
    }

    /// How many segments there are.
    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Calls `each(n, place)` for the newest `limit` places after `gram[..n]` (the last token of the context first), for
    /// n from `gram.len()` (at most `nmax`) down to 1, the newest place first.
    ///
    /// O(segments * n * log(length)) comparisons. `found` is scratch.
    pub(super) fn newest(
        &self,
        log: &[u32],
        gram: &[u32],
        limit: usize,
        found: &mut Vec<Found>,
        mut each: impl FnMut(usize, u32),
    ) {
        let longest = gram.len().min(self.nmax);
        found.clear();
        for segment in self.segments.iter().rev() {
            segment.find(log, self.nmax, gram, longest, found);
        }
        for n in (1..=longest).rev() {
            let mut left = limit;
            for (segment, ranges) in self.segments.iter().rev().zip(found.chunks_exact(longest)) {
                let Some((&(low, high), longer)) = ranges.get(n - 1..).and_then(<[Found]>::split_first) else { break };
                // Where a longer n-gram has the same places, they are in the same order, and were just looked at.
                let same = longer.iter().take_while(|&&range| range == (low, high)).count();
                let places = segment.order(n + same).get(low as usize..high as usize).unwrap_or_default();
                for &place in places.iter().rev().take(left) {
                    each(n, place);
                }
                left = left.saturating_sub(places.len());
                if left == 0 {
                    break;
                }
            }
        }
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        let segments = self.segments.iter();
        let words: usize = segments
            .map(|s| s.ranks.capacity() + s.starts.capacity() + s.orders.capacity() + s.samples.capacity())
            .sum();
        words * size_of::<u32>() + self.segments.capacity() * size_of::<Segment>()
    }
}

impl Segment {
    /// Sorts the places from `start` (at least `nmax`) to the end of the log.
    fn build(log: &[u32], start: usize, nmax: usize, distinct: usize) -> Self {
        let end = log.len();
        // What the ranks of `start - 1..end` are called here: their own numbers where the table over all ranks is no
        // longer than the stretch, else dense numbers of those that occur.
        let stretch = log.get(start - 1..end).unwrap_or_default();
        if distinct <= stretch.len() {
            return Self::sort(log, start, nmax, Vec::new(), stretch, distinct);
        }
        let mut ranks = stretch.to_vec();
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|&rank| rank != BORDER);
        ranks.shrink_to_fit();
        let names: Vec<u32> = stretch.iter().map(|&rank| bucket(&ranks, rank).unwrap_or(0) as u32).collect();
        let buckets = ranks.len();
        Self::sort(log, start, nmax, ranks, &names, buckets)
    }

    /// The counting sorts. `names` are the bucket numbers (0 for a border) of the ranks in `log[start - 1..]`.
    fn sort(log: &[u32], start: usize, nmax: usize, ranks: Vec<u32>, names: &[u32], buckets: usize) -> Self {
        let end = log.len();
        // A place counts when a token stands on both sides of it. `pairs` are (place, bucket) of those, by position.
        let pairs = || {
            let places = names.windows(2).zip(start..);
            places.filter_map(|(pair, place)| match *pair {
                [before, after] if before != 0 && after != 0 => Some((place as u32, before as usize)),
                _ => None,
            })
        };
        let mut starts = vec![0_u32; buckets + 2];
        for (_, bucket) in pairs() {
            if let Some(count) = starts.get_mut(bucket) {
                *count += 1;
            }
        }
        let mut len = 0;
        for count in &mut starts {
            (*count, len) = (len, len + *count);
        }
        let len = len as usize;

        let mut orders = vec![0_u32; nmax * len];
        let mut cursors = starts.clone();
        if let Some(first) = orders.get_mut(..len) {
            pairs().for_each(|(place, bucket)| put(first, &mut cursors, bucket, place));
        }
        let segment = Self { start, end, ranks, starts, orders: Vec::new(), samples: Vec::new(), len };

        // Places that move right into this stretch without being in an order themselves: those behind a border, whose
        // rank among each other no n-gram can see, and the one in front of the stretch, which is put where it belongs.
        let edge = start - 1;
        let token = |place: usize| log.get(place).is_some_and(|&rank| rank != BORDER);
        let openings =
            (edge..end).filter(|&place| token(place) && !token(place.wrapping_sub(1))).map(|place| place as u32);
        let openings: Vec<u32> = openings.collect();
        let edge = (token(edge) && token(edge.wrapping_sub(1))).then_some(edge as u32);

        let mut rest = orders.as_mut_slice();
        for n in 1..nmax {
            let Some((source, following)) = rest.split_at_mut_checked(len) else { break };
            let Some(target) = following.get_mut(..len) else { break };
            cursors.copy_from_slice(&segment.starts);
            let split =
                edge.map_or(0, |edge| source.partition_point(|&place| gram(log, n, place).lt(gram(log, n, edge))));
            let (before, after) = source.split_at_checked(split).unwrap_or_default();
            let sorted = openings.iter().chain(before).chain(&edge).chain(after);
            sorted.for_each(|&place| {
                let at = place as usize + 1 - start;
                if let Some(&[before, after]) = names.get(at..).and_then(<[u32]>::first_chunk)
                    && after != 0
                {
                    put(target, &mut cursors, before as usize, place + 1);
                }
            });
            rest = following;
        }
        let sampled = orders.get((nmax - 1) * len..).unwrap_or_default().iter().step_by(SAMPLED);
        let samples = sampled.map(|&place| key(log, 2, place)).collect();
        Self { orders, samples, ..segment }
    }

    /// The order for n.
    fn order(&self, n: usize) -> &[u32] {
        self.orders.get((n - 1) * self.len..n * self.len).unwrap_or_default()
    }

    /// The range of every order in which `rank` stands before the places.
    fn bucket(&self, rank: u32) -> Option<(usize, usize)> {
        let bucket = if self.ranks.is_empty() { Some(rank as usize) } else { bucket(&self.ranks, rank) }?;
        Some((*self.starts.get(bucket)? as usize, *self.starts.get(bucket + 1)? as usize))
    }

    /// Appends to `found`, for n = 1..=longest, the range in order n of the places after `gram[..n]`.
    fn find(&self, log: &[u32], nmax: usize, gram: &[u32], longest: usize, found: &mut Vec<Found>) {
        let order = self.order(nmax);
        let (mut low, mut high) = gram.first().and_then(|&last| self.bucket(last)).unwrap_or_default();
        for (n, &rank) in (1..=longest).zip(gram) {
            if n > 1 && low < high {
                // Keys between two samples are unknown: the ends are there, or at the range's.
                let (first, last) = if n == 2 { self.sampled(low, high, rank) } else { ((low, high), (low, high)) };
                let near = |(low, high): (usize, usize)| order.get(low..high).unwrap_or_default();
                let start = first.0 + count_less(near(first), |&place| key(log, n, place) < rank);
                let last = (last.0.max(start), last.1);
                high = last.0 + count_less(near(last), |&place| key(log, n, place) <= rank);
                low = start;
            }
            found.push((low as u32, high as u32));
        }
    }

    /// Where in a bucket the range of places with `rank` before the last token starts and where it ends: between which
    /// two places of the longest order, as far as samples tell.
    fn sampled(&self, low: usize, high: usize, rank: u32) -> ((usize, usize), (usize, usize)) {
        let first = low.div_ceil(SAMPLED);
        let samples = self.samples.get(first..high.div_ceil(SAMPLED)).unwrap_or_default();
        // Sample i is the key at place (first + i) * SAMPLED. The end lies behind the last sample that is less and not
        // behind the first that isn't.
        let around = |less: usize| {
            let at = (first + less) * SAMPLED;
            (at.saturating_sub(SAMPLED).max(low), at.min(high))
        };
        let less = samples.partition_point(|&sample| sample < rank);
        let rest = samples.get(less..).unwrap_or_default();
        (around(less), around(less + gallop(rest, |&sample| sample == rank)))
    }
}

/// The number of a rank among sorted ranks, counted from 1.
fn bucket(ranks: &[u32], rank: u32) -> Option<usize> {
    ranks.binary_search(&rank).ok().map(|at| at + 1)
}

/// The n ranks before a place, the last one first.
fn gram(log: &[u32], n: usize, place: u32) -> impl Iterator<Item = &u32> {
    let place = place as usize;
    log.get(place.saturating_sub(n)..place).unwrap_or_default().iter().rev()
}

/// The n-th rank before a place.
fn key(log: &[u32], n: usize, place: u32) -> u32 {
    log.get((place as usize).wrapping_sub(n)).copied().unwrap_or(BORDER)
}

/// Puts a place into its bucket.
fn put(order: &mut [u32], cursors: &mut [u32], bucket: usize, place: u32) {
    if let Some(cursor) = cursors.get_mut(bucket)
        && let Some(slot) = order.get_mut(*cursor as usize)
    {
        *slot = place;
        *cursor += 1;
    }
}

/// How many elements at the start satisfy `holds`, which holds for none after the first that doesn't. Fast for few.
fn gallop<T>(sorted: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while sorted.get(step - 1).is_some_and(&holds) {
        step *= 2;
    }
    let known = step / 2;
    let unknown = sorted.get(known..sorted.len().min(step)).unwrap_or_default();
    known + unknown.partition_point(holds)
}

/// The same as `partition_point`, but where `less` waits for memory: calls that don't depend on one another, eight at a
/// time, then all that are left.
fn count_less<T>(mut sorted: &[T], less: impl Fn(&T) -> bool) -> usize {
    let mut known = 0;
    while sorted.len() > COUNTED {
        let step = sorted.len() / 8;
        let below = sorted.iter().skip(step).step_by(step).take(7).map(|at| usize::from(less(at))).sum::<usize>();
        // The element at `below * step` is less (or the first); the one a step on isn't (or is behind the end).
        let rest = sorted.get(below * step..).unwrap_or_default();
        known += below * step;
        sorted = if below == 7 { rest } else { rest.get(..step).unwrap_or(rest) };
    }
    known + sorted.iter().map(|at| usize::from(less(at))).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether each segment has the places it should have, in the order for each n that it should have. The order of
    /// places in front of which fewer than n tokens stand is free.
    fn check(index: &Index, log: &[u32]) {
        let ends = index.segments.iter().map(|segment| segment.end);
        let starts = index.segments.iter().map(|segment| segment.start);
        assert!(starts.chain([index.end]).eq([index.nmax].into_iter().chain(ends)), "segments follow one another");
        let lengths: Vec<_> = index.segments.iter().map(|segment| segment.end - segment.start).collect();
        assert!(lengths.is_sorted_by(|a, b| a > &(2 * b)), "{lengths:?}");
        for segment in &index.segments {
            let counts = |&place: &usize| log[place - 1] != BORDER && log[place] != BORDER;
            let places: Vec<u32> = (segment.start..segment.end).filter(counts).map(|place| place as u32).collect();
            for n in 1..=index.nmax {
                let order = segment.order(n);
                let mut sorted = order.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, places, "order {n}");
                let key = |place: &u32| (gram(log, n, *place).copied().collect::<Vec<_>>(), *place);
                let whole = |place: &&u32| gram(log, n, **place).all(|&rank| rank != BORDER);
                let keys: Vec<_> = order.iter().filter(whole).map(key).collect();
                assert!(keys.is_sorted(), "order {n}: {keys:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn orders_are_sorted(
            nmax in 1..=8_usize,
            distinct in 1..20_u32,
            borders in any::<bool>(),
            pieces in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..40), 1..12),
        ) {
            let mut log = vec![BORDER; nmax];
            let mut index = Index::new(nmax);
            for piece in pieces {
                log.extend(piece.iter().map(|x| if borders && x >> 29 == 0 { BORDER } else { x % distinct + 1 }));
                index.update(&log, distinct as usize);
                check(&index, &log);
            }
        }
    }

    #[test]
    fn counts_of_sorted_elements() {
        for len in 0..200 {
            for n in 0..=len {
                let sorted: Vec<_> = (0..len).collect();
                assert_eq!(gallop(&sorted, |&x| x < n), n);
                assert_eq!(count_less(&sorted, |&x| x < n), n);
            }
        }
    }
}
