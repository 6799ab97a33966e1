//! An engine with its maps.

use super::draft::{Conversation, Draft, Limits, merge};
use super::journal::{Own, check};
use super::{
    AnchorFault, AttachError, DecodeError, Engine, Journal, Options, Outcome, Source, Turn, WriteFault, from_anchor,
    to_anchor,
};
use crate::attention::{LayerSetup, Tree};
use crate::state::{Carrier, Config};
use mrail::{Map, PrefixHash};

/// A model beside its maps: answers contexts, and keeps the answers.
///
/// What it says is the model's greedy answer, token by token, whatever maps and drafts it is given: the own map answers only
/// with what this model said before, an anchored state is one that this model was in, and a draft is said only where the
/// model chose it. Maps change how much is computed, which [`super::Stats`] tells.
///
/// One answer is one [`Turn`]. A conversation is a turn after the other, each with the whole conversation as its context: the
/// engine's state is gone on from where it is a prefix of the context.
#[derive(Debug)]
pub struct Decoder<E: Engine> {
    engine: E,
    layers: Vec<LayerSetup>,
    pub(super) own: Option<Own>,
    foreign: Vec<Map<'static>>,
    conversation: Conversation,
    /// What the engine has taken in; none where that is not known, after an error or a future that was dropped.
    taken: Option<Vec<u32>>,
    /// The last anchor on the way to the engine's state: the next one is stored as changes to it.
    parent: Option<PrefixHash>,
}

impl<E: Engine> Decoder<E> {
    /// A decoder without maps. `layers` are those of the engine's model: what its states look like in an anchor.
    pub fn new(engine: E, layers: Vec<LayerSetup>) -> Self {
        let taken = (engine.tokens() == 0).then(Vec::new);
        let (own, foreign, conversation) = (None, Vec::new(), Conversation::default());
        Self { engine, layers, own, foreign, conversation, taken, parent: None }
    }

    /// Makes a map the own one: its answers are taken for this model's, and answers are written to it and to the journal, if
    /// there is one. Replaces the own map there was.
    ///
    /// A map in which a token is none of the model's is refused; that its answers are the model's is the caller's word.
    pub fn attach(&mut self, map: Map<'static>, journal: Option<Box<dyn Journal>>) -> Result<(), AttachError> {
        check(&map, self.engine.vocabulary())?;
        self.own = Some(Own::new(map, journal));
        self.parent = None;
        Ok(())
    }

    /// Adds a foreign map, which only drafts, however it was opened.
    pub fn attach_foreign(&mut self, map: Map<'static>) -> Result<(), AttachError> {
        check(&map, self.engine.vocabulary())?;
        self.foreign.push(map);
        Ok(())
    }

    /// Leaves the maps behind, the own one among them.
    pub fn detach(&mut self) {
        (self.own, self.parent) = (None, None);
        self.foreign.clear();
    }

