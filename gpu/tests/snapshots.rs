//! States to the host and back: who goes on from a state that was put back computes what one who never stopped does, and an
//! anchor holds no more than what changed.

pub mod common;

use common::beside::{agrees, given, is_exact, same_state, say};
use common::harness::report;
use common::oracle::{Keys, Tokens, random, random_cells, random_decay};
use common::rig::Rig;
use mrail::anchor::{Anchor, Encoded, MAX_CHAIN, Parent, Snapshot, encode, restore};
use mrail::chain::PrefixHash;
use mrail::record::{ANCHOR, DELTA};
use mrail_gpu::attention::{AttentionError, LayerSetup, Tree, Turnover, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::snapshot::{changed_rows, from_anchor, listing, to_anchor};
use mrail_gpu::state::{
    Admission, BLOCK, Carrier, CarrierSnapshot, Config, Constant, HeadMemory, LayerSnapshot, Memory, Shape, Storage,
};
use std::collections::BTreeSet;

const SHAPE: Shape = Shape { heads: 4, kv_heads: 2, head_dim: 8 };
const LOOK: Admission = Admission::Look { from: 0 };
const FAR: Admission = Admission::Look { from: 16 };

fn per_head(storage: Storage, heads: [(u32, Admission); 2]) -> Config {
    let heads = heads.map(|(store, admission)| HeadMemory { store, admission }).to_vec();
    Config::new(SHAPE, storage, Memory::Constant(Constant { band: 64, heads })).expect("good sizes")
}

/// Three layers that share nothing but heads and band: every carrier, both storages, uniform stores and a store of each head,
/// looks and surprise.
fn mixed() -> Vec<LayerSetup> {
    let layer = |config, carrier| LayerSetup::plain(config).with_carrier(carrier);
    vec![
        layer(per_head(Storage::F16, [(128, LOOK), (128, LOOK)]), Carrier::None),
        layer(per_head(Storage::F32, [(64, Admission::Surprise), (192, FAR)]), Carrier::Decay(random_decay(1, SHAPE))),
        layer(
            per_head(Storage::F16, [(0, FAR), (64, Admission::Surprise)]),
            Carrier::Cells(random_cells(2, SHAPE, 70, 3)),
        ),
    ]
}

/// Layers alike, with cells.
fn alike() -> Vec<LayerSetup> {
    let cells = |seed| Carrier::Cells(random_cells(seed, SHAPE, 9, 3));
    let config = per_head(Storage::F16, [(64, LOOK), (64, LOOK)]);
    [3, 4].map(|seed| LayerSetup::plain(config.clone()).with_carrier(cells(seed))).to_vec()
}

async fn rig(gpu: &Gpu, setups: Vec<LayerSetup>) -> Result<Rig<'_>, String> {
    Rig::new(gpu, setups, Wanted::default()).await.map_err(say)
}

/// Reads the next tokens in one pass, their surprises first.
async fn extend(rig: &mut Rig<'_>, tokens: &Tokens, rows: usize) -> Result<Vec<f32>, String> {
    let (at, known) = (rig.attention.tokens() as usize, rig.attention.surprised() as usize);
    if known < at + rows {
        rig.hand_in(&tokens.surprise[known..at + rows]).map_err(say)?;
    }
    rig.extend(given(tokens), at..at + rows).await.map_err(say)
}

fn anchored(rig: &Rig<'_>, states: &[LayerSnapshot]) -> Result<Snapshot, String> {
    let setups = (0..states.len()).map(|layer| rig.attention.setup(layer));
    let layers: Vec<_> = setups.zip(states).map(|(setup, state)| (&setup.config, &setup.carrier, state)).collect();
    to_anchor(&layers).map_err(say)
}

fn from_anchored(rig: &Rig<'_>, snapshot: &Snapshot) -> Result<Vec<LayerSnapshot>, String> {
    let setups = (0..rig.attention.layers()).map(|layer| rig.attention.setup(layer));
    let layers: Vec<_> = setups.map(|setup| (&setup.config, &setup.carrier)).collect();
    from_anchor(snapshot, &layers).map_err(say)
}

fn hash(position: u32) -> PrefixHash {
    PrefixHash(u64::from(position).to_le_bytes())
}

/// Ends passes before, at and behind places where the band's start moves: 128, 192, 256, 320, 384.
const PASSES: [usize; 14] = [63, 1, 63, 1, 1, 62, 1, 64, 1, 63, 1, 64, 30, 40];

