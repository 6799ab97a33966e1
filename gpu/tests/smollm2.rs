//! The real model against exact f32 arithmetic (`tests/oracle`): its file is not in the repository.
//!
//! `MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf> cargo test -p mrail-gpu --test smollm2 -- --ignored`; with `MRAIL_FULL=1` all
//! 12 prompts and 48 tokens, which takes minutes on lavapipe. Tokens that are not the oracle's are told, with its margins.
#![cfg(not(target_arch = "wasm32"))]

pub mod common;

use common::harness::{open, report};
use mrail_gpu::attention::{LayerSetup, Tree};
use mrail_gpu::decode::Engine;
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{self, CpuModel};
use mrail_gpu::model::device::{DeviceModel, Options};
use mrail_gpu::model::gguf::{Header, Seekable};
use mrail_gpu::state::{Admission, Config, Storage};
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::rc::Rc;

/// What the oracle says of one prompt.
struct Golden {
    name: String,
    prompt: Vec<u32>,
    tokens: Vec<u32>,
    /// Of each step: five ids and their logits.
    top: Vec<Vec<(u32, f32)>>,
    margins: Vec<f32>,
}

fn numbers(value: &Value) -> Vec<u32> {
    value.as_array().expect("a list").iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

fn floats(value: &Value) -> Vec<f32> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn golden() -> Vec<Golden> {
    let file: Value = serde_json::from_str(include_str!("data/smollm2.json")).expect("the oracle's file");
    let of = |prompt: &Value| {
        let list = |name: &str| prompt[name].as_array().expect("a list").iter();
        let top = list("top").zip(list("logits"));
        Golden {
            name: prompt["name"].as_str().expect("a name").into(),
            prompt: numbers(&prompt["prompt"]),
            tokens: numbers(&prompt["tokens"]),
            top: top.map(|(ids, logits)| numbers(ids).into_iter().zip(floats(logits)).collect()).collect(),
            margins: floats(&prompt["margins"]),
        }
    };
    file["prompts"].as_array().expect("prompts").iter().map(of).collect()
}

/// What was seen of one prompt.
#[derive(Default)]
struct Seen {
    /// Largest distance of any of the five largest logits.
    largest: f32,
    others: Vec<Other>,
    steps: usize,
}

/// A step at which another token was chosen.
#[derive(Debug, PartialEq)]
struct Other {
    step: usize,
    choice: u32,
    wanted: u32,
    /// The oracle's.
    margin: f32,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, choice, wanted, margin } = self;
        write!(f, "at step {step} {choice}, not {wanted}, whose margin is {margin}")
    }
}

impl Seen {
    fn step(&mut self, golden: &Golden, step: usize, choice: u32, logits: &[f32]) {
        for (id, logit) in &golden.top[step] {
            self.largest = self.largest.max((logits[*id as usize] - logit).abs());
        }
        if choice != golden.tokens[step] {
            self.others.push(Other { step, choice, wanted: golden.tokens[step], margin: golden.margins[step] });
        }
        self.steps += 1;
    }

    fn report(&self, what: &str) {
        let Self { largest, others, steps } = self;
        let others: Vec<_> = others.iter().map(Other::to_string).collect();
        let others = if others.is_empty() { "none".into() } else { others.join("; ") };
        report(&format!("{what}: {steps} steps, logits at most {largest:.1e} apart, other tokens: {others}"));
    }
}

/// Goes along the oracle's tokens, many at once: the bits are those of one at a time, as other tests say.
async fn along(model: &mut DeviceModel, golden: &Golden, steps: usize) -> Seen {
    let mut seen = Seen::default();
    model.clear().await.expect("an empty state");
    let choice = model.extend(&golden.prompt).await.expect("a prompt");
    let logits = model.logits().await.expect("logits");
    seen.step(golden, 0, choice, &logits);
    let mut at = 0;
    while at + 1 < steps {
        let most = model.tree_rows().min(model.depth_left()) as usize;
        let chain = &golden.tokens[at..(at + most).min(steps - 1)];
        let tree = Tree::chain(chain.len()).expect("a chain");
        let choices = model.verify(chain, &tree).await.expect("a pass");
        for (row, choice) in choices.iter().enumerate() {
            let logits = model.verified_logits(row as u32).await.expect("logits");
            seen.step(golden, at + row + 1, *choice, &logits);
        }
        let path: Vec<u32> = (0..chain.len() as u32).collect();
        model.accept(&path).await.expect("the path");
        at += chain.len();
    }
    seen
}

/// The file, the model in it, and its layers: exact up to 832 tokens, which is more than any prompt takes.
fn file(storage: Storage) -> (Seekable<File>, Model, Vec<LayerSetup>) {
    let path = std::env::var_os("MRAIL_MODEL").expect("MRAIL_MODEL names no file");
    let mut source = Seekable::new(File::open(path).expect("the file that MRAIL_MODEL names")).expect("a file");
    let header = Header::read(&mut source).expect("a GGUF file");
    let model = Model::read(&header).expect("a model");
    let config = Config::uniform(model.config.shape, storage, 256, 512, Admission::Look { from: 16 }).expect("sizes");
    let setups = vec![LayerSetup::plain(config); model.config.layers as usize];
    (source, model, setups)
}

async fn model(storage: Storage) -> DeviceModel {
    let (mut source, model, setups) = file(storage);
    let gpu = Rc::new(open().await);
    let options = Options::of(&gpu);
    DeviceModel::load(gpu, &mut source, &model, setups, options, |_| ()).await.expect("a model on the device")
}

