//! The whole layer in plain Rust: what the kernels compute, in the order in which they compute it.
//!
//! The twin is the kernels' specification in code. It keeps every token it ever saw and names them by position: none of the
//! shaders' addressing is in it. Where a device rounds +, -, *, / exactly and does not contract a * b + c, the twin's numbers
//! are the device's to the last bit; elsewhere they are close. It is slow, and meant to be: O(context) memory.

mod cells;
mod decay;
mod number;
mod rank;
mod snapshot;
mod softmax;

use super::tree::{Tree, TreeError};
use crate::state::{Admission, BLOCK, Carrier, Config};
use cells::{Cell, Mean};
use decay::{Dropped, Sums};
use rank::Stored;
use softmax::{Merged, Piece, Term};
use std::fmt;

/// One layer and what it has read.
#[derive(Clone, Debug)]
pub struct Twin {
    config: Config,
    carrier: Carrier,
    scale: f32,
    /// Tokens taken in.
    tokens: u32,
    /// The band's first position.
    start: u32,
    surprises: Vec<f32>,
    heads: Vec<Head>,
    /// Of each query head.
    decays: Vec<Sums>,
    waiting: Option<Waiting>,
}

/// One KV head: everything by position.
#[derive(Clone, Debug)]
struct Head {
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    looks: Vec<f32>,
    store: Vec<Stored>,
    cells: Vec<Cell>,
}

/// Rows that were verified and not taken in.
#[derive(Clone, Debug)]
struct Waiting {
    tree: Tree,
    /// Of each row and KV head.
    rows: Vec<Vec<Row>>,
}

