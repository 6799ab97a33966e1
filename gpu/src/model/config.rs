//! A model's sizes, from the metadata of its file.

use super::ModelError;
use super::gguf::{Array, Header, Value, clip};
use crate::state::{Config, Memory, Shape, Storage};

/// A kind of transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Llama and what is built like it, `SmolLM2` for one.
    Llama,
    /// Qwen 2 and 2.5: with biases on queries, keys and values.
    Qwen2,
}

impl Architecture {
    /// Its name in GGUF.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
        }
    }
}

/// Which numbers of a head the rotary embedding turns together: pair i by an angle of position x base^(-2i / dims).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Numbers 2i and 2i + 1.
    Neighbours,
    /// Numbers i and i + dims / 2.
    Halves,
}

/// The rotary embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    /// Base of the angles.
    pub base: f32,
    /// Numbers of a head that are turned, an even count from its first on; the others stay.
    pub dims: u32,
    /// How they are paired.
    pub pairing: Pairing,
}

/// A model's sizes. None is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// What kind of transformer it is.
    pub architecture: Architecture,
    /// Its layers.
    pub layers: u32,
    /// Numbers of a row between the layers.
    pub width: u32,
    /// Heads of every layer's attention. They need not make up the width.
    pub shape: Shape,
    /// Numbers of a row inside the feed-forward part.
    pub feed_forward: u32,
    /// Tokens; ids are below it.
    pub vocabulary: u32,
    /// Tokens of the longest context that the model was made for.
    pub context: u32,
    /// What is added to the mean square in its norms.
    pub epsilon: f32,
    /// The rotary embedding.
    pub rope: Rope,
    /// Whether logits come from the embedding, since there is no table of their own.
    pub tied: bool,
    /// Whether queries, keys and values have biases.
    pub biases: bool,
}

/// Entries that change what the model computes, under the architecture's name, with the numbers that change nothing.
const REFUSED: [(&str, &[f32]); 10] = [
    ("expert_count", &[0.0]),
    ("attention.clamp_kqv", &[0.0]),
    ("attention.max_alibi_bias", &[0.0]),
    ("attn_logit_softcapping", &[0.0]),
    ("final_logit_softcapping", &[0.0]),
    ("attention.scale", &[0.0]),
    ("logit_scale", &[0.0, 1.0]),
    ("residual_scale", &[0.0, 1.0]),
    ("embedding_scale", &[0.0, 1.0]),
    ("rope.scale_linear", &[0.0, 1.0]),
];

impl ModelConfig {
    /// Reads the sizes. Whether there is a table for the logits and whether there are biases is known from the tensors, as is the
    /// vocabulary; that the tensors have these sizes is checked by [`super::Weights::find`].
    pub fn read(header: &Header) -> Result<Self, ModelError> {
        const KEY: &str = "general.architecture";
        let name = header.get(KEY).ok_or_else(|| ModelError::MissingKey { key: KEY.into() })?;
        let name = name.as_str().ok_or_else(|| wrong(KEY.into(), "a name", name))?;
        let known = [Architecture::Llama, Architecture::Qwen2];
        let architecture = known.into_iter().find(|known| known.name() == name);
        let architecture = architecture.ok_or_else(|| ModelError::Architecture { name: clip(name) })?;
        let of = Metadata { header, architecture };
        of.refuse()?;

        let layers = of.size("block_count")?;
        let width = of.size("embedding_length")?;
        let context = of.size("context_length")?;
        let shape = of.shape(width)?;
        let feed_forward = of.size("feed_forward_length")?;
        let epsilon = of.number("attention.layer_norm_rms_epsilon")?;
        let epsilon = epsilon.ok_or_else(|| of.missing("attention.layer_norm_rms_epsilon"))?;
        let window = of.optional_size("attention.sliding_window")?.filter(|window| *window > 0 && *window < context);
        if let Some(window) = window {
            return Err(ModelError::unsupported(&of.key("attention.sliding_window"), window));
        }
        let has = |name: &str| header.tensor(name).is_some();
        Ok(Self {
            architecture,
            layers,
            width,
            shape,
            feed_forward,
            vocabulary: of.vocabulary()?,
            context,
            epsilon,
            rope: of.rope(shape.head_dim)?,
            tied: !has("output.weight"),
            biases: match architecture {
                Architecture::Llama => ["q", "k", "v"].iter().any(|part| has(&format!("blk.0.attn_{part}.bias"))),
                Architecture::Qwen2 => true,
            },
        })
    }
}

/// The metadata, as a model of an architecture is described in it.
struct Metadata<'a> {
    header: &'a Header,
    architecture: Architecture,
}

