//! The twin beside the oracle: f32 in the kernels' order against f64 in the text's words.

pub mod common;

use common::oracle::{self, Keys, close, random, random_cells, random_decay};
use mrail_gpu::attention::twin::{Rows, Twin};
use mrail_gpu::attention::{LayerSetup, Tree};
use mrail_gpu::state::{
    Admission, Carrier, CarrierSnapshot, Config, Constant, HeadMemory, LayerSnapshot, Memory, Shape, Storage,
};

const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, head_dim: 16 };

/// Sizes that differ in everything that a layer may differ in.
fn configs() -> Vec<Config> {
    let look = |from| Admission::Look { from };
    let uniform = |storage, band, store, admission| Config::uniform(SHAPE, storage, band, store, admission);
    let heads = [(128, Admission::Surprise), (64, look(16))];
    let heads = heads.map(|(store, admission)| HeadMemory { store, admission }).to_vec();
    let constant = Memory::Constant(Constant { band: 128, heads });
    let all = [
        uniform(Storage::F32, 64, 128, look(0)),
        uniform(Storage::F32, 128, 64, look(16)),
        uniform(Storage::F32, 64, 64, Admission::Surprise),
        uniform(Storage::F32, 64, 0, look(0)),
        uniform(Storage::F16, 64, 128, look(16)),
        Config::new(SHAPE, Storage::F32, constant),
        Config::new(SHAPE, Storage::F32, Memory::Native),
    ];
    all.into_iter().map(|config| config.expect("these sizes make a layer")).collect()
}

fn carriers() -> [Carrier; 3] {
    [Carrier::None, Carrier::Decay(random_decay(5, SHAPE)), Carrier::Cells(random_cells(6, SHAPE, 70, 8))]
}

fn f64s(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|number| f64::from(*number)).collect()
}

#[test]
fn the_twin_is_what_the_text_says() {
    let mut largest = 0.0_f64;
    for (n, config) in configs().into_iter().enumerate() {
        for carrier in carriers() {
            let tokens = random(n as u64, SHAPE, 700, Keys::Spiky);
            let setup = LayerSetup::plain(config.clone()).with_carrier(carrier.clone());
            let want = oracle::run(&config, &carrier, f64::from(setup.scale), &tokens);
            let mut twin = Twin::new(config.clone(), carrier, setup.scale);
            twin.surprises(&tokens.surprise);
            let got = twin.extend(Rows { q: &tokens.q, k: &tokens.k, v: &tokens.v }).expect("good rows");
            largest = largest.max(close(&got, &want.out, 2e-5).expect("outputs agree"));

            let state = twin.snapshot();
            for (kv, (head, ours)) in want.heads.iter().zip(&state.heads).enumerate() {
                // Surprise scores are the same in both, ties included; looks are only close.
                let exact = config.admission(kv) == Some(Admission::Surprise);
                assert!(exact || head.gap > 1e-6, "{config:?}: a near tie says nothing");
                assert_eq!(twin.stored(kv), head.slots, "{config:?}, head {kv}");
                if !head.looks.is_empty() {
                    let at = |position: &u32| ours.looks[*position as usize % ours.looks.len()];
                    let looks: Vec<f32> = head.band.iter().map(at).collect();
                    close(&looks, &head.looks, 1e-5).expect("looks agree");
                }
            }
            match &state.carrier {
                CarrierSnapshot::None => {}
                CarrierSnapshot::Decay(sums) => {
                    close(sums, &want.decay, 1e-3).expect("decays agree");
                }
                CarrierSnapshot::Cells { counts, keys, values, squares } => {
                    let cells = || want.cells.iter().flatten();
                    let counted: Vec<f64> = cells().map(|cell| cell.n).collect();
                    assert_eq!(f64s(counts), counted);
                    let part = |of: &dyn Fn(&oracle::Cell) -> Vec<f64>| cells().flat_map(of).collect::<Vec<_>>();
                    close(keys, &part(&|cell| cell.sk.clone()), 1e-4).expect("keys' sums agree");
                    close(values, &part(&|cell| cell.sv.clone()), 1e-4).expect("values' sums agree");
                    close(squares, &part(&|cell| vec![cell.sx]), 1e-2).expect("squares agree");
                }
            }
        }
    }
    println!("the largest difference of an output is {largest:e}");
}

