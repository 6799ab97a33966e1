//! ATTENTION's formulas once more, in f64: slow, plain and independent of the crate's own schedule, twins and kernels.
//!
//! Where the crate ranks a leaving block together with the store, tokens are admitted here one by one. Where it sums over
//! pieces, there is one softmax over one list of terms. Where it keeps a recurrent carrier, the carrier is here the list of
//! the tokens it holds, and each row sums over that list anew. So what both agree on is not an error they share.
//!
//! Key-value heads never meet, hence each is followed through all rows alone.

use half::f16;
use mrail_gpu::state::{
    Admission, BLOCK, Carrier, Cells, Config, DECAYS, Decay, HALF_LIVES, Memory, RANK, Shape, Storage, TERMS,
};

/// What a layer is given, token by token.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Queries after `RoPE`: \[tokens, heads, `head_dim`].
    pub q: Vec<f32>,
    /// Keys after `RoPE`: \[tokens, `kv_heads`, `head_dim`].
    pub k: Vec<f32>,
    /// Values: \[tokens, `kv_heads`, `head_dim`].
    pub v: Vec<f32>,
    /// -log p of each token, 0 for the first: \[tokens]; may be empty where no head ranks by it.
    pub surprise: Vec<f32>,
}

/// Where the tokens of a key-value head are after the last row. Positions are in rising order unless it says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Positions in the band.
    pub band: Vec<u32>,
    /// Positions in the store.
    pub store: Vec<u32>,
    /// Positions that the carrier holds, or that are forgotten where there is none.
    pub carried: Vec<u32>,
    /// The look of each band token so far, in the order of `band`; empty where the head does not rank by looks.
    pub looks: Vec<f64>,
    /// The admission score of each store entry, in the order of `store`. Token 0 has its own score: its place is due to its
    /// rank, not to a score.
    pub score: Vec<f64>,
    /// Positions in the store in order of slot.
    pub slots: Vec<u32>,
    /// Least distance, over all turnovers, from the weakest score that stayed to the strongest that had to go; infinite where
    /// none had to. Scores which are off by less than half of it make the same store; 0 is a tie.
    pub gap: f64,
}

/// A cell of the cell carrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Positions of its tokens, in rising order.
    pub tokens: Vec<u32>,
    /// Their number.
    pub n: f64,
    /// Sum of their keys.
    pub sk: Vec<f64>,
    /// Sum of their values.
    pub sv: Vec<f64>,
    /// Sum of |Aᵀ (k - mu)|².
    pub sx: f64,
}

/// What a layer has computed, and its state after the last row.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Outputs: \[tokens, heads, `head_dim`].
    pub out: Vec<f64>,
    /// The state of each key-value head.
    pub heads: Vec<Head>,
    /// The decay carrier's sums relative to the last row's band start: \[heads, 5, 9, `head_dim` + 1], the plain term first
    /// and a term's mass behind its values. Empty for other carriers.
    pub decay: Vec<f64>,
    /// Each key-value head's cells, all M of them. No heads for other carriers.
    pub cells: Vec<Vec<Cell>>,
}

/// A token in a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its position.
    pub position: u32,
    /// Its admission score.
    pub score: f64,
}

/// Follows the layer through all tokens; `scale` is what q . k is multiplied by.
///
/// # Panics
/// If the tokens do not fit the layer, or if there are none.
pub fn run(config: &Config, carrier: &Carrier, scale: f64, tokens: &Tokens) -> Outcome {
    let shape = config.shape();
    let (heads, kv_heads, dim) = (shape.heads as usize, shape.kv_heads as usize, shape.head_dim as usize);
    let count = tokens.q.len() / (heads * dim);
    assert_eq!(tokens.q.len(), count * heads * dim, "queries of whole tokens");
    assert_eq!(tokens.k.len(), count * kv_heads * dim, "a key for each token");
    assert_eq!(tokens.v.len(), count * kv_heads * dim, "a value for each token");
    assert!(count > 0, "at least one token");

    let mut outcome = Outcome { out: vec![0.; count * heads * dim], heads: vec![], decay: vec![], cells: vec![] };
    for kv_head in 0..kv_heads {
        let past = Past {
            k: vectors(&tokens.k, kv_heads, kv_head, dim, |number| stored(number, config.storage())),
            v: vectors(&tokens.v, kv_heads, kv_head, dim, |number| stored(number, config.storage())),
        };
        follow(config, carrier, scale, tokens, kv_head, &past, &mut outcome);
    }
    outcome
}

