//! Up to X tokens a constant state computes what native attention does, bit for bit; beyond, its size does not change by a byte.

pub mod common;

use common::beside::{agrees, given, say};
use common::bits::same_bits;
use common::harness::report;
use common::oracle::{Keys, Random, Tokens, random, random_cells, random_decay};
use common::rig::Rig;
use mrail_gpu::attention::{AttentionError, LayerSetup, Tree, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::snapshot::to_anchor;
use mrail_gpu::state::{
    Admission, Carrier, CarrierSnapshot, Config, Constant, HeadMemory, LayerSnapshot, Memory, Shape, Storage,
};

const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, head_dim: 8 };
const FAR: Admission = Admission::Look { from: 16 };

/// What one query head computed: \[rows, `head_dim`].
fn of_head(out: &[f32], shape: Shape, head: usize) -> Vec<f32> {
    let (row, dim) = ((shape.heads * shape.head_dim) as usize, shape.head_dim as usize);
    out.chunks_exact(row).flat_map(|row| &row[head * dim..(head + 1) * dim]).copied().collect()
}

/// Tokens that a carrier holds of a KV head, where it counts them; where it does not, whether it weighs anything.
fn carried(state: &LayerSnapshot, shape: Shape, kv_head: usize) -> f32 {
    match &state.carrier {
        CarrierSnapshot::None => 0.0,
        CarrierSnapshot::Decay(sums) => {
            let (group, each) = (shape.group() as usize, 5 * 9 * (shape.head_dim as usize + 1));
            // The last number of each term is its mass, the first term is the plain one.
            let of_head = |head: usize| sums[head * each + shape.head_dim as usize];
            (kv_head * group..(kv_head + 1) * group).map(of_head).fold(f32::MAX, f32::min)
        }
        CarrierSnapshot::Cells { counts, .. } => {
            let each = counts.len() / shape.kv_heads as usize;
            counts[kv_head * each..(kv_head + 1) * each].iter().sum()
        }
    }
}

/// Follows a layer with these stores beside native attention, each KV head up to where it is exact and one token beyond.
async fn exact_below_the_store(
    gpu: &Gpu,
    band: u32,
    stores: [u32; 2],
    carrier: Carrier,
    storage: Storage,
) -> Result<(), String> {
    let heads = stores.map(|store| HeadMemory { store, admission: FAR }).to_vec();
    let config = Config::new(SHAPE, storage, Memory::Constant(Constant { band, heads })).map_err(say)?;
    // X of a head: the band, its store, and the block that is still to leave.
    let mut exact: Vec<usize> = stores.iter().map(|store| (band + store + 64) as usize).collect();
    if config.exact_until() != exact.iter().min().map(|&x| x as u64) {
        return Err(format!("{exact:?}, and the layer says {:?}", config.exact_until()));
    }
    let last = exact[0].max(exact[1]) + 1;
    let tokens = random(u64::from(band + stores[0]), SHAPE, last + 3, Keys::Spiky);
    let wanted = Wanted { rows: 16, pass_rows: 256, capacity: last as u32 + 3 };
    let native = Config::new(SHAPE, storage, Memory::Native).map_err(say)?;
    let mut native = Rig::new(gpu, vec![LayerSetup::plain(native)], wanted).await.map_err(say)?;
    let counts = !matches!(carrier, Carrier::None);
    let setup = LayerSetup::plain(config).with_carrier(carrier);
    let mut constant = Rig::new(gpu, vec![setup], wanted).await.map_err(say)?;
    constant.attention.poison(gpu).map_err(say)?;

    exact.sort_unstable();
    exact.dedup();
    let mut at = 0;
    for end in exact.iter().flat_map(|&x| [x, x + 1]) {
        while at < end {
            // Passes of odd lengths; the one that ends at X + 1 has the row there alone.
            let rows = (end - at).min(101);
            let got = constant.extend(given(&tokens), at..at + rows).await.map_err(say)?;
            let want = native.extend(given(&tokens), at..at + rows).await.map_err(say)?;
            at += rows;
            for head in 0..SHAPE.heads as usize {
                let store = stores[head / SHAPE.group() as usize];
                let x = (band + store + 64) as usize;
                let same = agrees(&of_head(&got, SHAPE, head), &of_head(&want, SHAPE, head), 0.0);
                match same {
                    Err(error) if at <= x => return Err(format!("head {head}, up to {at} of {x} tokens: {error}")),
                    // Tokens are missing or summarised now, and that shows.
                    Ok(_) if at > x => return Err(format!("head {head}: at {at} tokens still native beyond {x}")),
                    _ => {}
                }
            }
        }
        let state = constant.snapshot().await.map_err(say)?.remove(0);
        let turnovers = constant.attention.last_turnover(gpu, 0).await.map_err(say)?;
        for (kv_head, (store, turnover)) in stores.into_iter().zip(turnovers).enumerate() {
            let x = (band + store + 64) as usize;
            let carried = carried(&state, SHAPE, kv_head);
            if at <= x && (carried > 0.0 || !turnover.dropped.is_empty()) {
                return Err(format!("KV head {kv_head}: {carried} carried at {at} of {x} tokens"));
            }
            if at == x + 1 && ((counts && carried <= 0.0) || turnover.dropped.len() != 64) {
                return Err(format!("KV head {kv_head}: {carried} carried at {at} tokens, exact up to {x}"));
            }
        }
    }
    Ok(())
}

