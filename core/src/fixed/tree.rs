//! Draft trees without an index: the runs' tokens are scanned where they lie, and all memory is the caller's.
//!
//! What a tree is, is said in FORMAT.md ("Draft rail"); with the default parameters the nodes are the same as those of a
//! rail with an allocator. The log is never built: it is the sessions one behind the other, walked backwards from the
//! newest to find where the context's last tokens were seen, and forwards from there to see what came next.
//!
//! A node of the tree that may still be chosen is a list of the places that share its path. A place is in one such list
//! only, so there are never more open nodes than places, and both fit into arrays.

use crate::record::{HEADER_LEN, SESSION, record_at};
use crate::run::{Session, TOKENS_AT};
use crate::tokens::Tokens;
use heapless::Vec;

/// A draft tree of at most `BUDGET` nodes, and the memory in which it grows.
///
/// For n-grams of up to `NMAX` tokens each, the newest `NEWEST` places are followed for `DEPTH` tokens. The default
/// parameters are the reference's, and take 48 bytes a place: 7 KB. `Tree<15, 4, 8>` takes 1.7 KB.
///
/// Nodes are in the order in which they were chosen, the most promising first, so that any first part of a tree is the
/// tree of a smaller budget. Parents come before their children.
#[derive(Clone, Debug)]
pub struct Tree<const BUDGET: usize, const NMAX: usize = 6, const NEWEST: usize = 24, const DEPTH: usize = 24> {
    tokens: Vec<u32, BUDGET>,
    parents: Vec<i32, BUDGET>,
    /// The context's last tokens, the last one first.
    gram: Vec<u32, NMAX>,
    /// Places behind the last n tokens of the context, the newest first, at n - 1.
    places: [[Place; NEWEST]; NMAX],
    found: [u16; NMAX],
    /// Nodes that may still be chosen, in no order.
    open: [[Node; NEWEST]; NMAX],
    opened: u16,
    /// Nodes opened so far.
    born: u32,
}

/// The end of a list of places, and the parent of what follows the context.
const END: u16 = u16::MAX;

/// A place that a tree follows.
#[derive(Clone, Copy, Debug)]
struct Place {
    weight: f64,
    /// Where in the file the token is that follows its node's path, and how many are left of its session.
    at: u32,
    left: u32,
    /// The next place of the same node.
    next: u16,
}

/// A token on a path, and the places that go along with it.
#[derive(Clone, Copy, Debug)]
struct Node {
    weight: f64,
    token: u32,
    /// Nodes opened before.
    age: u32,
    /// Index in the tree; [`END`] for none.
    parent: u16,
    first: u16,
    last: u16,
    depth: u16,
}

