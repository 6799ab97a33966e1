//! Twin of `rank.wgsl`: who stays when a block leaves the band.

use std::cmp::{Ordering, Reverse};

/// A token of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) position: u32,
    pub(super) score: f32,
}

/// The strongest first: token 0, then the larger score, then the earlier token.
fn strongest_first(token: Stored) -> (bool, Reverse<Total>, u32) {
    (token.position != 0, Reverse(Total(token.score)), token.position)
}

/// Numbers in their total order, so that no score, not even NaN, is without a place.
#[derive(PartialEq)]
struct Total(f32);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Ranks a leaving block, in order of position, with a store of at most `size` tokens. Returns the positions that drop out,
/// in order.
pub(super) fn turn_over(store: &mut Vec<Stored>, size: usize, block: &[Stored]) -> Vec<u32> {
    let mut all: Vec<Stored> = store.iter().chain(block).copied().collect();
    all.sort_by_key(|&token| strongest_first(token));
    let mut dropped: Vec<u32> = all.split_off(size.min(all.len())).iter().map(|token| token.position).collect();
    dropped.sort_unstable();
    let gone = |token: &Stored| dropped.binary_search(&token.position).is_ok();
    let mut newcomers = block.iter().filter(|token| !gone(token)).copied();
    for slot in store.iter_mut().filter(|slot| gone(slot)) {
        *slot = newcomers.next().unwrap_or(*slot);
    }
    store.extend(newcomers);
    dropped
}

/// The surprise score of a token: the largest mean of three surprises from 12 tokens before it to 2 behind it.
pub(super) fn surprise_score(surprises: &[f32], position: usize) -> f32 {
    let third = 1.0 / 3.0_f32;
    let mean = |u: usize| {
        let back = |by: usize| u.checked_sub(by).map_or(0.0, |u| surprises[u]);
        (back(0) + back(1) + back(2)) * third
    };
    let means = (position.saturating_sub(12)..=position + 2).map(mean);
    means.max_by(f32::total_cmp).unwrap_or(0.0)
}
