//! One KV head of a layer: its band and its store by position, and what a row reads of them.

use super::block::{Block, LEN, put};
use super::cells::{self, Cell, Means};
use super::decay::{self, Dropped, Sums};
use super::rank::{self, Stored};
use super::softmax::{Merged, Piece, merge, piece};
use super::{Layer, Waiting};
use crate::parallel::{Task, vectorised};
use crate::state::{Admission, BLOCK, Carrier};

#[derive(Clone, Debug)]
pub(super) struct Head {
    kv: usize,
    /// Blocks by position, from [`base`] on. Behind the tokens lie rows that wait.
    pub(super) band: Vec<Block>,
    /// Of the band's tokens, from [`base`] on; none in native mode.
    pub(super) looks: Vec<f32>,
    /// By slot.
    pub(super) store: Vec<Stored>,
    pub(super) slots: Vec<Block>,
    pub(super) cells: Vec<Cell>,
    means: Means,
    /// Of each query head of the group.
    pub(super) decays: Vec<Sums>,
    /// Outputs of the rows read last, \[rows, group, d].
    pub(super) out: Vec<f32>,
    /// Of each of those rows: the largest weight it gave to each token of the band, by the position behind the band's start.
    seen: Vec<Vec<f32>>,
    /// Which of those rows lie behind the tokens, one behind the other.
    path: Vec<u32>,
}

/// The first position whose rows are kept beside the store. The block that left last stays: a device overwrites it token by token.
pub(super) const fn base(start: u32) -> u32 {
    start.saturating_sub(BLOCK)
}

/// A row that is read.
struct Read<'a> {
    head: &'a mut Head,
    of: &'a Layer,
    q: &'a [f32],
    row: usize,
    position: u32,
}

impl Task for Read<'_> {
    type Output = Vec<f32>;

    #[allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]
    #[inline(always)]
    fn run<S: pulp::Simd>(self, _: S) -> Vec<f32> {
        self.head.read(self.of, self.q, self.row, self.position)
    }
}

