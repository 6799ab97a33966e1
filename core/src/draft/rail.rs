//! The log of what was said, and drafts from it.

use super::index::Index;
use super::ranks::{BORDER, Ranks};
use super::thought::SimHash;
use super::tree::{DraftTree, Search};
use super::{ENTRIES, PLANES};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// The longest n-gram an index can be asked for. Each n takes four bytes a token.
pub const NMAX_LIMIT: usize = 16;

/// Whether drafts and n-grams run across the borders between runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Borders {
    /// They do, as in the reference: the log is one stream of tokens.
    #[default]
    Cross,
    /// They don't: a border takes an index of its own in the log between two runs.
    Stop,
}

/// What a rail keeps and looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailOptions {
    /// The longest n-gram looked up, 1 to [`NMAX_LIMIT`].
    pub nmax: usize,
    /// Whether prompts are in the log too, or only answers with the last `nmax` tokens before them.
    pub prompts: bool,
    /// What happens between runs.
    pub borders: Borders,
}

impl Default for RailOptions {
    /// The reference's: n-grams of up to 6, prompts in the log, no borders.
    fn default() -> Self {
        Self { nmax: 6, prompts: true, borders: Borders::Cross }
    }
}

/// Why a rail refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailError {
    /// `nmax` is 0 or above [`NMAX_LIMIT`].
    Nmax {
        /// What was asked for.
        nmax: usize,
    },
    /// Positions in the log are 32 bits wide.
    Full {
        /// The log's length.
        len: usize,
        /// How many tokens were to be appended.
        adding: usize,
    },
}

impl fmt::Display for RailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nmax { nmax } => write!(f, "n-grams of up to {nmax} tokens were asked for, not of 1 to {NMAX_LIMIT}"),
            Self::Full { len, adding } => write!(f, "a log of {len} tokens has no room for {adding} more"),
        }
    }
}

impl core::error::Error for RailError {}

/// A draft rail: the log of the tokens of all runs, indexed by n-grams, and by hidden states where these are given.
///
/// Appending is cheap; what was appended is indexed by the next tree, or by [`Rail::index`]. Memory: four bytes a token
/// for the log and four for each n; building takes O(nmax) a token, appending in small pieces O(nmax * log) in all.
#[derive(Clone, Debug)]
pub struct Rail {
    options: RailOptions,
    ranks: Ranks,
    /// Ranks of tokens, with `nmax` borders in front.
    log: Vec<u32>,
    index: Index,
    states: States,
    search: Search,
    scratch: Scratch,
}

/// Working memory of a look-up, kept for the next one.
#[derive(Clone, Debug, Default)]
struct Scratch {
    gram: Vec<u32>,
    found: Vec<(u32, u32)>,
}

impl Default for Rail {
    /// An empty rail with the default options.
    fn default() -> Self {
        Self::with(RailOptions::default())
    }
}

impl Rail {
    /// An empty rail.
    pub fn new(options: RailOptions) -> Result<Self, RailError> {
        let nmax = options.nmax;
        if !(1..=NMAX_LIMIT).contains(&nmax) {
            return Err(RailError::Nmax { nmax });
        }
        Ok(Self::with(options))
    }

    fn with(options: RailOptions) -> Self {
        Self {
            options,
            ranks: Ranks::default(),
            log: vec![BORDER; options.nmax],
            index: Index::new(options.nmax),
            states: States::default(),
            search: Search::default(),
            scratch: Scratch::default(),
        }
    }

    /// What it was made with.
    pub fn options(&self) -> RailOptions {
        self.options
    }

    /// Makes room for that many more tokens if there is memory for them, so that the log is not moved while it grows.
    pub fn reserve(&mut self, tokens: usize) {
        // Without that room pushing still works as far as memory goes.
        let _ = self.log.try_reserve_exact(tokens.min(u32::MAX as usize));
    }

    /// Length of the log, with the borders that [`Borders::Stop`] puts between runs.
    pub fn len(&self) -> usize {
        self.log.len() - self.options.nmax
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens of the log in order, without borders.
    pub fn tokens(&self) -> impl Iterator<Item = u32> + '_ {
        self.log.iter().filter_map(|&rank| self.ranks.token(rank))
    }

