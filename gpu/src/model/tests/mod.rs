mod memory;
mod real;

use super::gguf::build::{Given, file, metadata, tensors};
use super::quant::Element;
use super::*;
use crate::state::{ConfigError, Shape};

type Entries = Vec<(String, Given<'static>)>;
type Tensors = Vec<(String, Vec<u64>, Element)>;

fn read(entries: &Entries, tensors: &Tensors) -> Result<Model, ModelError> {
    let bytes = file(entries, tensors).bytes();
    Model::read(&Header::parse(&bytes, bytes.len() as u64).unwrap())
}

fn llama() -> (Entries, Tensors) {
    (metadata("llama"), tensors(false, true))
}

/// The same model with an entry in another way, or one more.
fn with(key: &str, value: Given<'static>) -> Result<Model, ModelError> {
    let (mut entries, tensors) = llama();
    entries.retain(|(other, _)| other != key);
    entries.push((key.to_owned(), value));
    read(&entries, &tensors)
}

fn says(result: Result<Model, ModelError>, text: &str) {
    assert_eq!(result.expect_err(text).to_string(), text);
}

#[test]
fn a_llama_is_read() {
    let (entries, tensors) = llama();
    let model = read(&entries, &tensors).unwrap();
    let config = ModelConfig {
        architecture: Architecture::Llama,
        layers: 2,
        width: 32,
        shape: Shape { heads: 4, kv_heads: 2, head_dim: 8 },
        feed_forward: 64,
        vocabulary: 6,
        context: 128,
        epsilon: 1e-5,
        rope: Rope { base: 1e5, dims: 8, pairing: Pairing::Neighbours },
        tied: true,
        biases: false,
    };
    assert_eq!(model.config, config);
    assert_eq!(model.weights.output, None);
    assert_eq!(model.weights.layers[1].keys.name(), "blk.1.attn_k.weight");
    assert_eq!(model.weights.matrices().count() + model.weights.vectors().count(), tensors.len());
}

#[test]
fn a_qwen2_has_biases_and_may_have_a_table_for_logits() {
    let model = read(&metadata("qwen2"), &tensors(true, false)).unwrap();
    assert_eq!((model.config.tied, model.config.biases), (false, true));
    assert_eq!(model.config.rope.pairing, Pairing::Halves);
    assert_eq!(model.weights.output.as_ref().map(gguf::Tensor::element), Some(Element::Q5_1));
    let biases = model.weights.layers[0].biases.as_ref().unwrap();
    assert_eq!(biases.each_ref().map(gguf::Tensor::row), [32, 16, 16]);
    assert_eq!(model.weights.matrices().count() + model.weights.vectors().count(), tensors(true, false).len());

    says(read(&metadata("qwen2"), &tensors(false, true)), "tensor \"blk.0.attn_q.bias\" is missing");
    // A llama may have them, in all layers or none.
    let mut some = tensors(true, true);
    assert!(read(&metadata("llama"), &some).unwrap().config.biases);
    some.retain(|(name, ..)| name != "blk.1.attn_v.bias");
    says(read(&metadata("llama"), &some), "tensor \"blk.1.attn_v.bias\" is missing");
}

#[test]
fn what_is_not_said_has_its_usual_value() {
    let (mut entries, mut tensors) = llama();
    let optional = ["llama.attention.head_count_kv", "llama.rope.freq_base", "tokenizer.ggml.tokens"];
    entries.retain(|(key, _)| !optional.contains(&key.as_str()));
    for (name, dims, _) in &mut tensors {
        if name.contains("attn_k") || name.contains("attn_v") {
            dims[1] = 32;
        }
    }
    let config = read(&entries, &tensors).unwrap().config;
    assert_eq!(config.shape, Shape { heads: 4, kv_heads: 4, head_dim: 8 });
    assert!((config.rope.base - 10_000.0).abs() < f32::EPSILON);
}

#[test]
fn heads_need_not_make_up_the_width() {
    let (mut entries, mut tensors) = llama();
    entries.push(("llama.attention.key_length".into(), Given::U32(16)));
    for (name, dims, _) in &mut tensors {
        if name.contains("attn_output") {
            dims[0] *= 2;
        } else if ["attn_q.", "attn_k.", "attn_v."].iter().any(|part| name.contains(part)) {
            dims[1] *= 2;
        }
    }
    assert_eq!(read(&entries, &tensors).unwrap().config.shape.head_dim, 16);
    entries.push(("llama.attention.value_length".into(), Given::U32(8)));
    let text = "llama.attention.value_length asks for values of 8 numbers beside keys of 16, which is not supported";
    says(read(&entries, &tensors), text);
}

#[test]
fn every_needed_entry_is_missed_by_name() {
    let optional = ["llama.attention.head_count_kv", "llama.rope.freq_base", "tokenizer.ggml.tokens"];
    let (entries, tensors) = llama();
    for (missing, _) in entries.iter().filter(|(key, _)| !optional.contains(&key.as_str())) {
        let others = entries.iter().filter(|(key, _)| key != missing).cloned().collect();
        assert_eq!(read(&others, &tensors), Err(ModelError::MissingKey { key: missing.clone() }));
    }
}

#[test]
fn every_needed_tensor_is_missed_by_name() {
    let (entries, all) = (metadata("qwen2"), tensors(true, false));
    for (missing, ..) in all.iter().filter(|(name, ..)| name != "output.weight") {
        let others = all.iter().filter(|(name, ..)| name != missing).cloned().collect();
        assert_eq!(read(&entries, &others), Err(ModelError::MissingTensor { tensor: missing.clone() }));
    }
}

#[test]
fn every_wrong_shape_is_named() {
    let (entries, all) = (metadata("qwen2"), tensors(true, false));
    for at in 0..all.len() {
        let mut others = all.clone();
        let last = others[at].1.len() - 1;
        others[at].1[last] += 32;
        let found = others[at].1.clone();
        let name = all[at].0.clone();
        let error = read(&entries, &others).unwrap_err();
        if name == "token_embd.weight" {
            let key = "tokenizer.ggml.tokens".to_owned();
            assert_eq!(error, ModelError::Vocabulary { key, tokens: 6, rows: 38 });
        } else {
            assert_eq!(error, ModelError::Shape { tensor: name, wants: all[at].1.clone(), found });
        }
    }
    let (entries, mut tensors) = llama();
    tensors[1].1 = vec![32, 1, 1, 2];
    says(read(&entries, &tensors), "tensor \"output_norm.weight\" has shape [32, 1, 1, 2], and should have [32]");
}

#[test]
fn entries_of_the_wrong_kind_or_size_are_named() {
    let heads = |heads, kv_heads| Err(ModelError::Heads(ConfigError::Heads { heads, kv_heads }));
    says(with("general.architecture", Given::U32(1)), "general.architecture is 1, and should be a name");
    says(with("llama.block_count", Given::U32(0)), "llama.block_count is 0, and should be above 0");
    says(with("llama.block_count", Given::U32(3)), "tensor \"blk.2.attn_norm.weight\" is missing");
    says(with("llama.block_count", Given::U32(u32::MAX)), "tensor \"blk.2.attn_norm.weight\" is missing");
    says(with("llama.block_count", Given::U32(1)), "tensor \"blk.1.attn_norm.weight\" is no part of such a model");
    let text = "llama.block_count is 4294967296, and should be a whole number from 0 to 2^32 - 1";
    says(with("llama.block_count", Given::U64(1 << 32)), text);
    let text = "llama.context_length is \"long\", and should be a whole number from 0 to 2^32 - 1";
    says(with("llama.context_length", Given::Text("long")), text);
    let text = "llama.embedding_length is a number below 0, and should be a whole number from 0 to 2^32 - 1";
    says(with("llama.embedding_length", Given::I32(-1)), text);
    says(with("llama.attention.head_count", Given::U32(5)), "a width of 32 does not divide into 5 heads");
    assert_eq!(with("llama.attention.head_count_kv", Given::U32(3)), heads(4, 3));
    let dims = Err(ModelError::Heads(ConfigError::HeadDim(4)));
    assert_eq!(with("llama.attention.head_count", Given::U32(8)), dims);
    let epsilon = "llama.attention.layer_norm_rms_epsilon";
    for value in [Given::F32(0.0), Given::F32(f32::NAN), Given::F32(f32::INFINITY), Given::F32(-1.0), Given::U32(1)] {
        assert!(matches!(with(epsilon, value), Err(ModelError::Value { key, .. }) if key == epsilon));
    }
    let text = "llama.rope.dimension_count is 10, and should be even and no more than a head has";
    says(with("llama.rope.dimension_count", Given::U32(10)), text);
    assert!(with("llama.rope.dimension_count", Given::U32(7)).is_err());
    assert_eq!(with("llama.rope.dimension_count", Given::U32(4)).unwrap().config.rope.dims, 4);
    says(with("llama.vocab_size", Given::U32(7)), "llama.vocab_size says 7 tokens, and the embedding has 6 rows");
    says(with("tokenizer.ggml.tokens", Given::U32(6)), "tokenizer.ggml.tokens is 6, and should be an array");
}

#[test]
fn sizes_may_be_given_for_each_layer_if_they_are_the_same() {
    let list = |sizes: [u32; 2]| Given::Array(4, sizes.map(Given::U32).to_vec());
    assert_eq!(with("llama.attention.head_count_kv", list([2, 2])).unwrap().config.shape.kv_heads, 2);
    let text = "llama.attention.head_count_kv asks for layers of different sizes, which is not supported";
    says(with("llama.attention.head_count_kv", list([2, 1])), text);
    assert!(with("llama.attention.head_count_kv", Given::Array(4, vec![])).is_err());
}

#[test]
fn what_would_be_another_model_is_refused_by_name() {
    let text = "a model of architecture \"gemma\", which is not supported; llama and qwen2 are";
    says(with("general.architecture", Given::Text("gemma")), text);
    says(with("llama.expert_count", Given::U32(8)), "llama.expert_count asks for 8, which is not supported");
    says(
        with("llama.attention.causal", Given::Bool(0)),
        "llama.attention.causal asks for false, which is not supported",
    );
    says(with("llama.logit_scale", Given::F32(0.5)), "llama.logit_scale asks for 0.5, which is not supported");
    let text = "llama.attention.sliding_window asks for 64, which is not supported";
    says(with("llama.attention.sliding_window", Given::U32(64)), text);
    says(
        with("llama.rope.scaling.type", Given::Text("yarn")),
        "llama.rope.scaling.type asks for yarn, which is not supported",
    );
    let text = "llama.rope.scaling.factor asks for scaled rotary angles, which is not supported";
    says(with("llama.rope.scaling.factor", Given::F32(4.0)), text);
    for harmless in [
        ("llama.expert_count", Given::U32(0)),
        ("llama.attention.causal", Given::Bool(1)),
        ("llama.logit_scale", Given::F32(1.0)),
        ("llama.attention.sliding_window", Given::U32(128)),
        ("llama.rope.scaling.type", Given::Text("none")),
        ("llama.rope.scaling.factor", Given::F32(1.0)),
        ("llama.rope.scaling.type", Given::Text("linear")),
    ] {
        assert!(with(harmless.0, harmless.1.clone()).is_ok(), "{harmless:?}");
    }

    let (entries, mut tensors) = llama();
    tensors.push(("blk.0.attn_q_norm.weight".into(), vec![8], Element::F32));
    says(read(&entries, &tensors), "tensor \"blk.0.attn_q_norm.weight\" is no part of such a model");
    tensors.last_mut().unwrap().0 = "rope_freqs.weight".into();
    says(read(&entries, &tensors), "rope_freqs.weight asks for rotary angles with factors, which is not supported");
    tensors.pop();
    tensors[1].2 = Element::Q8_0;
    let text = "tensor \"output_norm.weight\" is of type Q8_0; a norm or a bias may be F32, F16 or BF16";
    says(read(&entries, &tensors), text);
}
