//! Does a step in constant state cost the same whatever the context? What do a verify pass and native attention cost beside it,
//! and how far is it from what the device's memory could do? Prints a table for each question:
//!
//!     cargo bench -p mrail-gpu --bench table
//!     cargo bench -p mrail-gpu --bench table -- --quick                 fewer rounds
//!     cargo bench -p mrail-gpu --bench table -- --shape 9,3,64          only these heads, KV heads and head width
//!     cargo bench -p mrail-gpu --bench table -- --layers 30             a stack of layers, which no cache holds
//!
//! Ends with 1 where a step at 64k takes another time, other dispatches or other bytes than one at 16k in constant state, or
//! where native attention does not take longer. The clock on the wall counts, so the machine should do nothing else meanwhile;
//! what is compared is interleaved.

mod common;

use common::{BAND, CONTEXTS, Mode, Rig, Run, SHAPES, copy_rate, name, open, thousands};
use mrail_gpu::attention::{AttentionError, Tree, Work};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::{BLOCK, Config, Memory, Shape, Storage};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What a step at 64k may differ from one at 16k, unless two identical runs differ by more.
const TOLERANCE: f64 = 0.03;

/// Steps before those that count.
const WARM: u32 = 8;

/// Rows of verify passes.
const ROWS: [usize; 4] = [1, 8, 16, 32];

struct Options {
    shapes: Vec<Shape>,
    layers: usize,
    quick: bool,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { shapes: Vec::new(), layers: 1, quick: false };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                // Cargo adds it.
                "--bench" => {}
                "--quick" => options.quick = true,
                "--layers" => options.layers = value()?.parse().map_err(|_| "--layers takes a number")?,
                "--shape" => {
                    let numbers: Result<Vec<u32>, _> = value()?.split(',').map(str::parse).collect();
                    let Ok([heads, kv_heads, head_dim]) = numbers.as_deref() else {
                        return Err("--shape takes heads, KV heads and head width: 9,3,64".into());
                    };
                    let shape = Shape { heads: *heads, kv_heads: *kv_heads, head_dim: *head_dim };
                    Config::new(shape, Storage::F16, Memory::Native).map_err(|error| error.to_string())?;
                    options.shapes.push(shape);
                }
                _ => return Err(format!("unknown: {argument}; known: --quick, --shape H,KV,D, --layers N")),
            }
        }
        if options.shapes.is_empty() {
            options.shapes = SHAPES.to_vec();
        }
        Ok(options)
    }

    /// Rounds of interleaved runs go on until so many, or the least number after so long a time.
    fn more(&self, done: u32, since: Instant, (least, most): (u32, u32), seconds: u64) -> bool {
        let time = if self.quick { Duration::ZERO } else { Duration::from_secs(seconds) };
        done < least || (done < most && since.elapsed() < time)
    }
}

/// Passes of one kind: how long they took, and what they read.
#[derive(Clone, Debug, Default)]
struct Series {
    times: Vec<Duration>,
    passes: u32,
    bytes: u64,
}

impl Series {
    fn push(&mut self, run: &Run, works: &[Work], layers: usize) {
        self.times.push(run.time);
        self.passes += run.passes.len() as u32;
        self.bytes += works.iter().map(|work| work.bytes_read).sum::<u64>() * layers as u64;
    }

    /// Seconds of one pass, mean over all.
    fn mean(&self) -> f64 {
        self.times.iter().sum::<Duration>().as_secs_f64() / f64::from(self.passes.max(1))
    }

    /// Bytes that one pass reads, mean over all.
    fn bytes(&self) -> f64 {
        self.bytes as f64 / f64::from(self.passes.max(1))
    }
}

/// The tables so far, and what failed.
struct Report<'o> {
    options: &'o Options,
    gpu: &'o Gpu,
    constant: String,
    native: String,
    verify: String,
    shares: Vec<(String, Series)>,
    failed: Vec<String>,
}

