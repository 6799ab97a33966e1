//! What several benchmarks work on: real text as tokens, and a map of a million of them.

// Each benchmark uses some of these.
#![allow(dead_code)]

use cpu_time::ThreadTime;
use criterion::Criterion;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use std::time::Duration;

/// CPU time of the benchmark's thread: on a machine that does other things too, the clock on the wall counts those.
pub(crate) struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }

    fn end(&self, start: ThreadTime) -> Duration {
        start.elapsed()
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// Short runs: what is compared differs by factors.
pub(crate) fn criterion() -> Criterion<CpuTime> {
    let half = Duration::from_millis(500);
    Criterion::default().with_measurement(CpuTime).sample_size(20).warm_up_time(half).measurement_time(4 * half)
}

/// Where the project's test data lies.
pub(crate) const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/");
/// Runs in the big map.
pub(crate) const RUNS: usize = 200;
/// Tokens in each.
pub(crate) const RUN: usize = 5000;
/// Where each answer starts.
pub(crate) const GEN_START: usize = 4500;

/// 841935 tokens of real text.
pub(crate) fn corpus() -> Vec<u32> {
    let file = std::fs::read(format!("{DATA}corpus/corpus.u16.gz")).unwrap();
    assert_eq!(&file[..3], &[0x1f, 0x8b, 8], "a gzip file");
    let flags = file[3];
    assert_eq!(flags & !8, 0, "no optional fields but a name");
    let name = if flags & 8 == 0 { 0 } else { file[10..].iter().position(|&byte| byte == 0).unwrap() + 1 };
    let bytes = miniz_oxide::inflate::decompress_to_vec(&file[10 + name..]).unwrap();
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]).into()).collect()
}

/// A million tokens in runs of 5000, from the corpus over and over.
pub(crate) fn million() -> Vec<Vec<u32>> {
    let corpus = corpus();
    let mut tokens = corpus.iter().copied().cycle();
    (0..RUNS).map(|_| tokens.by_ref().take(RUN).collect()).collect()
}

/// The same as a map's bytes.
pub(crate) fn million_map() -> Vec<u8> {
    let mut map = mrail::Map::create();
    for run in million() {
        let append = map.prepare_session(&run, GEN_START).unwrap();
        map.commit(&append).unwrap();
    }
    map.bytes()
}
