//! An engine without a model: what it chooses is a function of the tokens.

use crate::attention::{LayerSetup, Tree};
use crate::decode::{Engine, State};
use crate::state::{Admission, Carrier, Config, LayerSnapshot, Shape, Storage};
use std::fmt;

pub(super) const VOCABULARY: u32 = 50;
/// What ends answers, now and then.
pub(super) const STOP: u32 = 49;

/// What the engine chooses behind `tokens`. Mostly it repeats itself, as texts do: two tokens decide. Now and then all do.
pub(super) fn next(tokens: &[u32]) -> u32 {
    choice(tokens.iter().fold(SEED, |hash, &token| mix(hash, token)), last_two(tokens))
}

/// `max_new` tokens behind a context, one at a time; `stops` end it.
pub(super) fn plain(context: &[u32], max_new: usize, stops: &[u32]) -> Vec<u32> {
    let mut tokens = context.to_vec();
    while tokens.len() < context.len() + max_new {
        let token = next(&tokens);
        tokens.push(token);
        if stops.contains(&token) {
            break;
        }
    }
    tokens.split_off(context.len())
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, token: u32) -> u64 {
    (hash ^ u64::from(token)).wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(23)
}

fn choice(hash: u64, [before, last]: [u32; 2]) -> u32 {
    let by_two = mix(mix(SEED, before), last) >> 20;
    let by_all = hash >> 17;
    (if by_all.is_multiple_of(11) { by_all } else { by_two } % u64::from(VOCABULARY)) as u32
}

fn last_two(tokens: &[u32]) -> [u32; 2] {
    let at = |back: usize| tokens.len().checked_sub(back).map_or(0, |at| tokens[at]);
    [at(2), at(1)]
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum MockError {
    /// It was told to fail.
    Asked,
    /// It was used wrongly.
    Misused(String),
}

impl fmt::Display for MockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for MockError {}

/// After how many tokens, and which are the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    hash: u64,
    last: [u32; 2],
}

impl Point {
    const START: Self = Self { hash: SEED, last: [0; 2] };

    fn then(self, token: u32) -> Self {
        Self { hash: mix(self.hash, token), last: [self.last[1], token] }
    }

    fn choice(self) -> u32 {
        choice(self.hash, self.last)
    }
}

pub(super) struct Mock {
    layer: LayerSnapshot,
    point: Point,
    verified: Option<(Tree, Vec<u32>)>,
    evaluated: u64,
    /// Verified trees' rows, one number a pass; single tokens too.
    pub(super) passes: Vec<usize>,
    pub(super) capacity: Option<u32>,
    pub(super) tree_rows: u32,
    /// A path ends where so many tokens were taken in.
    pub(super) block: u32,
    /// The call that fails, counted down.
    pub(super) fails_in: Option<u32>,
    /// States that were read back.
    pub(super) states: usize,
}

/// A band and no store.
pub(super) fn layer() -> LayerSetup {
    let shape = Shape { heads: 1, kv_heads: 1, head_dim: 8 };
    let config = Config::uniform(shape, Storage::F32, 64, 0, Admission::Look { from: 16 });
    LayerSetup::plain(config.expect("good sizes"))
}

impl Default for Mock {
    fn default() -> Self {
        Self {
            layer: LayerSnapshot::empty(&layer().config, &Carrier::None),
            point: Point::START,
            verified: None,
            evaluated: 0,
            passes: Vec::new(),
            capacity: None,
            tree_rows: 32,
            block: 64,
            fails_in: None,
            states: 0,
        }
    }
}

impl Mock {
    fn call(&mut self) -> Result<(), MockError> {
        self.fails_in = match self.fails_in {
            Some(0) => {
                self.point = Point { hash: 1, last: [1, 1] };
                self.layer.tokens = 12345;
                self.fails_in = None;
                return Err(MockError::Asked);
            }
            Some(left) => Some(left - 1),
            None => None,
        };
        Ok(())
    }