fn decay() -> Carrier {
    Carrier::Decay(random_decay(1, SHAPE))
}

fn cells() -> Carrier {
    Carrier::Cells(random_cells(2, SHAPE, 5, 3))
}

/// One KV head of width 8, so that long contexts are cheap.
const THIN: Shape = Shape { heads: 1, kv_heads: 1, head_dim: 8 };

/// A layer and the bytes of its state, added up by hand. A row of keys and values: 32 bytes in f16, 64 in f32. A band of 128
/// rows with a look each, a store of 64 rows with a position and a score each, then the carrier.
fn with_decays() -> (LayerSetup, u64) {
    let carrier = Carrier::Decay(random_decay(3, THIN));
    (thin(Storage::F16, 64, FAR).with_carrier(carrier), 128 * 32 + 128 * 4 + 64 * (32 + 8) + 45 * 9 * 4)
}

fn with_cells() -> (LayerSetup, u64) {
    let carrier = Carrier::Cells(random_cells(4, THIN, 64, 3));
    let bytes = 128 * 64 + 128 * 4 + 64 * (64 + 8) + 64 * 18 * 4;
    (thin(Storage::F32, 64, Admission::Surprise).with_carrier(carrier), bytes)
}

fn with_a_band_alone() -> (LayerSetup, u64) {
    (thin(Storage::F16, 0, FAR), 128 * 32 + 128 * 4)
}

fn thin(storage: Storage, store: u32, admission: Admission) -> LayerSetup {
    LayerSetup::plain(Config::uniform(THIN, storage, 64, store, admission).expect("good sizes"))
}

/// Bytes of what a rig remembers, in three ways: of the anchor, of the state's buffers, of all buffers.
async fn sizes(rig: &Rig<'_>) -> Result<[u64; 3], String> {
    let states = rig.snapshot().await.map_err(say)?;
    let setups = (0..states.len()).map(|layer| rig.attention.setup(layer));
    let layers: Vec<_> = setups.zip(&states).map(|(setup, state)| (&setup.config, &setup.carrier, state)).collect();
    let anchor = to_anchor(&layers).map_err(say)?;
    let state = (0..states.len()).map(|layer| rig.attention.state_bytes(layer)).sum();
    Ok([anchor.bytes().len() as u64, state, rig.attention.device_bytes()])
}

