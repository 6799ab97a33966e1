//! Stand-in.
#![allow(missing_docs, clippy::pedantic)]
use super::gguf::{Header, Source, Tensor};
use super::{Model, Pairing, load, quant};
use crate::attention::twin::{Rows, Twin};
use crate::attention::{LayerSetup, Tree};
use crate::decode::{Engine, State};

#[derive(Debug)]
pub struct NaiveError(pub String);
impl std::fmt::Display for NaiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for NaiveError {}
fn err(e: impl std::fmt::Debug) -> NaiveError {
    NaiveError(format!("{e:?}"))
}

struct Layer {
    an: Vec<f32>,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    o: Vec<f32>,
    fnorm: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    down: Vec<f32>,
}
pub struct Naive {
    model: Model,
    setups: Vec<LayerSetup>,
    layers: Vec<Layer>,
    embedding: Vec<f32>,
    norm: Vec<f32>,
    twins: Vec<Twin>,
    hidden: Vec<f32>,
    tokens: u32,
    waiting: Vec<Vec<f32>>,
    evaluated: u64,
}
fn mm(w: &[f32], x: &[f32]) -> Vec<f32> {
    w.chunks_exact(x.len()).map(|r| r.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}
fn rms(x: &[f32], w: &[f32], eps: f32) -> Vec<f32> {
    let m = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
    let s = 1.0 / (m + eps).sqrt();
    x.iter().zip(w).map(|(x, w)| x * s * w).collect()
}
impl Naive {
    pub fn load<S: Source>(source: &mut S, model: Model, setups: Vec<LayerSetup>) -> Result<Self, NaiveError> {
        let mut full = |t: &Tensor| -> Result<Vec<f32>, NaiveError> {
            let mut bytes = vec![0; t.bytes() as usize];
            source.read_at(t.range().start, &mut bytes).map_err(err)?;
            let mut out = vec![0.0; t.numbers() as usize];
            quant::dequantise(t.element(), &bytes, &mut out).map_err(err)?;
            Ok(out)
        };
        let mut layers = Vec::new();
        for l in &model.weights.layers {
            layers.push(Layer {
                an: full(&l.attention_norm)?,
                q: full(&l.queries)?,
                k: full(&l.keys)?,
                v: full(&l.values)?,
                o: full(&l.attention_output)?,
                fnorm: full(&l.feed_forward_norm)?,
                gate: full(&l.gate)?,
                up: full(&l.up)?,
                down: full(&l.down)?,
            });
        }
        let embedding = full(&model.weights.embedding)?;
        let norm = full(&model.weights.norm)?;
        let twins = setups.iter().map(|s| Twin::new(s.config.clone(), s.carrier.clone(), s.scale)).collect();
        let _ = load::chunk_rows;
        let _: Option<Header> = None;
        Ok(Self {
            model,
            setups,
            layers,
            embedding,
            norm,
            twins,
            hidden: vec![],
            tokens: 0,
            waiting: vec![],
            evaluated: 0,
        })
    }
    fn rope(&self, x: &mut [f32], pos: u32) {
        let c = &self.model.config;
        let d = c.shape.head_dim as usize;
        let r = c.rope;
        for h in x.chunks_exact_mut(d) {
            for i in 0..r.dims as usize / 2 {
                let a = f64::from(pos) * f64::from(r.base).powf(-2.0 * i as f64 / f64::from(r.dims));
                let (s, co) = (a.sin() as f32, a.cos() as f32);
                let (i0, i1) = match r.pairing {
                    Pairing::Neighbours => (2 * i, 2 * i + 1),
                    Pairing::Halves => (i, i + r.dims as usize / 2),
                };
                let (x0, x1) = (h[i0], h[i1]);
                h[i0] = x0 * co - x1 * s;
                h[i1] = x0 * s + x1 * co;
            }
        }
    }
    fn pass(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, NaiveError> {
        let c = self.model.config.clone();
        let w = c.width as usize;
        let mut xs: Vec<Vec<f32>> = tokens.iter().map(|&t| self.embedding[t as usize * w..][..w].to_vec()).collect();
        let pos: Vec<u32> = tree.nodes().iter().map(|n| self.tokens + n.depth).collect();
        for l in 0..self.layers.len() {
            let ly = &self.layers[l];
            let (mut q, mut k, mut v) = (vec![], vec![], vec![]);
            for (x, &p) in xs.iter().zip(&pos) {
                let n = rms(x, &ly.an, c.epsilon);
                let (mut a, mut b) = (mm(&ly.q, &n), mm(&ly.k, &n));
                self.rope(&mut a, p);
                self.rope(&mut b, p);
                q.extend(a);
                k.extend(b);
                v.extend(mm(&ly.v, &n));
            }
            let out = self.twins[l].verify(Rows { q: &q, k: &k, v: &v }, tree).map_err(err)?;
            let per = out.len() / xs.len();
            for (x, o) in xs.iter_mut().zip(out.chunks_exact(per)) {
                for (x, y) in x.iter_mut().zip(mm(&ly.o, o)) {
                    *x += y;
                }
                let n = rms(x, &ly.fnorm, c.epsilon);
                let g = mm(&ly.gate, &n);
                let u = mm(&ly.up, &n);
                let h: Vec<f32> = g.iter().zip(u).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
                for (x, y) in x.iter_mut().zip(mm(&ly.down, &h)) {
                    *x += y;
                }
            }
        }
        self.evaluated += tokens.len() as u64;
        self.waiting = xs.iter().map(|x| rms(x, &self.norm, c.epsilon)).collect();
        Ok(self.waiting.iter().map(|h| self.argmax(h)).collect())
    }
    fn argmax(&self, h: &[f32]) -> u32 {
        let l = mm(&self.embedding, h);
        let mut best = 0;
        for (i, x) in l.iter().enumerate() {
            if *x > l[best] {
                best = i;
            }
        }
        best as u32
    }
}
impl Engine for Naive {
    type Error = NaiveError;
    fn vocabulary(&self) -> u32 {
        self.model.config.vocabulary
    }
    fn tokens(&self) -> u32 {
        self.tokens
    }
    fn capacity(&self) -> Option<u32> {
        None
    }
    fn tree_rows(&self) -> u32 {
        32
    }
    fn depth_left(&self) -> u32 {
        self.setups[0].config.schedule().next_growth(self.tokens + 1).map_or(u32::MAX, |n| (n - self.tokens).max(1))
    }
    fn evaluated(&self) -> u64 {
        self.evaluated
    }
    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, NaiveError> {
        let one = Tree::chain(1).map_err(err)?;
        let mut c = 0;
        for &t in tokens {
            c = self.pass(&[t], &one)?[0];
            self.accept(&[0]).await?;
        }
        Ok(c)
    }
    fn choice(&self) -> Option<u32> {
        (!self.hidden.is_empty()).then(|| self.argmax(&self.hidden))
    }
    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, NaiveError> {
        self.pass(tokens, tree)
    }
    async fn accept(&mut self, path: &[u32]) -> Result<(), NaiveError> {
        for t in &mut self.twins {
            t.accept(path).map_err(err)?;
        }
        self.hidden = self.waiting[*path.last().unwrap() as usize].clone();
        self.tokens += path.len() as u32;
        Ok(())
    }
    async fn logits(&mut self) -> Result<Vec<f32>, NaiveError> {
        Ok(mm(&self.embedding, &self.hidden))
    }
    async fn state(&mut self) -> Result<State, NaiveError> {
        Ok(State { layers: self.twins.iter().map(Twin::snapshot).collect(), hidden: self.hidden.clone() })
    }
    async fn restore(&mut self, _: &State) -> Result<(), NaiveError> {
        Err(NaiveError("no restore".into()))
    }
    async fn clear(&mut self) -> Result<(), NaiveError> {
        self.twins = self.setups.iter().map(|s| Twin::new(s.config.clone(), s.carrier.clone(), s.scale)).collect();
        self.hidden.clear();
        self.tokens = 0;
        Ok(())
    }
}
