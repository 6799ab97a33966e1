//! Where sums are empty, numbers huge, scores equal, memory unused or sizes odd: no NaN, no lost row, and typed errors.

pub mod common;

use common::beside::{Beside, agrees, given, same_state, say, tolerance};
use common::oracle::{Keys, Random, Tokens, random, random_cells, random_decay};
use common::rig::Rig;
use half::f16;
use mrail_gpu::attention::{AttentionError, LayerSetup, PassError, PlanError, Tree, TreeError, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::params::ParamsError;
use mrail_gpu::state::snapshot::{Field, MAX_TOKENS, SnapshotError};
use mrail_gpu::state::{
    Admission, Carrier, CarrierSnapshot, Config, Constant, HeadMemory, LayerSnapshot, Memory, Shape, Storage,
};

const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, head_dim: 16 };
const SMALL: Shape = Shape { heads: 2, kv_heads: 1, head_dim: 8 };
const LOOK: Admission = Admission::Look { from: 0 };
const FAR: Admission = Admission::Look { from: 16 };

fn uniform(shape: Shape, storage: Storage, band: u32, store: u32, admission: Admission) -> Config {
    Config::uniform(shape, storage, band, store, admission).expect("good sizes")
}

fn setup(config: &Config, carrier: &Carrier) -> LayerSetup {
    LayerSetup::plain(config.clone()).with_carrier(carrier.clone())
}

fn carriers(shape: Shape) -> [Carrier; 3] {
    [Carrier::None, Carrier::Decay(random_decay(1, shape)), Carrier::Cells(random_cells(2, shape, 70, 4))]
}

async fn small<'g>(gpu: &'g Gpu, config: &Config, wanted: Wanted) -> Result<Rig<'g>, String> {
    Rig::new(gpu, vec![LayerSetup::plain(config.clone())], wanted).await.map_err(say)
}

fn in_words<T, E>(result: Result<T, E>) -> Result<E, String> {
    result.err().ok_or_else(|| "what must fail went well".into())
}

fn pass_error<T>(result: Result<T, AttentionError>) -> Result<PassError, String> {
    match in_words(result)? {
        AttentionError::Pass(error) => Ok(error),
        other => Err(format!("an error of another kind: {other}")),
    }
}

macro_rules! must_equal {
    ($got:expr, $want:expr) => {
        let (got, want) = ($got, $want);
        if got != want {
            return Err(format!("line {}: {got:?} instead of {want:?}", line!()));
        }
    };
}

