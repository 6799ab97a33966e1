//! Opening, finding, answering and writing. `ratios.py` beside this sets the figures next to the reference's.
//!
//! Nothing is left out that a result needs: opening starts at a file's name and ends with the first result, and a track
//! is added with the whole chain of its context.

mod common;

use common::{CpuTime, GEN_START, RUN, RUNS, corpus, million_map};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mrail::anchor::{ArraySpec, Dtype, Scalars, Snapshot};
use mrail::copy::encode_copy;
use mrail::record::Records;
use mrail::{Map, Options, PrefixHash};
use std::hint::black_box;
use std::path::PathBuf;

const FILE: &str = "million.mrail";

/// Writes the map where the script that times the reference finds it too.
fn million_file() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(FILE);
    std::fs::write(&path, million_map()).unwrap();
    path
}

fn opening(c: &mut Criterion<CpuTime>) {
    let path = million_file();
    let corpus = corpus();
    let open = || Map::open(std::fs::read(&path).unwrap(), Options::default()).unwrap();
    let first_results = |map: &Map<'_>| {
        let located = map.locate(black_box(&corpus[..4096]));
        let answer = map.answer(black_box(&corpus[..4600]), 64, &[]).unwrap();
        assert_eq!((located.lcp, answer.tokens.len()), (4096, 64));
    };
    c.bench_function("open 1M, first locate and answer", |b| b.iter(|| first_results(&open())));
    c.bench_function("open 1M, first locate, answer and tree", |b| {
        b.iter(|| {
            let mut map = open();
            first_results(&map);
            assert_eq!(map.rail().tree(black_box(&corpus[..4096]), 31).len(), 31);
        });
    });
    let coding = std::fs::read(format!("{}maps/coding.mrail", common::DATA)).unwrap();
    c.bench_function("open coding.mrail", |b| b.iter(|| Map::open(black_box(&coding), Options::default()).unwrap()));
    let mut many = Map::create().bytes();
    let record = Map::create().prepare_use(PrefixHash::EMPTY, 1).unwrap();
    (0..1_000_000).for_each(|_| many.extend_from_slice(record.bytes()));
    c.bench_function("walk 1M records", |b| b.iter(|| Records::new(black_box(&many)).unwrap().count()));
}

/// Contexts of `len` tokens, one of each run, so that no call finds its tokens warmed by the call before.
fn contexts(corpus: &[u32], len: usize, wrong_from: usize) -> impl Iterator<Item = Vec<u32>> + Clone {
    let corpus = corpus.to_vec();
    let runs = corpus.len() / RUN;
    (0..runs).cycle().map(move |run| {
        let mut context = corpus[run * RUN..][..len].to_vec();
        context.iter_mut().skip(wrong_from).for_each(|token| *token ^= 1);
        context
    })
}

fn finding(c: &mut Criterion<CpuTime>) {
    let bytes = million_map();
    let corpus = corpus();
    let map = Map::open(&bytes, Options::default()).unwrap();
    for (name, wrong_from) in [("on track", usize::MAX), ("off at 2000", 2000)] {
        let mut contexts = contexts(&corpus, 4096, wrong_from);
        c.bench_function(&format!("locate 4096, {name}"), |b| {
            b.iter_batched(|| contexts.next().unwrap(), |context| map.locate(&context), BatchSize::SmallInput);
        });
    }
    let mut chained = contexts(&corpus, 4096, usize::MAX);
    let mut bare = chained.clone();
    c.bench_function("locate 4096 with its chain", |b| {
        b.iter_batched(|| chained.next().unwrap(), |context| map.locate_with_chain(&context), BatchSize::SmallInput);
    });
    c.bench_function("4096 compressions", |b| {
        b.iter_batched(|| bare.next().unwrap(), |context| PrefixHash::of(&context), BatchSize::SmallInput);
    });
    let mut known = contexts(&corpus, 4600, usize::MAX);
    c.bench_function("answer 4600, 64 new", |b| {
        b.iter_batched(
            || known.next().unwrap(),
            |context| map.answer(&context, 64, &[]).unwrap(),
            BatchSize::SmallInput,
        );
    });
    const { assert!(GEN_START <= 4600 && RUNS == 200) };
}

