//! Decode steps and verify passes of one layer, with criterion:
//!
//!     cargo bench -p mrail-gpu --bench attention
//!
//! A device has no CPU time, so the clock on the wall counts: the machine should do nothing else meanwhile. In constant state a
//! *step* is one inside a block, and a *turnover* is the step before which a block leaves the band, one in 64; `table.rs` has
//! their mean.

mod common;

use common::{CONTEXTS, Mode, Rig, SHAPES, name, open, thousands};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use mrail_gpu::attention::Tree;
use mrail_gpu::device::Gpu;
use mrail_gpu::state::{BLOCK, Shape};
use std::time::Duration;

/// Rows of verify passes.
const ROWS: [usize; 4] = [1, 8, 16, 32];

/// Tokens before a verify pass: behind the first places of a block, so that a path of 32 rows fits before the band moves.
const VERIFIED: u32 = (1 << 14) + 8;

fn steps(c: &mut Criterion, gpu: &Gpu, shape: Shape, mode: Mode) {
    let mut group = c.benchmark_group(format!("step {} {mode}", name(shape)));
    group.sampling_mode(SamplingMode::Flat);
    for tokens in CONTEXTS {
        // In native mode the context grows by a sixteenth at most before the state goes back.
        let (behind, span) = if mode == Mode::Native { (0, tokens / 16) } else { (1, BLOCK - 1) };
        let mut rig = match Rig::new(gpu, (shape, mode), 1, (tokens + span, 1)) {
            Ok(rig) => rig,
            Err(error) => {
                eprintln!("step {} {mode} {}: not measured: {error}", name(shape), thousands(tokens));
                continue;
            }
        };
        group.bench_function(BenchmarkId::from_parameter(thousands(tokens)), |b| {
            b.iter_custom(|count| rig.steps_from(tokens + behind, span, count).expect("steps run"));
        });
    }
    group.finish();
}

fn turnover(c: &mut Criterion, gpu: &Gpu, shape: Shape, mode: Mode) {
    let mut rig = Rig::new(gpu, (shape, mode), 1, (0, 1)).expect("a state of constant size fits");
    let tokens = CONTEXTS[2];
    c.bench_function(&format!("turnover {} {mode}/{}", name(shape), thousands(tokens)), |b| {
        b.iter_custom(|count| rig.steps_from(tokens, 1, count).expect("steps run"));
    });
}

fn passes(c: &mut Criterion, gpu: &Gpu, shape: Shape) {
    let mut group = c.benchmark_group(format!("verify {} {}", name(shape), Mode::Constant));
    group.sampling_mode(SamplingMode::Flat);
    let mut rig = Rig::new(gpu, (shape, Mode::Constant), 1, (0, 32)).expect("a state of constant size fits");
    rig.fill(VERIFIED).expect("a good state");
    for rows in ROWS {
        let tree = Tree::chain(rows).expect("a small tree");
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(BenchmarkId::from_parameter(rows), |b| {
            b.iter_custom(|times| rig.verify(&tree, times as u32).expect("passes run").time);
        });
    }
    group.finish();
}

fn all(c: &mut Criterion) {
    let gpu = open().expect("a device");
    eprintln!("{}", gpu.info());
    for shape in SHAPES {
        for mode in [Mode::Constant, Mode::Cells, Mode::Native] {
            steps(c, &gpu, shape, mode);
        }
        turnover(c, &gpu, shape, Mode::Constant);
        turnover(c, &gpu, shape, Mode::Cells);
        passes(c, &gpu, shape);
    }
}

/// Short runs, since there are many: what is compared differs by factors, and `table.rs` does what must be finer.
fn criterion() -> Criterion {
    let tenth = Duration::from_millis(100);
    Criterion::default().sample_size(10).warm_up_time(tenth).measurement_time(10 * tenth)
}

criterion_group! {
    name = benches;
    config = criterion();
    targets = all
}
criterion_main!(benches);
