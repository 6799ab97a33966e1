//! A model of `SmolLM2`'s sizes on the CPU: decoding one token, and taking in 64.
//!
//! Its numbers are random, which is all the same to the products. `MRAIL_MODEL=<path to a .gguf>` runs that model instead.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mrail_gpu::attention::LayerSetup;
use mrail_gpu::decode::Engine;
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{CpuModel, Options};
use mrail_gpu::model::gguf::Header;
use mrail_gpu::model::seeded::Seeded;
use mrail_gpu::state::{Admission, Config, Storage};
use pollster::block_on;

fn file() -> Vec<u8> {
    if let Some(path) = std::env::var_os("MRAIL_MODEL") {
        return std::fs::read(path).expect("the file that MRAIL_MODEL names");
    }
    let (layers, width, heads, kv_heads, head_dim) = (30, 576, 9, 3, 64);
    let (feed_forward, vocabulary) = (1536, 49152);
    Seeded { layers, width, heads, kv_heads, head_dim, feed_forward, vocabulary, ..Seeded::default() }.file()
}

fn cpu(criterion: &mut Criterion) {
    let file = file();
    let model = Model::read(&Header::parse(&file, file.len() as u64).expect("a header")).expect("a model");
    let config = Config::uniform(model.config.shape, Storage::F16, 256, 512, Admission::Look { from: 16 });
    let setups = vec![LayerSetup::plain(config.expect("good sizes")); model.config.layers as usize];
    let load = |threads| {
        let options = Options { threads, ..Options::default() };
        CpuModel::load(&mut &file[..], &model, setups.clone(), options, |_| {}).expect("it loads")
    };
    let mut group = criterion.benchmark_group("cpu");
    group.sample_size(20);
    for (name, threads) in [("all cores", None), ("one core", Some(1))] {
        let mut engine = load(threads);
        for (context, tokens) in [("64", 64), ("1024", 1024)] {
            block_on(engine.clear()).expect("cleared");
            let mut next = block_on(engine.extend(&vec![3; tokens])).expect("a choice");
            let state = block_on(engine.state()).expect("a state");
            group.throughput(Throughput::Elements(1));
            group.bench_function(format!("decode behind {context}, {name}"), |bencher| {
                bencher.iter(|| next = block_on(engine.extend(&[next])).expect("a choice"));
            });
            group.throughput(Throughput::Elements(64));
            group.bench_function(format!("take in 64 behind {context}, {name}"), |bencher| {
                block_on(engine.restore(&state)).expect("restored");
                bencher.iter_batched(|| [next; 64], |more| block_on(engine.extend(&more)), BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, cpu);
criterion_main!(benches);
