//! The whole layer in plain Rust: what the kernels compute, in the order in which they compute it.
//!
//! The twin is the kernels' specification in code, and what runs a layer where there is no GPU. It names tokens by position: none of
//! the shaders' addressing is in it. Where a device rounds +, -, *, / exactly and does not contract a * b + c, the twin's numbers
//! are the device's to the last bit; elsewhere they are close. Of a token that was dropped it keeps its surprise.

mod block;
mod cells;
mod decay;
mod head;
pub(crate) mod number;
mod rank;
mod snapshot;
mod softmax;

use super::tree::{Tree, TreeError};
use crate::parallel::each;
use crate::state::{BLOCK, Carrier, Config};
use head::Head;
use std::fmt;

/// One layer and what it has read.
#[derive(Clone, Debug)]
pub struct Twin {
    of: Layer,
    surprises: Vec<f32>,
    heads: Vec<Head>,
    waiting: Option<Waiting>,
}

/// What its heads share.
#[derive(Clone, Debug)]
struct Layer {
    config: Config,
    carrier: Carrier,
    scale: f32,
    /// Tokens taken in.
    tokens: u32,
    /// The band's first position.
    start: u32,
}

/// Rows that were verified and not taken in, as a layer stores them.
#[derive(Clone, Debug)]
struct Waiting {
    tree: Tree,
    /// \[rows, `kv_heads`, d].
    keys: Vec<f32>,
    /// \[rows, `kv_heads`, d].
    values: Vec<f32>,
}

/// Why the twin does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwinError {
    /// Rows' lengths do not fit each other or the layer.
    Lengths,
    /// A path is none of the tree's.
    Tree(TreeError),
    /// Nothing was verified.
    NothingWaits,
    /// A block cannot be ranked before more surprises are known.
    Surprises {
        /// Those of tokens below this are needed.
        needed: u32,
        /// Those of tokens below this are known.
        known: u32,
    },
    /// A row stands where the band's start has grown.
    TooDeep {
        /// Its position.
        position: u32,
    },
}

impl fmt::Display for TwinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths => f.write_str("queries, keys and values of other lengths than the rows'"),
            Self::Tree(error) => error.fmt(f),
            Self::NothingWaits => f.write_str("nothing was verified that could be accepted"),
            Self::Surprises { needed, known } => {
                write!(f, "surprises of {needed} tokens are needed and of {known} are known")
            }
            Self::TooDeep { position } => write!(f, "the band has moved before position {position}"),
        }
    }
}

impl std::error::Error for TwinError {}

/// Rows of a pass: queries \[rows, heads, d], keys and values \[rows, `kv_heads`, d].
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Queries.
    pub q: &'a [f32],
    /// Keys.
    pub k: &'a [f32],
    /// Values.
    pub v: &'a [f32],
}

impl Twin {
    /// An empty layer. Logits are multiplied by `scale`.
    pub fn new(config: Config, carrier: Carrier, scale: f32) -> Self {
        let of = Layer { config, carrier, scale, tokens: 0, start: 0 };
        let heads = (0..of.config.shape().kv_heads as usize).map(|kv| Head::new(&of, kv)).collect();
        Self { of, surprises: Vec::new(), heads, waiting: None }
    }

    /// Tokens taken in.
    pub fn tokens(&self) -> u32 {
        self.of.tokens
    }

    /// Positions in the store of a KV head, by slot.
    pub fn stored(&self, kv_head: usize) -> Vec<u32> {
        self.heads[kv_head].store.iter().map(|token| token.position).collect()
    }

    /// Hands in the surprises of the next tokens.
    pub fn surprises(&mut self, surprises: &[f32]) {
        self.surprises.extend_from_slice(surprises);
    }

    /// Reads rows and takes them in, one by one; returns their outputs, \[rows, heads, d].
    pub fn extend(&mut self, rows: Rows<'_>) -> Result<Vec<f32>, TwinError> {
        let shape = self.of.config.shape();
        let (queries, keys) = ((shape.heads * shape.head_dim) as usize, (shape.kv_heads * shape.head_dim) as usize);
        let count = rows.q.len() / queries;
        if rows.q.len() != count * queries || rows.k.len() != count * keys || rows.v.len() != count * keys {
            return Err(TwinError::Lengths);
        }
        let tree = Tree::chain(1).map_err(TwinError::Tree)?;
        let mut out = Vec::with_capacity(rows.q.len());
        let one = rows.q.chunks_exact(queries).zip(rows.k.chunks_exact(keys).zip(rows.v.chunks_exact(keys)));
        for (q, (k, v)) in one {
            out.extend(self.verify(Rows { q, k, v }, &tree)?);
            self.accept(&[0])?;
        }
        Ok(out)
    }

    /// Reads the rows of a tree without taking them in; returns their outputs, \[rows, heads, d].
    pub fn verify(&mut self, rows: Rows<'_>, tree: &Tree) -> Result<Vec<f32>, TwinError> {
        let shape = self.of.config.shape();
        let (dim, kv_heads, count) = (shape.head_dim as usize, shape.kv_heads as usize, tree.rows());
        let keys = count * kv_heads * dim;
        if rows.q.len() != count * shape.heads as usize * dim || rows.k.len() != keys || rows.v.len() != keys {
            return Err(TwinError::Lengths);
        }
        let (schedule, tokens) = (self.of.config.schedule(), self.of.tokens);
        let last = tokens + tree.depth();
        if schedule.band_start(last) != schedule.band_start(tokens) {
            return Err(TwinError::TooDeep { position: schedule.next_growth(tokens + 1).unwrap_or(last) });
        }
        self.turn_over()?;
        let storage = self.of.config.storage();
        let stored = |numbers: &[f32]| numbers.iter().map(|x| number::stored(storage, *x)).collect();
        let waiting = Waiting { tree: tree.clone(), keys: stored(rows.k), values: stored(rows.v) };
        each(&mut self.heads, |head| head.read_all(&self.of, rows.q, &waiting));
        let group = shape.group() as usize * dim;
        let mut out = Vec::with_capacity(rows.q.len());
        for row in 0..count {
            out.extend(self.heads.iter().flat_map(|head| &head.out[row * group..(row + 1) * group]));
        }
        self.waiting = Some(waiting);
        Ok(out)
    }

    /// Takes in the rows of a path of the verified tree, its root first.
    pub fn accept(&mut self, path: &[u32]) -> Result<(), TwinError> {
        let waiting = self.waiting.as_ref().ok_or(TwinError::NothingWaits)?;
        waiting.tree.check_path(path).map_err(TwinError::Tree)?;
        self.heads.iter_mut().for_each(|head| head.accept(&self.of, waiting, path));
        self.of.tokens += path.len() as u32;
        self.waiting = None;
        Ok(())
    }

    /// Whether a block has left the band that is due only before the next token: the state is none of a number of tokens then.
    pub fn root_waits(&self) -> bool {
        self.of.start != self.of.config.schedule().left(self.of.tokens)
    }

    /// Turns over what is due before the next row.
    fn turn_over(&mut self) -> Result<(), TwinError> {
        let start = self.of.config.schedule().band_start(self.of.tokens);
        if start == self.of.start {
            return Ok(());
        }
        if self.of.config.wants_surprises() {
            let (needed, known) = (start + 2, self.surprises.len() as u32);
            if known < needed {
                return Err(TwinError::Surprises { needed, known });
            }
        }
        while self.of.start < start {
            self.heads.iter_mut().for_each(|head| head.turn_over(&self.of, &self.surprises));
            self.of.start += BLOCK;
        }
        Ok(())
    }
}
