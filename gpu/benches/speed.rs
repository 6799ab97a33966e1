//! How fast a model decodes: plainly, with drafts from the conversation, and with drafts from a map. Prints one table.
//!
//! `cargo bench --profile release -p mrail-gpu --bench speed -- --model FILE [--map FILE] [--backend gpu|cpu] [--prompts N]
//! [--tokens N] [--llama FOLDER]`
//!
//! With `--llama`, llama.cpp reads and decodes the same file in turn with it, on the CPU or through Vulkan: FOLDER is where `npm install
//! --ignore-scripts node-llama-cpp` was run.
//!
//! The prompts are the held-out coding requests of tests/data/prompts.json; a map of answers to other coding requests is made by
//! `mrail-decode make`. What is compared runs in turn, prompt by prompt, so that a machine that others use, too, slows all alike.

#[path = "common/llama.rs"]
mod llama;

use llama::Llama;
use mrail_gpu::attention::{LayerSetup, Tree};
use mrail_gpu::decode::{Decoder, Either, Engine, Options, Outcome};
use mrail_gpu::device::{Gpu, Options as GpuOptions};
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{self, CpuModel};
use mrail_gpu::model::device::{self, DeviceModel};
use mrail_gpu::model::gguf::{Header, Seekable};
use mrail_gpu::state::{Admission, Config, Storage};
use serde_json::Value;
use std::error::Error;
use std::fs::File;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Rounds of what is measured in turn, tokens that are decoded in each, and rows of verify passes.
const ROUNDS: usize = 5;
const ALONG: usize = 16;
const ROWS: [usize; 3] = [1, 8, 16];

/// The file has them first.
const HELD_OUT: usize = 40;

type AnyEngine = Either<DeviceModel, CpuModel>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the command line asks for.
struct Asked {
    model: String,
    map: Option<String>,
    cpu: bool,
    prompts: usize,
    tokens: usize,
    llama: Option<String>,
}

fn asked() -> Option<Asked> {
    let mut asked = Asked { model: String::new(), map: None, cpu: false, prompts: 8, tokens: 48, llama: None };
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next()?;
        match name.as_str() {
            "--model" => asked.model = value,
            "--map" => asked.map = Some(value),
            "--llama" => asked.llama = Some(value),
            "--backend" => asked.cpu = value == "cpu",
            "--prompts" => asked.prompts = value.parse().ok()?,
            "--tokens" => asked.tokens = value.parse().ok()?,
            _ => return None,
        }
    }
    (!asked.model.is_empty()).then_some(asked)
}

async fn load(asked: &Asked) -> Result<(AnyEngine, Vec<LayerSetup>, String)> {
    let mut source = Seekable::new(File::open(&asked.model)?)?;
    let model = Model::read(&Header::read(&mut source)?)?;
    let config = Config::uniform(model.config.shape, Storage::F16, 256, 512, Admission::Look { from: 16 })?;
    let setups = vec![LayerSetup::plain(config); model.config.layers as usize];
    if asked.cpu {
        let engine = CpuModel::load(&mut source, &model, setups.clone(), cpu::Options::default(), |_| ())?;
        return Ok((Either::B(engine), setups, "CPU".into()));
    }
    let gpu = Rc::new(Gpu::request(&GpuOptions::default()).await?);
    let start = Instant::now();
    let (shapes, trials) = device::tune(&gpu, || start.elapsed().as_secs_f64()).await?;
    println!("shapes, tried out in {:.1} s:", start.elapsed().as_secs_f64());
    for trial in trials {
        let chosen = if shapes.contains(&trial.shape) { "  <-" } else { "" };
        println!("  {:?}, {} rows: {:.3} ms{chosen}", trial.shape, trial.rows, trial.time * 1e3);
    }
    let name = gpu.info().to_string();
    let options = device::Options { shapes, ..device::Options::of(&gpu) };
    let engine = DeviceModel::load(gpu, &mut source, &model, setups.clone(), options, |_| ()).await?;
    Ok((Either::A(engine), setups, name))
}