/// From every state on the way to the last: put back, go on, and compare.
async fn going_on_is_the_same(gpu: &Gpu, setups: Vec<LayerSetup>) -> Result<(), String> {
    let tokens = random(1, SHAPE, PASSES.iter().sum(), Keys::Spiky);
    let mut straight = rig(gpu, setups.clone()).await?;
    let (mut outs, mut states) = (Vec::new(), Vec::new());
    for rows in PASSES {
        states.push(straight.snapshot().await.map_err(say)?);
        outs.push(extend(&mut straight, &tokens, rows).await?);
    }
    let last = straight.snapshot().await.map_err(say)?;
    // From the latest back, so that each finds the remains of a longer context.
    let mut other = rig(gpu, setups).await?;
    for first in (0..PASSES.len()).rev() {
        other.attention.restore(gpu, &states[first]).map_err(say)?;
        let at = other.attention.tokens();
        same_state(&other.snapshot().await.map_err(say)?, &states[first])?;
        if first % 2 == 0 {
            other.attention.poison(gpu).map_err(say)?;
        }
        // A few passes tell: the next one begins with a turnover, or soon does.
        for pass in first..PASSES.len().min(first + 3) {
            let got = extend(&mut other, &tokens, PASSES[pass]).await?;
            agrees(&got, &outs[pass], 0.0).map_err(|error| format!("from {at}, pass {pass}: {error}"))?;
            let want = states.get(pass + 1).unwrap_or(&last);
            same_state(&other.snapshot().await.map_err(say)?, want).map_err(|error| format!("from {at}: {error}"))?;
        }
    }
    // What was put back matters.
    other.attention.restore(gpu, &states[5]).map_err(say)?;
    let mut wrong = random(1, SHAPE, PASSES.iter().sum(), Keys::Spiky);
    wrong.q.rotate_left(64);
    wrong.k.rotate_left(16);
    let got = extend(&mut other, &wrong, PASSES[5]).await?;
    agrees(&got, &outs[5], 1e-3).err().ok_or("other rows computed the same")?;
    Ok(())
}

