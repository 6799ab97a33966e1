//! However tokens are grouped into passes, and whatever was drafted between them: outputs and states are the same bits.

pub mod common;

use common::bits::same_bits;
use common::oracle::{Keys, Random, random, random_cells, random_decay};
use common::rig::{Rig, Tokens};
use mrail_gpu::attention::{LayerSetup, Tree, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::{
    Admission, BLOCK, Carrier, Config, Constant, HeadMemory, LayerSnapshot, Memory, Shape, Storage,
};

const SHAPE: Shape = Shape { heads: 6, kv_heads: 2, head_dim: 8 };
const BAND: u32 = 64;
const TOKENS: usize = 420;

/// What stands for a GPU in browsers is slow: there, fewer rounds of the same.
const LIGHT: bool = cfg!(target_arch = "wasm32");

/// Rows of one token in queries and outputs.
const WIDE: usize = (SHAPE.heads * SHAPE.head_dim) as usize;

/// Two layers of each kind: stores of one size and of several, looks near and far, surprise, each carrier, native mode.
fn stacks() -> Vec<(&'static str, Vec<LayerSetup>)> {
    let look = |from| Admission::Look { from };
    let heads = [(128, Admission::Surprise), (64, look(16))];
    let heads = heads.map(|(store, admission)| HeadMemory { store, admission }).to_vec();
    let memory = Memory::Constant(Constant { band: BAND, heads });
    let mixed = Config::new(SHAPE, Storage::F16, memory).expect("good sizes");
    let uniform = |storage, from| Config::uniform(SHAPE, storage, BAND, 128, look(from)).expect("good sizes");
    let native = Config::new(SHAPE, Storage::F16, Memory::Native).expect("good sizes");
    let decay = Carrier::Decay(random_decay(1, SHAPE));
    let cells = Carrier::Cells(random_cells(2, SHAPE, 70, 8));
    let plain = |config: &Config| LayerSetup::plain(config.clone());
    vec![
        (
            "decays and cells in f32",
            vec![
                plain(&uniform(Storage::F32, 0)).with_carrier(decay.clone()),
                plain(&uniform(Storage::F32, 16)).with_carrier(cells.clone()),
            ],
        ),
        ("surprise in f16", vec![plain(&mixed).with_carrier(cells), plain(&mixed).with_carrier(decay), plain(&mixed)]),
        ("native", vec![plain(&native), plain(&native)]),
    ]
}

/// One thing that is done to the layers.
#[derive(Clone, Debug)]
enum Step {
    /// Read and take in this many tokens in one pass.
    Extend(usize),
    /// Verify a tree in which the next tokens stand on one path among wrong ones, and take in this many of them (at least the
    /// root).
    Draft { seed: u64, nodes: usize, right: usize },
    /// Verify such a tree and go on as if it had not been.
    Forget { seed: u64, nodes: usize },
}

/// A tree with a path of `right` rows, its root among them, and wrong rows anywhere; the rows of the path.
fn draft(random: &mut Random, nodes: usize, right: usize, depth: usize) -> (Tree, Vec<u32>) {
    let right = right.clamp(1, depth.min(nodes));
    let mut path = vec![0_u32];
    let (mut parents, mut depths) = (Vec::new(), vec![0_usize]);
    while depths.len() < nodes {
        let rows = depths.len() as u32;
        let missing = right - path.len();
        let on_path = missing > 0 && (nodes - depths.len() == missing || random.below(2) == 0);
        let parent = if on_path { path[path.len() - 1] } else { random.below(rows) };
        if depths[parent as usize] + 1 >= depth {
            // The root has no room behind it either.
            if depth == 1 {
                break;
            }
            continue;
        }
        if on_path {
            path.push(rows);
        }
        depths.push(depths[parent as usize] + 1);
        parents.push(parent);
    }
    (Tree::new(&parents).expect("parents come first"), path)
}

/// Layers that read `TOKENS` tokens, with all they put out.
///
/// Compiling its kernels takes longest: a reader is used again.
struct Reader<'g, 't> {
    rig: Rig<'g>,
    tokens: Tokens<'t>,
    /// Outputs of all tokens, on the device.
    out: wgpu::Buffer,
}

impl<'g, 't> Reader<'g, 't> {
    async fn new(gpu: &'g Gpu, setups: Vec<LayerSetup>, tokens: Tokens<'t>) -> Result<Self, String> {
        let wanted = Wanted { rows: 64, pass_rows: TOKENS as u32, capacity: TOKENS as u32 };
        let rig = Rig::new(gpu, setups, wanted).await.map_err(|error| error.to_string())?;
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let out =
            gpu.buffer("all outputs", 4 * (TOKENS * WIDE) as u64, usage).await.map_err(|error| error.to_string())?;
        Ok(Self { rig, tokens, out })
    }

    /// Forgets all, and runs so many rows at once from now on.
    fn start(&mut self, rows: u32) -> Result<(), String> {
        let gpu = self.rig.gpu;
        self.rig.attention.limit_rows(rows);
        self.rig.attention.clear(gpu).map_err(|error| error.to_string())?;
        self.rig.attention.poison(gpu).map_err(|error| error.to_string())
    }

    fn read(&self) -> usize {
        self.rig.attention.tokens() as usize
    }

    /// Outputs of all tokens read so far.
    async fn outputs(&self) -> Result<Vec<f32>, String> {
        let bytes = self.rig.gpu.read(&self.out, 0..4 * (self.read() * WIDE) as u64).await;
        let bytes = bytes.map_err(|error| error.to_string())?;
        Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// Surprises come with the tokens, one ahead at most.
    fn surprise(&mut self, below: usize) -> Result<(), String> {
        let known = self.rig.attention.surprised() as usize;
        if known < below && self.rig.attention.setup(0).config.wants_surprises() {
            self.rig.hand_in(&self.tokens.surprise[known..below]).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn extend(&mut self, rows: usize) -> Result<(), String> {
        let at = self.read();
        let end = (at + rows).min(TOKENS);
        if at == end {
            return Ok(());
        }
        self.surprise(end)?;
        self.rig.extend_to(self.tokens, at..end, &self.out).map_err(|error| error.to_string())
    }

    fn draft(&mut self, seed: u64, nodes: usize, right: usize, accept: bool) -> Result<(), String> {
        let at = self.read();
        if at == TOKENS {
            return Ok(());
        }
        self.surprise(at + 1)?;
        let mut random = Random::new(seed);
        let depth = (self.rig.attention.depth_left() as usize).min(TOKENS - at);
        let (tree, path) = draft(&mut random, nodes, right, depth);
        // Wrong rows are tokens from elsewhere.
        let mut rows: Vec<usize> = (0..tree.rows()).map(|_| random.below(TOKENS as u32) as usize).collect();
        for (i, &row) in path.iter().enumerate() {
            rows[row as usize] = at + i;
        }
        let places: Vec<_> = path.iter().enumerate().map(|(i, &row)| (row as usize, at + i)).collect();
        let verified = self.rig.verify_to(self.tokens, &rows, &tree, &self.out, &places);
        verified.map_err(|error| error.to_string())?;
        if accept {
            self.rig.accept(&path).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Extend(rows) => self.extend(rows),
            Step::Draft { seed, nodes, right } => self.draft(seed, nodes, right, true),
            Step::Forget { seed, nodes } => self.draft(seed, nodes, 1, false),
        }
    }

    async fn state(&mut self) -> Result<Vec<LayerSnapshot>, String> {
        self.surprise(self.read())?;
        self.rig.snapshot().await.map_err(|error| error.to_string())
    }
}

fn same_states(got: &[LayerSnapshot], want: &[LayerSnapshot]) -> Result<(), String> {
    for (layer, (got, want)) in got.iter().zip(want).enumerate() {
        if let Some(difference) = got.first_difference(want) {
            return Err(format!("layer {layer}: {difference}"));
        }
    }
    if got.len() == want.len() { Ok(()) } else { Err("not as many layers".into()) }
}

/// All outputs and the state after them.
type Read = (Vec<f32>, Vec<LayerSnapshot>);

/// Does all steps, then reads what is left.
async fn read(reader: &mut Reader<'_, '_>, rows: u32, steps: &[Step]) -> Result<Read, String> {
    reader.start(rows)?;
    for step in steps {
        reader.step(step)?;
    }
    reader.extend(TOKENS)?;
    let state = reader.state().await?;
    Ok((reader.outputs().await?, state))
}

/// Whatever is done on the way, the same must come out as in one pass.
async fn check(reader: &mut Reader<'_, '_>, rows: u32, steps: &[Step], want: &Read) -> Result<(), String> {
    let got = read(reader, rows, steps).await?;
    same_bits(&got.0, &want.0)?;
    same_states(&got.1, &want.1)
}

fn given(tokens: &common::oracle::Tokens) -> Tokens<'_> {
    Tokens { q: &tokens.q, k: &tokens.k, v: &tokens.v, surprise: &tokens.surprise }
}

device_tests! {
    /// One pass, chunks of 1, 7, 64 and of random sizes; 1, 2, 5, 8, 32 or 64 rows at once.
    async fn chunks_of_any_size_give_the_same_bits(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(11, SHAPE, TOKENS, Keys::Spiky);
        let tokens = given(&tokens);
        let mut random = Random::new(12);
        for (name, setups) in stacks().into_iter().skip(usize::from(LIGHT)) {
            let mut reader = Reader::new(gpu, setups, tokens).await?;
            let want = read(&mut reader, 64, &[]).await?;
            let all = [(7, 2), (0, 32), (1, 32), (64, 5), (TOKENS, 1), (TOKENS, 8), (0, 64)];
            for (chunk, rows) in all.into_iter().take(if LIGHT { 3 } else { 7 }) {
                let sizes = (0..TOKENS).map(|_| if chunk == 0 { 1 + random.below(100) as usize } else { chunk });
                let steps: Vec<Step> = sizes.map(Step::Extend).collect();
                let said = check(&mut reader, rows, &steps, &want).await;
                said.map_err(|error| format!("{name}, chunks of {chunk}, {rows} rows at once: {error}"))?;
            }
        }
        Ok(())
    }

    /// Trees that end before, at and behind the place where the band moves, accepted in part or not at all.
    async fn drafts_leave_no_trace(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(13, SHAPE, TOKENS, Keys::Spiky);
        let tokens = given(&tokens);
        for (name, setups) in stacks().into_iter().take(if LIGHT { 1 } else { 3 }) {
            let mut reader = Reader::new(gpu, setups, tokens).await?;
            let want = read(&mut reader, 64, &[]).await?;
            for seed in 0..if LIGHT { 1 } else { 3 } {
                let mut random = Random::new(seed);
                // To just before an edge, so that the first trees cross it or end at it.
                let edge = (BLOCK * (1 + random.below(4))) as usize;
                let mut steps = vec![Step::Extend(edge - random.below(4) as usize)];
                steps.extend((0..40).map(|_| {
                    let (seed, nodes) = (random.bits(), 1 + random.below(32) as usize);
                    match random.below(4) {
                        0 => Step::Forget { seed, nodes },
                        1 => Step::Extend(1 + random.below(20) as usize),
                        _ => Step::Draft { seed, nodes, right: 1 + random.below(12) as usize },
                    }
                }));
                let said = check(&mut reader, 32, &steps, &want).await;
                said.map_err(|error| format!("{name}, seed {seed}: {error}"))?;
            }
        }
        Ok(())
    }

    /// At every token around two edges the state with drafts is the state without.
    async fn states_are_equal_at_every_step(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(14, SHAPE, TOKENS, Keys::Spiky);
        let tokens = given(&tokens);
        let (_, setups) = stacks().swap_remove(1);
        let mut plain = Reader::new(gpu, setups.clone(), tokens).await?;
        let mut drafting = Reader::new(gpu, setups, tokens).await?;
        plain.start(32)?;
        drafting.start(32)?;
        plain.extend(185)?;
        drafting.extend(185)?;
        for seed in 0..24 {
            drafting.draft(seed, 1 + seed as usize % 17, 1 + seed as usize % 5, true)?;
            plain.extend(drafting.read() - plain.read())?;
            same_states(&drafting.state().await?, &plain.state().await?)
                .map_err(|error| format!("at {} tokens: {error}", plain.read()))?;
        }
        same_bits(&drafting.outputs().await?, &plain.outputs().await?)
    }

    /// What this file compares with must see a difference.
    async fn a_wrong_token_is_seen(gpu: &Gpu) -> Result<(), String> {
        let tokens = random(15, SHAPE, TOKENS, Keys::Spiky);
        let mut other = random(15, SHAPE, TOKENS, Keys::Spiky);
        // One bit of one value of an early token.
        let value = &mut other.v[3 * (SHAPE.kv_heads * SHAPE.head_dim) as usize];
        *value = f32::from_bits(value.to_bits() ^ 1);
        let (_, setups) = stacks().swap_remove(0);
        let mut reader = Reader::new(gpu, setups, given(&tokens)).await?;
        let want = read(&mut reader, 64, &[]).await?;
        reader.tokens = given(&other);
        let got = read(&mut reader, 64, &[]).await?;
        match (same_bits(&got.0, &want.0), same_states(&got.1, &want.1)) {
            (Err(_), Err(_)) => Ok(()),
            said => Err(format!("a changed token was not seen: {said:?}")),
        }
    }
}

#[cfg_attr(not(target_arch = "wasm32"), test)]
#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
fn the_comparator_fails_where_it_must() {
    let nan = f32::from_bits(0x7fc0_0001);
    assert!(same_bits(&[1.0, 2.0], &[1.0, 2.0]).is_ok());
    assert!(same_bits(&[], &[]).is_err());
    assert!(same_bits(&[1.0], &[1.0, 2.0]).is_err());
    assert!(same_bits(&[1.0], &[f32::from_bits(1.0_f32.to_bits() + 1)]).is_err());
    assert!(same_bits(&[0.0], &[-0.0]).is_err());
    assert!(same_bits(&[nan], &[nan]).is_err());
    assert!(same_bits(&[nan], &[1.0]).is_err());
    assert!(same_bits(&[1.0], &[nan]).is_err());
}

/// Shrinks what fails to few steps.
#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let draft = (any::<u64>(), 1..33_usize, 1..20_usize);
        let step = prop_oneof![
            (1..140_usize).prop_map(Step::Extend),
            draft.prop_map(|(seed, nodes, right)| Step::Draft { seed, nodes, right }),
            (any::<u64>(), 1..33_usize).prop_map(|(seed, nodes)| Step::Forget { seed, nodes }),
        ];
        prop::collection::vec(step, 0..30)
    }

    #[test]
    fn any_steps_give_the_same_bits() {
        let gpu = pollster::block_on(common::harness::open());
        let tokens = random(16, SHAPE, TOKENS, Keys::Spiky);
        let start = |(_, setups)| {
            pollster::block_on(async {
                let mut reader = Reader::new(&gpu, setups, given(&tokens)).await?;
                let want = read(&mut reader, 64, &[]).await?;
                Ok::<_, String>((reader, want))
            })
        };
        let readers: Result<Vec<_>, String> = stacks().into_iter().map(start).collect();
        let readers = std::cell::RefCell::new(readers.expect("layers are set up"));
        let config = ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() };
        let inputs = (0..3_usize, 1..65_u32, steps());
        let result = TestRunner::new(config).run(&inputs, |(stack, rows, steps)| {
            let (reader, want) = &mut readers.borrow_mut()[stack];
            // A tree needs as many rows at once as it has.
            let rows = if steps.iter().any(|step| !matches!(step, Step::Extend(_))) { rows.max(32) } else { rows };
            let said = pollster::block_on(check(reader, rows, &steps, want));
            prop_assert_eq!(said, Ok(()));
            Ok(())
        });
        result.expect("the bits are the same");
    }
}