fn prompts(most: usize) -> Result<Vec<Vec<u32>>> {
    let file: Value = serde_json::from_str(include_str!("../tests/data/prompts.json"))?;
    let ids = |value: &Value| -> Vec<u32> {
        value.as_array().into_iter().flatten().filter_map(Value::as_u64).map(|id| id as u32).collect()
    };
    let held_out = file["prompts"].as_array().ok_or("no prompts")?.iter().take(HELD_OUT);
    let whole = held_out.map(|prompt| {
        let prefix = ids(&file["prefixes"][prompt["prefix"].as_u64().unwrap_or(0) as usize]);
        [prefix, ids(&prompt["rest"])].concat()
    });
    let whole: Vec<_> = whole.take(most).collect();
    if whole.is_empty() { Err("no held-out prompts".into()) } else { Ok(whole) }
}

/// What was seen of one way to decode.
#[derive(Default)]
struct Seen {
    time: Duration,
    tokens: usize,
    passes: usize,
    accepted: usize,
}

impl Seen {
    fn add(&mut self, outcome: &Outcome, time: Duration) {
        self.time += time;
        self.tokens += outcome.tokens.len();
        self.passes += outcome.stats.passes;
        self.accepted += outcome.stats.accepted.all();
    }

    fn row(&self, name: &str, plain: &Self) {
        let per_second = |seen: &Self| seen.tokens as f64 / seen.time.as_secs_f64();
        println!(
            "| {name} | {:.1} | {:.2} | {} | {} | {:.2} |",
            per_second(self),
            per_second(self) / per_second(plain),
            self.tokens,
            self.passes,
            self.accepted as f64 / self.passes.max(1) as f64
        );
    }
}

async fn drafts(decoder: &mut Decoder<AnyEngine>, asked: &Asked, prompts: &[Vec<u32>]) -> Result<()> {
    let map = asked.map.as_ref().map(std::fs::read).transpose()?;
    let open =
        |bytes: &Vec<u8>| mrail::Map::open(bytes.clone(), mrail::Options { draft_only: true, ..Default::default() });
    let ways = [
        ("plain", 0, false),
        ("conversation, 8 nodes", 8, false),
        ("map, 3 nodes", 3, true),
        ("map, 8 nodes", 8, true),
        ("map, 31 nodes", 31, true),
    ];
    let mut seen: Vec<Seen> = ways.iter().map(|_| Seen::default()).collect();
    for prompt in prompts {
        let mut plain = None;
        for ((_, nodes, with_map), seen) in ways.iter().zip(&mut seen) {
            decoder.detach();
            match &map {
                Some(bytes) if *with_map => decoder.attach_foreign(open(bytes)?)?,
                None if *with_map => continue,
                _ => {}
            }
            decoder.engine_mut().clear().await?;
            // The prompt's time is another row of the table.
            decoder.generate(prompt, &Options { max_new: 1, draft: 0, ..Options::default() }).await?;
            let options = Options { max_new: asked.tokens, draft: *nodes, stops: vec![2], ..Options::default() };
            let start = Instant::now();
            let outcome = decoder.generate(prompt, &options).await?;
            seen.add(&outcome, start.elapsed());
            let ids = outcome.ids();
            if plain.get_or_insert_with(|| ids.clone()) != &ids {
                return Err("drafts changed an answer".into());
            }
        }
    }
    println!("\n| drafts | tokens/s | over plain | tokens | passes | accepted a pass |\n|---|---|---|---|---|---|");
    for ((name, ..), of) in ways.iter().zip(&seen).filter(|(_, seen)| seen.tokens > 0) {
        of.row(name, &seen[0]);
    }
    Ok(())
}