device_tests! {
    async fn another_state_is_never_the_same() {
        let config = per_head(Storage::F32, [(64, Admission::Surprise), (64, LOOK)]);
        let carrier = Carrier::Decay(random_decay(1, SHAPE));
        let state = LayerSnapshot::empty(&config, &carrier);
        let states = [state.clone(), state.clone()];
        assert_eq!(same_state(&states, &states), Ok(()));
        assert!(same_state(&states, &states[..1]).is_err() && same_state(&states[..1], &states).is_err());
        let changes: [fn(&mut LayerSnapshot); 11] = [
            |state| state.tokens = 1,
            |state| state.surprised = 1,
            |state| state.surprises[3] = 1e-45,
            |state| state.heads[1].band_keys[511] = 1,
            |state| state.heads[0].band_values[0] = 0x80,
            |state| state.heads[1].store_keys[3] = 1,
            |state| state.heads[1].store_values[3] = 1,
            |state| state.heads[0].store_positions[63] = 1,
            |state| state.heads[0].store_scores[0] = -0.0,
            |state| state.heads[1].looks[127] = 1e-45,
            |state| {
                let CarrierSnapshot::Decay(sums) = &mut state.carrier else { return };
                sums[4 * 45 * 9 - 1] = -0.0;
            },
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut other = states.clone();
            change(&mut other[1]);
            assert!(same_state(&other, &states).is_err() && same_state(&states, &other).is_err(), "change {index}");
        }
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_mixed_stack_goes_on_from_any_state(gpu: &Gpu) -> Result<(), String> {
        going_on_is_the_same(gpu, mixed()).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn layers_alike_go_on_from_any_state(gpu: &Gpu) -> Result<(), String> {
        going_on_is_the_same(gpu, alike()).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_native_cache_goes_on_from_any_state(gpu: &Gpu) -> Result<(), String> {
        let native = |storage| Config::new(SHAPE, storage, Memory::Native).map_err(say);
        going_on_is_the_same(
            gpu,
            vec![LayerSetup::plain(native(Storage::F16)?), LayerSetup::plain(native(Storage::F32)?)],
        )
        .await
    }

    async fn a_state_after_part_of_a_tree_is_one_like_any_other(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(2, SHAPE, 300, Keys::Spiky);
        let (mut drafting, mut other) = (rig(gpu, mixed()).await?, rig(gpu, mixed()).await?);
        // The root stands in front of, at and behind a place where the band's start moves.
        for first in [187, 192, 193] {
            drafting.attention.restore(gpu, &empty()).map_err(say)?;
            for rows in [100, first - 100] {
                extend(&mut drafting, &tokens, rows).await?;
            }
            drafting.hand_in(&tokens.surprise[first..=first]).map_err(say)?;
            // The drafts 1, 2 and 4 are right; 3 and 5 are other tokens.
            let tree = Tree::new(&[0, 1, 0, 2, 3]).map_err(say)?;
            let nodes = [first, first + 1, first + 2, 299, first + 3, 298];
            drafting.verify(given(&tokens), &nodes, &tree).await.map_err(say)?;
            drafting.accept(&[0, 1, 2]).map_err(say)?;
            let states = drafting.snapshot().await.map_err(say)?;
            if states.iter().any(|state| state.tokens as usize != first + 3) {
                return Err("three rows were taken in".into());
            }
            other.attention.restore(gpu, &states).map_err(say)?;
            other.attention.poison(gpu).map_err(say)?;
            for rows in [1, 59, 3] {
                let want = extend(&mut drafting, &tokens, rows).await?;
                let got = extend(&mut other, &tokens, rows).await?;
                agrees(&got, &want, 0.0).map_err(|error| format!("from {first}: {error}"))?;
            }
            same_state(&other.snapshot().await.map_err(say)?, &drafting.snapshot().await.map_err(say)?)?;
        }
        Ok(())
    }

    async fn a_waiting_root_behind_a_turnover_is_no_state(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(3, SHAPE, 300, Keys::Spiky);
        let mut rig = rig(gpu, mixed()).await?;
        let chain = |rows| Tree::chain(rows).map_err(say);
        extend(&mut rig, &tokens, 127).await?;
        // In front of the place nothing leaves, so drafts leave no trace.
        let before = rig.snapshot().await.map_err(say)?;
        rig.verify(given(&tokens), &[127], &chain(1)?).await.map_err(say)?;
        same_state(&rig.snapshot().await.map_err(say)?, &before)?;
        extend(&mut rig, &tokens, 1).await?;
        rig.hand_in(&tokens.surprise[128..=128]).map_err(say)?;
        rig.verify(given(&tokens), &[128, 129], &chain(2)?).await.map_err(say)?;
        match rig.snapshot().await {
            Err(AttentionError::RootWaits) => {}
            other => return Err(format!("{other:?}")),
        }
        rig.accept(&[0]).map_err(say)?;
        let states = rig.snapshot().await.map_err(say)?;
        for (state, setup) in states.iter().zip(mixed()) {
            state.check(&setup.config, &setup.carrier).map_err(say)?;
        }
        // A state that is put back ends the wait, and so do rows that are taken in.
        for again in [true, false] {
            rig.attention.restore(gpu, &states).map_err(say)?;
            extend(&mut rig, &tokens, 63).await?;
            let at_192 = rig.snapshot().await.map_err(say)?;
            rig.verify(given(&tokens), &[192], &chain(1)?).await.map_err(say)?;
            rig.snapshot().await.err().ok_or("the root waits")?;
            if again {
                rig.attention.restore(gpu, &at_192).map_err(say)?;
                same_state(&rig.snapshot().await.map_err(say)?, &at_192)?;
            } else {
                extend(&mut rig, &tokens, 1).await?;
                rig.snapshot().await.map_err(say)?;
            }
        }
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_chain_of_anchors_brings_every_state_back(gpu: &Gpu) -> Result<(), String> {
        chain_of_anchors(gpu, alike()).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_chain_of_anchors_brings_a_mixed_stack_back(gpu: &Gpu) -> Result<(), String> {
        chain_of_anchors(gpu, mixed()).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn a_delta_holds_what_turnovers_wrote(gpu: &Gpu) -> Result<(), String> {
        deltas_are_turnovers(gpu, alike()).await
    }

    async fn a_delta_of_a_mixed_stack_holds_what_turnovers_wrote(gpu: &Gpu) -> Result<(), String> {
        deltas_are_turnovers(gpu, mixed()).await
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "long: `cargo xtask test --full` runs it in browsers, too")]
    async fn equal_states_make_equal_anchors(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(6, SHAPE, 330, Keys::Spiky);
        let mut records: Vec<(Vec<LayerSnapshot>, Encoded)> = Vec::new();
        for (passes, poisoned) in [(&[200, 130][..], false), (&[1, 63, 1, 129, 6, 130], true), (&[64; 5], false)] {
            let mut rig = rig(gpu, mixed()).await?;
            for rows in passes {
                if poisoned {
                    rig.attention.poison(gpu).map_err(say)?;
                }
                extend(&mut rig, &tokens, *rows).await?;
            }
            while rig.attention.tokens() < 330 {
                extend(&mut rig, &tokens, 1).await?;
            }
            let states = rig.snapshot().await.map_err(say)?;
            let record = encode(1, 330, hash(330), &anchored(&rig, &states)?, None).map_err(say)?;
            records.push((states, record));
        }
        for (states, record) in &records[1..] {
            match same_state(states, &records[0].0) {
                Ok(()) if *record == records[0].1 => {}
                Ok(()) => return Err("equal states make other records".into()),
                // Sums of other groupings have other bits there, and are promised nothing.
                Err(error) if !is_exact(gpu) => report(&format!("groupings differ on this device: {error}")),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn empty() -> Vec<LayerSnapshot> {
    mixed().iter().map(|setup| LayerSnapshot::empty(&setup.config, &setup.carrier)).collect()
}

/// A state every 17 tokens, each a delta to the one before as long as chains may be; then each is restored from records alone.
async fn chain_of_anchors(gpu: &Gpu, setups: Vec<LayerSetup>) -> Result<(), String> {
    let tokens = random(4, SHAPE, 400, Keys::Spiky);
    let mut straight = rig(gpu, setups.clone()).await?;
    // Deltas begin in the middle of turnovers.
    extend(&mut straight, &tokens, 150).await?;
    let mut records: Vec<(u32, Encoded)> = Vec::new();
    let mut parent: Option<(u32, u32, Snapshot)> = None;
    let mut all = Vec::new();
    for index in 0..11 {
        extend(&mut straight, &tokens, 17).await?;
        let position = straight.attention.tokens();
        let states = straight.snapshot().await.map_err(say)?;
        let snapshot = anchored(&straight, &states)?;
        let before = parent.as_ref().map(|(position, chain, snapshot)| Parent {
            hash: hash(*position),
            chain: *chain,
            snapshot,
        });
        let record = encode(1, position, hash(position), &snapshot, before).map_err(say)?;
        // Eight records in a chain, the first of them whole.
        let wanted = if index % MAX_CHAIN == 0 { ANCHOR } else { DELTA };
        if record.kind != wanted {
            return Err(format!("record {index} is of kind {}, not {wanted}", record.kind));
        }
        records.push((position, record));
        parent = Some((position, index % MAX_CHAIN, snapshot));
        all.push((position, states));
    }
    let last_out = extend(&mut straight, &tokens, 63).await?;
    let last = straight.snapshot().await.map_err(say)?;

    let find = |wanted: PrefixHash| {
        let (_, record) = records.iter().find(|(position, _)| hash(*position) == wanted)?;
        Anchor::parse(record.kind, &record.payload).ok()
    };
    let mut other = rig(gpu, setups).await?;
    for (index, (position, states)) in all.iter().enumerate() {
        let restored = restore(hash(*position), find).map_err(say)?;
        if restored.chain != index as u32 % MAX_CHAIN {
            return Err(format!("record {index} stands behind {} deltas", restored.chain));
        }
        let read = from_anchored(&other, &restored.snapshot)?;
        same_state(&read, states).map_err(|error| format!("record {index}: {error}"))?;
        other.attention.restore(gpu, &read).map_err(say)?;
        same_state(&other.snapshot().await.map_err(say)?, states)?;
    }
    let got = extend(&mut other, &tokens, 63).await?;
    agrees(&got, &last_out, 0.0)?;
    same_state(&other.snapshot().await.map_err(say)?, &last)
}

/// Which head of which layer an array's row counts belong to.
fn heads_of(array: &str, layer: usize, counts: &[u64]) -> Vec<(usize, usize, u64)> {
    match array.strip_prefix('L').and_then(|rest| rest.split_once('.')).and_then(|(place, _)| place.split_once('H')) {
        Some((layer, head)) => {
            vec![(layer.parse().expect("a layer"), head.parse().expect("a head"), counts[0])]
        }
        None => counts.iter().enumerate().map(|(head, &count)| (layer, head, count)).collect(),
    }
}

/// Compares the rows of deltas with what turnovers say they wrote, over intervals of many lengths.
async fn deltas_are_turnovers(gpu: &Gpu, setups: Vec<LayerSetup>) -> Result<(), String> {
    let tokens = random(5, SHAPE, 640, Keys::Spiky);
    let (layers, heads) = (setups.len(), SHAPE.kv_heads as usize);
    let ring = 128;
    let mut rig = rig(gpu, setups.clone()).await?;
    // Stores fill first, then their entries are replaced.
    let mut parent: Option<Snapshot> = None;
    let mut replaced = 0;
    for n in [1_usize, 63, 64, 1, 5, 58, 1, 63, 65, 127, 128, 2] {
        let mut written = vec![vec![BTreeSet::new(); heads]; layers];
        let (first, mut left) = (rig.attention.tokens() as usize, n);
        while left > 0 {
            // A pass ends with each block of positions, so no turnover hides another.
            let at = rig.attention.tokens() as usize;
            let rows = left.min(BLOCK as usize - at % BLOCK as usize);
            extend(&mut rig, &tokens, rows).await?;
            left -= rows;
            if at.is_multiple_of(BLOCK as usize) && at >= ring {
                for (layer, written) in written.iter_mut().enumerate() {
                    let turnovers = rig.attention.last_turnover(gpu, layer).await.map_err(say)?;
                    for (head, Turnover { written: slots, dropped }) in turnovers.into_iter().enumerate() {
                        let store = setups[layer].config.store(head) as usize;
                        let filling = at - ring < store;
                        if (slots.len(), dropped.len()) != if filling { (64, 0) } else { (slots.len(), 64) } {
                            return Err(format!("{at}: {} written, {} dropped", slots.len(), dropped.len()));
                        }
                        replaced += if filling { 0 } else { slots.len() };
                        written[head].extend(slots);
                    }
                }
            }
        }
        let states = rig.snapshot().await.map_err(say)?;
        let snapshot = anchored(&rig, &states)?;
        check_listing(&snapshot, &setups, &states)?;
        if let Some(parent) = &parent {
            for changed in changed_rows(parent, &snapshot).ok_or("no delta can be")? {
                for (layer, head, count) in heads_of(&changed.array, changed.layer, &changed.changed) {
                    let name = format!("{n} tokens from {first}: layer {layer}, head {head}, {}", changed.array);
                    let is_band = changed.array.contains("band");
                    let wanted = if is_band { n.min(ring) } else { written[layer][head].len() } as u64;
                    let most = (n + if is_band { 0 } else { BLOCK as usize }) as u64;
                    if count != wanted || count > most {
                        return Err(format!("{name}: {count} rows changed, {wanted} were written, {most} may be"));
                    }
                }
            }
            // The delta itself gives the state back.
            let of_parent = Parent { hash: hash(1), chain: 0, snapshot: parent };
            let whole = encode(1, 1, hash(1), parent, None).map_err(say)?;
            let delta = encode(1, 2, hash(2), &snapshot, Some(of_parent)).map_err(say)?;
            if delta.kind != DELTA {
                return Err("a whole record instead of a delta".into());
            }
            let find = |wanted| {
                let record = if wanted == hash(1) { &whole } else { &delta };
                Anchor::parse(record.kind, &record.payload).ok()
            };
            if restore(hash(2), find).map_err(say)?.snapshot != snapshot {
                return Err("a delta gives another state".into());
            }
        }
        parent = Some(snapshot);
    }
    if replaced == 0 { Err("no entry of a store was ever replaced".into()) } else { Ok(()) }
}

/// An anchor's bytes by what they are.
fn check_listing(snapshot: &Snapshot, setups: &[LayerSetup], states: &[LayerSnapshot]) -> Result<(), String> {
    let listed = listing(snapshot);
    let carrier: u64 = setups.iter().map(|setup| setup.carrier.state_bytes(SHAPE)).sum();
    let of_head = |rows: usize, row: u32| (2 * rows) as u64 * u64::from(row);
    let mut by_rows = 0;
    let mut other = 0;
    for (setup, state) in setups.iter().zip(states) {
        let row = SHAPE.head_dim * setup.config.storage().size();
        for (head, kept) in state.heads.iter().enumerate() {
            let store = setup.config.store(head) as usize;
            by_rows += of_head(128 + store, row);
            other += 4 * (2 * store + kept.looks.len()) as u64;
        }
        other += 4 * state.surprises.len() as u64;
    }
    let (got, want) = ((listed.row_bytes, listed.carrier_bytes, listed.other_bytes), (by_rows, carrier, other));
    if got != want || by_rows + carrier + other != snapshot.bytes().len() as u64 {
        return Err(format!("{got:?} bytes listed instead of {want:?}, of {}", snapshot.bytes().len()));
    }
    Ok(())
}