    fn take(&mut self, token: u32) -> Result<(), MockError> {
        misused(token >= VOCABULARY, "a token that is none")?;
        misused(self.capacity.is_some_and(|capacity| self.layer.tokens >= capacity), "full")?;
        let row = (self.layer.tokens % 128) as usize * 32;
        let head = &mut self.layer.heads[0];
        let bytes = (token as f32 + 1.0).to_le_bytes();
        for place in head.band_keys[row..row + 32].chunks_mut(4).chain(head.band_values[row..row + 32].chunks_mut(4)) {
            place.copy_from_slice(&bytes);
        }
        self.layer.tokens += 1;
        self.point = self.point.then(token);
        self.verified = None;
        Ok(())
    }
}

fn misused(wrong: bool, how: &str) -> Result<(), MockError> {
    if wrong { Err(MockError::Misused(how.into())) } else { Ok(()) }
}

impl Engine for Mock {
    type Error = MockError;

    fn vocabulary(&self) -> u32 {
        VOCABULARY
    }

    fn tokens(&self) -> u32 {
        self.layer.tokens
    }

    fn capacity(&self) -> Option<u32> {
        self.capacity
    }

    fn tree_rows(&self) -> u32 {
        self.tree_rows
    }

    fn depth_left(&self) -> u32 {
        self.block - self.layer.tokens % self.block
    }

    fn evaluated(&self) -> u64 {
        self.evaluated
    }

    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, MockError> {
        self.call()?;
        misused(tokens.is_empty(), "nothing to read")?;
        self.passes.push(tokens.len());
        self.evaluated += tokens.len() as u64;
        tokens.iter().try_for_each(|&token| self.take(token))?;
        Ok(self.point.choice())
    }

    fn choice(&self) -> Option<u32> {
        (self.layer.tokens > 0).then(|| self.point.choice())
    }

    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, MockError> {
        self.call()?;
        misused(tokens.len() != tree.rows(), "a tree of other rows")?;
        misused(tokens.len() > self.tree_rows as usize, "too many rows")?;
        misused(tree.depth() >= self.depth_left(), "too deep")?;
        misused(tokens.iter().any(|&token| token >= VOCABULARY), "a token that is none")?;
        let room = self.capacity.map_or(u32::MAX, |capacity| capacity - self.layer.tokens);
        misused(tree.depth() >= room, "no room")?;
        self.passes.push(tokens.len());
        self.evaluated += tokens.len() as u64;
        let mut points: Vec<Point> = Vec::new();
        for (row, &token) in tokens.iter().enumerate() {
            let before = tree.nodes()[row].parent.map_or(self.point, |parent| points[parent as usize]);
            points.push(before.then(token));
        }
        self.verified = Some((tree.clone(), tokens.to_vec()));
        Ok(points.into_iter().map(Point::choice).collect())
    }

    async fn accept(&mut self, path: &[u32]) -> Result<(), MockError> {
        self.call()?;
        let Some((tree, tokens)) = self.verified.take() else { return misused(true, "nothing was verified") };
        misused(tree.check_path(path).is_err(), "no path")?;
        path.iter().try_for_each(|&row| self.take(tokens[row as usize]))
    }

    async fn logits(&mut self) -> Result<Vec<f32>, MockError> {
        Ok((0..VOCABULARY).map(|token| (mix(self.point.hash, token) >> 40) as f32).collect())
    }

    async fn state(&mut self) -> Result<State, MockError> {
        self.call()?;
        self.states += 1;
        let Point { hash, last } = self.point;
        let parts = [hash >> 48, hash >> 32, hash >> 16, hash].map(|part| f32::from(part as u16));
        let hidden = parts.into_iter().chain(last.map(|token| token as f32)).collect();
        Ok(State { layers: vec![self.layer.clone()], hidden })
    }

    async fn restore(&mut self, state: &State) -> Result<(), MockError> {
        self.call()?;
        #[allow(clippy::cast_sign_loss, reason = "they were whole numbers from 0 on")]
        let numbers: Vec<u32> = state.hidden.iter().map(|&number| number as u32).collect();
        let [a, b, c, d, before, last] = numbers[..] else { return misused(true, "a row of another width") };
        let hash = [a, b, c, d].iter().fold(0, |hash, &part| hash << 16 | u64::from(part));
        self.point = Point { hash, last: [before, last] };
        self.layer = state.layers[0].clone();
        Ok(())
    }

    async fn clear(&mut self) -> Result<(), MockError> {
        self.call()?;
        self.layer = LayerSnapshot::empty(&layer().config, &Carrier::None);
        self.point = Point::START;
        Ok(())
    }
}