    /// The token at an index of the log; nothing at a border and past the end.
    pub fn token(&self, index: usize) -> Option<u32> {
        let &rank = self.log.get(index.checked_add(self.options.nmax)?)?;
        self.ranks.token(rank)
    }

    /// Appends a run, `gen_start` of whose tokens are what the model was given. Returns where it is in the log.
    ///
    /// With prompts off the rail, the log gets the tokens from `gen_start - nmax` on, so that the answer's first token
    /// has its n-grams. A foreign run has `gen_start = n`, and so leaves only its last `nmax` tokens then. A `gen_start`
    /// past the end counts from where it is.
    pub fn push_run<I>(&mut self, tokens: I, gen_start: usize) -> Result<Range<usize>, RailError>
    where
        I: IntoIterator<Item = u32, IntoIter: ExactSizeIterator>,
    {
        let skip = if self.options.prompts { 0 } else { gen_start.saturating_sub(self.options.nmax) };
        let tokens = tokens.into_iter();
        let adding = tokens.len().saturating_sub(skip);
        self.push(tokens.skip(skip), adding)
    }

    /// Appends all the given tokens, whatever the options say of prompts: what may be drafted from but is no run, such as
    /// the decoded answer of a track. Returns where they are in the log.
    pub fn push_draft_only<I>(&mut self, tokens: I) -> Result<Range<usize>, RailError>
    where
        I: IntoIterator<Item = u32, IntoIter: ExactSizeIterator>,
    {
        let tokens = tokens.into_iter();
        let adding = tokens.len();
        self.push(tokens, adding)
    }

    fn push(&mut self, tokens: impl Iterator<Item = u32>, adding: usize) -> Result<Range<usize>, RailError> {
        let len = self.len();
        if adding == 0 {
            return Ok(len..len);
        }
        let border = self.options.borders == Borders::Stop && len > 0;
        // The highest place is one past the log's end, and `u32::MAX` ends lists.
        if (u32::MAX as usize - 1).checked_sub(self.log.len() + usize::from(border)).is_none_or(|room| adding > room) {
            return Err(RailError::Full { len, adding });
        }
        if border {
            self.log.push(BORDER);
        }
        let start = self.len();
        let ranks = &mut self.ranks;
        self.log.extend(tokens.take(adding).map(|token| ranks.intern(token)));
        self.states.log_grew(&self.log);
        Ok(start..self.len())
    }

    /// Indexes what was pushed since the last call or tree, which would do it otherwise.
    pub fn index(&mut self) {
        self.index.update(&self.log, self.ranks.len());
    }

    /// How many segments the index has.
    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.index.segments()
    }

    /// Files the place behind a token of the log under the hidden state that the model had at that token, the state that
    /// chose the next one.
    ///
    /// `index` is the token's; the next one need not be in the log yet: such a place is found once it is. What lies
    /// beyond any log is ignored.
    pub fn add_state(&mut self, index: usize, state: SimHash) {
        let place = index.saturating_add(1).saturating_add(self.options.nmax);
        if let Ok(place) = u32::try_from(place) {
            self.states.add(place, state, &self.log);
        }
    }

    /// The `budget` most promising nodes that may follow a context.
    ///
    /// For n = `nmax` to 1, each of the newest 24 places after the context's last n tokens adds its next 24 tokens to a
    /// trie, with weight 4^n * (1 + place / length of the log) * 0.92^depth; the tree is the trie's best nodes, best
    /// first, the smaller token on equal weights. O(segments * nmax * log(length) + budget * entries).
    pub fn tree(&mut self, context: &[u32], budget: usize) -> DraftTree {
        let mut tree = DraftTree::default();
        self.tree_into(context, budget, None, &mut tree);
        tree
    }

    /// [`Rail::tree`] that also follows the newest 24 places whose next token is the context's last one and whose state
    /// had the same hash as `state`, the one that chose that token: each with weight 216, and once more with weight 27
    /// for the coarse hash.
    pub fn tree_with_state(&mut self, context: &[u32], budget: usize, state: SimHash) -> DraftTree {
        let mut tree = DraftTree::default();
        self.tree_into(context, budget, Some(state), &mut tree);
        tree
    }

    /// The same into a tree whose memory is used again.
    pub fn tree_into(&mut self, context: &[u32], budget: usize, state: Option<SimHash>, tree: &mut DraftTree) {
        tree.clear();
        self.index();
        self.search.clear();
        let Scratch { gram, found } = &mut self.scratch;
        gram.clear();
        // A token that was never seen ends every n-gram that reaches back to it.
        gram.extend(context.iter().rev().take(self.options.nmax).map_while(|&token| self.ranks.get(token)));
        let Some(&last) = gram.first() else { return };
        if budget == 0 {
            return;
        }
        let (search, log) = (&mut self.search, &self.log);
        if let Some(state) = state {
            self.states.newest(state, last, |place, weight| search.follow(log, place, weight));
        }
        let nmax = self.options.nmax as u32;
        let len = (self.log.len() - self.options.nmax) as f64;
        self.index.newest(log, gram, ENTRIES, found, |n, place| {
            let weight = POWERS_OF_4.get(n).copied().unwrap_or_default();
            search.follow(log, place, weight * (1.0 + f64::from(place - nmax) / len));
        });
        search.grow(log, &self.ranks, budget, tree);
    }

    /// Bytes on the heap, as allocated.
    pub fn memory(&self) -> usize {
        let scratch =
            self.scratch.gram.capacity() * size_of::<u32>() + self.scratch.found.capacity() * size_of::<(u32, u32)>();
        let log = self.log.capacity() * size_of::<u32>();
        log + scratch + self.ranks.memory() + self.index.memory() + self.search.memory() + self.states.memory()
    }
}

