//! What is asked for, and what came of it.

use super::{AnchorFault, Source};
use std::num::NonZeroUsize;

/// How a context is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tokens of the answer at most. With 0 the context is read, and nothing is said.
    pub max_new: usize,
    /// Tokens that end an answer, and are its last.
    pub stops: Vec<u32>,
    /// Nodes of a draft tree behind its root; 0 drafts nothing.
    pub draft: usize,
    /// Whether the own map is used. If not, it is as if there were none.
    pub use_map: bool,
    /// Where states are anchored.
    pub anchors: AnchorRule,
    /// Tokens of the context that are read in one step.
    pub chunk: NonZeroUsize,
}

/// Nodes of a draft tree that pay, given a map: few where a row more costs nearly a row, on a processor (or software that stands
/// for a GPU), more where the rows of a pass share what it fetches. The crate's README has the measurements.
pub const fn usual_draft(on_processor: bool) -> usize {
    if on_processor { 3 } else { 8 }
}

impl Default for Options {
    /// 256 tokens, no stop token, trees of 8 nodes, the map in use, no anchors.
    fn default() -> Self {
        let chunk = NonZeroUsize::MIN.saturating_add(255);
        Self { max_new: 256, stops: Vec::new(), draft: 8, use_map: true, anchors: AnchorRule::NONE, chunk }
    }
}

/// Where states are anchored: after which tokens of a context and its answer. The rule does not look at what is read, so that
/// anchors of one conversation are at the same places whenever it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnchorRule {
    /// At the context's end.
    pub prompt: bool,
    /// After every so many tokens. A draft's paths end there, too.
    pub every: Option<NonZeroUsize>,
    /// Where the context parts from all runs of the map, if that is so many tokens behind the place where reading starts.
    pub shared: Option<NonZeroUsize>,
}

impl AnchorRule {
    /// Nowhere.
    pub const NONE: Self = Self { prompt: false, every: None, shared: None };
}

/// Where a token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The own map knew it: nothing was computed.
    Map,
    /// It was drafted, and is the model's own choice.
    Draft(Source),
    /// The model chose it, and nobody had drafted it.
    Model,
}

/// A token of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token.
    pub id: u32,
    /// Where it comes from.
    pub origin: Origin,
}

/// What one step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The context is being read.
    Read {
        /// Tokens that the engine has now.
        tokens: usize,
        /// Tokens that it needs before the answer can go on.
        of: usize,
    },
    /// The answer went on.
    Tokens(Vec<Token>),
}

/// Why an answer ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a stop token, which is its last.
    Stop,
    /// With the number of tokens asked for.
    MaxNew,
    /// The engine has no room for another token.
    Full,
    /// It does not: the turn was finished before.
    Open,
}

/// What answering took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Tokens of the context.
    pub context: usize,
    /// Tokens of the answer that the own map knew.
    pub served: usize,
    /// Tokens that an anchored state held.
    pub restored: usize,
    /// Tokens that the engine still had from before.
    pub kept: usize,
    /// Tokens of the context, or of an answer that the map knew the beginning of, that were read.
    pub read: usize,
    /// Rows that were evaluated, rejected drafts among them.
    pub evaluated: u64,
    /// Passes of the model behind the context: each gives one token and those of its draft that were right.
    pub passes: usize,
    /// Nodes that were drafted.
    pub drafted: usize,
    /// Of these, the ones that were right.
    pub accepted: Accepted,
    /// Anchors that were written.
    pub anchors: usize,
    /// Anchors that could not be used or written.
    pub faults: Vec<AnchorFault>,
    /// Whether the answer was written to the map.
    pub written: bool,
}

/// Drafted tokens that were right, by where they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// From the own map.
    pub own: usize,
    /// From the running conversation.
    pub conversation: usize,
    /// From foreign maps.
    pub foreign: usize,
}

impl Accepted {
    /// All of them.
    pub fn all(self) -> usize {
        self.own + self.conversation + self.foreign
    }

    pub(super) fn count(&mut self, source: Source) {
        *match source {
            Source::Own => &mut self.own,
            Source::Conversation => &mut self.conversation,
            Source::Foreign => &mut self.foreign,
        } += 1;
    }
}

/// An answer, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub tokens: Vec<Token>,
    /// Why it ends.
    pub end: End,
    /// What it took.
    pub stats: Stats,
}

impl Outcome {
    /// The tokens alone.
    pub fn ids(&self) -> Vec<u32> {
        self.tokens.iter().map(|token| token.id).collect()
    }
}
