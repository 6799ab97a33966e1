//! A model that people use: SmolLM2-135M-Instruct in `Q4_1`, 98 MB, which is not in this repository.
//!
//! `MRAIL_MODEL=<path to the .gguf> cargo test -p mrail-gpu --lib real -- --ignored`

use super::*;
use crate::attention::{LayerSetup, Wanted};
use crate::model::device::Fetch;
use crate::model::gguf::{Seekable, Source};
use crate::model::memory::{Needs, split};
use crate::model::quant::dequantise;
use crate::state::{Admission, Config, Storage};
use std::fs::File;
use wgpu::Limits;

fn open() -> (Seekable<File>, Header) {
    let path = std::env::var_os("MRAIL_MODEL").expect("MRAIL_MODEL names no file");
    let mut source = Seekable::new(File::open(path).expect("the file that MRAIL_MODEL names")).unwrap();
    let header = Header::read(&mut source).unwrap();
    (source, header)
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn the_header_of_smollm2_is_read() {
    let (_, header) = open();
    assert_eq!((header.version(), header.tensors().len(), header.entries().count()), (3, 272, 33));
    assert_eq!(header.data_start(), 1_785_664);
    let model = Model::read(&header).unwrap();
    let config = ModelConfig {
        architecture: Architecture::Llama,
        layers: 30,
        width: 576,
        shape: Shape { heads: 9, kv_heads: 3, head_dim: 64 },
        feed_forward: 1536,
        vocabulary: 49152,
        context: 8192,
        epsilon: 1e-5,
        rope: Rope { base: 100_000.0, dims: 64, pairing: Pairing::Neighbours },
        tied: true,
        biases: false,
    };
    assert_eq!(model.config, config);
    let tokens = header.get("tokenizer.ggml.tokens").and_then(|tokens| tokens.as_array()).unwrap();
    assert_eq!(tokens.iter().nth(2).and_then(|token| token.as_str()), Some("<|im_end|>"));
    assert_eq!(tokens.iter().count(), 49152);

    let limits = Limits::default();
    // The embedding's 30 MB fit a binding.
    assert_eq!(split(&limits, &model.weights.embedding).unwrap().len(), 1);
    let layer = Config::uniform(config.shape, Storage::F16, 256, 512, Admission::Look { from: 16 }).unwrap();
    let needs =
        Needs::of(&limits, &model, &vec![LayerSetup::plain(layer); 30], Wanted::default(), Fetch::Buffer).unwrap();
    let written: u64 = header.tensors().iter().map(gguf::Tensor::bytes).sum();
    // Scales and offsets take 64 bits here and 32 or 16 there.
    assert!(needs.weights > written && needs.weights < written * 5 / 4, "{} of {written}", needs.weights);
    assert!(needs.layers < 30 << 20 && needs.total() < 200 << 20, "{needs:?}");
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn the_weights_of_smollm2_are_numbers_of_a_sensible_size() {
    let (mut source, header) = open();
    for tensor in header.tensors() {
        let mut bytes = vec![0; tensor.bytes() as usize];
        source.read_at(tensor.range().start, &mut bytes).unwrap();
        let mut numbers = vec![0.0; tensor.numbers() as usize];
        dequantise(tensor.element(), &bytes, &mut numbers).unwrap();
        let most = numbers.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let square = numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>() / numbers.len() as f64;
        let name = tensor.name();
        assert!(numbers.iter().all(|number| number.is_finite()) && most < 100.0, "{name}: {most}");
        assert!((1e-3..10.0).contains(&square.sqrt()), "{name}: {}", square.sqrt());
    }
}