/// 4^n.
const POWERS_OF_4: [f64; NMAX_LIMIT + 1] = {
    let mut powers = [1.0; NMAX_LIMIT + 1];
    let mut n = 1;
    while n <= NMAX_LIMIT {
        powers[n] = powers[n - 1] * 4.0;
        n += 1;
    }
    powers
};

/// Places filed by hidden states.
#[derive(Clone, Debug, Default)]
struct States {
    /// (hash, rank at the place, age) -> place. A coarse hash is told from a full one by a bit above both.
    filed: BTreeMap<(u32, u32, u32), u32>,
    /// (place, age) -> hash, for places that the log does not have yet.
    ahead: BTreeMap<(u32, u32), SimHash>,
    added: u32,
}

/// What a place with an equal hash weighs: 6^3, and an eighth of it where only the coarse hash is compared.
const STATE_WEIGHTS: [f64; 2] = [216.0, 27.0];

impl States {
    /// The keys of a hash, the full one first.
    fn keys(state: SimHash) -> [u32; 2] {
        [state.full(), u32::from(state.coarse()) | 1 << PLANES]
    }

    fn add(&mut self, place: u32, state: SimHash, log: &[u32]) {
        self.added = self.added.saturating_add(1);
        self.file(place, self.added, state, log);
    }

    fn file(&mut self, place: u32, age: u32, state: SimHash, log: &[u32]) {
        if let Some(&rank) = log.get(place as usize) {
            for key in Self::keys(state) {
                self.filed.insert((key, rank, age), place);
            }
        } else {
            self.ahead.insert((place, age), state);
        }
    }

    /// Files what the log has reached.
    fn log_grew(&mut self, log: &[u32]) {
        while let Some(entry) = self.ahead.first_entry()
            && (entry.key().0 as usize) < log.len()
        {
            let ((place, age), state) = entry.remove_entry();
            self.file(place, age, state, log);
        }
    }

    /// Calls `each(place behind that token, weight)` for places with the hash whose token has that rank, newest first.
    fn newest(&self, state: SimHash, rank: u32, mut each: impl FnMut(u32, f64)) {
        for (key, weight) in Self::keys(state).into_iter().zip(STATE_WEIGHTS) {
            let places = self.filed.range((key, rank, 0)..=(key, rank, u32::MAX));
            places.rev().take(ENTRIES).for_each(|(_, &place)| each(place + 1, weight));
        }
    }

    /// Bytes on the heap, about: trees have no measure, and are about two thirds full.
    fn memory(&self) -> usize {
        let filed = self.filed.len() * size_of::<[u32; 4]>();
        let ahead = self.ahead.len() * size_of::<[u32; 3]>();
        (filed + ahead) * 3 / 2
    }
}
