//! A model's tensors, by what they are for.

use super::gguf::{Header, Tensor, clip};
use super::{ModelConfig, ModelError};
use std::collections::BTreeSet;

/// The tensors of a model. A matrix of shape \[in, out] has `out` rows of `in` numbers each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// \[width, vocabulary].
    pub embedding: Tensor,
    /// Its layers, in order.
    pub layers: Vec<LayerWeights>,
    /// \[width].
    pub norm: Tensor,
    /// \[width, vocabulary]; none where it is the embedding.
    pub output: Option<Tensor>,
}

/// The tensors of a layer. Norms and biases are written in F32, F16 or BF16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerWeights {
    /// Norm before attention: \[width].
    pub attention_norm: Tensor,
    /// \[width, heads x `head_dim`].
    pub queries: Tensor,
    /// \[width, `kv_heads` x `head_dim`].
    pub keys: Tensor,
    /// \[width, `kv_heads` x `head_dim`].
    pub values: Tensor,
    /// Of queries, keys and values, as long as those have rows.
    pub biases: Option<[Tensor; 3]>,
    /// \[heads x `head_dim`, width].
    pub attention_output: Tensor,
    /// Norm before the feed-forward part: \[width].
    pub feed_forward_norm: Tensor,
    /// \[width, `feed_forward`].
    pub gate: Tensor,
    /// \[width, `feed_forward`].
    pub up: Tensor,
    /// \[`feed_forward`, width].
    pub down: Tensor,
}

impl Weights {
    /// Finds all tensors of a model of these sizes, and checks their shapes. There may be no others.
    pub fn find(header: &Header, config: &ModelConfig) -> Result<Self, ModelError> {
        let (width, vocabulary) = (u64::from(config.width), u64::from(config.vocabulary));
        let mut found = Self {
            embedding: matrix(header, "token_embd.weight", width, vocabulary)?,
            // Not reserved: their number is only what the file says.
            layers: Vec::new(),
            norm: vector(header, "output_norm.weight", width)?,
            output: None,
        };
        if !config.tied {
            found.output = Some(matrix(header, "output.weight", width, vocabulary)?);
        }
        for layer in 0..config.layers {
            found.layers.push(LayerWeights::find(header, config, layer)?);
        }
        let used: BTreeSet<&str> = found.matrices().chain(found.vectors()).map(Tensor::name).collect();
        match header.tensors().iter().find(|tensor| !used.contains(tensor.name())) {
            Some(unknown) => Err(ModelError::UnknownTensor { tensor: clip(unknown.name()) }),
            None => Ok(found),
        }
    }

    /// All matrices, the embedding first, then layer by layer, then the output's where it is another.
    pub fn matrices(&self) -> impl Iterator<Item = &Tensor> {
        let layers = self.layers.iter().flat_map(LayerWeights::matrices);
        std::iter::once(&self.embedding).chain(layers).chain(&self.output)
    }

    /// All norms and biases, layer by layer.
    pub fn vectors(&self) -> impl Iterator<Item = &Tensor> {
        let layers = self.layers.iter().flat_map(LayerWeights::vectors);
        layers.chain([&self.norm])
    }
}

impl LayerWeights {
    fn find(header: &Header, config: &ModelConfig, layer: u32) -> Result<Self, ModelError> {
        let shape = config.shape;
        let (width, inner) = (u64::from(config.width), u64::from(config.feed_forward));
        let of = |heads: u32| u64::from(heads) * u64::from(shape.head_dim);
        let (heads, kv_heads) = (of(shape.heads), of(shape.kv_heads));
        let matrix = |name: &str, row, rows| matrix(header, &format!("blk.{layer}.{name}.weight"), row, rows);
        let norm = |name: &str| vector(header, &format!("blk.{layer}.{name}.weight"), width);
        let bias = |name: &str, len| vector(header, &format!("blk.{layer}.{name}.bias"), len);
        Ok(Self {
            attention_norm: norm("attn_norm")?,
            queries: matrix("attn_q", width, heads)?,
            keys: matrix("attn_k", width, kv_heads)?,
            values: matrix("attn_v", width, kv_heads)?,
            biases: if config.biases {
                Some([bias("attn_q", heads)?, bias("attn_k", kv_heads)?, bias("attn_v", kv_heads)?])
            } else {
                None
            },
            attention_output: matrix("attn_output", heads, width)?,
            feed_forward_norm: norm("ffn_norm")?,
            gate: matrix("ffn_gate", width, inner)?,
            up: matrix("ffn_up", width, inner)?,
            down: matrix("ffn_down", inner, width)?,
        })
    }

    /// Its matrices, in the order in which they are used.
    pub fn matrices(&self) -> impl Iterator<Item = &Tensor> {
        let Self { queries, keys, values, attention_output, gate, up, down, .. } = self;
        [queries, keys, values, attention_output, gate, up, down].into_iter()
    }

    /// Its norms and biases.
    pub fn vectors(&self) -> impl Iterator<Item = &Tensor> {
        [&self.attention_norm, &self.feed_forward_norm].into_iter().chain(self.biases.iter().flatten())
    }
}

fn matrix(header: &Header, name: &str, row: u64, rows: u64) -> Result<Tensor, ModelError> {
    let tensor = header.tensor(name).ok_or_else(|| ModelError::MissingTensor { tensor: name.into() })?;
    if tensor.dims() != [row, rows, 1, 1] {
        let wants = if rows == 1 { vec![row] } else { vec![row, rows] };
        let dims = tensor.dims();
        let len = dims.iter().rposition(|dim| *dim != 1).map_or(1, |last| last + 1);
        return Err(ModelError::Shape { tensor: name.into(), wants, found: dims[..len].to_vec() });
    }
    Ok(tensor.clone())
}

fn vector(header: &Header, name: &str, len: u64) -> Result<Tensor, ModelError> {
    let tensor = matrix(header, name, len, 1)?;
    let element = tensor.element();
    if element.is_plain() { Ok(tensor) } else { Err(ModelError::Vector { tensor: name.into(), element }) }
}
