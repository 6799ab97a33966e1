//! Does this device give a row the same bits whatever shares its pass?
//!
//! WGSL lets a driver contract a * b + c, reorder sums, and round division loosely; that one pipeline serves any number of rows
//! is what equality rests on here, and whether it holds is found out, on the pipelines that will be used.

use super::{Attention, AttentionError, LayerSetup, MOST_ROWS, PassError, Tree};
use crate::device::Gpu;
use crate::state::snapshot::Noise;
use crate::state::{BLOCK, Carrier, LayerSnapshot, Memory, Storage};

/// Rows that share a pass, the first being what the others are compared with.
const GROUPS: [u32; 4] = [1, 2, 8, 32];

/// Rows behind the edge at which a block leaves; as many as the largest group.
const BEHIND: u32 = 32;

/// Rows before that edge.
const BEFORE: u32 = 4;

/// What the self-test found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTest {
    /// Most rows that may run at once such that each has the bits that it has alone: no limit but [`MOST_ROWS`] where 1, 2, 8
    /// and 32 agree.
    pub most_rows: u32,
    /// Where more rows do not agree, what differs first.
    pub differs: Option<String>,
    /// Are numbers stored and read as they should be: rounded to even in f16, unchanged in f32? If not, what differs.
    pub storage: Result<(), String>,
}

/// What one grouping put out.
struct Run {
    rows: u32,
    out: Vec<u32>,
    states: Vec<LayerSnapshot>,
}

impl SelfTest {
    /// Is everything as it should be?
    pub fn passed(&self) -> bool {
        self.differs.is_none() && self.storage.is_ok()
    }

    /// Compares the groupings with the first one.
    fn of(runs: &[Run], storage: Result<(), String>) -> Self {
        let mut most_rows = MOST_ROWS as u32;
        let mut differs = None;
        if let Some((alone, others)) = runs.split_first() {
            let mut agreed = alone.rows;
            for run in others {
                if let Some(difference) = run.differs(alone) {
                    most_rows = agreed;
                    differs = Some(format!("{} rows at once: {difference}", run.rows));
                    break;
                }
                agreed = run.rows;
            }
        }
        Self { most_rows, differs, storage }
    }
}

impl Run {
    fn differs(&self, alone: &Self) -> Option<String> {
        if self.out.is_empty() || self.out.len() != alone.out.len() || self.states.len() != alone.states.len() {
            return Some(format!("{} numbers where {} are wanted", self.out.len(), alone.out.len()));
        }
        let numbers = self.out.iter().zip(&alone.out).enumerate();
        // NaN agrees with nothing.
        let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
        for (at, (&bits, &wanted)) in numbers {
            if bits != wanted || is_nan(bits) {
                return Some(format!("output {at} is {} and not {}", f32::from_bits(bits), f32::from_bits(wanted)));
            }
        }
        let mut states = self.states.iter().zip(&alone.states).enumerate();
        states.find_map(|(kind, (a, b))| Some(format!("layer of kind {kind}: {}", a.first_difference(b)?)))
    }
}

/// Is the n-th pass of this grouping a draft that is then taken in whole? Rows alone are only read; of the others, some are
/// one and some the other.
fn is_draft(rows: u32, n: usize) -> bool {
    rows > 1 && (n + rows as usize / 2) % 2 == 1
}

impl Attention {
    /// Runs every pipeline with 1, 2, 8 and 32 rows at once from a state of noise, across an edge at which a block leaves, and
    /// compares all bits of outputs and states; checks storage with known answers. Leaves an empty state, and limits what runs at
    /// once to the largest of these groups up to which all agree: a row at a time where not even two do.
    ///
    /// Reads about 150 rows in one layer of each kind, and writes the state of every layer six times: meant for start-up.
    pub async fn self_test(&mut self, gpu: &Gpu) -> Result<SelfTest, AttentionError> {
        let rows = self.rules.rows;
        let found = self.all_runs(gpu, rows.min(self.rules.wanted.pass_rows)).await;
        self.rules.rows = rows;
        self.clear(gpu)?;
        for layer in &self.layers {
            gpu.write(&layer.own.overflows, 0, &[0; 4])?;
        }
        let result = found?;
        self.limit_rows(rows.min(result.most_rows));
        Ok(result)
    }

    async fn all_runs(&mut self, gpu: &Gpu, most: u32) -> Result<SelfTest, AttentionError> {
        let storage = self.storage_test(gpu).await?;
        let mut runs = Vec::new();
        for group in GROUPS.into_iter().filter(|&group| group <= most) {
            runs.push(self.run(gpu, group).await?);
        }
        Ok(SelfTest::of(&runs, storage))
    }

