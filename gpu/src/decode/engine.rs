//! What the loop needs of whatever runs the model.

use crate::attention::Tree;
use crate::state::snapshot::LayerSnapshot;

/// Everything that is needed to go on from a prefix without reading it again.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The attention layers' states, which say how many tokens there were.
    pub layers: Vec<LayerSnapshot>,
    /// \[width]: the last token's row after the final norm, from which its logits follow. Empty before the first token.
    pub hidden: Vec<f32>,
}

/// Runs a model: takes tokens in, verifies drafts, says what the model itself would choose.
///
/// Implementations give a row the same bits whatever rows share its pass, so that none of these calls changes what another
/// computes. After an error the state is undefined until [`Engine::clear`] or [`Engine::restore`] succeeds.
#[allow(async_fn_in_trait, reason = "futures need not be sent between threads: wasm has none")]
pub trait Engine {
    /// Why it cannot go on.
    type Error: std::error::Error + 'static;

    /// Token ids are below this.
    fn vocabulary(&self) -> u32;

    /// Tokens taken in.
    fn tokens(&self) -> u32;

    /// Tokens that a context can have at most, where there is a limit: a native cache's capacity.
    fn capacity(&self) -> Option<u32>;

    /// Rows of a draft tree at most, its root among them.
    fn tree_rows(&self) -> u32;

    /// Nodes of one path, the root among them, that can be verified now.
    fn depth_left(&self) -> u32;

    /// Rows that were evaluated since the engine was made. Drafts count whether they were accepted or not.
    fn evaluated(&self) -> u64;

    /// Takes `tokens` in, which may be any number, and returns the model's choice behind the last of them.
    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, Self::Error>;

    /// The choice behind the last token taken in; none before the first one.
    fn choice(&self) -> Option<u32>;

    /// Reads a draft tree, whose row i is `tokens[i]`, without taking it in. Returns the model's choice behind each row.
    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, Self::Error>;

    /// Takes in a path of the tree that was verified last, its root first. No row is evaluated again.
    async fn accept(&mut self, path: &[u32]) -> Result<(), Self::Error>;

    /// Logits behind the last token taken in, \[vocabulary].
    async fn logits(&mut self) -> Result<Vec<f32>, Self::Error>;

    /// Reads the state back.
    async fn state(&mut self) -> Result<State, Self::Error>;

    /// Goes on from a state. Evaluates nothing: the choice follows from the state's last row.
    async fn restore(&mut self, state: &State) -> Result<(), Self::Error>;

    /// Forgets all tokens.
    async fn clear(&mut self) -> Result<(), Self::Error>;
}