/// The keys and values of a key-value head, as they are stored.
struct Past {
    k: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
}

/// A query head of the group.
struct Reader<'a> {
    head: usize,
    queries: Vec<Vec<f64>>,
    far: FarTokens<'a>,
}

/// Follows one key-value head through all rows.
fn follow(
    config: &Config,
    carrier: &Carrier,
    scale: f64,
    tokens: &Tokens,
    kv_head: usize,
    past: &Past,
    outcome: &mut Outcome,
) {
    let shape = config.shape();
    let (heads, dim) = (shape.heads as usize, shape.head_dim as usize);
    let group = heads / shape.kv_heads as usize;
    let count = past.k.len();
    let readers: Vec<Reader> = (0..heads)
        .filter(|head| head / group == kv_head)
        .map(|head| Reader {
            head,
            queries: vectors(&tokens.q, heads, head, dim, f64::from),
            far: FarTokens::new(carrier, shape, head, kv_head, past),
        })
        .collect();

    let admission = config.admission(kv_head);
    let surprises = if admission == Some(Admission::Surprise) {
        assert_eq!(tokens.surprise.len(), count, "a surprise for each token");
        assert!(tokens.surprise[0] == 0., "nothing is known of how much the first token surprised");
        surprise_scores(&tokens.surprise)
    } else {
        vec![]
    };
    let mut looks = vec![0_f64; count];
    let mut places = Places { store: vec![], slots: vec![], carried: vec![], gap: f64::INFINITY };
    let mut start = 0;

    for t in 0..count {
        let left = start;
        start = band_start(config.memory(), t);
        let leaving: Vec<Entry> = (left..start)
            .map(|j| {
                let score = match admission {
                    Some(Admission::Surprise) => f64::from(surprises[j]),
                    Some(Admission::Look { .. }) => looks[j],
                    None => unreachable!("nothing leaves in native mode"),
                };
                Entry { position: j as u32, score }
            })
            .collect();
        places.turn_over(&leaving, config.store(kv_head) as usize);

        for reader in &readers {
            let q = &reader.queries[t];
            let mut terms = reader.far.terms(q, scale, t, &places.carried, past);
            for entry in &places.store {
                let j = entry.position as usize;
                terms.push(Term { logit: dot(q, &past.k[j]) * scale, value: past.v[j].clone() });
            }
            let band_terms = terms.len();
            for j in start..=t {
                terms.push(Term { logit: dot(q, &past.k[j]) * scale, value: past.v[j].clone() });
            }
            let weights = softmax(&terms);
            let out = &mut outcome.out[(t * heads + reader.head) * dim..][..dim];
            for (term, weight) in terms.iter().zip(&weights) {
                add(out, *weight, &term.value);
            }
            if let Some(Admission::Look { from }) = admission {
                for (j, &weight) in (start..=t).zip(&weights[band_terms..]) {
                    if t - j >= from as usize {
                        looks[j] = looks[j].max(weight);
                    }
                }
            }
        }
    }

    for reader in &readers {
        match &reader.far {
            FarTokens::None => {}
            FarTokens::Decay { decay, head, keys } => {
                outcome.decay.extend(decay_sums(decay, *head, keys, start, &places.carried, past));
            }
            FarTokens::Cells { carrier, cell_of, spread, .. } => {
                // The cells are those of the key-value head, whichever query head reads them.
                if outcome.cells.len() == kv_head {
                    outcome.cells.push(fill_cells(carrier, cell_of, spread, &places.carried, past));
                }
            }
        }
    }
    let band: Vec<u32> = (start as u32..count as u32).collect();
    let looks = if matches!(admission, Some(Admission::Look { .. })) { looks.split_off(start) } else { vec![] };
    places.store.sort_by_key(|entry| entry.position);
    outcome.heads.push(Head {
        band,
        store: places.store.iter().map(|entry| entry.position).collect(),
        carried: places.carried,
        looks,
        score: places.store.iter().map(|entry| entry.score).collect(),
        slots: places.slots,
        gap: places.gap,
    });
}