/// Reads random tokens, which nobody keeps, up to each of these lengths; the sizes must be those of the first.
async fn of_constant_size(gpu: &Gpu, (setup, bytes): (LayerSetup, u64), lengths: &[u32]) -> Result<(), String> {
    // The ring of surprises belongs to a layer in an anchor, and on a device to all.
    let ring = if setup.config.wants_surprises() { 4 * 192 } else { 0 };
    let wanted = Wanted { rows: 64, pass_rows: 1000, capacity: 0 };
    let mut rig = Rig::new(gpu, vec![setup], wanted).await.map_err(say)?;
    let mut random = Random::new(5);
    let mut numbers = |count: usize| -> Vec<f32> { (0..count).map(|_| 4.0 * random.uniform() - 2.0).collect() };
    let mut all = vec![sizes(&rig).await?];
    let (wide, narrow) = ((THIN.heads * THIN.head_dim) as usize, (THIN.kv_heads * THIN.head_dim) as usize);
    for &length in lengths {
        while rig.attention.tokens() < length {
            let rows = (length - rig.attention.tokens()).min(1000) as usize;
            let tokens = Tokens {
                q: numbers(rows * wide),
                k: numbers(rows * narrow),
                v: numbers(rows * narrow),
                surprise: numbers(rows).into_iter().map(f32::abs).collect(),
            };
            rig.hand_in(&tokens.surprise).map_err(say)?;
            let out = rig.extend(given(&tokens), 0..rows).await.map_err(say)?;
            agrees(&out, &out, 0.0).map_err(|error| format!("up to {length}: {error}"))?;
        }
        all.push(sizes(&rig).await?);
    }
    report(&format!("bytes of anchor, state and device at 0 and {lengths:?} tokens: {all:?}"));
    if all.iter().any(|sizes| *sizes != all[0]) {
        return Err(format!("at 0 and {lengths:?} tokens: {all:?}"));
    }
    let [anchor, state, device] = all[0];
    if (anchor, state) != (bytes + ring, bytes) || device <= state {
        return Err(format!("{:?}, where {bytes} were added up", all[0]));
    }
    Ok(())
}