fn writing(c: &mut Criterion<CpuTime>) {
    let bytes = million_map();
    let corpus = corpus();
    let map = Map::open(&bytes, Options::default()).unwrap();
    let new: Vec<u32> = corpus.iter().rev().copied().take(4096).collect();
    c.bench_function("add a session of 4096", |b| {
        let add = |map: &mut Map<'_>| {
            let append = map.prepare_session(black_box(&new), 4000).unwrap();
            map.commit(&append).unwrap();
        };
        b.iter_batched_ref(|| map.clone(), add, BatchSize::LargeInput);
    });
    let context = &corpus[..200_000];
    let answer: Vec<u32> = [&context[70_000..70_030], &[7, 8, 9, 10], &context[150_000..150_030]].concat();
    c.bench_function("chain of 200k", |b| b.iter(|| PrefixHash::of(black_box(context))));
    c.bench_function("add a track of 200k, answer 64", |b| {
        let add = |map: &mut Map<'_>| {
            let append = map.prepare_track(black_box(context), &answer, "source", 4).unwrap();
            map.commit(&append).unwrap();
        };
        b.iter_batched_ref(Map::create, add, BatchSize::LargeInput);
    });
    let mut tracks = Map::create();
    let append = tracks.prepare_track(context, &answer, "source", 4).unwrap();
    tracks.commit(&append).unwrap();
    c.bench_function("answer of a track of 200k", |b| {
        b.iter(|| tracks.answer(black_box(context), usize::MAX, &[]).unwrap());
    });
    let (equal, equal_answer) = (vec![7; 200_000], vec![7; 2000]);
    c.bench_function("copy coding, worst case", |b| {
        b.iter(|| encode_copy(black_box(&equal_answer), black_box(&equal), 4).unwrap());
    });
}

/// A state of 5.5 MB: 10 layers of keys and values, of which `changed` rows a head differ from the state before.
fn state(changed: usize) -> Snapshot {
    let shape = [2, 1074, 64];
    let arrays = vec![
        ArraySpec::new("_root_keys", Dtype::Float16, shape),
        ArraySpec::new("_root_values", Dtype::Float16, shape),
    ];
    let mut seed = 1u32;
    let mut array = || {
        let mut bytes: Vec<u8> = (0..shape.iter().product::<u64>() * 2)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            })
            .collect();
        bytes[..changed * 128].iter_mut().for_each(|byte| *byte ^= changed as u8);
        bytes
    };
    let layers: Vec<_> = (0..10).map(|_| [array(), array()]).collect();
    let layers = layers.iter().map(|arrays| (Scalars::parse("{}").unwrap(), arrays.iter().map(|array| &array[..])));
    Snapshot::from_layers(arrays, layers).unwrap()
}

fn anchors(c: &mut Criterion<CpuTime>) {
    let mut map = Map::create();
    let hash = |link: u32| PrefixHash::of(&[link]);
    for link in 0..8u32 {
        let parent = link.checked_sub(1).map(hash);
        let append = map.prepare_anchor(0, link, hash(link), &state(link as usize), parent).unwrap();
        map.commit(&append).unwrap();
    }
    c.bench_function("restore a whole anchor of 5.5 MB", |b| b.iter(|| map.restore(hash(0)).unwrap()));
    c.bench_function("restore it through 7 deltas", |b| b.iter(|| map.restore(hash(7)).unwrap()));
    let (whole, changed) = (state(0), state(3));
    c.bench_function("write a whole anchor of 5.5 MB", |b| {
        b.iter(|| map.prepare_anchor(0, 1, hash(99), black_box(&whole), None).unwrap());
    });
    c.bench_function("write it as a delta", |b| {
        b.iter(|| map.prepare_anchor(0, 1, hash(99), black_box(&changed), Some(hash(0))).unwrap());
    });
}

criterion_group! {
    name = benches;
    config = common::criterion();
    targets = opening, finding, writing, anchors
}
criterion_main!(benches);
