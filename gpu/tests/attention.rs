//! The kernels on a device, beside their twins.

pub mod common;

use common::oracle::{Keys, random, random_cells, random_decay};
use common::rig::{Rig, Tokens};
use mrail_gpu::attention::twin::{Rows, Twin};
use mrail_gpu::attention::{LayerSetup, Wanted};
use mrail_gpu::state::{Admission, Carrier, Config, Memory, Shape, Storage};

const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, head_dim: 16 };

device_tests! {
    async fn the_device_computes_what_the_twin_does(gpu: &Gpu) -> Result<(), String> {
        let say = |error: mrail_gpu::attention::AttentionError| error.to_string();
        common::harness::report(&gpu.info().to_string());
        let carriers = [
            Carrier::None,
            Carrier::Decay(random_decay(1, SHAPE)),
            Carrier::Cells(random_cells(2, SHAPE, 70, 8)),
        ];
        for (storage, admission) in [
            (Storage::F32, Admission::Look { from: 0 }),
            (Storage::F16, Admission::Look { from: 16 }),
            (Storage::F32, Admission::Surprise),
        ] {
            for carrier in &carriers {
                let config = Config::uniform(SHAPE, storage, 64, 128, admission).map_err(|e| e.to_string())?;
                let setup = LayerSetup::plain(config.clone()).with_carrier(carrier.clone());
                let tokens = random(3, SHAPE, 500, Keys::Spiky);
                let mut twin = Twin::new(config, carrier.clone(), setup.scale);
                let mut rig = Rig::new(gpu, vec![setup], Wanted::default()).await.map_err(say)?;
                rig.attention.poison(gpu).map_err(say)?;
                let given = Tokens { q: &tokens.q, k: &tokens.k, v: &tokens.v, surprise: &tokens.surprise };
                let mut at = 0;
                for rows in [1, 7, 60, 64, 100, 64, 150, 54] {
                    let part = |of: &[f32], len: u32| of[at * len as usize..(at + rows) * len as usize].to_vec();
                    let (wide, narrow) = (SHAPE.heads * SHAPE.head_dim, SHAPE.kv_heads * SHAPE.head_dim);
                    let (q, k, v) = (part(given.q, wide), part(given.k, narrow), part(given.v, narrow));
                    rig.hand_in(&given.surprise[at..at + rows]).map_err(say)?;
                    twin.surprises(&given.surprise[at..at + rows]);
                    let got = rig.extend(given, at..at + rows).await.map_err(say)?;
                    let want = twin.extend(Rows { q: &q, k: &k, v: &v }).map_err(|error| error.to_string())?;
                    at += rows;
                    let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    let bad = got.iter().zip(&want).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
                    if bad > 0 || got.len() != want.len() {
                        return Err(format!("{at} {storage:?} {admission:?} {bad} of {} differ, by {worst}", got.len()));
                    }
                    let states = rig.snapshot().await.map_err(say)?;
                    if let Some(difference) = states[0].first_difference(&twin.snapshot()) {
                        return Err(format!("{at} {storage:?} {admission:?}: {difference}"));
                    }
                }
            }
        }
        Ok(())
    }
}

device_tests! {
    /// One layer of each kind, twice: the second of a kind shares the pipelines of the first.
    async fn the_self_test_passes_and_leaves_nothing(gpu: &Gpu) -> Result<(), String> {
        let mut setups = Vec::new();
        for storage in [Storage::F16, Storage::F32] {
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
            common::harness::report(&format!("{found:?}"));
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