impl Head {
    pub(super) fn new(of: &Layer, kv: usize) -> Self {
        let shape = of.config.shape();
        let dim = shape.head_dim as usize;
        let cells = if let Carrier::Cells(cells) = &of.carrier { cells.cells } else { 0 };
        let decays = if matches!(of.carrier, Carrier::Decay(_)) { shape.group() } else { 0 };
        Self {
            kv,
            band: Vec::new(),
            looks: Vec::new(),
            store: Vec::new(),
            slots: Vec::new(),
            cells: vec![Cell::empty(dim); cells as usize],
            means: Means::default(),
            decays: vec![decay::empty(dim); decays as usize],
            out: Vec::new(),
            seen: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Reads the rows that wait.
    pub(super) fn read_all(&mut self, of: &Layer, q: &[f32], waiting: &Waiting) {
        self.out.clear();
        self.seen.clear();
        self.path.clear();
        for row in 0..waiting.tree.rows() {
            let mut path = vec![row as u32];
            while let Some(parent) = waiting.tree.nodes()[path[path.len() - 1] as usize].parent {
                path.push(parent);
            }
            path.reverse();
            self.put_path(of, waiting, &path);
            let seen = vectorised(Read { head: self, of, q, row, position: of.tokens + path.len() as u32 - 1 });
            self.seen.push(seen);
        }
    }

    /// Puts the rows of a path behind the tokens, those that are not there yet.
    fn put_path(&mut self, of: &Layer, waiting: &Waiting, path: &[u32]) {
        let shape = of.config.shape();
        let (dim, kv_heads) = (shape.head_dim as usize, shape.kv_heads as usize);
        let same = self.path.iter().zip(path).take_while(|(old, new)| old == new).count();
        self.path.truncate(same);
        for &row in &path[same..] {
            let of_row = (row as usize * kv_heads + self.kv) * dim;
            let [key, value] = [&waiting.keys, &waiting.values].map(|of| of[of_row..of_row + dim].iter().copied());
            let at = of.tokens as usize + self.path.len() - base(of.start) as usize;
            put(&mut self.band, at, key, value);
            self.path.push(row);
        }
    }

    /// Takes in rows that were read.
    pub(super) fn accept(&mut self, of: &Layer, waiting: &Waiting, path: &[u32]) {
        self.put_path(of, waiting, path);
        if of.config.admission(self.kv).is_some() {
            self.looks.resize(self.looks.len() + path.len(), 0.0);
            let start = (of.start - base(of.start)) as usize;
            for &row in path {
                let band = self.looks[start..].iter_mut();
                band.zip(&self.seen[row as usize]).for_each(|(look, seen)| *look = look.max(*seen));
            }
        }
        self.path.clear();
    }

    /// One row's outputs for the query heads of the group, and the largest weight they gave to each token of the band.
    #[allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]
    #[inline(always)]
    fn read(&mut self, of: &Layer, q: &[f32], row: usize, position: u32) -> Vec<f32> {
        let shape = of.config.shape();
        let (heads, dim, group) = (shape.heads as usize, shape.head_dim as usize, shape.group() as usize);
        let band = &self.band[((of.start - base(of.start)) / BLOCK) as usize..];
        let counts = |count: usize| (0..count.div_ceil(LEN)).map(move |at| (count - at * LEN).min(LEN));
        let in_band = (position + 1 - of.start) as usize;
        let admission = of.config.admission(self.kv);
        let looks = matches!(admission, Some(Admission::Look { .. }));
        let mut seen = vec![0.0_f32; if looks { in_band } else { 0 }];
        for query_head in self.kv * group..(self.kv + 1) * group {
            let query = &q[(row * heads + query_head) * dim..][..dim];
            let mut pieces = self.carried(of, query_head, query, position);
            for (block, count) in self.slots.iter().zip(counts(self.store.len())) {
                pieces.push(piece(query, of.scale, block, count, None));
            }
            let of_band = pieces.len();
            for (block, count) in band.iter().zip(counts(in_band)) {
                pieces.push(piece(query, of.scale, block, count, None));
            }
            let Merged { out, shares } = merge(&pieces, dim);
            self.out.extend(out);
            let shared = pieces.iter().zip(&shares).skip(of_band);
            for (seen, (piece, share)) in seen.chunks_mut(LEN).zip(shared) {
                for (most, weight) in seen.iter_mut().zip(&piece.weights) {
                    *most = most.max(weight * share);
                }
            }
        }
        if let Some(Admission::Look { from }) = admission {
            let near = (of.start..=position).zip(&mut seen).filter(|(at, _)| position - at < from);
            near.for_each(|(_, seen)| *seen = 0.0);
        }
        seen
    }

    /// The carrier's pieces for one query; none where nothing entered it.
    #[allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]
    #[inline(always)]
    fn carried(&self, of: &Layer, head: usize, query: &[f32], position: u32) -> Vec<Piece> {
        if of.start as usize <= self.store.len() {
            return Vec::new();
        }
        match &of.carrier {
            Carrier::None => Vec::new(),
            Carrier::Decay(decay) => {
                let sums = &self.decays[head % self.decays.len()];
                vec![decay::read(sums, decay, head, query, position - of.start)]
            }
            Carrier::Cells(cells) => {
                let biases = self.means.biases(cells, head);
                let blocks = self.means.blocks.iter().zip(biases.chunks(LEN));
                blocks.map(|(block, biases)| piece(query, of.scale, block, biases.len(), Some(biases))).collect()
            }
        }
    }

    /// What rows read of the cells follows from their sums.
    pub(super) fn finish(&mut self, of: &Layer) {
        if let Carrier::Cells(cells) = &of.carrier {
            self.means = Means::of(&self.cells, cells, self.kv);
        }
    }

    /// Lets the band's first block go.
    pub(super) fn turn_over(&mut self, of: &Layer, surprises: &[f32]) {
        let first = ((of.start - base(of.start)) / BLOCK) as usize;
        let score = |position: u32| match of.config.admission(self.kv) {
            Some(Admission::Surprise) => rank::surprise_score(surprises, position as usize),
            _ => self.looks[(position - base(of.start)) as usize],
        };
        let leaving = of.start..of.start + BLOCK;
        let block: Vec<_> = leaving.clone().map(|position| Stored { position, score: score(position) }).collect();
        let before = self.store.clone();
        let dropped = rank::turn_over(&mut self.store, of.config.store(self.kv) as usize, &block);
        let row_of = |position: u32| {
            if position >= of.start {
                return (&self.band[first], (position - of.start) as usize);
            }
            let slot = before.iter().position(|token| token.position == position).unwrap_or_default();
            (&self.slots[slot / LEN], slot % LEN)
        };
        let dropped = dropped.into_iter().map(|position| {
            let (block, row) = row_of(position);
            Dropped { position, key: block.key(row), value: block.value(row).to_vec() }
        });
        let dropped: Vec<_> = if of.carrier == Carrier::None { Vec::new() } else { dropped.collect() };
        for (slot, token) in self.store.iter().enumerate().filter(|(_, token)| leaving.contains(&token.position)) {
            let (block, row) = (&self.band[first], (token.position - of.start) as usize);
            put(&mut self.slots, slot, block.key(row).into_iter(), block.value(row).iter().copied());
        }
        match &of.carrier {
            Carrier::None => {}
            Carrier::Decay(decay) => {
                for (head, sums) in (self.kv * self.decays.len()..).zip(&mut self.decays) {
                    decay::take_in(sums, decay, head, leaving.end, &dropped);
                }
            }
            Carrier::Cells(cells) => cells::take_in(&mut self.cells, cells, self.kv, &dropped),
        }
        self.finish(of);
        if first > 0 {
            self.band.remove(0);
            self.looks.drain(..LEN);
        }
    }
}
