//! A model that writes down its logits behind every token.

use mrail_gpu::attention::Tree;
use mrail_gpu::decode::{Decoder, Engine, Options, Outcome, State};
use mrail_gpu::model::cpu::{CpuError, CpuModel};
use std::collections::BTreeMap;

/// The model on the CPU. It is asked for the logits of each row of a path before the path is taken in, so that none inside it is
/// missed.
#[derive(Debug)]
pub(crate) struct Recorder {
    model: CpuModel,
    /// After so many tokens, these logits.
    logits: BTreeMap<usize, Vec<f32>>,
    /// The tree that was verified last.
    tree: Option<Tree>,
    /// At which depth drafts were wrong, and how often: where a path ended although the tree went on.
    wrong: BTreeMap<usize, usize>,
    remembers: bool,
    /// What was read last into an empty model, and the state behind it.
    read: Option<(Vec<u32>, State)>,
}

impl Recorder {
    pub(crate) fn new(model: CpuModel) -> Self {
        let (logits, wrong) = (BTreeMap::new(), BTreeMap::new());
        Self { model, logits, tree: None, wrong, remembers: false, read: None }
    }

    /// Whether a context that comes again is read again, or its state restored. The latter saves minutes, and is the same to the
    /// last bit, as another test says.
    pub(crate) fn remember(&mut self, remembers: bool) {
        (self.remembers, self.read) = (remembers, None);
    }

    pub(crate) fn model(&self) -> &CpuModel {
        &self.model
    }

    /// After so many tokens, these logits: of all rows that were taken in since the model was empty.
    pub(crate) fn take(&mut self) -> BTreeMap<usize, Vec<f32>> {
        std::mem::take(&mut self.logits)
    }

    /// At which depths drafts were wrong so far, and how often.
    pub(crate) fn wrong(&self) -> &BTreeMap<usize, usize> {
        &self.wrong
    }

    async fn note(&mut self) -> Result<(), CpuError> {
        let logits = self.model.logits().await?;
        self.logits.insert(self.model.tokens() as usize, logits);
        Ok(())
    }
}

impl Engine for Recorder {
    type Error = CpuError;

    fn vocabulary(&self) -> u32 {
        self.model.vocabulary()
    }

    fn tokens(&self) -> u32 {
        self.model.tokens()
    }

    fn capacity(&self) -> Option<u32> {
        self.model.capacity()
    }

    fn tree_rows(&self) -> u32 {
        self.model.tree_rows()
    }

    fn depth_left(&self) -> u32 {
        self.model.depth_left()
    }

    fn evaluated(&self) -> u64 {
        self.model.evaluated()
    }

    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, CpuError> {
        let empty = self.model.tokens() == 0;
        let known = self.read.as_ref().filter(|(read, _)| empty && read == tokens);
        if let Some((_, state)) = known {
            self.model.restore(state).await?;
        } else {
            self.model.extend(tokens).await?;
            if empty && self.remembers {
                self.read = Some((tokens.to_vec(), self.model.state().await?));
            }
        }
        self.note().await?;
        self.model.choice().ok_or(CpuError::NoTokens)
    }

    fn choice(&self) -> Option<u32> {
        self.model.choice()
    }

    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, CpuError> {
        self.tree = Some(tree.clone());
        self.model.verify(tokens, tree).await
    }

    async fn accept(&mut self, path: &[u32]) -> Result<(), CpuError> {
        let before = self.model.tokens() as usize;
        for (at, &row) in path.iter().enumerate() {
            self.logits.insert(before + at + 1, self.model.verified_logits(row)?);
        }
        if let Some(tree) = self.tree.take() {
            let goes_on = |row: u32| tree.check_path(&[path, &[row]].concat()).is_ok();
            if (0..tree.rows() as u32).any(goes_on) {
                *self.wrong.entry(path.len()).or_default() += 1;
            }
        }
        self.model.accept(path).await?;
        // Behind the last one are those that the model goes on with.
        self.note().await
    }

    async fn logits(&mut self) -> Result<Vec<f32>, CpuError> {
        self.model.logits().await
    }

    async fn state(&mut self) -> Result<State, CpuError> {
        self.model.state().await
    }

    async fn restore(&mut self, state: &State) -> Result<(), CpuError> {
        self.logits.clear();
        self.model.restore(state).await?;
        self.note().await
    }

    async fn clear(&mut self) -> Result<(), CpuError> {
        self.logits.clear();
        self.model.clear().await
    }
}

/// An answer with what the model was at on its way.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) outcome: Outcome,
    /// After so many tokens, these logits.
    pub(crate) logits: BTreeMap<usize, Vec<f32>>,
    pub(crate) state: State,
}

/// Answers a context from the beginning.
pub(crate) async fn record(decoder: &mut Decoder<Recorder>, context: &[u32], options: &Options) -> Recorded {
    decoder.engine_mut().clear().await.expect("an empty model");
    let outcome = decoder.generate(context, options).await.expect("a model that works");
    let engine = decoder.engine_mut();
    let state = engine.state().await.expect("a state");
    Recorded { outcome, logits: engine.take(), state }
}