    /// The own map.
    pub fn map(&self) -> Option<&Map<'static>> {
        self.own.as_ref().map(|own| &own.map)
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The engine, to be asked for logits or its state. Whoever makes it take tokens in must also clear it.
    pub fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Begins to answer a context. Nothing is computed yet.
    pub fn begin(&mut self, context: &[u32], options: &Options) -> Result<Turn<'_, E>, DecodeError<E::Error>> {
        if context.is_empty() {
            return Err(DecodeError::EmptyContext);
        }
        let vocabulary = self.engine.vocabulary();
        if let Some((at, &token)) = context.iter().enumerate().find(|(_, token)| **token >= vocabulary) {
            return Err(DecodeError::Vocabulary { at, token, vocabulary });
        }
        Ok(Turn::new(self, context, options))
    }

    /// Answers a context: a whole turn.
    pub async fn generate(&mut self, context: &[u32], options: &Options) -> Result<Outcome, DecodeError<E::Error>> {
        let mut turn = self.begin(context, options)?;
        while turn.next().await?.is_some() {}
        turn.finish()
    }

    /// Tokens that the engine has taken in, if they are a beginning of these.
    pub(super) fn common(&self, tokens: &[u32]) -> Option<usize> {
        let taken = self.taken.as_ref().filter(|taken| tokens.starts_with(taken))?;
        (self.engine.tokens() as usize == taken.len()).then_some(taken.len())
    }

    /// Forgets everything.
    pub(super) async fn clear(&mut self) -> Result<(), DecodeError<E::Error>> {
        (self.taken, self.parent) = (None, None);
        self.engine.clear().await.map_err(DecodeError::Engine)?;
        self.taken = Some(Vec::new());
        Ok(())
    }

    /// Takes tokens in, behind those that are there.
    pub(super) async fn extend(&mut self, tokens: &[u32]) -> Result<u32, DecodeError<E::Error>> {
        // Not known while the engine works: the future may be dropped.
        let mut taken = self.taken.take().unwrap_or_default();
        let choice = self.engine.extend(tokens).await.map_err(DecodeError::Engine)?;
        taken.extend_from_slice(tokens);
        self.taken = Some(taken);
        Ok(choice)
    }

    /// Verifies a draft behind `root` in one pass. Returns the model's choice behind each row.
    pub(super) async fn verify(&mut self, root: u32, draft: &Draft) -> Result<Vec<u32>, DecodeError<E::Error>> {
        let taken = self.taken.take();
        let tokens: Vec<u32> = [root].into_iter().chain(draft.tokens.iter().copied()).collect();
        let silent = DecodeError::Silent { tokens: self.engine.tokens() };
        // Parents come first and the rows are no more than a tree can have, so this is one.
        let Ok(tree) = Tree::new(&draft.parents) else { return Err(silent) };
        let choices = self.engine.verify(&tokens, &tree).await.map_err(DecodeError::Engine)?;
        self.taken = taken;
        if choices.len() == tokens.len() { Ok(choices) } else { Err(silent) }
    }

    /// Takes in a path of the tree that was verified last, whose tokens these are.
    pub(super) async fn accept(&mut self, path: &[u32], tokens: &[u32]) -> Result<(), DecodeError<E::Error>> {
        let mut taken = self.taken.take().unwrap_or_default();
        self.engine.accept(path).await.map_err(DecodeError::Engine)?;
        taken.extend_from_slice(tokens);
        self.taken = Some(taken);
        Ok(())
    }

    /// Puts on the rails what can be drafted from only beside this context.
    pub(super) fn learn(&mut self, context: &[u32], use_map: bool) {
        let own = self.own.as_mut().filter(|_| use_map).map(|own| &mut own.map);
        for map in own.into_iter().chain(&mut self.foreign) {
            map.learn_tracks(context, MOST_OF_A_TRACK);
        }
    }

    /// What may follow `tokens`, the last of which is the root.
    pub(super) fn draft(&mut self, tokens: &[u32], use_map: bool, limits: Limits<'_>) -> Draft {
        if limits.nodes == 0 || limits.depth < 2 {
            return Draft::default();
        }
        self.conversation.follow(tokens);
        let own = self.own.as_mut().filter(|_| use_map).map(|own| (Source::Own, own.map.rail()));
        let said = (Source::Conversation, self.conversation.rail());
        let foreign = self.foreign.iter_mut().map(|map| (Source::Foreign, map.rail()));
        let rails = own.into_iter().chain([said]).chain(foreign);
        let trees: Vec<_> = rails.map(|(source, rail)| (source, rail.tree(tokens, limits.nodes))).collect();
        merge(&trees, limits)
    }

    fn sizes(&self) -> Vec<(&Config, &Carrier)> {
        self.layers.iter().map(|layer| (&layer.config, &layer.carrier)).collect()
    }

    /// Goes on from the anchored state of a prefix of so many tokens of the context.
    pub(super) async fn restore(
        &mut self,
        hash: PrefixHash,
        position: usize,
        context: &[u32],
    ) -> Result<(), AnchorFault> {
        let Some(own) = &self.own else { return Ok(()) };
        let restored = own.map.restore(hash)?;
        let state = from_anchor(&restored.snapshot, &self.sizes(), position)?;
        (self.taken, self.parent) = (None, None);
        self.engine.restore(&state).await.map_err(|error| AnchorFault::Engine(error.to_string()))?;
        let found = self.engine.tokens();
        if found as usize != position {
            return Err(AnchorFault::Position { found, wanted: position });
        }
        self.taken = context.get(..position).map(<[u32]>::to_vec);
        self.parent = Some(hash);
        Ok(())
    }

    /// Anchors the engine's state in the own map, as changes to the last anchor that it comes from. Returns whether there was
    /// something to write.
    pub(super) async fn anchor(&mut self) -> Result<bool, AnchorFault> {
        let Some(taken) = self.taken.as_deref() else { return Ok(false) };
        let (hash, position) = (PrefixHash::of(taken), taken.len());
        let Some(own) = self.own.as_ref() else { return Ok(false) };
        if own.map.anchor(hash).is_some() {
            self.parent = Some(hash);
            return Ok(false);
        }
        let run = own.map.len() as u32;
        let state = self.engine.state().await.map_err(|error| AnchorFault::Engine(error.to_string()))?;
        let snapshot = to_anchor(&self.sizes(), &state)?;
        let Some(own) = self.own.as_mut() else { return Ok(false) };
        let append = own.map.prepare_anchor(run, position as u32, hash, &snapshot, self.parent);
        own.write(&append.map_err(|error| AnchorFault::Write(WriteFault::Map(error)))?).map_err(AnchorFault::Write)?;
        self.parent = Some(hash);
        Ok(true)
    }
}

/// Tokens of one track's answer that are drafted from.
const MOST_OF_A_TRACK: usize = 4096;