    /// Puts an empty state in place of the present one.
    pub fn clear(&mut self, gpu: &Gpu) -> Result<(), AttentionError> {
        let setups = self.layers.iter().map(|layer| &layer.setup);
        let empty: Vec<_> = setups.map(|setup| LayerSnapshot::empty(&setup.config, &setup.carrier)).collect();
        self.restore(gpu, &empty)
    }

    async fn run(&mut self, gpu: &Gpu, rows: u32) -> Result<Run, AttentionError> {
        let tokens = self.start_of_test();
        let noise = self.layers.iter().map(|layer| &layer.setup).zip(1..);
        let states: Vec<_> =
            noise.map(|(setup, seed)| LayerSnapshot::of_noise(&setup.config, &setup.carrier, tokens, seed)).collect();
        self.restore(gpu, &states)?;
        self.rules.rows = rows;
        let mut out = vec![Vec::new(); self.kinds().len()];
        let passes =
            [BEFORE, BEHIND].into_iter().flat_map(|all| (0..all).step_by(rows as usize).map(move |at| (at, all)));
        for (n, (at, all)) in passes.enumerate() {
            let count = rows.min(all - at);
            let as_draft = is_draft(rows, n);
            for (out, part) in out.iter_mut().zip(self.read_noise(gpu, count, as_draft).await?) {
                out.extend(part);
            }
        }
        let all = self.snapshot(gpu).await?;
        let states = self.kinds().into_iter().filter_map(|kind| all.get(kind).cloned()).collect();
        Ok(Run { rows, out: out.concat(), states })
    }

    /// Tokens of the noise: every store is full, and a block leaves soon.
    fn start_of_test(&self) -> u32 {
        let stores = self.layers.iter().flat_map(|layer| {
            let config = &layer.setup.config;
            (0..config.shape().kv_heads as usize).map(|kv| config.store(kv))
        });
        match self.layers[0].setup.config.memory() {
            Memory::Constant(constant) => constant.band + stores.max().unwrap_or(0) + 2 * BLOCK - BEFORE,
            Memory::Native => self.layers[0].plan.ring.saturating_sub(BEFORE + BEHIND) / 2,
        }
    }

