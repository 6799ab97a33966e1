//! A model's weights, and how rows pass through its layers.

use super::matrix::{Input, Matrix, products};
use super::rows::{angles, gate, norm, rotate};
use crate::attention::twin::{Rows, Twin, TwinError};
use crate::model::gguf::{Source, Tensor};
use crate::model::load::{LoadError, Progress, vector};
use crate::model::{LayerWeights, Model, ModelConfig};

#[derive(Debug)]
pub(super) struct Network {
    pub(super) config: ModelConfig,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// None where it is the embedding.
    output: Option<Matrix>,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Vec<f32>,
    queries: Matrix,
    keys: Matrix,
    values: Matrix,
    biases: Option<[Vec<f32>; 3]>,
    output: Matrix,
    feed_forward_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

/// Reads tensors one after the other.
struct Loader<'a, S, P> {
    source: &'a mut S,
    progress: P,
    done: u64,
    total: u64,
}

impl<S: Source, P: FnMut(Progress<'_>)> Loader<'_, S, P> {
    fn next(&mut self, tensor: &Tensor) {
        (self.progress)(Progress { done: self.done, total: self.total, tensor: tensor.name() });
        self.done += tensor.bytes();
    }

    fn matrix(&mut self, tensor: &Tensor) -> Result<Matrix, LoadError> {
        self.next(tensor);
        Matrix::load(self.source, tensor)
    }

    fn vector(&mut self, tensor: &Tensor) -> Result<Vec<f32>, LoadError> {
        self.next(tensor);
        vector(self.source, tensor)
    }

    fn layer(&mut self, of: &LayerWeights) -> Result<Layer, LoadError> {
        let biases = match &of.biases {
            Some([queries, keys, values]) => Some([self.vector(queries)?, self.vector(keys)?, self.vector(values)?]),
            None => None,
        };
        Ok(Layer {
            attention_norm: self.vector(&of.attention_norm)?,
            queries: self.matrix(&of.queries)?,
            keys: self.matrix(&of.keys)?,
            values: self.matrix(&of.values)?,
            biases,
            output: self.matrix(&of.attention_output)?,
            feed_forward_norm: self.vector(&of.feed_forward_norm)?,
            gate: self.matrix(&of.gate)?,
            up: self.matrix(&of.up)?,
            down: self.matrix(&of.down)?,
        })
    }
}

impl Network {
    pub(super) fn load<S: Source>(
        source: &mut S,
        model: &Model,
        progress: impl FnMut(Progress<'_>),
    ) -> Result<Self, LoadError> {
        let of = &model.weights;
        let total = of.matrices().chain(of.vectors()).map(Tensor::bytes).fold(0, u64::saturating_add);
        let mut loader = Loader { source, progress, done: 0, total };
        let embedding = loader.matrix(&of.embedding)?;
        let layers = of.layers.iter().map(|layer| loader.layer(layer)).collect::<Result<_, _>>()?;
        let output = of.output.as_ref().map(|output| loader.matrix(output)).transpose()?;
        let norm = loader.vector(&of.norm)?;
        loader.next(&of.norm);
        Ok(Self { config: model.config.clone(), embedding, layers, norm, output })
    }

    pub(super) fn bytes(&self) -> u64 {
        let layers = self.layers.iter().flat_map(Layer::matrices);
        layers.chain([&self.embedding]).chain(&self.output).map(Matrix::bytes).sum()
    }

    /// Passes tokens at these positions through the layers, `read` through each layer's attention. Returns their rows after the
    /// final norm, \[tokens, width].
    pub(super) fn pass(
        &self,
        tokens: &[u32],
        positions: impl IntoIterator<Item = u32>,
        twins: &mut [Twin],
        read: impl Fn(&mut Twin, Rows<'_>) -> Result<Vec<f32>, TwinError>,
    ) -> Result<Vec<f32>, TwinError> {
        let (rope, shape) = (&self.config.rope, self.config.shape);
        let dim = shape.head_dim as usize;
        let (cosines, sines) = angles(rope, positions);
        let turn = |rows: &mut [f32]| {
            let pairs = (rope.dims / 2) as usize;
            let angles = cosines.chunks_exact(pairs).zip(sines.chunks_exact(pairs));
            let len = rows.len() / tokens.len();
            rows.chunks_exact_mut(len).zip(angles).for_each(|(row, (cos, sin))| rotate(rope, dim, row, cos, sin));
        };
        let mut x: Vec<f32> = tokens.iter().flat_map(|token| self.embedding.row(*token as usize)).collect();
        for (layer, twin) in self.layers.iter().zip(twins) {
            let normed = self.norm(&x, &layer.attention_norm);
            let matrices = [&layer.queries, &layer.keys, &layer.values];
            let mut rows = products(&Input::new(&normed, &matrices), matrices);
            if let Some(biases) = &layer.biases {
                rows.iter_mut()
                    .zip(biases)
                    .for_each(|(rows, bias)| rows.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias)));
            }
            let [mut q, mut k, v] = rows;
            turn(&mut q);
            turn(&mut k);
            let read = read(twin, Rows { q: &q, k: &k, v: &v })?;
            add(&mut x, &layer.output.product(&read));
            let normed = self.norm(&x, &layer.feed_forward_norm);
            let matrices = [&layer.gate, &layer.up];
            let [mut gates, up] = products(&Input::new(&normed, &matrices), matrices);
            gate(&mut gates, &up);
            add(&mut x, &layer.down.product(&gates));
        }
        Ok(self.norm(&x, &self.norm))
    }

    /// Logits of rows after the final norm, \[rows, vocabulary].
    pub(super) fn logits(&self, rows: &[f32]) -> Vec<f32> {
        self.output.as_ref().unwrap_or(&self.embedding).product(rows)
    }

    fn norm(&self, rows: &[f32], weight: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; rows.len()];
        for (row, out) in rows.chunks_exact(weight.len()).zip(out.chunks_exact_mut(weight.len())) {
            norm(row, weight, self.config.epsilon, out);
        }
        out
    }
}

impl Layer {
    fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        let Self { queries, keys, values, output, gate, up, down, .. } = self;
        [queries, keys, values, output, gate, up, down].into_iter()
    }
}

/// What a row has, and something more.
fn add(row: &mut [f32], more: &[f32]) {
    row.iter_mut().zip(more).for_each(|(x, more)| *x += more);
}
