//! The kernels on a device, beside their twins.

pub mod common;

use common::beside::{agrees, given, is_exact, say};
use common::harness::report;
use common::oracle::{Keys, random, random_cells, random_decay};
use common::rig::Rig;
use mrail_gpu::attention::twin::{Rows, Twin};
use mrail_gpu::attention::{
    Attention, AttentionError, LayerSetup, PASSES_IN_FLIGHT, PassError, Tree, Turnover, Wanted,
};
use mrail_gpu::device::{DeviceError, Gpu};
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
            for layer in 0..rig.attention.layers() {
                let turns = rig.attention.last_turnover(gpu, layer).await.map_err(say)?;
                let overflows = rig.attention.overflows(gpu, layer).await.map_err(say)?;
                if overflows != 0 || turns.iter().any(|turn| *turn != Turnover::default()) {
                    return Err(format!("layer {layer} is left with {overflows} overflows and {turns:?}"));
                }
            }
            let left = rig.snapshot().await.map_err(|error| error.to_string())?;
            if let Some(difference) = left.iter().zip(&empty).find_map(|(a, b)| a.first_difference(b)) {
                return Err(difference);
            }
        }
        Ok(())
    }
}

device_tests! {
    /// No token after a loss, whatever is called.
    async fn a_lost_device_is_told_by_every_call(gpu: &Gpu) -> Result<(), String> {
        let config = Config::uniform(SHAPE, Storage::F16, 64, 64, Admission::Look { from: 0 }).map_err(say)?;
        let mut rig = Rig::new(gpu, vec![LayerSetup::plain(config)], Wanted::default()).await.map_err(say)?;
        let tokens = random(3, SHAPE, 10, Keys::Plain);
        rig.extend(given(&tokens), 0..8).await.map_err(say)?;
        let state = rig.snapshot().await.map_err(say)?;
        gpu.destroy();
        gpu.finished().await.err();
        let lost = |said: Result<(), AttentionError>| match said {
            Err(AttentionError::Device(DeviceError::Lost { .. })) => Ok(()),
            said => Err(format!("after a loss: {said:?}")),
        };
        lost(rig.extend(given(&tokens), 8..9).await.map(|_| ()))?;
        lost(rig.attention.verify(gpu, &Tree::chain(2).map_err(say)?).map(|_| ()))?;
        lost(rig.accept(&[0]))?;
        lost(rig.attention.restore(gpu, &state))?;
        lost(rig.snapshot().await.map(|_| ()))
    }

    /// What no longer fits the state is refused.
    async fn a_stale_pass_is_not_encoded(gpu: &Gpu) -> Result<(), String> {
        let config = Config::new(SHAPE, Storage::F16, Memory::Native).map_err(say)?;
        let wanted = Wanted { pass_rows: 2, capacity: 1024, ..Wanted::default() };
        let mut attention = Attention::new(gpu, vec![LayerSetup::plain(config)], wanted).await.map_err(say)?;
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let stale = Err(AttentionError::Pass(PassError::Stale));
        let pass = attention.extend(gpu, 2).map_err(say)?;
        attention.encode(&mut encoder, &pass, 0).map_err(say)?;
        let none = attention.encode(&mut encoder, &pass, 1);
        if none != Err(AttentionError::Layer { layer: 1, layers: 1 }) {
            return Err(format!("{none:?}"));
        }
        attention.clear(gpu).map_err(say)?;
        if attention.encode(&mut encoder, &pass, 0) != stale {
            return Err("a pass was encoded for another state".into());
        }
        // As many passes as are promised, even with their rows one at once; then more than any ring holds.
        attention.limit_rows(1);
        let first = attention.extend(gpu, 2).map_err(say)?;
        for later in 1..400 {
            let encoded = attention.encode(&mut encoder, &first, 0);
            let kept = later <= PASSES_IN_FLIGHT;
            if kept && encoded.is_err() || later == 399 && encoded != stale {
                return Err(format!("{encoded:?} after {later} passes"));
            }
            let _ = attention.extend(gpu, 2).map_err(say)?;
        }
        Ok(())
    }
}