impl Metadata<'_> {
    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture.name())
    }

    fn missing(&self, key: &str) -> ModelError {
        ModelError::MissingKey { key: self.key(key) }
    }

    fn get(&self, key: &str) -> Option<Value<'_>> {
        self.header.get(&self.key(key))
    }

    /// A whole number of at most 32 bits. It may be given once for each layer, if it is the same for all.
    fn optional_size(&self, key: &str) -> Result<Option<u32>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let single = match value {
            Value::Array(array) => {
                uniform(array).ok_or_else(|| ModelError::unsupported(&self.key(key), "layers of different sizes"))?
            }
            single => single,
        };
        let size = single.as_u64().and_then(|size| u32::try_from(size).ok());
        size.map(Some).ok_or_else(|| wrong(self.key(key), "a whole number from 0 to 2^32 - 1", single))
    }

    fn optional_positive(&self, key: &str) -> Result<Option<u32>, ModelError> {
        match self.optional_size(key)? {
            Some(0) => Err(wrong(self.key(key), "above 0", Value::U32(0))),
            size => Ok(size),
        }
    }

    fn size(&self, key: &str) -> Result<u32, ModelError> {
        self.optional_positive(key)?.ok_or_else(|| self.missing(key))
    }

    /// A number above 0.
    fn number(&self, key: &str) -> Result<Option<f32>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_f32().filter(|number| number.is_finite() && *number > 0.0);
        number.map(Some).ok_or_else(|| wrong(self.key(key), "a number above 0", value))
    }

    fn shape(&self, width: u32) -> Result<Shape, ModelError> {
        let heads = self.size("attention.head_count")?;
        let kv_heads = self.optional_positive("attention.head_count_kv")?.unwrap_or(heads);
        let head_dim = match self.optional_positive("attention.key_length")? {
            Some(length) => length,
            None if width.is_multiple_of(heads) => width / heads,
            None => return Err(ModelError::HeadWidth { width, heads }),
        };
        let values = self.optional_positive("attention.value_length")?.unwrap_or(head_dim);
        if values != head_dim {
            let what = format!("values of {values} numbers beside keys of {head_dim}");
            return Err(ModelError::unsupported(&self.key("attention.value_length"), what));
        }
        let shape = Shape { heads, kv_heads, head_dim };
        // Attention has the last word on which heads there can be.
        Config::new(shape, Storage::F16, Memory::Native).map_err(ModelError::Heads)?;
        Ok(shape)
    }

    fn rope(&self, head_dim: u32) -> Result<Rope, ModelError> {
        self.refuse_scaling()?;
        let base = self.number("rope.freq_base")?.unwrap_or(10_000.0);
        let dims = self.optional_positive("rope.dimension_count")?.unwrap_or(head_dim);
        if dims % 2 != 0 || dims > head_dim {
            return Err(wrong(self.key("rope.dimension_count"), "even and no more than a head has", Value::U32(dims)));
        }
        let pairing = match self.architecture {
            // Its queries' and keys' rows are written in another order than they were trained in, which makes neighbours of
            // halves.
            Architecture::Llama => Pairing::Neighbours,
            Architecture::Qwen2 => Pairing::Halves,
        };
        Ok(Rope { base, dims, pairing })
    }

    /// Angles may not be scaled.
    fn refuse_scaling(&self) -> Result<(), ModelError> {
        let (key, factor) = ("rope.scaling.type", "rope.scaling.factor");
        let kind = self.get(key);
        let name = kind.map(|kind| kind.as_str().ok_or_else(|| wrong(self.key(key), "a name", kind))).transpose()?;
        let scaled = self.get(factor).is_some_and(|value| !is_one_of(value, &[0.0, 1.0]));
        match name {
            Some("none") => {}
            None | Some("linear") if !scaled => {}
            None => return Err(ModelError::unsupported(&self.key(factor), "scaled rotary angles")),
            Some(name) => return Err(ModelError::unsupported(&self.key(key), name)),
        }
        for tensor in ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"] {
            if self.header.tensor(tensor).is_some() {
                return Err(ModelError::unsupported(tensor, "rotary angles with factors"));
            }
        }
        Ok(())
    }

    /// Entries that ask for another model than is computed here.
    fn refuse(&self) -> Result<(), ModelError> {
        for (key, neutral) in REFUSED {
            if let Some(value) = self.get(key).filter(|value| !is_one_of(*value, neutral)) {
                return Err(ModelError::unsupported(&self.key(key), shown(value)));
            }
        }
        match self.get("attention.causal") {
            None | Some(Value::Bool(true)) => Ok(()),
            Some(value) => Err(ModelError::unsupported(&self.key("attention.causal"), shown(value))),
        }
    }

    /// Rows of the embedding, if nothing says another number.
    fn vocabulary(&self) -> Result<u32, ModelError> {
        const TABLE: &str = "token_embd.weight";
        const TOKENS: &str = "tokenizer.ggml.tokens";
        let table = self.header.tensor(TABLE).ok_or_else(|| ModelError::MissingTensor { tensor: TABLE.into() })?;
        let rows = table.rows();
        let listed = self.header.get(TOKENS);
        let listed = listed.map(|list| list.as_array().ok_or_else(|| wrong(TOKENS.into(), "an array", list)));
        let said = self.optional_size("vocab_size")?.map(|said| (self.key("vocab_size"), u64::from(said)));
        let listed = listed.transpose()?.map(|list| (TOKENS.to_owned(), list.len()));
        for (key, tokens) in said.into_iter().chain(listed) {
            if tokens != rows {
                return Err(ModelError::Vocabulary { key, tokens, rows });
            }
        }
        let wants = "below 2^32";
        u32::try_from(rows).map_err(|_| ModelError::Value { key: TABLE.into(), wants, found: rows.to_string() })
    }
}

/// The value of an array that holds nothing else.
fn uniform(array: Array<'_>) -> Option<Value<'_>> {
    let first = array.iter().next()?;
    array.iter().all(|value| value == first).then_some(first)
}

fn is_one_of(value: Value<'_>, numbers: &[f32]) -> bool {
    let number = value.as_f32().or_else(|| value.as_u64().map(|number| number as f32));
    number.is_some_and(|number| numbers.contains(&number))
}

fn wrong(key: String, wants: &'static str, found: Value<'_>) -> ModelError {
    ModelError::Value { key, wants, found: shown(found) }
}

/// A value in an error.
pub(super) fn shown(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => format!("{:?}", clip(&String::from_utf8_lossy(&text[..text.len().min(400)]))),
        Value::Array(array) => format!("an array of {} values of kind {:?}", array.len(), array.kind()),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        // Whole numbers: those from 0, and those below.
        value => value.as_u64().map_or_else(|| "a number below 0".to_owned(), |number| number.to_string()),
    }
}