device_tests! {
    async fn a_small_store_is_exact_below_its_end(gpu: &Gpu) -> Result<(), String> {
        exact_below_the_store(gpu, 64, [64, 64], Carrier::None, Storage::F16).await?;
        exact_below_the_store(gpu, 64, [64, 64], decay(), Storage::F32).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_band_alone_is_exact_below_its_end(gpu: &Gpu) -> Result<(), String> {
        exact_below_the_store(gpu, 64, [0, 0], cells(), Storage::F32).await?;
        exact_below_the_store(gpu, 192, [0, 0], decay(), Storage::F16).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn larger_stores_are_exact_below_their_ends(gpu: &Gpu) -> Result<(), String> {
        exact_below_the_store(gpu, 128, [256, 256], cells(), Storage::F16).await?;
        exact_below_the_store(gpu, 256, [192, 192], decay(), Storage::F32).await
    }

    async fn each_head_is_exact_below_the_end_of_its_store(gpu: &Gpu) -> Result<(), String> {
        exact_below_the_store(gpu, 64, [64, 320], cells(), Storage::F16).await?;
        exact_below_the_store(gpu, 128, [192, 0], decay(), Storage::F32).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn stores_of_each_head_need_no_carrier_to_be_exact(gpu: &Gpu) -> Result<(), String> {
        exact_below_the_store(gpu, 128, [128, 64], Carrier::None, Storage::F32).await
    }

    /// From one block on, doubled whenever it is full, between a draft and what comes next, too.
    async fn a_native_cache_grows_without_a_trace(gpu: &Gpu) -> Result<(), String> {
        for storage in [Storage::F16, Storage::F32] {
            let config = Config::new(SHAPE, storage, Memory::Native).map_err(say)?;
            let tokens = random(9, SHAPE, 400, Keys::Spiky);
            let setups = vec![LayerSetup::plain(config); 2];
            let wanted = |capacity| Wanted { capacity, ..Wanted::default() };
            let mut large = Rig::new(gpu, setups.clone(), wanted(400)).await.map_err(say)?;
            let mut small = Rig::new(gpu, setups, wanted(1)).await.map_err(say)?;
            let (mut capacities, mut drafts) = (vec![small.attention.plan(0).ring], 0);
            for at in (0..400).step_by(40) {
                // A draft where there is room for one.
                if small.attention.depth_left() >= 2 {
                    small.verify(given(&tokens), &[at, at + 1], &Tree::chain(2).map_err(say)?).await.map_err(say)?;
                    drafts += 1;
                }
                small.attention.reserve(gpu, at as u32 + 40).await.map_err(say)?;
                let want = large.extend(given(&tokens), at..at + 40).await.map_err(say)?;
                same_bits(&small.extend(given(&tokens), at..at + 40).await.map_err(say)?, &want)?;
                capacities.push(small.attention.plan(0).ring);
            }
            capacities.dedup();
            if capacities != [64, 128, 256, 512] || drafts < 5 {
                return Err(format!("capacities were {capacities:?}, with {drafts} drafts"));
            }
            let (got, want) = (small.snapshot().await.map_err(say)?, large.snapshot().await.map_err(say)?);
            if let Some(difference) = got.iter().zip(&want).find_map(|(got, want)| got.first_difference(want)) {
                return Err(difference);
            }
            // What does not fit is refused, and what was there stays.
            match small.attention.reserve(gpu, u32::MAX).await {
                Err(AttentionError::Plan { .. }) if small.attention.plan(0).ring == 512 => {}
                other => return Err(format!("all positions were reserved: {other:?}")),
            }
        }
        Ok(())
    }

    async fn native_memory_grows_with_every_token(gpu: &Gpu) -> Result<(), String> {
        // What the sizes below are compared with notices a state that grows.
        let config = Config::new(THIN, Storage::F16, Memory::Native).map_err(say)?;
        let wanted = Wanted { capacity: 128, ..Wanted::default() };
        let mut rig = Rig::new(gpu, vec![LayerSetup::plain(config)], wanted).await.map_err(say)?;
        let tokens = random(6, THIN, 101, Keys::Plain);
        rig.extend(given(&tokens), 0..100).await.map_err(say)?;
        let before = sizes(&rig).await?;
        rig.extend(given(&tokens), 100..101).await.map_err(say)?;
        let [anchor, state, device] = sizes(&rig).await?;
        if (anchor, state, device) != (before[0] + 2 * 16, before[1], before[2]) || anchor != 101 * 32 {
            return Err(format!("{anchor} bytes of anchor after {before:?}"));
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn with_decays_1000_and_10000_tokens_take_the_same_bytes(gpu: &Gpu) -> Result<(), String> {
        of_constant_size(gpu, with_decays(), &[1000, 10_000]).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn with_cells_1000_and_10000_tokens_take_the_same_bytes(gpu: &Gpu) -> Result<(), String> {
        of_constant_size(gpu, with_cells(), &[1000, 10_000]).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn in_a_band_alone_1000_and_10000_tokens_take_the_same_bytes(gpu: &Gpu) -> Result<(), String> {
        of_constant_size(gpu, with_a_band_alone(), &[1000, 10_000]).await
    }
}

/// Too long for what stands for a GPU in browsers.
#[cfg(not(target_arch = "wasm32"))]
mod long {
    use super::{LayerSetup, common, of_constant_size, with_a_band_alone, with_cells, with_decays};

    fn of_100000_tokens(layer: (LayerSetup, u64)) {
        let run = async {
            let gpu = common::harness::open().await;
            of_constant_size(&gpu, layer, &[1000, 100_000]).await
        };
        common::harness::Outcome::check(pollster::block_on(run));
    }

    #[test]
    #[ignore = "long: `cargo xtask test --full` runs it"]
    fn with_decays_100000_tokens_take_the_same_bytes() {
        of_100000_tokens(with_decays());
    }

    #[test]
    fn with_cells_100000_tokens_take_the_same_bytes() {
        of_100000_tokens(with_cells());
    }

    #[test]
    #[ignore = "long: `cargo xtask test --full` runs it"]
    fn in_a_band_alone_100000_tokens_take_the_same_bytes() {
        of_100000_tokens(with_a_band_alone());
    }
}