/// One token at a time on the CPU.
fn on_the_cpu(storage: Storage, check: impl Fn(&Golden, &Seen)) {
    pollster::block_on(async {
        let (mut source, model, setups) = file(storage);
        let options = cpu::Options::default();
        let mut model = CpuModel::load(&mut source, &model, setups, options, |_| ()).expect("memory");
        let (prompts, steps) = part();
        for golden in golden().iter().take(prompts) {
            let mut seen = Seen::default();
            model.clear().await.expect("an empty state");
            let mut choice = model.extend(&golden.prompt).await.expect("a prompt");
            for step in 0..steps {
                seen.step(golden, step, choice, &model.logits().await.expect("logits"));
                choice = model.extend(&golden.tokens[step..=step]).await.expect("a token");
            }
            seen.report(&format!("CPU, {storage:?} {}", golden.name));
            assert_eq!(seen.steps, steps);
            check(golden, &seen);
        }
    });
}

/// All prompts and tokens, or those that every run can wait for.
fn part() -> (usize, usize) {
    if std::env::var_os("MRAIL_FULL").is_some() { (usize::MAX, 48) } else { (6, 24) }
}

fn run(storage: Storage, check: impl Fn(&Golden, &Seen)) {
    pollster::block_on(async {
        let mut model = model(storage).await;
        report(&format!("{}", model.gpu().info()));
        let (prompts, steps) = part();
        let mut all = 0;
        for golden in golden().iter().take(prompts) {
            let seen = along(&mut model, golden, steps).await;
            seen.report(&format!("{storage:?} {}", golden.name));
            assert_eq!(seen.steps, steps);
            check(golden, &seen);
            all += seen.steps;
        }
        assert!(all > 0);
    });
}

fn exact(golden: &Golden, seen: &Seen) {
    assert_eq!(seen.others, [], "{}", golden.name);
    assert!(seen.largest <= 2e-3, "{}: {}", golden.name, seen.largest);
}

fn close(golden: &Golden, seen: &Seen) {
    assert!(seen.largest <= 0.1, "{}: {}", golden.name, seen.largest);
    let clear = seen.others.iter().find(|other| other.margin > 0.2);
    assert_eq!(clear, None, "{}", golden.name);
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn in_f32_tokens_are_the_oracles() {
    run(Storage::F32, exact);
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn in_f16_only_close_calls_differ() {
    run(Storage::F16, close);
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn on_the_cpu_tokens_are_the_oracles_too() {
    on_the_cpu(Storage::F32, exact);
    on_the_cpu(Storage::F16, close);
}

#[test]
fn another_token_or_logit_would_be_seen() {
    let golden = Golden {
        name: String::new(),
        prompt: vec![1],
        tokens: vec![7],
        top: vec![vec![(7, 2.0), (3, 1.5)]],
        margins: vec![0.5],
    };
    let mut logits = vec![0.0; 8];
    (logits[7], logits[3]) = (2.0, 1.5);
    let mut seen = Seen::default();
    seen.step(&golden, 0, 7, &logits);
    assert!(seen.others.is_empty() && seen.largest == 0.0);
    logits[3] = 1.75;
    seen.step(&golden, 0, 3, &logits);
    assert_eq!(seen.others[0].to_string(), "at step 0 3, not 7, whose margin is 0.5");
    assert_eq!((seen.others.len(), seen.largest), (1, 0.25));
}

/// The demo's sample map: this crate's own answers.
fn sample() -> Vec<(Vec<u32>, Vec<u32>)> {
    let bytes = include_bytes!("../../tests/data/maps/smollm2-coding.mrail");
    let map = mrail::Map::open(&bytes[..], mrail::Options::default()).expect("a map");
    assert_eq!((map.tail(), map.problems().len()), (mrail::tail::Tail::None, 0));
    let run = |run| {
        let Some(mrail::map::Run::Session(session)) = map.run(run) else { panic!("run {run} is no session") };
        let tokens: Vec<u32> = session.tokens.iter().collect();
        let (context, answer) = tokens.split_at(session.gen_start as usize);
        (context.to_vec(), answer.to_vec())
    };
    (0..map.len()).map(run).collect()
}

#[test]
fn the_sample_map_is_whole_and_says_who_wrote_it() {
    let runs = sample();
    assert_eq!(runs.len(), 198);
    for (context, answer) in &runs {
        assert!(context.len() > 20 && (answer.len() == 128 || answer.last() == Some(&2)), "{context:?}");
    }
    let of: Value = serde_json::from_str(include_str!("../../tests/data/maps/smollm2-coding.json")).expect("JSON");
    assert_eq!(of["model"]["blake2b"], "0ba7c6f9687296f4fc087aa1cc1a2428");
    assert_eq!((&of["numerics"]["arithmetic"], &of["numerics"]["kv"]), (&"f32".into(), &"f16".into()));
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn the_sample_map_says_what_the_model_does() {
    pollster::block_on(async {
        let (mut source, model, setups) = file(Storage::F16);
        let options = cpu::Options::default();
        let mut model = CpuModel::load(&mut source, &model, setups, options, |_| ()).expect("memory");
        let (_, steps) = part();
        let each = if steps == 48 { 1 } else { 40 };
        for (number, (context, answer)) in sample().iter().enumerate().step_by(each) {
            model.clear().await.expect("an empty state");
            let mut choice = model.extend(context).await.expect("a context");
            for (at, token) in answer.iter().take(steps).enumerate() {
                assert_eq!(choice, *token, "token {at} of run {number}");
                choice = model.extend(&[choice]).await.expect("a token");
            }
        }
    });
}