/// ev(t) = E * floor(max(0, t - B) / E).
fn band_start(memory: &Memory, t: usize) -> usize {
    let block = BLOCK as usize;
    match memory {
        Memory::Native => 0,
        Memory::Constant(constant) => {
            let band = constant.band as usize;
            if t < band { 0 } else { block * ((t - band) / block) }
        }
    }
}

/// Where the tokens are that have left the band.
struct Places {
    /// In no order.
    store: Vec<Entry>,
    slots: Vec<u32>,
    carried: Vec<u32>,
    gap: f64,
}

impl Places {
    /// Takes in what leaves the band, in order of position.
    fn turn_over(&mut self, leaving: &[Entry], size: usize) {
        let mut dropped = vec![];
        for &newcomer in leaving {
            dropped.extend(admit(&mut self.store, size, newcomer));
        }
        let weakest = self.store.iter().filter(|entry| entry.position != 0).map(|entry| entry.score).reduce(f64::min);
        let strongest = dropped.iter().map(|entry| entry.score).reduce(f64::max);
        if let (Some(weakest), Some(strongest)) = (weakest, strongest) {
            self.gap = self.gap.min(weakest - strongest);
        }
        self.carried.extend(dropped.iter().map(|entry| entry.position));
        self.carried.sort_unstable();

        // Who stays keeps its slot; the newcomers that stayed take what is free.
        let stays = |position: u32| self.store.iter().any(|entry| entry.position == position);
        let mut newcomers = leaving.iter().map(|entry| entry.position).filter(|&position| stays(position));
        for slot in &mut self.slots {
            if !stays(*slot) {
                *slot = newcomers.next().expect("a slot is freed for a newcomer only");
            }
        }
        self.slots.extend(newcomers);
    }
}

/// Admits a token to a store of `size` tokens: while there is room, then in place of the weakest entry (among equals the
/// latest) if its score is larger. Token 0 is never replaced. Returns who has no place any more.
pub fn admit(store: &mut Vec<Entry>, size: usize, newcomer: Entry) -> Option<Entry> {
    if store.len() < size {
        store.push(newcomer);
        return None;
    }
    let mut weakest: Option<&mut Entry> = None;
    for entry in store.iter_mut().filter(|entry| entry.position != 0) {
        let weaker = weakest.as_ref().is_none_or(|than| {
            entry.score < than.score || (entry.score <= than.score && entry.position > than.position)
        });
        if weaker {
            weakest = Some(entry);
        }
    }
    match weakest {
        Some(weakest) if newcomer.score > weakest.score => Some(std::mem::replace(weakest, newcomer)),
        _ => Some(newcomer),
    }
}

/// Each token's surprise score, in f32 and in the order that ATTENTION states, so that ties are ties everywhere. Those of the
/// last two tokens are not final.
pub fn surprise_scores(surprise: &[f32]) -> Vec<f32> {
    let known = |u: usize, back: usize| if u < back { 0. } else { surprise[u - back] };
    let mean = |u: usize| ((known(u, 0) + known(u, 1)) + known(u, 2)) * (1. / 3_f32);
    (0..surprise.len())
        .map(|t| {
            let mut score = mean(t);
            for u in t.saturating_sub(12)..=t + 2 {
                if u < surprise.len() {
                    score = score.max(mean(u));
                }
            }
            score
        })
        .collect()
}

/// A term of the softmax.
struct Term {
    logit: f64,
    value: Vec<f64>,
}