impl Report<'_> {
    /// Blocks at each context, interleaved, at the two longest twice: what the two series of one differ by is chance.
    fn constant(&mut self, shape: Shape, mode: Mode) -> Result<Series, AttentionError> {
        let mut rig = Rig::new(self.gpu, (shape, mode), self.options.layers, (0, 32))?;
        let contexts = [CONTEXTS.as_slice(), &CONTEXTS[2..]].concat();
        let mut series = vec![Series::default(); contexts.len()];
        let mut works = vec![Vec::new(); contexts.len()];
        let (mut rounds, since) = (0, Instant::now());
        while self.options.more(rounds, since, (4, 64), 40) {
            for turn in 0..contexts.len() {
                // Nobody is always the first.
                let at = (turn + rounds as usize) % contexts.len();
                rig.fill(contexts[at])?;
                rig.steps(WARM)?;
                let run = rig.steps(BLOCK)?;
                works[at] = rig.works(&run);
                series[at].push(&run, &works[at], self.options.layers);
            }
            rounds += 1;
        }
        let mean = |at: usize| series[at].mean();
        let (mean16, mean64) = (f64::midpoint(mean(2), mean(4)), f64::midpoint(mean(3), mean(5)));
        let spread = [4, 5].map(|again| (mean(again) / mean(again - 2) - 1.).abs());
        let (spread, differs) = (spread[0].max(spread[1]), mean64 / mean16 - 1.);
        // Dispatch by dispatch, byte by byte.
        let same_work = works[2] == works[3];
        let same_time = differs.abs() <= TOLERANCE.max(spread);
        let verdict = if same_work && same_time { "PASS" } else { "FAIL" };
        let label = format!("{} {mode}", name(shape));
        if !same_time {
            self.failed.push(format!("{label}: a step at 64k differs by {:+.1}% from one at 16k", 100. * differs));
        }
        if !same_work {
            self.failed.push(format!("{label}: other dispatches or bytes at 64k than at 16k"));
        }
        let relative = [mean(0), mean(1), mean64].map(|mean| mean / mean16);
        writeln!(
            self.constant,
            "| {label} | {rounds} | {:.3} | {:.3} | {:.3} ms | {:.3} | {:.1}% | {:+.1}% | {} | {} | {verdict} |",
            relative[0],
            relative[1],
            1e3 * mean16,
            relative[2],
            100. * spread,
            100. * differs,
            works[3].iter().map(|work| work.dispatches.len()).sum::<usize>(),
            if same_work { "the same" } else { "others" },
        )
        .expect("a string");
        self.shares.push((format!("{label}, 64k"), series[3].clone()));
        Ok(series.swap_remove(3))
    }

    fn native(&mut self, shape: Shape, constant: &Series) -> Result<(), AttentionError> {
        let mut rigs = Vec::new();
        for tokens in CONTEXTS {
            let made = Rig::new(self.gpu, (shape, Mode::Native), self.options.layers, (tokens + 4 * BLOCK, 1));
            rigs.push(made.and_then(|mut rig| {
                rig.fill(tokens)?;
                let step = rig.steps(2)?.time / 2;
                // As many as are waited for together, unless they take long.
                let in_a_second = 1_000_000_000 / step.as_nanos().max(1);
                Ok((rig, in_a_second.clamp(1, 16) as u32))
            }));
        }
        let mut series = vec![Series::default(); rigs.len()];
        let (mut rounds, since) = (0, Instant::now());
        while self.options.more(rounds, since, (3, 8), 20) {
            for (rig, series) in rigs.iter_mut().zip(&mut series) {
                if let Ok((rig, steps)) = rig {
                    let run = rig.steps(*steps)?;
                    series.push(&run, &rig.works(&run), self.options.layers);
                }
            }
            rounds += 1;
        }
        write!(self.native, "| {} |", name(shape)).expect("a string");
        let mut fit = Vec::new();
        for ((tokens, rig), series) in CONTEXTS.iter().zip(&rigs).zip(series) {
            if let Err(error) = rig {
                write!(self.native, " {error} |").expect("a string");
                continue;
            }
            write!(self.native, " {:.3} ms |", 1e3 * series.mean()).expect("a string");
            fit.push((thousands(*tokens), series.mean()));
            self.shares.push((format!("{} native, {}", name(shape), thousands(*tokens)), series));
        }
        let (Some((_, first)), Some((tokens, longest))) = (fit.first(), fit.last()) else {
            writeln!(self.native, " | |").expect("a string");
            return Ok(());
        };
        let ratio = longest / constant.mean();
        writeln!(self.native, " {:.1} | {ratio:.1} at {tokens} |", longest / first).expect("a string");
        for pair in fit.windows(2) {
            if let [(before, shorter), (tokens, longer)] = pair
                && longer <= shorter
            {
                self.failed
                    .push(format!("{}: native attention is no slower at {tokens} than at {before}", name(shape)));
            }
        }
        Ok(())
    }

    fn verify(&mut self, shape: Shape, mode: Mode) -> Result<(), AttentionError> {
        // Native attention over more is only slower. Behind the first places of a block, a path of 32 rows fits.
        let context = CONTEXTS[if mode == Mode::Native { 0 } else { 2 }];
        let tokens = context + WARM;
        let mut rig = Rig::new(self.gpu, (shape, mode), self.options.layers, (tokens + BLOCK, 32))?;
        rig.fill(tokens)?;
        let trees = ROWS.map(|rows| Tree::chain(rows).expect("a small tree"));
        for tree in &trees {
            rig.verify(tree, 1)?;
        }
        let mut series = vec![Series::default(); ROWS.len()];
        let (mut rounds, since) = (0, Instant::now());
        while self.options.more(rounds, since, (3, 16), 15) {
            for (tree, series) in trees.iter().zip(&mut series) {
                let run = rig.verify(tree, 2)?;
                series.push(&run, &rig.works(&run), self.options.layers);
            }
            rounds += 1;
        }
        let label = format!("{} {mode}, {}", name(shape), thousands(context));
        write!(self.verify, "| {label} | {:.3} ms |", 1e3 * series[0].mean()).expect("a string");
        for (rows, series_of_rows) in ROWS.iter().zip(&series).skip(1) {
            let ratio = series_of_rows.mean() / series[0].mean();
            write!(self.verify, " {ratio:.2} ({:.2} a row) |", ratio / *rows as f64).expect("a string");
        }
        writeln!(self.verify).expect("a string");
        self.shares.extend(series.pop().map(|series| (format!("{label}, {} rows", ROWS[3]), series)));
        Ok(())
    }

    /// Verification that does not fit is a row of the table.
    fn try_verify(&mut self, shape: Shape, mode: Mode) {
        if let Err(error) = self.verify(shape, mode) {
            writeln!(self.verify, "| {} {mode} | {error} | | | |", name(shape)).expect("a string");
        }
    }

    fn all(&mut self) -> Result<(), AttentionError> {
        for &shape in &self.options.shapes {
            eprintln!("{} ...", name(shape));
            let constant = self.constant(shape, Mode::Constant)?;
            self.constant(shape, Mode::Cells)?;
            self.native(shape, &constant)?;
            for mode in [Mode::Constant, Mode::Cells, Mode::Native] {
                self.try_verify(shape, mode);
            }
        }
        Ok(())
    }

    fn print(&self, copies: f64) {
        println!("\n### A step in constant state: band {BAND}, store {}, f16, far looks\n", common::STORE);
        println!("Mean over blocks of {BLOCK} steps, over that at 16k.\n");
        println!(
            "| layer | blocks | 1k | 4k | 16k | 64k | spread | 64k over 16k | dispatches a block | plan and bytes | |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|\n{}", self.constant);
        println!("### A step in native mode\n");
        println!("| layer | 1k | 4k | 16k | 64k | longest over 1k | over constant state |");
        println!("|---|---|---|---|---|---|---|\n{}", self.native);
        println!("### A verify pass, over one of one row\n");
        println!("| layer | 1 row | 8 rows | 16 rows | 32 rows |\n|---|---|---|---|---|\n{}", self.verify);
        println!("### Bytes read against copies on the device: {:.1} GB/s read and written\n", copies / 1e9);
        println!("| pass | bytes read | time | GB/s | share of the limit |\n|---|---|---|---|---|");
        for (label, series) in &self.shares {
            let (bytes, time) = (series.bytes(), series.mean());
            let (mega, rate) = (bytes / 1e6, bytes / time);
            println!(
                "| {label} | {mega:.2} MB | {:.3} ms | {:.2} | {:.1}% |",
                1e3 * time,
                rate / 1e9,
                100. * rate / copies
            );
        }
    }
}

fn run(options: &Options) -> Result<Vec<String>, AttentionError> {
    let gpu = open()?;
    println!("{}\n", gpu.info());
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    println!("cargo bench -p mrail-gpu --bench table -- {}; layers: {}", given.join(" "), options.layers);
    let mut report = Report {
        options,
        gpu: &gpu,
        constant: String::new(),
        native: String::new(),
        verify: String::new(),
        shares: Vec::new(),
        failed: Vec::new(),
    };
    let before = copy_rate(&gpu)?;
    report.all()?;
    // What else ran meanwhile slows copies as well: the better of two is the limit.
    report.print(before.max(copy_rate(&gpu)?));
    Ok(report.failed)
}

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benchmarks, too, and should not wait for this one.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing is measured without --bench, which cargo bench adds");
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(failed) if failed.is_empty() => {
            println!("\nPASS");
            ExitCode::SUCCESS
        }
        Ok(failed) => {
            println!("\nFAIL: {}", failed.join("; "));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