#[derive(Clone, Debug)]
struct Row {
    key: Vec<f32>,
    value: Vec<f32>,
    /// Largest weight it gave to each token of the band, by the position behind the band's start.
    seen: Vec<f32>,
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
        let shape = config.shape();
        let dim = shape.head_dim as usize;
        let cells = match &carrier {
            Carrier::Cells(of) => vec![Cell::empty(dim); of.cells as usize],
            _ => Vec::new(),
        };
        let head = Head { keys: Vec::new(), values: Vec::new(), looks: Vec::new(), store: Vec::new(), cells };
        let decays = match &carrier {
            Carrier::Decay(_) => vec![decay::empty(dim); shape.heads as usize],
            _ => Vec::new(),
        };
        Self {
            heads: vec![head; shape.kv_heads as usize],
            config,
            carrier,
            scale,
            tokens: 0,
            start: 0,
            surprises: Vec::new(),
            decays,
            waiting: None,
        }
    }

    /// Tokens taken in.
    pub fn tokens(&self) -> u32 {
        self.tokens
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
        let shape = self.config.shape();
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
        let shape = self.config.shape();
        let (dim, kv_heads, count) = (shape.head_dim as usize, shape.kv_heads as usize, tree.rows());
        let keys = count * kv_heads * dim;
        if rows.q.len() != count * shape.heads as usize * dim || rows.k.len() != keys || rows.v.len() != keys {
            return Err(TwinError::Lengths);
        }
        let schedule = self.config.schedule();
        let last = self.tokens + tree.depth();
        if schedule.band_start(last) != schedule.band_start(self.tokens) {
            return Err(TwinError::TooDeep { position: schedule.next_growth(self.tokens + 1).unwrap_or(last) });
        }
        self.turn_over()?;
        self.waiting = None;
        let stored = |x: &f32| number::stored(self.config.storage(), *x);
        let row_of = |row: usize, kv: usize| {
            let at = (row * kv_heads + kv) * dim;
            let key = rows.k[at..at + dim].iter().map(stored).collect();
            let value = rows.v[at..at + dim].iter().map(stored).collect();
            Row { key, value, seen: Vec::new() }
        };
        let mut waiting: Vec<Vec<Row>> =
            (0..count).map(|row| (0..kv_heads).map(|kv| row_of(row, kv)).collect()).collect();
        let mut out = Vec::with_capacity(rows.q.len());
        for row in 0..count {
            for kv in 0..kv_heads {
                let (of_group, seen) = self.read(rows.q, row, kv, tree, &waiting);
                waiting[row][kv].seen = seen;
                out.extend(of_group);
            }
        }
        self.waiting = Some(Waiting { tree: tree.clone(), rows: waiting });
        Ok(out)
    }

    /// Takes in the rows of a path of the verified tree, its root first.
    pub fn accept(&mut self, path: &[u32]) -> Result<(), TwinError> {
        let waiting = self.waiting.take().ok_or(TwinError::NothingWaits)?;
        if let Err(error) = waiting.tree.check_path(path) {
            self.waiting = Some(waiting);
            return Err(TwinError::Tree(error));
        }
        for &row in path {
            for (head, row) in self.heads.iter_mut().zip(&waiting.rows[row as usize]) {
                head.keys.push(row.key.clone());
                head.values.push(row.value.clone());
                head.looks.push(0.0);
                let band = head.looks[self.start as usize..].iter_mut();
                band.zip(&row.seen).for_each(|(look, seen)| *look = look.max(*seen));
            }
            self.tokens += 1;
        }
        Ok(())
    }

    /// One row's outputs for the query heads of a group, and the largest weight they gave to each token of the band.
    fn read(&self, q: &[f32], row: usize, kv: usize, tree: &Tree, waiting: &[Vec<Row>]) -> (Vec<f32>, Vec<f32>) {
        let shape = self.config.shape();
        let (heads, dim, group) = (shape.heads as usize, shape.head_dim as usize, shape.group() as usize);
        let position = self.tokens + tree.nodes()[row].depth;
        let head = &self.heads[kv];
        let mut path = vec![row];
        while let Some(parent) = tree.nodes()[path[0]].parent {
            path.insert(0, parent as usize);
        }
        let token = |position: u32| {
            let (key, value) = match position.checked_sub(self.tokens) {
                None => (&head.keys[position as usize], &head.values[position as usize]),
                Some(depth) => {
                    let row = &waiting[path[depth as usize]][kv];
                    (&row.key, &row.value)
                }
            };
            Some(Term { key, value, bias: None })
        };
        let store: Vec<u32> = head.store.iter().map(|token| token.position).collect();
        let band: Vec<u32> = (self.start..=position).collect();
        let means = self.means(kv);
        let (mut out, mut seen) = (Vec::with_capacity(group * dim), vec![0.0_f32; band.len()]);
        for query_head in kv * group..(kv + 1) * group {
            let query = &q[(row * heads + query_head) * dim..][..dim];
            let sum_up = |positions: &[u32]| {
                let terms: Vec<_> = positions.iter().map(|&position| token(position)).collect();
                softmax::piece(query, self.scale, &terms)
            };
            let mut pieces = self.carried(kv, query_head, query, position, &means);
            pieces.extend(store.chunks(BLOCK as usize).map(sum_up));
            let of_band = pieces.len();
            pieces.extend(band.chunks(BLOCK as usize).map(sum_up));
            let Merged { out: of_head, shares } = softmax::merge(&pieces, dim);
            out.extend(of_head);
            let weights = pieces.iter().zip(&shares).skip(of_band);
            let weights = weights.flat_map(|(piece, share)| piece.weights.iter().map(move |weight| weight * share));
            seen.iter_mut().zip(weights).for_each(|(most, weight)| *most = most.max(weight));
        }
        match self.config.admission(kv) {
            Some(Admission::Look { from }) => {
                let far = |at: u32| position - at >= from;
                band.iter().zip(&mut seen).filter(|(at, _)| !far(**at)).for_each(|(_, seen)| *seen = 0.0);
            }
            Some(Admission::Surprise) | None => seen.fill(0.0),
        }
        (out, seen)
    }

    /// What a row reads of the cells; empty where there are none.
    fn means(&self, kv: usize) -> Vec<Option<Mean>> {
        let Carrier::Cells(of) = &self.carrier else { return Vec::new() };
        self.heads[kv].cells.iter().map(|cell| cells::finish(cell, of, kv)).collect()
    }

    /// The carrier's pieces for one query; none where nothing entered it.
    fn carried(&self, kv: usize, head: usize, query: &[f32], position: u32, means: &[Option<Mean>]) -> Vec<Piece> {
        if self.start as usize <= self.heads[kv].store.len() {
            return Vec::new();
        }
        match &self.carrier {
            Carrier::None => Vec::new(),
            Carrier::Decay(of) => vec![decay::read(&self.decays[head], of, head, query, position - self.start)],
            Carrier::Cells(of) => {
                let term = |mean: &'_ Mean| mean.bias(of, head);
                let terms = means.iter().map(|mean| mean.as_ref().map(|mean| (mean, term(mean))));
                let terms: Vec<_> = terms
                    .map(|mean| mean.map(|(mean, bias)| Term { key: &mean.key, value: &mean.value, bias: Some(bias) }))
                    .collect();
                terms.chunks(BLOCK as usize).map(|terms| softmax::piece(query, self.scale, terms)).collect()
            }
        }
    }

    /// Turns over what is due before the next row.
    fn turn_over(&mut self) -> Result<(), TwinError> {
        let start = self.config.schedule().band_start(self.tokens);
        if start == self.start {
            return Ok(());
        }
        if self.config.wants_surprises() {
            let (needed, known) = (start + 2, self.surprises.len() as u32);
            if known < needed {
                return Err(TwinError::Surprises { needed, known });
            }
        }
        let group = self.config.shape().group() as usize;
        for (kv, head) in self.heads.iter_mut().enumerate() {
            let score = |position: u32| match self.config.admission(kv) {
                Some(Admission::Surprise) => rank::surprise_score(&self.surprises, position as usize),
                _ => head.looks[position as usize],
            };
            let block: Vec<_> =
                (self.start..start).map(|position| Stored { position, score: score(position) }).collect();
            let dropped = rank::turn_over(&mut head.store, self.config.store(kv) as usize, &block);
            let dropped: Vec<_> = dropped
                .iter()
                .map(|&position| {
                    let (key, value) = (&head.keys[position as usize], &head.values[position as usize]);
                    Dropped { position, key, value }
                })
                .collect();
            match &self.carrier {
                Carrier::None => {}
                Carrier::Decay(of) => {
                    let decays = self.decays.iter_mut().enumerate().skip(kv * group).take(group);
                    decays.for_each(|(h, sums)| decay::take_in(sums, of, h, start, &dropped));
                }
                Carrier::Cells(of) => cells::take_in(&mut head.cells, of, kv, &dropped),
            }
        }
        self.start = start;
        Ok(())
    }
}
