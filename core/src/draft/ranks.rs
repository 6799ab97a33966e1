//! Dense numbers for tokens.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// The rank of a border: no token has it.
pub(super) const BORDER: u32 = 0;

/// Tokens by order of their first appearance: the first one has rank 1.
///
/// Ranks are dense whatever the tokens are, so that tables over them are as small as the log justifies, and tokens that
/// come early and often share cache lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    tokens: Vec<u32>,
    ranks: HashMap<u32, u32>,
}

impl Ranks {
    /// How many tokens have a rank, and so the highest rank.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The rank of a token, a new one if it has none. The caller keeps the count below `u32::MAX`.
    pub(super) fn intern(&mut self, token: u32) -> u32 {
        let tokens = &mut self.tokens;
        *self.ranks.entry(token).or_insert_with(|| {
            tokens.push(token);
            tokens.len() as u32
        })
    }

    /// The rank of a token that was interned.
    pub(super) fn get(&self, token: u32) -> Option<u32> {
        self.ranks.get(&token).copied()
    }

    /// The token of a rank; nothing for a border.
    pub(super) fn token(&self, rank: u32) -> Option<u32> {
        self.tokens.get((rank as usize).wrapping_sub(1)).copied()
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.tokens.capacity() * size_of::<u32>() + self.ranks.allocation_size()
    }
}
