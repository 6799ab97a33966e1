//! Copy coding of an answer against a long context.
//!
//! Greedy, as FORMAT.md says ("Track"): at each place of the answer the longest stretch of at least `min_copy` tokens that
//! also stands in the context, taken from the first position among the longest; what cannot be copied is a literal.
//!
//! The context is long (hundreds of thousands of tokens) and the answer short, so the *answer* is indexed: its suffix
//! automaton (Blumer et al. 1985; at most 2 states a token) is fed the context once, and each state remembers how much
//! of it the context matched, and where first. Greedy parsing then walks the same automaton. O(context + answer) steps
//! whatever repeats, against the product of both for the obvious search.

use alloc::vec::Vec;
use core::fmt;
use hashbrown::HashMap;

/// Longest literal or copy that one operation of the format can hold.
const MAX_OP: usize = u16::MAX as usize;

/// A step of a coded answer, of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOp {
    /// `len` tokens of the answer itself, from `start` on.
    Lit {
        /// First position in the answer.
        start: usize,
        /// Tokens taken.
        len: usize,
    },
    /// `len` tokens of the context, from `position` on.
    Copy {
        /// First position in the context.
        position: usize,
        /// Tokens taken.
        len: usize,
    },
}

impl CopyOp {
    /// The same step in pieces that fit the format's 16-bit lengths.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = CopyOp> + use<> {
        let op = *self;
        let (CopyOp::Lit { len, .. } | CopyOp::Copy { len, .. }) = op;
        (0..len).step_by(MAX_OP).map(move |done| {
            let len = MAX_OP.min(len - done);
            match op {
                CopyOp::Lit { start, .. } => CopyOp::Lit { start: start + done, len },
                CopyOp::Copy { position, .. } => CopyOp::Copy { position: position + done, len },
            }
        })
    }
}

/// `min_copy` was 0: a copy of nothing would never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroMinCopy;

impl fmt::Display for ZeroMinCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("min_copy is 0, and a copy has at least one token")
    }
}

impl core::error::Error for ZeroMinCopy {}

/// Codes `answer` against `context`. O(answer + context) time, O(answer) memory and at most two
/// words a context token more. Of a context only the first 2^32 - 2 tokens are looked at.
pub fn encode_copy(answer: &[u32], context: &[u32], min_copy: usize) -> Result<Vec<CopyOp>, ZeroMinCopy> {
    if min_copy == 0 {
        return Err(ZeroMinCopy);
    }
    let mut automaton = Automaton::of(answer);
    automaton.feed(context);
    let mut ops = Vec::new();
    let (mut at, mut literal) = (0, 0);
    while at < answer.len() {
        match automaton.longest(answer.get(at..).unwrap_or_default()) {
            Some((position, len)) if len >= min_copy => {
                if literal < at {
                    ops.push(CopyOp::Lit { start: literal, len: at - literal });
                }
                ops.push(CopyOp::Copy { position, len });
                at += len;
                literal = at;
            }
            _ => at += 1,
        }
    }
    if literal < at {
        ops.push(CopyOp::Lit { start: literal, len: at - literal });
    }
    Ok(ops)
}

const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;

/// A set of substrings of the answer that end at the same places.
#[derive(Clone, Default)]
struct State {
    /// Length of the longest of them.
    len: u32,
    /// State of the longest proper suffix that ends elsewhere too.
    link: u32,
    /// First edge out, in a linked list through [`Edge::next`].
    edges: u32,
    /// First place in the context where any longer substring ends that has this state's as suffixes.
    first_below: u32,
    /// Places where the context matched more of this state than before: (end, length), both increasing.
    seen: Vec<(u32, u32)>,
}

struct Edge {
    token: u32,
    next: u32,
}

/// Suffix automaton of an answer, with what a context matched of it.
struct Automaton {
    states: Vec<State>,
    edges: Vec<Edge>,
    targets: HashMap<(u32, u32), u32>,
    /// A bit for each residue of a token that starts some substring: most tokens of a context leave the root by none.
    starts: [u64; Self::FILTER_BITS / 64],
}

