//! Draft trees, grown best first.
//!
//! The whole trie of what every occurrence says next is never built. A node is the list of the occurrences that share its
//! path; when it is taken into the tree, its list is divided by next token into its children's. Only the nodes taken and
//! their children exist, and their weights are the sums that building the trie would have made, in the same order.

use super::DEPTH;
use super::ranks::{BORDER, Ranks};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Drafted continuations of a context, as parallel arrays: token `i` follows the token at its parent's index.
///
/// Parents come before their children. Nodes are in the order in which they were chosen, the most promising first, so
/// that any first part of a tree is the tree of a smaller budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftTree {
    tokens: Vec<u32>,
    parents: Vec<i32>,
    /// Of each node the weight's bits, by which weights are equal or not.
    weights: Vec<u64>,
}

impl DraftTree {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether nothing was drafted.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token of each node.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The index of each node's parent; -1 for what follows the context directly.
    pub fn parents(&self) -> &[i32] {
        &self.parents
    }

    /// What each node weighs: the sum that it was chosen by, never more than its parent's. Trees of several logs are made one
    /// by these.
    pub fn weights(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.weights.iter().map(|&bits| f64::from_bits(bits))
    }

    /// Tokens and parents, owned.
    pub fn into_parts(self) -> (Vec<u32>, Vec<i32>) {
        (self.tokens, self.parents)
    }

    /// (token, parent) of each node.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, i32)> + '_ {
        self.tokens.iter().copied().zip(self.parents.iter().copied())
    }

    /// The parent of a node; nothing for what follows the context directly, and past the end.
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.parents.get(node).and_then(|&parent| usize::try_from(parent).ok())
    }

    /// The tokens from the context's end to a node, that one included; nothing past the end. O(depth).
    pub fn path(&self, node: usize) -> Vec<u32> {
        let ancestry = core::iter::successors((node < self.len()).then_some(node), |&node| self.parent(node));
        let mut path: Vec<u32> = ancestry.filter_map(|node| self.tokens.get(node).copied()).collect();
        path.reverse();
        path
    }

    /// The path of each node in turn.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = Vec<u32>> + '_ {
        (0..self.len()).map(|node| self.path(node))
    }

    /// How many tokens each node's path has before its own.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = Vec::with_capacity(self.len());
        for node in 0..self.len() {
            depths.push(self.parent(node).and_then(|parent| depths.get(parent)).map_or(0, |depth| depth + 1));
        }
        depths
    }

    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.parents.clear();
        self.weights.clear();
    }
}

/// The end of a list.
const END: u32 = u32::MAX;

/// 0.92 to the power of the depth, multiplied up from 1 as the format says.
const DECAY: [f64; DEPTH] = {
    let mut decay = [1.0; DEPTH];
    let mut depth = 1;
    while depth < DEPTH {
        decay[depth] = decay[depth - 1] * 0.92;
        depth += 1;
    }
    decay
};

/// A place in the log that a tree follows.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Where it goes on after its node's path.
    place: u32,
    /// What is there, fetched ahead: the fetches of many entries overlap, which the decisions upon them don't.
    rank: u32,
    /// The next entry of the same node. An entry is in one list only: children take over their parent's.
    next: u32,
    weight: f64,
}

/// A token on a path, and the entries that go along with it.
#[derive(Clone, Copy, Debug)]
struct Node {
    rank: u32,
    depth: u32,
    parent: i32,
    first: u32,
    last: u32,
    weight: f64,
}

/// Weight, token and age of a node: the heaviest comes first, of equal ones the smaller token, then the older node.
/// Weights are positive, and so are ordered like their bits.
type Rating = (u64, Reverse<u32>, Reverse<u32>);

/// Working memory of a search, kept for the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    entries: Vec<Entry>,
    nodes: Vec<Node>,
    heap: BinaryHeap<Rating>,
}

impl Search {
    /// Starts anew without entries.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.nodes.clear();
        self.heap.clear();
    }

    /// Adds a place to follow. The order of calls is the order in which weights are added.
    pub(super) fn follow(&mut self, log: &[u32], place: u32, weight: f64) {
        let rank = log.get(place as usize).copied().unwrap_or(BORDER);
        let next = self.entries.len() as u32 + 1;
        self.entries.push(Entry { place, rank, next, weight });
    }

    /// Grows the tree of at most `budget` nodes.
    pub(super) fn grow(&mut self, log: &[u32], ranks: &Ranks, budget: usize, tree: &mut DraftTree) {
        if let Some(last) = self.entries.last_mut() {
            last.next = END;
            self.branch(log, ranks, 0, 0, -1);
        }
        while tree.len() < budget
            && let Some((weight, Reverse(token), Reverse(node))) = self.heap.pop()
            && let Some(&node) = self.nodes.get(node as usize)
        {
            let Ok(index) = i32::try_from(tree.len()) else { return };
            tree.tokens.push(token);
            tree.parents.push(node.parent);
            tree.weights.push(weight);
            if tree.len() < budget {
                self.branch(log, ranks, node.first, node.depth + 1, index);
            }
        }
    }

    /// Divides a list of entries by their tokens at `depth`: the children of the tree's node `parent`.
    fn branch(&mut self, log: &[u32], ranks: &Ranks, first: u32, depth: u32, parent: i32) {
        let Some(&decay) = DECAY.get(depth as usize) else { return };
        let children = self.nodes.len();
        let mut at = first;
        while let Some(entry) = self.entries.get_mut(at as usize) {
            let Entry { rank, next, weight, .. } = *entry;
            if rank != BORDER {
                entry.place += 1;
                entry.rank = log.get(entry.place as usize).copied().unwrap_or(BORDER);
                let weight = weight * decay;
                let siblings = self.nodes.get_mut(children..).unwrap_or_default();
                if let Some(node) = siblings.iter_mut().find(|node| node.rank == rank) {
                    node.weight += weight;
                    if let Some(last) = self.entries.get_mut(node.last as usize) {
                        last.next = at;
                    }
                    node.last = at;
                } else {
                    self.nodes.push(Node { rank, depth, parent, first: at, last: at, weight });
                }
            }
            at = next;
        }
        for (index, node) in self.nodes.iter().enumerate().skip(children) {
            if let Some(last) = self.entries.get_mut(node.last as usize) {
                last.next = END;
            }
            let token = ranks.token(node.rank).unwrap_or_default();
            self.heap.push((node.weight.to_bits(), Reverse(token), Reverse(index as u32)));
        }
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.nodes.capacity() * size_of::<Node>()
            + self.heap.capacity() * size_of::<Rating>()
    }
}