impl<const BUDGET: usize, const NMAX: usize, const NEWEST: usize, const DEPTH: usize> Default
    for Tree<BUDGET, NMAX, NEWEST, DEPTH>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const BUDGET: usize, const NMAX: usize, const NEWEST: usize, const DEPTH: usize>
    Tree<BUDGET, NMAX, NEWEST, DEPTH>
{
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

    // All zero, so that a static tree takes no flash, and a local one is cleared where it lies. What was not found or
    // opened is not read.
    const EMPTY: Self = {
        assert!(NMAX > 0 && NMAX <= 16, "n-grams have 1 to 16 tokens");
        assert!(NEWEST > 0 && NMAX * NEWEST < END as usize, "places are numbered with 16 bits");
        assert!(DEPTH <= END as usize && BUDGET <= END as usize, "depths and nodes are numbered with 16 bits");
        let place = Place { weight: 0.0, at: 0, left: 0, next: 0 };
        let node = Node { weight: 0.0, token: 0, age: 0, parent: 0, first: 0, last: 0, depth: 0 };
        Self {
            tokens: Vec::new(),
            parents: Vec::new(),
            gram: Vec::new(),
            places: [[place; NEWEST]; NMAX],
            found: [0; NMAX],
            open: [[node; NEWEST]; NMAX],
            opened: 0,
            born: 0,
        }
    };

    /// An empty tree.
    #[must_use]
    pub const fn new() -> Self {
        Self::EMPTY
    }

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

    /// (token, parent) of each node.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i32)> + '_ {
        self.tokens.iter().copied().zip(self.parents.iter().copied())
    }

    /// Grows the tree of what followed a context's last tokens in the sessions among `runs` runs. `session` says what a
    /// run is, if it is one, and where its record starts.
    pub(super) fn grow<'a>(
        &mut self,
        bytes: &[u8],
        runs: usize,
        session: impl Fn(usize) -> Option<(usize, Session<'a>)>,
        context: &[u32],
    ) {
        self.tokens.clear();
        self.parents.clear();
        self.gram.clear();
        for token in context.iter().rev().take(NMAX) {
            // There is room for as many.
            let _ = self.gram.push(*token);
        }
        self.found = [0; NMAX];
        (self.opened, self.born) = (0, 0);
        if BUDGET == 0 || self.gram.is_empty() {
            return;
        }
        self.scan(runs, session);
        let first = self.link();
        self.branch(bytes, first, 0, END);
        while let Some(node) = self.choose() {
            let index = self.len() as u16;
            let parent = if node.parent == END { -1 } else { i32::from(node.parent) };
            if self.tokens.push(node.token).is_err() || self.parents.push(parent).is_err() {
                break;
            }
            if self.tokens.is_full() {
                break;
            }
            self.branch(bytes, node.first, node.depth.saturating_add(1), index);
        }
    }

    /// Finds the newest places behind the last n tokens of the context, for every n.
    fn scan<'a>(&mut self, runs: usize, session: impl Fn(usize) -> Option<(usize, Session<'a>)>) {
        let tokens_of = |run: usize| session(run).map(|(_, session)| session.tokens).unwrap_or_default();
        let length = (0..runs).fold(0_usize, |sum, run| sum.saturating_add(tokens_of(run).len()));
        let mut behind = length;
        for run in (0..runs).rev() {
            let Some((offset, Session { tokens, .. })) = session(run) else { continue };
            behind = behind.saturating_sub(tokens.len());
            for at in (0..tokens.len()).rev() {
                let matched = self.matched(run, tokens, at, tokens_of);
                if matched == 0 {
                    continue;
                }
                let place = offset.saturating_add(HEADER_LEN + TOKENS_AT).saturating_add(at.saturating_mul(4));
                let left = tokens.len().saturating_sub(at) as u32;
                let age = 1.0 + behind.saturating_add(at) as f64 / length as f64;
                let mut power = 1.0;
                let lists = self.places.iter_mut().zip(&mut self.found).take(matched);
                for (places, found) in lists {
                    power *= 4.0;
                    if let Some(free) = places.get_mut(usize::from(*found)) {
                        *free = Place { weight: power * age, at: place as u32, left, next: END };
                        *found = found.saturating_add(1);
                    }
                }
                // What follows a long n-gram follows the short ones in it: their places were all found before.
                let longest = self.gram.len().checked_sub(1).and_then(|last| self.found.get(last));
                if longest.is_some_and(|found| usize::from(*found) == NEWEST) {
                    return;
                }
            }
        }
    }

    /// How many tokens before a place of a session are the context's last, across the borders between sessions.
    fn matched<'a>(&self, run: usize, tokens: Tokens<'a>, at: usize, tokens_of: impl Fn(usize) -> Tokens<'a>) -> usize {
        let (mut run, mut tokens, mut at) = (run, tokens, at);
        let mut matched = 0_usize;
        for wanted in &self.gram {
            while at == 0 {
                let Some(before) = run.checked_sub(1) else { return matched };
                run = before;
                tokens = tokens_of(run);
                at = tokens.len();
            }
            at = at.saturating_sub(1);
            if tokens.get(at) != Some(*wanted) {
                break;
            }
            matched = matched.saturating_add(1);
        }
        matched
    }

    /// Makes one list of all places: those of the longest n-grams first, the newest first. Returns the first one.
    fn link(&mut self) -> u16 {
        let mut first = END;
        let lists = self.places.iter_mut().zip(&self.found).enumerate();
        for (n, (places, &found)) in lists {
            let start = n.saturating_mul(NEWEST);
            for (index, place) in places.iter_mut().enumerate().take(usize::from(found)).rev() {
                place.next = first;
                first = start.saturating_add(index) as u16;
            }
        }
        first
    }

    /// Divides a list of places by their next tokens: the children of the tree's node `parent`.
    fn branch(&mut self, bytes: &[u8], first: u16, depth: u16, parent: u16) {
        let Some(&decay) = Self::DECAY.get(usize::from(depth)) else { return };
        let Self { places, open, opened, born, .. } = self;
        let (places, open) = (places.as_flattened_mut(), open.as_flattened_mut());
        let children = usize::from(*opened);
        let mut at = first;
        while let Some(place) = places.get_mut(usize::from(at)) {
            let (next, weight) = (place.next, place.weight * decay);
            if let Some(token) = place.step(bytes) {
                place.next = END;
                let siblings = open.get_mut(children..usize::from(*opened)).unwrap_or_default();
                if let Some(node) = siblings.iter_mut().find(|node| node.token == token) {
                    node.weight += weight;
                    if let Some(last) = places.get_mut(usize::from(node.last)) {
                        last.next = at;
                    }
                    node.last = at;
                } else if let Some(free) = open.get_mut(usize::from(*opened)) {
                    *free = Node { weight, token, age: *born, parent, first: at, last: at, depth };
                    *opened = opened.saturating_add(1);
                    *born = born.saturating_add(1);
                }
            }
            at = next;
        }
    }

    /// Takes the most promising open node out: the heaviest, of equal ones that with the smaller token, then the older.
    fn choose(&mut self) -> Option<Node> {
        let open = self.open.as_flattened_mut().get_mut(..usize::from(self.opened))?;
        let better = |node: &Node, than: &Node| {
            // Weights are positive, and so are ordered like their bits.
            let (weight, other) = (node.weight.to_bits(), than.weight.to_bits());
            weight > other || weight == other && (node.token, node.age) < (than.token, than.age)
        };
        let pick = |best: (usize, Node), this: (usize, Node)| if better(&this.1, &best.1) { this } else { best };
        let (at, node) = open.iter().copied().enumerate().reduce(pick)?;
        // The last one takes its slot.
        let last = *open.last()?;
        if let Some(slot) = open.get_mut(at) {
            *slot = last;
        }
        self.opened = self.opened.saturating_sub(1);
        Some(node)
    }
}

impl Place {
    /// Takes a token, going on to the next session with some where this one's are at their end.
    fn step(&mut self, bytes: &[u8]) -> Option<u32> {
        while self.left == 0 {
            let record = record_at(bytes, self.at as usize)?;
            let session = Session::parse(record.payload).ok().filter(|_| record.kind == SESSION);
            self.left = session.map_or(0, |session| session.tokens.len() as u32);
            let start = record.offset.saturating_add(HEADER_LEN + TOKENS_AT);
            self.at = if self.left > 0 { start } else { record.end() } as u32;
        }
        let token = bytes.get(self.at as usize..)?.first_chunk()?;
        self.at = self.at.saturating_add(4);
        self.left = self.left.saturating_sub(1);
        Some(u32::from_le_bytes(*token))
    }
}
