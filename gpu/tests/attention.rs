//! The kernels on a device, beside their twins.

pub mod common;

use common::beside::{agrees, given, is_exact, say};
use common::harness::report;
use common::oracle::{Keys, random, random_cells, random_decay};
use common::rig::Rig;
use mrail_gpu::attention::twin::{Rows, Twin};
use mrail_gpu::attention::{LayerSetup, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::{Admission, Carrier, Config, Memory, Shape, Storage};

const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, head_dim: 16 };

const LIGHT: bool = cfg!(target_arch = "wasm32");

/// How far a device is from the twin.
#[derive(Debug, Default)]
struct Apart {
    outputs: usize,
    differ: usize,
    largest: f32,
    /// The first difference of a state.
    state: Option<String>,
}

/// Lets a device and the twin read the same tokens, in passes of several sizes.
async fn beside(gpu: &Gpu, setup: LayerSetup, apart: &mut Apart) -> Result<(), String> {
    let tokens = random(3, SHAPE, 500, Keys::Spiky);
    let mut twin = Twin::new(setup.config.clone(), setup.carrier.clone(), setup.scale);
    let mut rig = Rig::new(gpu, vec![setup], Wanted::default()).await.map_err(say)?;
    rig.attention.poison(gpu).map_err(say)?;
    let mut at = 0;
    for rows in [1, 7, 60, 64, 100, 64, 150, 54] {
        let part = |of: &[f32], len: u32| of[at * len as usize..(at + rows) * len as usize].to_vec();
        let (wide, narrow) = (SHAPE.heads * SHAPE.head_dim, SHAPE.kv_heads * SHAPE.head_dim);
        let (q, k, v) = (part(&tokens.q, wide), part(&tokens.k, narrow), part(&tokens.v, narrow));
        rig.hand_in(&tokens.surprise[at..at + rows]).map_err(say)?;
        twin.surprises(&tokens.surprise[at..at + rows]);
        let got = rig.extend(given(&tokens), at..at + rows).await.map_err(say)?;
        let want = twin.extend(Rows { q: &q, k: &k, v: &v }).map_err(say)?;
        at += rows;
        // More is no rounding.
        apart.largest = apart.largest.max(agrees(&got, &want, 0.05)?);
        apart.outputs += got.len();
        apart.differ += got.iter().zip(&want).filter(|(got, want)| got.to_bits() != want.to_bits()).count();
        if apart.state.is_none() {
            apart.state = rig.snapshot().await.map_err(say)?[0].first_difference(&twin.snapshot());
        }
    }
    Ok(())
}

device_tests! {
    /// Bit for bit where it is known to round as a processor does; elsewhere, how far it is from that is told.
    async fn the_device_computes_what_the_twin_does(gpu: &Gpu) -> Result<(), String> {
        let carriers = [
            Carrier::None,
            Carrier::Decay(random_decay(1, SHAPE)),
            Carrier::Cells(random_cells(2, SHAPE, 70, 8)),
        ];
        let kinds = [
            (Storage::F32, Admission::Look { from: 0 }),
            (Storage::F32, Admission::Surprise),
            (Storage::F16, Admission::Look { from: 16 }),
        ];
        for (n, (storage, admission)) in kinds.into_iter().enumerate() {
            let mut apart = Apart::default();
            // What stands for a GPU in browsers is slow: there, each storage has another carrier.
            let carriers = if LIGHT { &carriers[n..=n] } else { &carriers[..] };
            for carrier in carriers {
                let config = Config::uniform(SHAPE, storage, 64, 128, admission).map_err(say)?;
                beside(gpu, LayerSetup::plain(config).with_carrier(carrier.clone()), &mut apart).await?;
            }
            report(&format!("{}: {storage:?}, {admission:?}: {apart:?}", gpu.info()));
            if is_exact(gpu) && (apart.differ > 0 || apart.state.is_some()) {
                return Err(format!("{apart:?}"));
            }
        }
        Ok(())
    }
}

device_tests! {
    /// One layer of each kind, twice: the second of a kind shares the pipelines of the first.
    async fn the_self_test_passes_and_leaves_nothing(gpu: &Gpu) -> Result<(), String> {
        let mut setups = Vec::new();
        for storage in [Storage::F16, Storage::F32].into_iter().take(if LIGHT { 1 } else { 2 }) {
            for admission in [Admission::Look { from: 16 }, Admission::Surprise] {
                let config = Config::uniform(SHAPE, storage, 64, 128, admission).map_err(|e| e.to_string())?;
                let plain = LayerSetup::plain(config);
                setups.push(plain.clone().with_carrier(Carrier::Decay(random_decay(1, SHAPE))));
                setups.push(plain.clone().with_carrier(Carrier::Decay(random_decay(2, SHAPE))));
                setups.push(plain.clone().with_carrier(Carrier::Cells(random_cells(3, SHAPE, 64, 4))));
                setups.push(plain);
            }
        }
        let native = Config::new(SHAPE, Storage::F16, Memory::Native).map_err(|e| e.to_string())?;
        for setups in [setups, vec![LayerSetup::plain(native)]] {
            let mut rig = Rig::new(gpu, setups, Wanted::default()).await.map_err(|error| error.to_string())?;
            let empty = rig.snapshot().await.map_err(|error| error.to_string())?;
            let found = rig.attention.self_test(gpu).await.map_err(|error| error.to_string())?;
            report(&format!("{found:?}"));
            if !found.passed() || found.most_rows != 64 {
                return Err(format!("{found:?}"));
            }
            let left = rig.snapshot().await.map_err(|error| error.to_string())?;
            if let Some(difference) = left.iter().zip(&empty).find_map(|(a, b)| a.first_difference(b)) {
                return Err(difference);
            }
        }
        Ok(())
    }
}