/// Each node of a tree reads what a sequence would that ends with it.
#[test]
fn the_twin_reads_a_tree_as_so_many_sequences() {
    let config = &configs()[0];
    for carrier in carriers() {
        let tokens = random(9, SHAPE, 300, Keys::Spiky);
        let scale = LayerSetup::plain(config.clone()).scale;
        let (wide, narrow) = ((SHAPE.heads * SHAPE.head_dim) as usize, (SHAPE.kv_heads * SHAPE.head_dim) as usize);
        let pick = |of: &[f32], len: usize, rows: &[usize]| -> Vec<f32> {
            rows.iter().flat_map(|row| &of[row * len..(row + 1) * len]).copied().collect()
        };
        let before: Vec<usize> = (0..200).collect();
        let mut twin = Twin::new(config.clone(), carrier.clone(), scale);
        let (q, k, v) =
            (pick(&tokens.q, wide, &before), pick(&tokens.k, narrow, &before), pick(&tokens.v, narrow, &before));
        twin.extend(Rows { q: &q, k: &k, v: &v }).expect("good rows");
        let tree = Tree::new(&[0, 0, 1, 2, 3]).expect("a tree");
        let nodes: Vec<usize> = (200..206).collect();
        let (q, k, v) =
            (pick(&tokens.q, wide, &nodes), pick(&tokens.k, narrow, &nodes), pick(&tokens.v, narrow, &nodes));
        let out = twin.verify(Rows { q: &q, k: &k, v: &v }, &tree).expect("a good tree");
        for path in [vec![0], vec![0, 1, 3, 5], vec![0, 2, 4]] {
            let rows: Vec<usize> = before.iter().copied().chain(path.iter().map(|row| 200 + row)).collect();
            let part = oracle::Tokens {
                q: pick(&tokens.q, wide, &rows),
                k: pick(&tokens.k, narrow, &rows),
                v: pick(&tokens.v, narrow, &rows),
                surprise: Vec::new(),
            };
            let want = oracle::run(config, &carrier, f64::from(scale), &part);
            let last = path[path.len() - 1];
            close(&out[last * wide..(last + 1) * wide], &want.out[(rows.len() - 1) * wide..], 2e-5)
                .expect("a node agrees");
        }
    }
}

/// A state that is read back and restored goes on to the same bits, whatever has left the band.
#[test]
fn the_twin_goes_on_from_its_snapshot() {
    let (wide, narrow) = ((SHAPE.heads * SHAPE.head_dim) as usize, (SHAPE.kv_heads * SHAPE.head_dim) as usize);
    for (n, config) in configs().into_iter().enumerate() {
        for carrier in carriers() {
            let tokens = random(n as u64, SHAPE, 420, Keys::Spiky);
            let scale = LayerSetup::plain(config.clone()).scale;
            let part = |from: usize, to: usize| Rows {
                q: &tokens.q[from * wide..to * wide],
                k: &tokens.k[from * narrow..to * narrow],
                v: &tokens.v[from * narrow..to * narrow],
            };
            let mut first = Twin::new(config.clone(), carrier.clone(), scale);
            first.surprises(&tokens.surprise);
            let mut at = 0;
            for cut in [0, 1, 128, 192, 193, 300] {
                first.extend(part(at, cut)).expect("good rows");
                at = cut;
                let mut state = first.snapshot();
                // All surprises were handed in at once, which no state has.
                if !state.surprises.is_empty() {
                    state = with_surprises(&config, &carrier, scale, &tokens, part(0, cut), cut);
                }
                let mut second = Twin::new(config.clone(), carrier.clone(), scale);
                second.extend(part(0, 3)).expect("good rows");
                second.restore(&state).expect("a state");
                assert_eq!(state.first_difference(&second.snapshot()), None, "{config:?} at {cut}");
                second.surprises(tokens.surprise.get(state.surprised as usize..).unwrap_or_default());
                let got = second.extend(part(cut, 420)).expect("good rows");
                let mut whole = first.clone();
                let want = whole.extend(part(cut, 420)).expect("good rows");
                common::bits::same_bits(&got, &want).expect("the same outputs");
                assert_eq!(whole.snapshot().first_difference(&second.snapshot()), None, "{config:?} at {cut}");
            }
        }
    }
}

/// The state behind some tokens, of which alone the surprises are known.
fn with_surprises(
    config: &Config,
    carrier: &Carrier,
    scale: f32,
    tokens: &oracle::Tokens,
    rows: Rows<'_>,
    count: usize,
) -> LayerSnapshot {
    let mut twin = Twin::new(config.clone(), carrier.clone(), scale);
    twin.surprises(&tokens.surprise[..count]);
    twin.extend(rows).expect("good rows");
    twin.snapshot()
}
