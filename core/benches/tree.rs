//! Draft trees over a million tokens of real text and over a real map. `ratios.py` beside this sets the figures next to the
//! reference's, for the very same contexts.
//!
//! Each measurement runs through 256 contexts that follow one another, so that no context finds the caches warmed by
//! itself: *on track* are pieces of the log, as when a map's own answer is drafted; *off track* are the same with two
//! of their last three tokens exchanged, as when the model says something new.

mod common;

use common::{CpuTime, DATA, RUN, RUNS, million, million_map};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mrail::draft::{Rail, RailOptions};
use mrail::map::Run;
use mrail::{Map, Options};
use std::fmt::Write;
use std::hint::black_box;

const CONTEXTS: usize = 256;
const BUDGET: usize = 31;

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

/// Measures trees, and leaves the contexts where the script that times the reference finds them.
fn trees(c: &mut Criterion<CpuTime>, name: &str, map: &mut Map<'_>, on_track: &[Vec<u32>]) {
    let rail = map.rail();
    rail.index();
    for (kind, contexts) in [("on track", on_track), ("off track", &off_track(on_track))] {
        let name = format!("tree of {BUDGET}, {name}, {kind}");
        let mut text = String::new();
        for context in contexts {
            writeln!(text, "{context:?}").unwrap();
        }
        std::fs::write(format!("{}/{name}.jsonl", env!("CARGO_TARGET_TMPDIR")), text).unwrap();
        let mut contexts = contexts.iter().cycle();
        c.bench_function(&name, |b| b.iter(|| rail.tree(black_box(contexts.next().unwrap()), BUDGET)));
    }
}

fn bench(c: &mut Criterion<CpuTime>) {
    let runs = million();
    let log = || {
        let mut rail = Rail::new(RailOptions::default()).unwrap();
        rail.reserve(RUNS * RUN);
        for run in &runs {
            rail.push_run(run.iter().copied(), run.len()).unwrap();
        }
        rail
    };
    c.bench_function("log of 1M tokens", |b| b.iter_with_large_drop(log));
    c.bench_function("index of 1M tokens", |b| {
        let index = |mut rail: Rail| {
            rail.index();
            rail
        };
        b.iter_batched(log, index, BatchSize::PerIteration);
    });

    let bytes = million_map();
    let mut map = Map::open(&bytes, Options::default()).unwrap();
    let contexts: Vec<Vec<u32>> = (0..CONTEXTS)
        .map(|i| {
            let at = i * 2_654_435_761 % (RUNS * RUN - 600);
            let end = (at % RUN + 64).min(RUN);
            runs[at / RUN][end.saturating_sub(64)..end].to_vec()
        })
        .collect();
    trees(c, "1M tokens", &mut map, &contexts);
    c.bench_function("append a run of 4096 to 1M and a tree", |b| {
        b.iter_batched_ref(
            || map.rail().clone(),
            |rail| {
                rail.push_run(runs[3][..4096].iter().rev().copied(), 0).unwrap();
                rail.tree(&contexts[0], BUDGET)
            },
            BatchSize::PerIteration,
        );
    });

    let bytes = std::fs::read(format!("{DATA}maps/coding.mrail")).unwrap();
    let mut map = Map::open(&bytes, Options::default()).unwrap();
    let context = |i: usize| match map.run(i % map.len()) {
        Some(Run::Session(run)) => run.tokens.first(run.gen_start as usize + i * 7 % 60).iter().collect(),
        _ => Vec::new(),
    };
    let contexts: Vec<Vec<u32>> = (0..CONTEXTS).map(context).collect();
    trees(c, "coding.mrail", &mut map, &contexts);
}

criterion_group! {
    name = benches;
    config = common::criterion();
    targets = bench
}
criterion_main!(benches);