/// The softmax of the terms' logits.
fn softmax(terms: &[Term]) -> Vec<f64> {
    let most = terms.iter().map(|term| term.logit).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = terms.iter().map(|term| (term.logit - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// What a carrier makes of each token's key for one query head, whether or not the token is ever dropped.
enum FarTokens<'a> {
    None,
    Decay { decay: &'a Decay, head: usize, keys: Vec<DecayKey> },
    Cells { carrier: CellHead<'a>, head: usize, cell_of: Vec<usize>, spread: Vec<f64> },
}

/// The factors of a decay weight that only the key decides.
struct DecayKey {
    /// exp(clamp(bias . k)).
    weight: f64,
    /// g(k).
    g: Vec<f64>,
}

/// The cell carrier of a key-value head.
#[derive(Clone, Copy)]
struct CellHead<'a> {
    cells: &'a Cells,
    kv_head: usize,
    dim: usize,
}

impl<'a> FarTokens<'a> {
    fn new(carrier: &'a Carrier, shape: Shape, head: usize, kv_head: usize, past: &Past) -> Self {
        let dim = shape.head_dim as usize;
        match carrier {
            Carrier::None => Self::None,
            Carrier::Decay(decay) => {
                let bias = &decay.bias[head * dim..][..dim];
                let keys = past.k.iter().map(|key| DecayKey {
                    weight: dot32(bias, key).clamp(-40., 40.).exp(),
                    g: features(&decay.psi, &decay.psi_bias, head, key),
                });
                Self::Decay { decay, head, keys: keys.collect() }
            }
            Carrier::Cells(cells) => {
                let carrier = CellHead { cells, kv_head, dim };
                let cell_of = past.k.iter().map(|key| carrier.cell_of(key)).collect();
                let spread = past.k.iter().map(|key| carrier.spread(key)).collect();
                Self::Cells { carrier, head, cell_of, spread }
            }
        }
    }

    /// The carrier's terms for the row at t: one for each carried token or one for each cell that is not empty.
    fn terms(&self, q: &[f64], scale: f64, t: usize, carried: &[u32], past: &Past) -> Vec<Term> {
        match self {
            Self::None => vec![],
            Self::Decay { decay, head, keys } => {
                let f = features(&decay.phi, &decay.phi_bias, *head, q);
                let mut terms = vec![];
                for j in carried.iter().map(|&position| position as usize) {
                    let mut decays = 0.;
                    for i in head * DECAYS..(head + 1) * DECAYS {
                        decays += f64::from(decay.mix[i]) * faded((t - j) as f64, decay.half_life[i]);
                    }
                    let weight = keys[j].weight * decays * (1. + dot(&f, &keys[j].g));
                    if weight > 0. {
                        terms.push(Term { logit: weight.ln(), value: past.v[j].clone() });
                    }
                }
                terms
            }
            Self::Cells { carrier, head, cell_of, spread } => {
                let mut cells = fill_cells(carrier, cell_of, spread, carried, past);
                cells.retain(|cell| cell.n > 0.);
                cells.iter().map(|cell| carrier.read(cell, *head, q, scale)).collect()
            }
        }
    }
}

/// clamp(M x + b, 0, 1000) for the rank-8 matrix of a query head.
fn features(matrix: &[f32], bias: &[f32], head: usize, x: &[f64]) -> Vec<f64> {
    (head * RANK..(head + 1) * RANK)
        .map(|r| (dot32(&matrix[r * x.len()..][..x.len()], x) + f64::from(bias[r])).clamp(0., 1000.))
        .collect()
}

/// What a decay leaves after `age` tokens.
fn faded(age: f64, half_life: f32) -> f64 {
    (-age / f64::from(half_life)).exp2()
}

/// A query head's sums of the decay carrier, relative to the band's start.
fn decay_sums(decay: &Decay, head: usize, keys: &[DecayKey], start: usize, carried: &[u32], past: &Past) -> Vec<f64> {
    let dim = past.v[0].len();
    let mut sums = vec![];
    for i in 0..DECAYS {
        for term in 0..TERMS {
            let mut sum = vec![0.; dim + 1];
            for j in carried.iter().map(|&position| position as usize) {
                let factor = if term == 0 { 1. } else { keys[j].g[term - 1] };
                let age = (start - j) as f64;
                let weight = keys[j].weight * faded(age, decay.half_life[head * DECAYS + i]) * factor;
                add(&mut sum[..dim], weight, &past.v[j]);
                sum[dim] += weight;
            }
            sums.extend(sum);
        }
    }
    sums
}

impl CellHead<'_> {
    /// The cell m of the largest `k . W_m + beta_m`, the lowest on ties.
    fn cell_of(&self, key: &[f64]) -> usize {
        let cells = self.cells.cells as usize;
        let affinity = |m: usize| {
            let row = self.kv_head * cells + m;
            dot32(&self.cells.codebook[row * self.dim..][..self.dim], key) + f64::from(self.cells.beta[row])
        };
        let mut best = 0;
        for m in 1..cells {
            if affinity(m) > affinity(best) {
                best = m;
            }
        }
        best
    }

    /// |Aᵀ (k - mu)|².
    fn spread(&self, key: &[f64]) -> f64 {
        let mean = &self.cells.mean[self.kv_head * self.dim..][..self.dim];
        let centred: Vec<f64> = key.iter().zip(mean).map(|(k, &mu)| k - f64::from(mu)).collect();
        let rank = self.cells.rank as usize;
        let rows = self.cells.metric.chunks_exact(self.dim).skip(self.kv_head * rank).take(rank);
        rows.map(|row| dot32(row, &centred).powi(2)).sum()
    }

    /// The term of a cell that is not empty.
    fn read(&self, cell: &Cell, head: usize, q: &[f64], scale: f64) -> Term {
        let mean_key: Vec<f64> = cell.sk.iter().map(|sum| sum / cell.n).collect();
        let mean_value: Vec<f64> = cell.sv.iter().map(|sum| sum / cell.n).collect();
        let variance = (cell.sx / cell.n - self.spread(&mean_key)).max(0.);
        let (kappa, delta) = (f64::from(self.cells.kappa[head]), f64::from(self.cells.delta[head]));
        Term { logit: dot(q, &mean_key) * scale + cell.n.ln() + kappa * variance / 2. + delta, value: mean_value }
    }
}

/// All cells of a key-value head, from nothing but the list of the tokens in them.
fn fill_cells(carrier: &CellHead, cell_of: &[usize], spread: &[f64], carried: &[u32], past: &Past) -> Vec<Cell> {
    let empty = Cell { tokens: vec![], n: 0., sk: vec![0.; carrier.dim], sv: vec![0.; carrier.dim], sx: 0. };
    let mut cells = vec![empty; carrier.cells.cells as usize];
    for &position in carried {
        let j = position as usize;
        let cell = &mut cells[cell_of[j]];
        cell.tokens.push(position);
        cell.n += 1.;
        add(&mut cell.sk, 1., &past.k[j]);
        add(&mut cell.sv, 1., &past.v[j]);
        cell.sx += spread[j];
    }
    cells
}

/// A number as it is read from the state.
fn stored(number: f32, storage: Storage) -> f64 {
    match storage {
        Storage::F16 => f16::from_f32(number.clamp(-65504., 65504.)).to_f64(),
        Storage::F32 => f64::from(number),
    }
}

/// One head's vector of each token.
fn vectors(numbers: &[f32], heads: usize, head: usize, dim: usize, read: impl Fn(f32) -> f64) -> Vec<Vec<f64>> {
    let tokens = numbers.chunks_exact(heads * dim);
    tokens.map(|token| token[head * dim..][..dim].iter().map(|&number| read(number)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of one space");
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn dot32(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of one space");
    a.iter().zip(b).map(|(&a, b)| f64::from(a) * b).sum()
}

fn add(to: &mut [f64], weight: f64, vector: &[f64]) {
    for (to, number) in to.iter_mut().zip(vector) {
        *to += weight * number;
    }
}

/// The largest difference between what was computed and what is right, if it is at most `tolerance`. Nothing to compare,
/// another length and numbers that are not finite are errors: a comparison must not pass because there was none.
pub fn close(got: &[f32], want: &[f64], tolerance: f64) -> Result<f64, String> {
    if got.len() != want.len() {
        return Err(format!("{} numbers instead of {}", got.len(), want.len()));
    }
    if want.is_empty() {
        return Err("nothing to compare".into());
    }
    let (mut largest, mut at) = (0., 0);
    for (index, (&got, &want)) in got.iter().zip(want).enumerate() {
        if !got.is_finite() || !want.is_finite() {
            return Err(format!("at {index}: {got} instead of {want}"));
        }
        let difference = (f64::from(got) - want).abs();
        if difference > largest {
            (largest, at) = (difference, index);
        }
    }
    if largest <= tolerance {
        Ok(largest)
    } else {
        Err(format!("at {at}: {} instead of {}, {largest:e} off where {tolerance:e} is allowed", got[at], want[at]))
    }
}

/// Numbers that look random and are the same everywhere: `SplitMix64`, and no function that platforms round differently.
pub struct Random(u64);

impl Random {
    /// Starts a sequence.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// One of 0..n.
    pub const fn below(&mut self, n: u32) -> u32 {
        (self.bits() % n as u64) as u32
    }

    /// From 0 up to, but not including, 1.
    pub fn uniform(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// About normal, of mean 0 and variance 1: twelve uniform numbers' sum.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.
    }

    fn normals(&mut self, count: usize, deviation: f32) -> Vec<f32> {
        (0..count).map(|_| self.normal() * deviation).collect()
    }
}

/// How the keys of [`random`] are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// All alike, so that weights are even.
    Plain,
    /// One token in eight has keys four times as long, so that looks differ a lot.
    Spiky,
}

/// Tokens of about normal numbers. Surprises are never negative, and a few are large.
pub fn random(seed: u64, shape: Shape, tokens: usize, keys: Keys) -> Tokens {
    let mut random = Random::new(seed);
    let (row, kv_row) = ((shape.heads * shape.head_dim) as usize, (shape.kv_heads * shape.head_dim) as usize);
    let q = random.normals(tokens * row, 1.);
    let mut k = random.normals(tokens * kv_row, 1.);
    let v = random.normals(tokens * kv_row, 1.);
    for key in k.chunks_exact_mut(kv_row) {
        if random.below(8) == 0 && keys == Keys::Spiky {
            for number in key {
                *number *= 4.;
            }
        }
    }
    let mut surprise: Vec<f32> = (0..tokens).map(|_| random.normal()).map(|number| number * number).collect();
    surprise[0] = 0.;
    Tokens { q, k, v, surprise }
}

/// A decay carrier whose every part matters beside keys of [`random`].
pub fn random_decay(seed: u64, shape: Shape) -> Decay {
    let mut random = Random::new(seed);
    let (heads, dim) = (shape.heads as usize, shape.head_dim as usize);
    let one = 1. / (dim as f32).sqrt();
    Decay {
        bias: random.normals(heads * dim, 0.3 * one),
        mix: random.normals(heads * DECAYS, 0.5).into_iter().map(f32::abs).collect(),
        half_life: (0..heads * DECAYS).map(|_| HALF_LIVES[random.below(HALF_LIVES.len() as u32) as usize]).collect(),
        phi: random.normals(heads * RANK * dim, 0.5 * one),
        phi_bias: random.normals(heads * RANK, 0.1),
        psi: random.normals(heads * RANK * dim, 0.5 * one),
        psi_bias: random.normals(heads * RANK, 0.1),
    }
}

/// A cell carrier whose every part matters beside keys of [`random`]: |Aᵀ (k - mu)|² is about 1 for a plain key.
pub fn random_cells(seed: u64, shape: Shape, cells: u32, rank: u32) -> Cells {
    let mut random = Random::new(seed);
    let (heads, kv_heads, dim) = (shape.heads as usize, shape.kv_heads as usize, shape.head_dim as usize);
    Cells {
        cells,
        rank,
        codebook: random.normals(kv_heads * cells as usize * dim, 1.),
        beta: random.normals(kv_heads * cells as usize, 0.1),
        mean: random.normals(kv_heads * dim, 0.1),
        metric: random.normals(kv_heads * rank as usize * dim, 1. / ((rank as usize * dim) as f32).sqrt()),
        kappa: random.normals(heads, 0.2).into_iter().map(|number| 0.5 + number).collect(),
        delta: random.normals(heads, 0.1),
    }
}