impl Automaton {
    const FILTER_BITS: usize = 1 << 14;

    fn of(answer: &[u32]) -> Self {
        let root = State { link: NONE, edges: NONE, first_below: NONE, ..State::default() };
        let mut this = Self {
            states: Vec::with_capacity(answer.len() * 2 + 1),
            edges: Vec::new(),
            targets: HashMap::with_capacity(answer.len() * 2),
            starts: [0; Self::FILTER_BITS / 64],
        };
        this.states.push(root);
        let mut last = ROOT;
        for &token in answer {
            last = this.extend(last, token);
            let bit = token as usize % Self::FILTER_BITS;
            if let Some(word) = this.starts.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
        this
    }

    fn state(&self, state: u32) -> Option<&State> {
        self.states.get(state as usize)
    }

    fn len_of(&self, state: u32) -> u32 {
        self.state(state).map_or(0, |state| state.len)
    }

    fn link_of(&self, state: u32) -> u32 {
        self.state(state).map_or(NONE, |state| state.link)
    }

    fn set_link(&mut self, state: u32, link: u32) {
        if let Some(state) = self.states.get_mut(state as usize) {
            state.link = link;
        }
    }

    fn add_state(&mut self, len: u32, link: u32) -> u32 {
        self.states.push(State { len, link, edges: NONE, first_below: NONE, seen: Vec::new() });
        self.states.len() as u32 - 1
    }

    fn target(&self, from: u32, token: u32) -> Option<u32> {
        self.targets.get(&(from, token)).copied()
    }

    fn set_target(&mut self, from: u32, token: u32, to: u32) {
        if self.targets.insert((from, token), to).is_none()
            && let Some(state) = self.states.get_mut(from as usize)
        {
            self.edges.push(Edge { token, next: state.edges });
            state.edges = self.edges.len() as u32 - 1;
        }
    }

    /// Adds the answer's next token; the textbook construction.
    fn extend(&mut self, last: u32, token: u32) -> u32 {
        let new = self.add_state(self.len_of(last) + 1, ROOT);
        let mut at = last;
        while at != NONE && self.target(at, token).is_none() {
            self.set_target(at, token, new);
            at = self.link_of(at);
        }
        let Some(target) = self.target(at, token) else { return new };
        let len = self.len_of(at) + 1;
        if len == self.len_of(target) {
            self.set_link(new, target);
            return new;
        }
        let clone = self.add_state(len, self.link_of(target));
        let mut edge = self.state(target).map_or(NONE, |state| state.edges);
        while let Some(&Edge { token, next }) = self.edges.get(edge as usize) {
            if let Some(to) = self.target(target, token) {
                self.set_target(clone, token, to);
            }
            edge = next;
        }
        while at != NONE && self.target(at, token) == Some(target) {
            self.set_target(at, token, clone);
            at = self.link_of(at);
        }
        self.set_link(target, clone);
        self.set_link(new, clone);
        new
    }

    /// Reads the context once and notes, for each state, how much of it matched and where first.
    fn feed(&mut self, context: &[u32]) {
        let (mut at, mut len) = (ROOT, 0u32);
        for (end, &token) in (1..NONE).zip(context) {
            if at == ROOT {
                let bit = token as usize % Self::FILTER_BITS;
                if self.starts.get(bit / 64).is_none_or(|word| word & (1 << (bit % 64)) == 0) {
                    continue;
                }
            }
            loop {
                if let Some(target) = self.target(at, token) {
                    (at, len) = (target, len + 1);
                    break;
                }
                if at == ROOT {
                    len = 0;
                    break;
                }
                at = self.link_of(at);
                len = self.len_of(at);
            }
            if let Some(state) = self.states.get_mut(at as usize)
                && len > 0
                && state.seen.last().is_none_or(|&(_, before)| before < len)
            {
                state.seen.push((end, len));
            }
        }
        // A match of a longer substring is one of all its suffixes: children before parents, by falling length.
        let mut order: Vec<u32> = (1..self.states.len() as u32).collect();
        order.sort_unstable_by_key(|&state| core::cmp::Reverse(self.len_of(state)));
        for state in order {
            let Some((link, first)) = self.state(state).map(|state| {
                let own = state.seen.first().map_or(NONE, |&(end, _)| end);
                (state.link, own.min(state.first_below))
            }) else {
                continue;
            };
            if let Some(parent) = self.states.get_mut(link as usize) {
                parent.first_below = parent.first_below.min(first);
            }
        }
    }

    /// The longest prefix of `rest` that stands in the context: (first position, length).
    fn longest(&self, rest: &[u32]) -> Option<(usize, usize)> {
        let (mut at, mut len, mut end) = (ROOT, 0u32, NONE);
        for &token in rest {
            let Some(next) = self.target(at, token) else { break };
            let Some(state) = self.state(next) else { break };
            // Ends of this very substring: of longer ones below, or of this state's own with at least its length.
            let own = state.seen.partition_point(|&(_, seen)| seen <= len);
            let own = state.seen.get(own).map_or(NONE, |&(end, _)| end);
            let first = own.min(state.first_below);
            if first == NONE {
                break;
            }
            (at, len, end) = (next, len + 1, first);
        }
        (len > 0).then(|| ((end - len) as usize, len as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// The definition, word for word: every position, every length.
    fn naive(answer: &[u32], context: &[u32], min_copy: usize) -> Vec<CopyOp> {
        let mut ops: Vec<CopyOp> = Vec::new();
        let mut at = 0;
        while at < answer.len() {
            let mut best = (0, 0);
            for position in 0..context.len() {
                let len = context[position..].iter().zip(&answer[at..]).take_while(|(a, b)| a == b).count();
                if len > best.1 {
                    best = (position, len);
                }
            }
            if best.1 >= min_copy {
                ops.push(CopyOp::Copy { position: best.0, len: best.1 });
                at += best.1;
            } else {
                match ops.last_mut() {
                    Some(CopyOp::Lit { len, .. }) => *len += 1,
                    _ => ops.push(CopyOp::Lit { start: at, len: 1 }),
                }
                at += 1;
            }
        }
        ops
    }

    proptest! {
        #[test]
        fn equals_the_definition(
            answer in prop::collection::vec(0u32..4, 0..40),
            context in prop::collection::vec(0u32..4, 0..80),
            min_copy in 1usize..6,
        ) {
            prop_assert_eq!(encode_copy(&answer, &context, min_copy).unwrap(), naive(&answer, &context, min_copy));
        }
    }

    #[test]
    fn the_first_position_among_the_longest() {
        let ops = encode_copy(&[1, 2, 3, 4], &[1, 2, 3, 9, 1, 2, 3, 4, 1, 2, 3, 4], 3).unwrap();
        assert_eq!(ops, [CopyOp::Copy { position: 4, len: 4 }]);
    }

    #[test]
    fn a_short_context_gives_literals_and_a_copy_of_nothing_is_refused() {
        assert_eq!(encode_copy(&[5, 6, 7, 8], &[5, 6], 4).unwrap(), [CopyOp::Lit { start: 0, len: 4 }]);
        assert_eq!(encode_copy(&[5], &[], 1).unwrap(), [CopyOp::Lit { start: 0, len: 1 }]);
        assert_eq!(encode_copy(&[5], &[5], 0), Err(ZeroMinCopy));
    }

    #[test]
    fn equal_tokens_without_end_take_no_more_time_than_others() {
        let ops = encode_copy(&vec![7; 2000], &vec![7; 200_000], 4).unwrap();
        assert_eq!(ops, [CopyOp::Copy { position: 0, len: 2000 }]);
    }

    #[test]
    fn tokens_that_fall_on_one_filter_bit_are_told_apart() {
        let far = Automaton::FILTER_BITS as u32;
        assert_eq!(encode_copy(&[1, 2], &[1 + far, 2], 2).unwrap(), [CopyOp::Lit { start: 0, len: 2 }]);
    }
}