/// Reading, decoding and verifying, in turn with llama.cpp; of each the fastest of some rounds.
async fn passes(engine: &mut AnyEngine, asked: &Asked, prompt: &[u32]) -> Result<()> {
    let backend = if asked.cpu { "cpu" } else { "vulkan" };
    let llama = asked.llama.as_ref().map(|folder| Llama::start(folder, &asked.model, backend, prompt, ALONG));
    let mut llama = llama.transpose()?;
    let (mut reading, mut decoding, mut verifying) = (f64::INFINITY, f64::INFINITY, [f64::INFINITY; 3]);
    let mut beside = [0.0_f64; 2];
    for _ in 0..ROUNDS {
        engine.clear().await?;
        let start = Instant::now();
        let mut token = engine.extend(prompt).await?;
        reading = reading.min(start.elapsed().as_secs_f64() / prompt.len() as f64);
        for (rows, best) in ROWS.into_iter().zip(&mut verifying) {
            let tree = Tree::chain(rows)?;
            let start = Instant::now();
            engine.verify(&vec![token; rows], &tree).await?;
            *best = best.min(start.elapsed().as_secs_f64());
        }
        let start = Instant::now();
        for _ in 0..ALONG {
            token = engine.extend(&[token]).await?;
        }
        decoding = decoding.min(start.elapsed().as_secs_f64() / ALONG as f64);
        if let Some(llama) = &mut llama {
            for (best, rate) in beside.iter_mut().zip(llama.round()?) {
                *best = best.max(rate);
            }
        }
    }
    println!("\n| | reading {} tokens | decoding {ALONG} | reading over decoding |\n|---|---|---|---|", prompt.len());
    println!("| this | {:.1} tokens/s | {:.1} tokens/s | {:.2} |", 1.0 / reading, 1.0 / decoding, decoding / reading);
    if let Some(llama) = &llama {
        let [read, decoded] = beside;
        println!("| {} | {read:.1} tokens/s | {decoded:.1} tokens/s | {:.2} |", llama.name, read / decoded);
        println!("| this over it | {:.2} | {:.2} | |", 1.0 / (reading * read), 1.0 / (decoding * decoded));
    }
    let [one, eight, sixteen] = verifying;
    println!("\na verify pass of 8 rows takes {:.2} times one row, of 16 rows {:.2} times", eight / one, sixteen / one);
    Ok(())
}

async fn known(decoder: &mut Decoder<AnyEngine>, asked: &Asked, prompt: &[u32]) -> Result<()> {
    let options = Options { max_new: asked.tokens, draft: 0, stops: vec![2], ..Options::default() };
    decoder.detach();
    decoder.attach(mrail::Map::create(), None)?;
    decoder.engine_mut().clear().await?;
    let start = Instant::now();
    let first = decoder.generate(prompt, &options).await?;
    let decoded = start.elapsed();
    decoder.engine_mut().clear().await?;
    let start = Instant::now();
    let again = decoder.generate(prompt, &options).await?;
    let answered = start.elapsed();
    if first.ids() != again.ids() || again.stats.evaluated != 0 {
        return Err("a known question was not answered from the map".into());
    }
    println!(
        "\na known question: {} tokens from the map in {answered:.1?}, read and decoded in {decoded:.1?}: {:.0} times",
        again.tokens.len(),
        decoded.as_secs_f64() / answered.as_secs_f64()
    );
    Ok(())
}

fn main() -> Result<()> {
    let Some(asked) = asked() else {
        // `cargo test --benches` and `cargo bench` of all benchmarks come by without a model.
        println!("speed: skipped, it needs --model FILE and takes more: see the head of benches/speed.rs");
        return Ok(());
    };
    pollster::block_on(async {
        let prompts = prompts(asked.prompts)?;
        let (engine, setups, name) = load(&asked).await?;
        println!("{name}");
        let mut decoder = Decoder::new(engine, setups);
        passes(decoder.engine_mut(), &asked, &prompts[0]).await?;
        drafts(&mut decoder, &asked, &prompts).await?;
        known(&mut decoder, &asked, &prompts[0]).await
    })
}