    /// One layer of each kind: others share its pipelines.
    fn kinds(&self) -> Vec<usize> {
        let like = |a: &LayerSetup, b: &LayerSetup| {
            let sizes = |carrier: &Carrier| match carrier {
                Carrier::None => (0, 0, 0),
                Carrier::Decay(_) => (1, 0, 0),
                Carrier::Cells(of) => (2, of.cells, of.rank),
            };
            a.config == b.config && sizes(&a.carrier) == sizes(&b.carrier)
        };
        let mut kinds: Vec<usize> = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            if !kinds.iter().any(|&kind| like(&self.layers[kind].setup, &layer.setup)) {
                kinds.push(i);
            }
        }
        kinds
    }

    /// Reads and takes in the next tokens of the noise; returns the bits of the outputs, for one layer of each kind.
    async fn read_noise(&mut self, gpu: &Gpu, count: u32, as_draft: bool) -> Result<Vec<Vec<u32>>, AttentionError> {
        let shape = self.layers[0].setup.config.shape();
        let (wide, narrow) = ((shape.heads * shape.head_dim) as usize, (shape.kv_heads * shape.head_dim) as usize);
        let (mut q, mut k, mut v, mut surprises) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for position in self.tokens()..self.tokens() + count {
            let mut noise = Noise::new(u64::from(position));
            surprises.push(noise.uniform());
            q.extend(noise.signeds(wide));
            k.extend(noise.signeds(narrow));
            v.extend(noise.signeds(narrow));
        }
        let encoder = || gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        if self.rules.wants_surprises {
            gpu.write(self.io().surprises, 0, bytemuck::cast_slice(&surprises))?;
            let mut encoder = encoder();
            self.hand_in(gpu, &mut encoder, count)?;
            gpu.queue().submit([encoder.finish()]);
        }
        let tree = Tree::chain(count as usize).map_err(PassError::Tree)?;
        let pass = if as_draft { self.verify(gpu, &tree)? } else { self.extend(gpu, count)? };
        self.write_rows(gpu, &q, &k, &v)?;
        let mut out = Vec::new();
        for kind in self.kinds() {
            let mut encoder = encoder();
            self.encode(&mut encoder, &pass, kind)?;
            gpu.queue().submit([encoder.finish()]);
            out.push(self.out_bits(gpu, q.len()).await?);
        }
        if as_draft {
            let mut encoder = encoder();
            let path: Vec<u32> = (0..count).collect();
            self.accept(gpu, &mut encoder, &path)?;
            gpu.queue().submit([encoder.finish()]);
        }
        Ok(out)
    }

    fn write_rows(&self, gpu: &Gpu, q: &[f32], k: &[f32], v: &[f32]) -> Result<(), AttentionError> {
        gpu.write(self.io().queries, 0, bytemuck::cast_slice(q))?;
        gpu.write(self.io().keys, 0, bytemuck::cast_slice(k))?;
        gpu.write(self.io().values, 0, bytemuck::cast_slice(v))?;
        Ok(())
    }

    async fn out_bits(&self, gpu: &Gpu, numbers: usize) -> Result<Vec<u32>, AttentionError> {
        let bytes = gpu.read(self.io().out, 0..4 * numbers as u64).await?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// The first token attends to itself alone: what comes out is its value as it was stored.
    async fn storage_test(&mut self, gpu: &Gpu) -> Result<Result<(), String>, AttentionError> {
        let shape = self.layers[0].setup.config.shape();
        let (wide, narrow) = ((shape.heads * shape.head_dim) as usize, (shape.kv_heads * shape.head_dim) as usize);
        let value: Vec<f32> = KNOWN.into_iter().cycle().take(narrow).collect();
        self.clear(gpu)?;
        let pass = self.extend(gpu, 1)?;
        self.write_rows(gpu, &vec![1.0; wide], &vec![1.0; narrow], &value)?;
        for kind in self.kinds() {
            let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            self.encode(&mut encoder, &pass, kind)?;
            gpu.queue().submit([encoder.finish()]);
            let got = self.out_bits(gpu, wide).await?;
            let storage = self.layers[kind].setup.config.storage();
            let dim = shape.head_dim as usize;
            for (at, bits) in got.into_iter().enumerate() {
                let given = value[at / dim / shape.group() as usize * dim + at % dim];
                let wanted = match storage {
                    Storage::F16 => half::f16::from_f32(given.clamp(-65504.0, 65504.0)).to_f32(),
                    Storage::F32 => given,
                };
                if bits != wanted.to_bits() {
                    let got = f32::from_bits(bits);
                    return Ok(Err(format!("{given} is stored in {storage:?} as {got:?} and not as {wanted:?}")));
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Numbers that show how a device rounds: ties to either side, the largest of f16 and beyond, the smallest normal one. Of
/// numbers below that, WGSL promises nothing.
const KNOWN: [f32; 8] =
    [1.0 / 3.0, 1.0 + 1.0 / 2048.0, -1.0 - 3.0 / 2048.0, 65504.0, -65519.0, 1.0e9, 6.103_515_6e-5, -2.0 - 1.0 / 4096.0];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rows: u32, out: &[f32]) -> Run {
        Run { rows, out: out.iter().map(|x| x.to_bits()).collect(), states: vec![LayerSnapshot::default()] }
    }

    #[test]
    fn rows_are_drafted_and_read_at_once() {
        let of = |rows: u32| {
            let passes = (BEFORE.div_ceil(rows) + BEHIND.div_ceil(rows)) as usize;
            (0..passes).map(|n| is_draft(rows, n)).collect::<Vec<_>>()
        };
        assert!(of(1).iter().all(|draft| !draft));
        for rows in [2, 8] {
            assert!(of(rows).contains(&true) && of(rows).contains(&false), "{rows}");
        }
        // The one pass of 32 rows is read at once, as prefill is.
        assert_eq!(of(32), [false, true]);
    }

    #[test]
    fn what_differs_limits_the_rows() {
        let good = [1.0, -2.0];
        let all = |last: &[f32]| vec![run(1, &good), run(2, &good), run(8, last), run(32, &good)];
        let passed = SelfTest::of(&all(&good), Ok(()));
        assert_eq!((passed.most_rows, passed.passed()), (64, true));
        assert!(!SelfTest::of(&all(&good), Err("rounds down".into())).passed());
        let ulp = f32::from_bits(1.0_f32.to_bits() + 1);
        for bad in [&[ulp, -2.0][..], &[1.0], &[f32::NAN, -2.0], &[]] {
            let failed = SelfTest::of(&all(bad), Ok(()));
            assert_eq!((failed.most_rows, failed.passed()), (2, false), "{bad:?}");
        }
        // NaN on both sides is no agreement.
        assert!(!SelfTest::of(&[run(1, &[f32::NAN]), run(2, &[f32::NAN])], Ok(())).passed());
        let mut other = run(2, &good);
        other.states[0].tokens = 1;
        assert_eq!(SelfTest::of(&[run(1, &good), other], Ok(())).most_rows, 1);
    }
}
