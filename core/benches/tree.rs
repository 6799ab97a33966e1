//! Draft trees over a million tokens of real text and over a real map.
//!
//! Each measurement runs through 256 contexts that follow one another, so that no context finds the caches warmed by
//! itself: *on track* are pieces of the log, as when a map's own answer is drafted; *off track* are the same with two
//! of their last three tokens exchanged, as when the model says something new.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mrail::draft::{Rail, RailOptions};
use std::hint::black_box;
use std::time::Duration;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/");
const RUNS: usize = 200;
const RUN: usize = 5000;
const CONTEXTS: usize = 256;
const BUDGET: usize = 31;

/// 841935 tokens of real text.
fn corpus() -> Vec<u32> {
    let file = std::fs::read(format!("{DATA}corpus/corpus.u16.gz")).unwrap();
    assert_eq!(&file[..3], &[0x1f, 0x8b, 8], "a gzip file");
    let flags = file[3];
    assert_eq!(flags & !8, 0, "no optional fields but a name");
    let name = if flags & 8 == 0 { 0 } else { file[10..].iter().position(|&byte| byte == 0).unwrap() + 1 };
    let bytes = miniz_oxide::inflate::decompress_to_vec(&file[10 + name..]).unwrap();
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]).into()).collect()
}

/// A million tokens in runs of 5000, from the corpus over and over.
fn million() -> Vec<Vec<u32>> {
    let corpus = corpus();
    let mut tokens = corpus.iter().copied().cycle();
    (0..RUNS).map(|_| tokens.by_ref().take(RUN).collect()).collect()
}

/// The sessions of the sample map, with where their answers start.
fn coding() -> Vec<(Vec<u32>, usize)> {
    let file = std::fs::read(format!("{DATA}maps/coding.mrail")).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let mut runs = Vec::new();
    let mut at = 8;
    while at < file.len() {
        if file[at] == 1 {
            let n = word(at + 9) as usize;
            runs.push(((0..n).map(|i| word(at + 17 + 4 * i)).collect(), word(at + 13) as usize));
        }
        at += 5 + word(at + 1) as usize;
    }
    runs
}

fn rail<'a>(runs: impl IntoIterator<Item = &'a [u32]>) -> Rail {
    let mut rail = Rail::new(RailOptions::default()).unwrap();
    for run in runs {
        rail.push_run(run.iter().copied(), run.len()).unwrap();
    }
    rail.index();
    rail
}

fn off_track(contexts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let other = |i: usize, at: usize| contexts[i % contexts.len()][at];
    let changed = contexts.iter().enumerate().map(|(i, context)| {
        let mut context = context.clone();
        let n = context.len();
        context[n - 2] = other(i * 7 + 3, 5);
        context[n - 3] = other(i * 5 + 1, 9);
        context
    });
    changed.collect()
}

fn trees(c: &mut Criterion, name: &str, rail: &mut Rail, on_track: &[Vec<u32>]) {
    for (kind, contexts) in [("on track", on_track), ("off track", &off_track(on_track))] {
        let mut contexts = contexts.iter().cycle();
        c.bench_function(&format!("tree of {BUDGET}, {name}, {kind}"), |b| {
            b.iter(|| rail.tree(black_box(contexts.next().unwrap()), BUDGET));
        });
    }
}

fn bench(c: &mut Criterion) {
    let runs = million();
    let build = || {
        let mut rail = Rail::new(RailOptions::default()).unwrap();
        rail.reserve(RUNS * RUN);
        for run in &runs {
            rail.push_run(run.iter().copied(), run.len()).unwrap();
        }
        rail
    };
    c.bench_function("log of 1M tokens", |b| b.iter_with_large_drop(build));
    c.bench_function("index of 1M tokens", |b| {
        b.iter_batched(
            build,
            |mut rail| {
                rail.index();
                rail
            },
            BatchSize::PerIteration,
        );
    });
    let mut rail = build();
    rail.index();
    println!("{:.2} bytes a token", rail.memory() as f64 / rail.len() as f64);
    let contexts: Vec<Vec<u32>> = (0..CONTEXTS)
        .map(|i| {
            let at = i * 2_654_435_761 % (RUNS * RUN - 600);
            let end = (at % RUN + 64).min(RUN);
            runs[at / RUN][end.saturating_sub(64)..end].to_vec()
        })
        .collect();
    trees(c, "1M", &mut rail, &contexts);

    c.bench_function("append a run of 4096 to 1M and a tree", |b| {
        b.iter_batched_ref(
            || rail.clone(),
            |rail| {
                rail.push_run(runs[3][..4096].iter().rev().copied(), 0).unwrap();
                rail.tree(&contexts[0], BUDGET)
            },
            BatchSize::PerIteration,
        );
    });

    let runs = coding();
    let mut rail = self::rail(runs.iter().map(|(run, _)| &run[..]));
    println!("{:.2} bytes a token", rail.memory() as f64 / rail.len() as f64);
    let contexts: Vec<Vec<u32>> = (0..CONTEXTS)
        .map(|i| {
            let (run, answer) = &runs[i % runs.len()];
            run[..run.len().min(answer + i * 7 % 60)].to_vec()
        })
        .collect();
    trees(c, "coding.mrail", &mut rail, &contexts);
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    targets = bench
}
criterion_main!(benches);