device_tests! {
    async fn a_comparison_fails_where_it_should() {
        let numbers = [1.0, -2.5, 0.0, 3e-39];
        assert_eq!(agrees(&numbers, &numbers, 0.0), Ok(0.0));
        assert!(agrees(&[], &[], 1.0).is_err());
        assert!(agrees(&numbers, &numbers[..3], 1e9).is_err());
        assert!(agrees(&numbers[..3], &numbers, 1e9).is_err());
        for at in 0..numbers.len() {
            let mut other = numbers;
            other[at] = f32::from_bits(numbers[at].to_bits() + 1);
            assert!(agrees(&other, &numbers, 0.0).is_err(), "one unit of the last place of number {at}");
            assert!(agrees(&numbers, &other, 0.0).is_err());
            assert!(agrees(&other, &numbers, 1e-6).is_ok());
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                other[at] = bad;
                assert!(agrees(&other, &numbers, f32::INFINITY).is_err());
                assert!(agrees(&numbers, &other, f32::INFINITY).is_err());
                // Not even of itself.
                assert!(agrees(&other, &other, 0.0).is_err());
            }
        }
        // Zeros of either sign have other bits.
        assert!(agrees(&[0.0], &[-0.0], 0.0).is_err() && agrees(&[0.0], &[-0.0], 1e-9).is_ok());
        assert_eq!(agrees(&[1.0, 2.0], &[1.5, 2.25], 0.5), Ok(0.5));
        let error = agrees(&[1.0, 2.0], &[1.5, 2.25], 0.25).expect_err("0.5 off");
        assert_eq!(error, "2 of 2 differ, most at 0: 1 instead of 1.5, 5e-1 off where 2.5e-1 is allowed");
    }

    async fn without_a_carrier_unused_memory_is_never_read(gpu: &Gpu) -> Result<(), String> {
        unused_memory_is_never_read(gpu, 0, Storage::F16, LOOK).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn with_decays_unused_memory_is_never_read(gpu: &Gpu) -> Result<(), String> {
        unused_memory_is_never_read(gpu, 1, Storage::F32, Admission::Surprise).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn with_cells_unused_memory_is_never_read(gpu: &Gpu) -> Result<(), String> {
        unused_memory_is_never_read(gpu, 2, Storage::F16, FAR).await
    }

    async fn poison_shows_where_it_is_read(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(3, SMALL, 20, Keys::Plain);
        let mut rig = small(gpu, &uniform(SMALL, Storage::F32, 64, 64, LOOK), Wanted::default()).await?;
        rig.extend(given(&tokens), 0..10).await.map_err(say)?;
        rig.verify(given(&tokens), &[10, 11], &Tree::chain(2).map_err(say)?).await.map_err(say)?;
        // Rows that wait are not the state's; who takes them in now takes what lies there.
        rig.attention.poison(gpu).map_err(say)?;
        rig.accept(&[0]).map_err(say)?;
        let states = rig.snapshot().await.map_err(say)?;
        let error = states[0].check(&rig.attention.setup(0).config, &Carrier::None);
        let at_row_10 = matches!(
            error,
            Err(SnapshotError::Value { field: Field::BandKeys, head: Some(0), index: 80, .. })
        );
        if at_row_10 { Ok(()) } else { Err(format!("{error:?}")) }
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn an_empty_carrier_weighs_nothing(gpu: &Gpu) -> Result<(), String> {
        // Three ways to a carrier whose every term is masked although tokens left for it: weights of decays that are all 0, and
        // cells and decays whose sums were put back to 0.
        let tokens = random(5, SHAPE, 300, Keys::Spiky);
        let config = uniform(SHAPE, Storage::F32, 64, 64, LOOK);
        let mut weightless = random_decay(1, SHAPE);
        weightless.mix.fill(0.0);
        let [none, decay, cells] = carriers(SHAPE);
        let mut wanted = None;
        let weightless = Carrier::Decay(weightless);
        for (carrier, clear) in [(none, false), (weightless, false), (decay, true), (cells, true)] {
            let mut rig = Rig::new(gpu, vec![setup(&config, &carrier)], Wanted::default()).await.map_err(say)?;
            rig.extend(given(&tokens), 0..250).await.map_err(say)?;
            let mut states = rig.snapshot().await.map_err(say)?;
            if clear {
                states[0].carrier = LayerSnapshot::empty(&config, &carrier).carrier;
                // What looks saw of the carrier is to be the same as well.
                if let Some((_, without)) = &wanted {
                    let without: &LayerSnapshot = without;
                    states[0].heads.clone_from(&without.heads);
                }
                rig.attention.restore(gpu, &states).map_err(say)?;
            }
            rig.attention.poison(gpu).map_err(say)?;
            let got = rig.extend(given(&tokens), 250..256).await.map_err(say)?;
            match &wanted {
                None => wanted = Some((got, states.remove(0))),
                Some((want, _)) => {
                    agrees(&got, want, tolerance(gpu, 1e-5)).map_err(|error| format!("{carrier:?}: {error}"))?;
                }
            }
        }
        Ok(())
    }

    async fn pieces_of_empty_cells_weigh_nothing(gpu: &Gpu) -> Result<(), String> {
        // Every token goes to the last cell: the first two pieces of terms are masked whole, and so is most of the third.
        let mut of = random_cells(2, SHAPE, 130, 4);
        of.beta.chunks_exact_mut(130).for_each(|beta| beta[129] = 1e6);
        let config = uniform(SHAPE, Storage::F16, 64, 64, FAR);
        let tokens = random(6, SHAPE, 400, Keys::Spiky);
        let mut pair = Beside::new(gpu, vec![setup(&config, &Carrier::Cells(of))], tokens, 1e-4).await?;
        pair.rig.attention.poison(gpu).map_err(say)?;
        for rows in [100, 200, 100] {
            pair.extend(rows).await?;
        }
        let states = pair.states().await?;
        let CarrierSnapshot::Cells { counts, .. } = &states[0].carrier else { return Err("no cells".into()) };
        let full: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count > 0.0).collect();
        // Row 399 was read behind a band that starts at 320; 64 tokens are in the store.
        must_equal!(full, [(129, &256.0), (259, &256.0)]);
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_band_of_one_block_needs_no_store(gpu: &Gpu) -> Result<(), String> {
        for (carrier, storage) in carriers(SHAPE).iter().zip([Storage::F16, Storage::F32, Storage::F16]) {
            let config = uniform(SHAPE, storage, 64, 0, LOOK);
            let mut pair =
                Beside::new(gpu, vec![setup(&config, carrier)], random(7, SHAPE, 330, Keys::Spiky), 1e-4).await?;
            pair.rig.attention.poison(gpu).map_err(say)?;
            for rows in [127, 1, 1, 63, 1, 64, 73] {
                pair.extend(rows).await?;
                let states = pair.states().await?;
                must_equal!(states[0].heads[0].store_keys.len(), 0);
            }
            // Even the first token is gone.
            for turnover in pair.rig.attention.last_turnover(gpu, 0).await.map_err(say)? {
                must_equal!(turnover.written.len(), 0);
                must_equal!(turnover.dropped, (192..256).collect::<Vec<u32>>());
            }
        }
        Ok(())
    }

    async fn logits_of_100000_keep_every_row_in_halves(gpu: &Gpu) -> Result<(), String> {
        large_logits_keep_every_row(gpu, Storage::F16).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn logits_of_100000_keep_every_row_in_words(gpu: &Gpu) -> Result<(), String> {
        large_logits_keep_every_row(gpu, Storage::F32).await
    }

    async fn activations_of_600000_are_clamped_and_counted_in_halves(gpu: &Gpu) -> Result<(), String> {
        large_activations_keep_every_row(gpu, Storage::F16).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn activations_of_600000_are_kept_in_words(gpu: &Gpu) -> Result<(), String> {
        large_activations_keep_every_row(gpu, Storage::F32).await
    }

    async fn equal_scores_keep_the_earlier_token(gpu: &Gpu) -> Result<(), String> {
        // No row is as far as a look asks for, or every token surprises alike: all scores are equal.
        let looks = Admission::Look { from: 1000 };
        for (admission, storage) in [(looks, Storage::F16), (Admission::Surprise, Storage::F32)] {
            let config = uniform(SHAPE, storage, 64, 128, admission);
            let mut tokens = random(12, SHAPE, 400, Keys::Spiky);
            tokens.surprise = vec![2.5; 400];
            let mut pair = Beside::new(gpu, vec![setup(&config, &Carrier::None)], tokens, 1e-4).await?;
            for rows in [200, 57, 64, 79] {
                pair.extend(rows).await?;
                let states = pair.states().await?;
                let filled = config.schedule().left(pair.rig.attention.tokens()).min(128);
                for head in &states[0].heads {
                    must_equal!(&head.store_positions[..filled as usize], (0..filled).collect::<Vec<_>>());
                }
            }
            for turnover in pair.rig.attention.last_turnover(gpu, 0).await.map_err(say)? {
                must_equal!(turnover.dropped, (256..320).collect::<Vec<u32>>());
                must_equal!(turnover.written.len(), 0);
            }
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_few_larger_scores_replace_the_latest_of_equal_ones(gpu: &Gpu) -> Result<(), String> {
        // Surprising words at 150, 170 and 200 mark 17 tokens each; all others are equal.
        let config = uniform(SHAPE, Storage::F32, 64, 128, Admission::Surprise);
        let mut tokens = random(12, SHAPE, 400, Keys::Plain);
        tokens.surprise = vec![1.0; 400];
        for at in [150, 170, 200] {
            tokens.surprise[at] = 9.0;
        }
        let marked = |j: u32| [150, 170, 200].iter().any(|&u| (u - 2..=u + 14).contains(&j));
        let mut pair = Beside::new(gpu, vec![setup(&config, &Carrier::None)], tokens, 1e-4).await?;
        pair.extend(200).await?;
        pair.extend(185).await?;
        let states = pair.states().await?;
        // Below 320 all have left; the first of the unmarked stay.
        let count = (0..320).filter(|&j| marked(j)).count() as u32;
        let wanted: Vec<u32> =
            (0..128 - count).filter(|&j| !marked(j)).chain((0..320).filter(|&j| marked(j))).collect();
        for head in &states[0].heads {
            let mut positions = head.store_positions.clone();
            positions.sort_unstable();
            must_equal!(&positions, &wanted);
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn equal_keys_share_their_weight(gpu: &Gpu) -> Result<(), String> {
        for storage in [Storage::F16, Storage::F32] {
            let config = uniform(SHAPE, storage, 64, 64, LOOK);
            let mut tokens = random(13, SHAPE, 200, Keys::Plain);
            tokens.k.fill(0.25);
            let mut pair = Beside::new(gpu, vec![setup(&config, &Carrier::None)], tokens, 1e-4).await?;
            let got = pair.extend(128).await?;
            // The mean of all values so far, whatever the query.
            for row in [0, 1, 63, 64, 127] {
                for head in [0, 5] {
                    let value = |t: usize| pair.tokens.v[(t * 2 + head / 3) * 16];
                    let mean = (0..=row).map(value).sum::<f32>() / (row + 1) as f32;
                    agrees(&[got[(row * 6 + head) * 16]], &[mean], 2e-3)?;
                }
            }
            pair.extend(72).await?;
            // The first rows shared among fewest, so the earliest tokens have the largest looks.
            let states = pair.states().await?;
            must_equal!(&states[0].heads[1].store_positions, &(0..64).collect::<Vec<u32>>());
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn narrow_heads_agree_with_the_twin(gpu: &Gpu) -> Result<(), String> {
        for (head_dim, which, storage) in [(8, 2, Storage::F16), (24, 1, Storage::F32)] {
            let shape = Shape { heads: 3, kv_heads: 1, head_dim };
            sizes_agree(gpu, shape, storage, &carriers(shape)[which]).await?;
        }
        Ok(())
    }

    async fn wide_heads_agree_with_the_twin(gpu: &Gpu) -> Result<(), String> {
        for (head_dim, which, storage) in [(40, 2, Storage::F16), (256, 1, Storage::F16)] {
            let shape = Shape { heads: 3, kv_heads: 1, head_dim };
            sizes_agree(gpu, shape, storage, &carriers(shape)[which]).await?;
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn groups_of_one_and_two_heads_agree_with_the_twin(gpu: &Gpu) -> Result<(), String> {
        for (group, which) in [(1, 1), (2, 2)] {
            let shape = Shape { heads: 2 * group, kv_heads: 2, head_dim: 8 };
            sizes_agree(gpu, shape, Storage::F32, &carriers(shape)[which]).await?;
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn groups_of_three_and_five_heads_agree_with_the_twin(gpu: &Gpu) -> Result<(), String> {
        for (group, which) in [(3, 1), (5, 2)] {
            let shape = Shape { heads: 2 * group, kv_heads: 2, head_dim: 8 };
            sizes_agree(gpu, shape, Storage::F32, &carriers(shape)[which]).await?;
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn groups_of_seven_and_eight_heads_agree_with_the_twin(gpu: &Gpu) -> Result<(), String> {
        for (group, which) in [(7, 1), (8, 0)] {
            let shape = Shape { heads: 2 * group, kv_heads: 2, head_dim: 8 };
            sizes_agree(gpu, shape, Storage::F16, &carriers(shape)[which]).await?;
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn groups_of_nine_heads_agree_with_the_twin(gpu: &Gpu) -> Result<(), String> {
        for (group, which) in [(9, 2)] {
            let shape = Shape { heads: 2 * group, kv_heads: 2, head_dim: 8 };
            sizes_agree(gpu, shape, Storage::F16, &carriers(shape)[which]).await?;
        }
        Ok(())
    }

    async fn packing_rounds_as_halves_do(gpu: &Gpu) -> Result<(), String> {
        let (given_numbers, count) = (hard_numbers(16 * 2 * WIDE_ROW), 16);
        let (keys, values) = given_numbers.split_at(count * WIDE_ROW);
        let (rig, state) = stored(gpu, Storage::F16, keys, values).await?;
        let halves = |bytes: Vec<u8>| -> Vec<u16> {
            bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect()
        };
        for (got, want) in [(of_heads(&state, false), keys), (of_heads(&state, true), values)] {
            let got = halves(got);
            must_equal!(got.len(), want.len());
            for (&got, &want) in got.iter().zip(want) {
                let half = f16::from_f32(want.clamp(-65504.0, 65504.0));
                let alike = if want.is_nan() { f16::from_bits(got).is_nan() } else { got == half.to_bits() };
                if !alike {
                    return Err(format!("{want:e} ({:08x}) became {got:04x}, not {half:?}", want.to_bits()));
                }
            }
        }
        // From 65520 on the nearest half is none.
        let over = given_numbers.iter().filter(|x| x.is_nan() || x.abs() >= 65520.0).count();
        must_equal!(rig.attention.overflows(gpu, 0).await.map_err(say)? as usize, over);
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn words_are_stored_as_they_come(gpu: &Gpu) -> Result<(), String> {
        let mut given_numbers = hard_numbers(16 * 2 * WIDE_ROW);
        // WGSL does not promise that a NaN keeps its bits.
        given_numbers.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 1.0);
        let (keys, values) = given_numbers.split_at(16 * WIDE_ROW);
        let (rig, state) = stored(gpu, Storage::F32, keys, values).await?;
        for (got, want) in [(of_heads(&state, false), keys), (of_heads(&state, true), values)] {
            let got: Vec<u32> =
                got.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            must_equal!(got.len(), want.len());
            if let Some((got, want)) = got.iter().zip(want).find(|(got, want)| **got != want.to_bits()) {
                return Err(format!("{want:e} ({:08x}) became {got:08x}", want.to_bits()));
            }
        }
        must_equal!(rig.attention.overflows(gpu, 0).await.map_err(say)?, 0);
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn halves_are_read_as_what_they_are(gpu: &Gpu) -> Result<(), String> {
        // The first token's output is its value: its weight is 1.
        let config = Config::new(WIDE, Storage::F16, Memory::Native).map_err(say)?;
        let mut rig = small(gpu, &config, WIDE_WANTED).await?;
        let finite = (0..=u16::MAX).map(f16::from_bits).filter(|half| half.is_finite());
        let mut all: Vec<f32> = finite.map(f16::to_f32).collect();
        all.resize(all.len().next_multiple_of(WIDE_ROW), 1.0);
        for values in all.chunks_exact(WIDE_ROW) {
            let ones = vec![0.01; WIDE_ROW];
            let tokens = Tokens { q: ones.clone(), k: ones, v: values.to_vec(), surprise: vec![0.0] };
            rig.attention.restore(gpu, &[LayerSnapshot::empty(&config, &Carrier::None)]).map_err(say)?;
            let got = rig.extend(given(&tokens), 0..1).await.map_err(say)?;
            // A sum that starts at 0 has no negative zero.
            let plain = |x: &[f32]| -> Vec<f32> { x.iter().map(|x| if *x == 0.0 { 0.0 } else { *x }).collect() };
            agrees(&plain(&got), &plain(values), 0.0)?;
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn layers_that_cannot_be_are_named(gpu: &Gpu) -> Result<(), String> {
        let new = async |setups: Vec<LayerSetup>, wanted| in_words(Rig::new(gpu, setups, wanted).await);
        let config = uniform(SMALL, Storage::F16, 64, 64, LOOK);
        let plain = || LayerSetup::plain(config.clone());
        must_equal!(new(vec![], Wanted::default()).await?, AttentionError::NoLayers);
        for other in [
            uniform(SMALL, Storage::F16, 128, 64, LOOK),
            uniform(SHAPE, Storage::F16, 64, 64, LOOK),
            Config::new(SMALL, Storage::F16, Memory::Native).map_err(say)?,
        ] {
            let setups = vec![plain(), plain(), LayerSetup::plain(other)];
            must_equal!(new(setups, Wanted::default()).await?, AttentionError::Unlike { layer: 2 });
        }
        let native = Config::new(SMALL, Storage::F16, Memory::Native).map_err(say)?;
        let wanted = Wanted { capacity: 1 << 24, ..Wanted::default() };
        let (needs, limit, most) = ((1 << 28) + 16, "maxStorageBufferBindingSize", 128 << 20);
        let error = PlanError { what: "keys".into(), needs, limit, most };
        must_equal!(new(vec![LayerSetup::plain(native)], wanted).await?, AttentionError::Plan { layer: 0, error });

        // Carriers of other heads, or with numbers that no carrier works with.
        let decay = |change: fn(&mut mrail_gpu::state::Decay)| {
            let mut decay = random_decay(1, SMALL);
            change(&mut decay);
            Carrier::Decay(decay)
        };
        let cells = |change: fn(&mut mrail_gpu::state::Cells)| {
            let mut cells = random_cells(1, SMALL, 5, 2);
            change(&mut cells);
            Carrier::Cells(cells)
        };
        let value = |tensor: &str, index, bits, wanted| {
            ParamsError::Value { tensor: tensor.into(), index, bits, wanted }
        };
        let len = |tensor: &str, found, wanted| ParamsError::Len { tensor: tensor.into(), found, wanted };
        let finite = "a finite number";
        for (carrier, error) in [
            (Carrier::Decay(random_decay(1, SHAPE)), len("decay.bias", 96, 16)),
            (Carrier::Cells(random_cells(1, SHAPE, 5, 2)), len("cells.codebook", 160, 40)),
            (decay(|of| of.phi[3] = f32::NAN), value("decay.phi", 3, f32::NAN.to_bits(), finite)),
            (
                decay(|of| of.mix[1] = -1.0),
                value("decay.mix", 1, (-1_f32).to_bits(), "a finite number that is not negative"),
            ),
            (
                decay(|of| of.half_life[9] = 17.0),
                value("decay.half_life", 9, 17_f32.to_bits(), "a half-life of the catalogue"),
            ),
            (cells(|of| of.mean[7] = f32::INFINITY), value("cells.mean", 7, f32::INFINITY.to_bits(), finite)),
            (cells(|of| of.cells = 0), ParamsError::Count { tensor: "cells.codebook".into(), found: 0, most: 4096 }),
            (cells(|of| of.rank = 9), ParamsError::Count { tensor: "cells.metric".into(), found: 9, most: 8 }),
            (cells(|of| of.cells = 6), len("cells.codebook", 40, 48)),
        ] {
            let setups = vec![plain(), plain().with_carrier(carrier)];
            must_equal!(new(setups, Wanted::default()).await?, AttentionError::Carrier { layer: 1, error });
        }
        Ok(())
    }

    async fn passes_that_cannot_be_change_nothing(gpu: &Gpu) -> Result<(), String> {
        let config = uniform(SMALL, Storage::F32, 64, 64, Admission::Surprise);
        let wanted = Wanted { rows: 8, pass_rows: 70, capacity: 0 };
        let tokens = random(20, SMALL, 300, Keys::Spiky);
        let mut rig = small(gpu, &config, wanted).await?;
        let mut other = small(gpu, &config, wanted).await?;
        for rig in [&mut rig, &mut other] {
            rig.hand_in(&tokens.surprise[..65]).map_err(say)?;
            rig.extend(given(&tokens), 0..60).await.map_err(say)?;
            rig.extend(given(&tokens), 60..125).await.map_err(say)?;
        }
        let chain = |rows| Tree::chain(rows).map_err(say);
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let (attention, encoder) = (&mut rig.attention, &mut encoder);
        must_equal!(attention.depth_left(), 3);
        must_equal!(pass_error(attention.extend(gpu, 0))?, PassError::Rows { rows: 0, most: 70 });
        must_equal!(pass_error(attention.extend(gpu, 71))?, PassError::Rows { rows: 71, most: 70 });
        must_equal!(pass_error(attention.extend(gpu, 4))?, PassError::Surprises { needed: 66, known: 65 });
        must_equal!(pass_error(attention.verify(gpu, &chain(9)?))?, PassError::Rows { rows: 9, most: 8 });
        must_equal!(pass_error(attention.verify(gpu, &chain(4)?))?, PassError::TooDeep { depth: 3, most: 3 });
        must_equal!(pass_error(attention.accept(gpu, encoder, &[0]))?, PassError::NothingWaits);
        // No more at once than the caller's buffer holds.
        let many = PassError::Rows { rows: 71, most: 70 };
        must_equal!(pass_error(attention.hand_in(gpu, encoder, 71))?, many);
        attention.hand_in(gpu, encoder, 0).map_err(say)?;
        must_equal!(attention.surprised(), 65);
        let states = rig.snapshot().await.map_err(say)?;
        same_state(&states, &other.snapshot().await.map_err(say)?)?;

        // A tree waits; a path that is none of it leaves it waiting.
        let tree = Tree::new(&[0, 0]).map_err(say)?;
        rig.verify(given(&tokens), &[125, 130, 126], &tree).await.map_err(say)?;
        for (path, at, row) in [(&[][..], 0, None), (&[1], 0, Some(1)), (&[0, 1, 2], 2, Some(2)), (&[0, 3], 1, Some(3))] {
            let error = PassError::Tree(TreeError::Path { at, row });
            must_equal!(pass_error(rig.accept(path))?, error);
        }
        rig.accept(&[0, 2]).map_err(say)?;
        must_equal!(pass_error(rig.accept(&[0]))?, PassError::NothingWaits);
        other.extend(given(&tokens), 125..127).await.map_err(say)?;
        // A verified tree is forgotten when a pass takes rows in.
        rig.verify(given(&tokens), &[127], &chain(1)?).await.map_err(say)?;
        for rig in [&mut rig, &mut other] {
            rig.hand_in(&tokens.surprise[65..135]).map_err(say)?;
            rig.extend(given(&tokens), 127..180).await.map_err(say)?;
        }
        must_equal!(pass_error(rig.accept(&[0]))?, PassError::NothingWaits);
        same_state(&rig.snapshot().await.map_err(say)?, &other.snapshot().await.map_err(say)?)?;

        // Surprises up to a pass ahead, and a state is asked for that cannot have them.
        let ahead = rig.hand_in(&tokens.surprise[135..205]);
        ahead.map_err(say)?;
        must_equal!(
            pass_error(rig.snapshot().await)?,
            PassError::TooManySurprises { known: 205, most: 181 }
        );
        must_equal!(
            pass_error(rig.hand_in(&tokens.surprise[205..255]))?,
            PassError::TooManySurprises { known: 255, most: 250 }
        );
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_context_ends_where_memory_or_positions_do(gpu: &Gpu) -> Result<(), String> {
        let native = Config::new(SMALL, Storage::F16, Memory::Native).map_err(say)?;
        let mut rig = small(gpu, &native, Wanted { rows: 8, pass_rows: 100, capacity: 65 }).await?;
        let tokens = random(21, SMALL, 140, Keys::Plain);
        // Whole blocks: room for 128.
        rig.extend(given(&tokens), 0..100).await.map_err(say)?;
        must_equal!(rig.attention.depth_left(), 28);
        must_equal!(pass_error(rig.attention.extend(gpu, 29))?, PassError::Capacity { needs: 129, most: 128 });
        rig.extend(given(&tokens), 100..126).await.map_err(say)?;
        // Of a tree, only one path will need room.
        let broad = Tree::new(&[0, 0, 0, 0]).map_err(say)?;
        rig.verify(given(&tokens), &[126, 127, 128, 129, 130], &broad).await.map_err(say)?;
        let deep = Tree::chain(3).map_err(say)?;
        must_equal!(pass_error(rig.attention.verify(gpu, &deep))?, PassError::Capacity { needs: 129, most: 128 });
        rig.accept(&[0, 3]).map_err(say)?;
        must_equal!((rig.attention.tokens(), rig.attention.depth_left()), (128, 0));
        let one = Tree::chain(1).map_err(say)?;
        must_equal!(pass_error(rig.attention.verify(gpu, &one))?, PassError::Capacity { needs: 129, most: 128 });
        must_equal!(pass_error(rig.attention.extend(gpu, 1))?, PassError::Capacity { needs: 129, most: 128 });
        // Nor does a state with more tokens go in.
        let states = rig.snapshot().await.map_err(say)?;
        let mut long = states.clone();
        long[0].tokens = 129;
        let head = &mut long[0].heads[0];
        for rows in [&mut head.band_keys, &mut head.band_values] {
            rows.resize(129 * 16, 0);
        }
        must_equal!(pass_error(rig.attention.restore(gpu, &long))?, PassError::Capacity { needs: 129, most: 128 });
        same_state(&rig.snapshot().await.map_err(say)?, &states)?;

        let config = uniform(SMALL, Storage::F16, 64, 0, LOOK);
        let mut rig = small(gpu, &config, Wanted::default()).await?;
        let mut late = LayerSnapshot::empty(&config, &Carrier::None);
        late.tokens = MAX_TOKENS - 1;
        rig.attention.restore(gpu, &[late]).map_err(say)?;
        let error = PassError::TooLong { tokens: MAX_TOKENS - 1, rows: 2 };
        must_equal!(&pass_error(rig.attention.extend(gpu, 2))?, &error);
        must_equal!(pass_error(rig.attention.verify(gpu, &Tree::chain(2).map_err(say)?))?, error);
        rig.extend(given(&tokens), 0..1).await.map_err(say)?;
        must_equal!(rig.attention.tokens(), MAX_TOKENS);
        must_equal!(
            pass_error(rig.attention.extend(gpu, 1))?,
            PassError::TooLong { tokens: MAX_TOKENS, rows: 1 }
        );
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_bad_state_leaves_the_present_one(gpu: &Gpu) -> Result<(), String> {
        let config = uniform(SMALL, Storage::F16, 64, 64, LOOK);
        let carrier = Carrier::Cells(random_cells(1, SMALL, 5, 2));
        let tokens = random(22, SMALL, 300, Keys::Spiky);
        let setups = vec![setup(&config, &carrier), LayerSetup::plain(config.clone())];
        let mut rig = Rig::new(gpu, setups, Wanted::default()).await.map_err(say)?;
        rig.extend(given(&tokens), 0..256).await.map_err(say)?;
        let earlier = rig.snapshot().await.map_err(say)?;
        rig.extend(given(&tokens), 256..280).await.map_err(say)?;
        let present = rig.snapshot().await.map_err(say)?;
        let changed = |change: fn(&mut Vec<LayerSnapshot>)| {
            let mut states = earlier.clone();
            change(&mut states);
            states
        };
        for (states, error) in [
            (changed(|states| states.truncate(1)), SnapshotError::LayerCount { found: 1, wanted: 2 }),
            (changed(Vec::clear), SnapshotError::LayerCount { found: 0, wanted: 2 }),
            (
                // Each layer may be in its state, but not beside the other. The last layer's tokens are those that count.
                changed(|states| states[0].tokens = 255),
                SnapshotError::LayerTokens { found: 255, wanted: 256 },
            ),
            (
                changed(|states| states[1].tokens = MAX_TOKENS + 1),
                SnapshotError::Tokens { found: MAX_TOKENS + 1, most: MAX_TOKENS },
            ),
            (changed(|states| states.swap(0, 1)), SnapshotError::Carrier { found: "no carrier", wanted: "a cell carrier" }),
            (changed(|states| states[1].heads.clear()), SnapshotError::Heads { found: 0, wanted: 1 }),
            (
                changed(|states| states[1].heads[0].store_positions[5] = 128),
                SnapshotError::Position { head: 0, slot: 5, found: 128, left: 128 },
            ),
            (
                changed(|states| states[1].heads[0].looks[2] = f32::NAN),
                SnapshotError::Value {
                    field: Field::Looks,
                    head: Some(0),
                    index: 2,
                    bits: f32::NAN.to_bits(),
                    wanted: "a finite number that is not negative",
                },
            ),
            (
                changed(|states| states[1].heads[0].band_keys[..2].copy_from_slice(&[0, 0x7c])),
                SnapshotError::Value { field: Field::BandKeys, head: Some(0), index: 0, bits: 0x7f80_0000, wanted: "a finite number" },
            ),
            (
                changed(|states| states[1].heads[0].store_values.truncate(100)),
                SnapshotError::Len { field: Field::StoreValues, head: Some(0), found: 100, wanted: 1024 },
            ),
        ] {
            let found = in_words(rig.attention.restore(gpu, &states))?;
            must_equal!(found, AttentionError::Snapshot(error));
            same_state(&rig.snapshot().await.map_err(say)?, &present)?;
        }
        must_equal!(rig.attention.tokens(), 280);
        rig.attention.restore(gpu, &earlier).map_err(say)?;
        same_state(&rig.snapshot().await.map_err(say)?, &earlier)
    }
}

/// The same rows with and without NaN, before every pass, in all that no token was written to.
async fn unused_memory_is_never_read(
    gpu: &Gpu,
    which: usize,
    storage: Storage,
    admission: Admission,
) -> Result<(), String> {
    let tokens = random(3, SHAPE, 420, Keys::Spiky);
    let carrier = &carriers(SHAPE)[which];
    let heads = [64, 192].map(|store| HeadMemory { store, admission }).to_vec();
    let config = Config::new(SHAPE, storage, Memory::Constant(Constant { band: 64, heads })).map_err(say)?;
    let mut all = Vec::new();
    for poisoned in [false, true] {
        let mut rig = Rig::new(gpu, vec![setup(&config, carrier)], Wanted::default()).await.map_err(say)?;
        let (mut at, mut outs) = (0, Vec::new());
        for rows in [5, 59, 1, 63, 64, 32, 96, 100] {
            if poisoned {
                rig.attention.poison(gpu).map_err(say)?;
            }
            rig.hand_in(&tokens.surprise[at..at + rows]).map_err(say)?;
            outs.extend(rig.extend(given(&tokens), at..at + rows).await.map_err(say)?);
            at += rows;
        }
        all.push((outs, rig.snapshot().await.map_err(say)?));
    }
    agrees(&all[1].0, &all[0].0, 0.0)?;
    same_state(&all[1].1, &all[0].1)
}

/// Logits of about 1e5 of either sign.
async fn large_logits_keep_every_row(gpu: &Gpu, storage: Storage) -> Result<(), String> {
    for carrier in carriers(SMALL) {
        let mut tokens = random(8, SMALL, 260, Keys::Plain);
        // Keys and queries along one axis of either sign: q . k / sqrt(8) is +-1e5, and a little.
        let mut random = Random::new(9);
        let long = (1e5 * 8.0_f32.sqrt()).sqrt();
        for row in tokens.q.chunks_exact_mut(8).chain(tokens.k.chunks_exact_mut(8)) {
            row[0] = if random.below(2) == 0 { long } else { -long };
        }
        let config = uniform(SMALL, storage, 64, 64, LOOK);
        // A logit of 1e5 has steps of 1/128, so a sum that is rounded in another way weighs much else: elsewhere only
        // bounds are asked for.
        let mut pair = Beside::new(gpu, vec![setup(&config, &carrier)], tokens, 20.0).await?;
        for rows in [1, 100, 100, 59] {
            let got = pair.extend(rows).await?;
            // A mean of values stays among them.
            let most = pair.tokens.v.iter().map(|v| v.abs()).fold(0.0, f32::max);
            if got.iter().any(|x| x.abs() > 1.001 * most) {
                return Err(format!("{storage:?}: outputs are beyond all values"));
            }
        }
        let states = pair.states().await?;
        states[0].check(&config, &carrier).map_err(say)?;
    }
    Ok(())
}

/// A third of all keys' and values' numbers are 6e5, of either sign.
async fn large_activations_keep_every_row(gpu: &Gpu, storage: Storage) -> Result<(), String> {
    for carrier in carriers(SMALL) {
        let mut tokens = random(10, SMALL, 300, Keys::Plain);
        let mut random = Random::new(11);
        let mut over = 0;
        for number in tokens.k.iter_mut().chain(&mut tokens.v) {
            if random.below(3) == 0 {
                *number = if random.below(2) == 0 { 6e5 } else { -6e5 };
                over += 1;
            }
        }
        tokens.q.iter_mut().step_by(5).for_each(|number| *number = 6e5);
        let config = uniform(SMALL, storage, 64, 64, LOOK);
        let mut pair = Beside::new(gpu, vec![setup(&config, &carrier)], tokens, 2e6).await?;
        for rows in [1, 128, 100, 71] {
            pair.extend(rows)
                .await
                .map_err(|error| format!("{storage:?}, {} pieces of carrier: {error}", carrier.pieces()))?;
        }
        let counted = pair.rig.attention.overflows(gpu, 0).await.map_err(say)?;
        must_equal!(counted, if storage == Storage::F16 { over } else { 0 });
        let states = pair.states().await?;
        states[0].check(&config, &carrier).map_err(say)?;
    }
    Ok(())
}

/// Wide rows, for many numbers at once: 64 heads of 256.
const WIDE: Shape = Shape { heads: 64, kv_heads: 64, head_dim: 256 };
const WIDE_ROW: usize = 64 * 256;
const WIDE_WANTED: Wanted = Wanted { rows: 16, pass_rows: 16, capacity: 64 };

/// Stores rows of keys and values and reads them back.
async fn stored<'g>(
    gpu: &'g Gpu,
    storage: Storage,
    keys: &[f32],
    values: &[f32],
) -> Result<(Rig<'g>, LayerSnapshot), String> {
    let config = Config::new(WIDE, storage, Memory::Native).map_err(say)?;
    let mut rig = small(gpu, &config, WIDE_WANTED).await?;
    let q = vec![0.0; keys.len()];
    let tokens = Tokens { q, k: keys.to_vec(), v: values.to_vec(), surprise: vec![] };
    rig.extend(given(&tokens), 0..keys.len() / WIDE_ROW).await.map_err(say)?;
    let state = rig.snapshot().await.map_err(say)?.remove(0);
    Ok((rig, state))
}

/// Keys or values of a native state as they were given: token by token, head by head.
fn of_heads(state: &LayerSnapshot, values: bool) -> Vec<u8> {
    let heads = state.heads.iter().map(|head| if values { &head.band_values } else { &head.band_keys });
    let heads: Vec<&Vec<u8>> = heads.collect();
    let row = heads[0].len() / state.tokens as usize;
    let tokens = 0..state.tokens as usize;
    tokens.flat_map(|token| heads.iter().flat_map(move |rows| &rows[token * row..(token + 1) * row])).copied().collect()
}

/// Every half, what lies in the middle between two and next to that, where halves end, and any bits.
fn hard_numbers(count: usize) -> Vec<f32> {
    let mut all: Vec<f32> = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()).collect();
    for bits in 0..0x7c00 {
        let below = f16::from_bits(bits).to_f32();
        // Behind the largest half comes, for rounding, what would be the next.
        let above = if bits == 0x7bff { 65536.0 } else { f16::from_bits(bits + 1).to_f32() };
        let middle = f32::midpoint(below, above);
        for number in [middle, middle.next_down(), middle.next_up()] {
            all.extend([number, -number]);
        }
    }
    let words = [0, 1, 0x007f_ffff, 0x0080_0000, 0x3300_0000, 0x32ff_ffff, 0x3300_0001, 0x477f_efff, 0x477f_f000];
    all.extend(words.into_iter().chain([0x7f7f_ffff, 0x7f80_0000]).map(f32::from_bits));
    all.extend(words.into_iter().chain([0x7f7f_ffff, 0x7f80_0000]).map(|bits| -f32::from_bits(bits)));
    assert!(all.len() < count, "room for all of them");
    let mut random = Random::new(30);
    while all.len() < count {
        let bits = random.bits();
        let any = f32::from_bits(bits as u32);
        // Half of them in the range of halves.
        let near = f32::from_bits((bits as u32 & 0x8fff_ffff) + 0x3000_0000 + 0x0800_0000 * random.below(3));
        all.push(if bits >> 63 == 0 { any } else { near });
    }
    all
}

/// Rows in passes of odd sizes through a store that overflows.
async fn sizes_agree(gpu: &Gpu, shape: Shape, storage: Storage, carrier: &Carrier) -> Result<(), String> {
    let config = uniform(shape, storage, 64, 64, FAR);
    let tokens = random(14, shape, 260, Keys::Spiky);
    let mut pair = Beside::new(gpu, vec![setup(&config, carrier)], tokens, 1e-3).await?;
    pair.rig.attention.poison(gpu).map_err(say)?;
    for rows in [1, 66, 128, 65] {
        pair.extend(rows).await.map_err(|error| format!("{shape:?}: {error}"))?;
    }
    pair.states().await.map_err(|error| format!("{shape:?}: {error}"))?;
    Ok(())
}
