//! What the benchmarks of this crate share: a device, layers, and states that are made up instead of computed: to attend over
//! 64k tokens first would take longer than all that is measured.

// Each benchmark uses some of these.
#![allow(dead_code)]

#[allow(unreachable_pub)]
#[path = "../../tests/common/oracle.rs"]
mod oracle;

use mrail_gpu::attention::{Attention, AttentionError, LayerSetup, PASSES_IN_FLIGHT, Pass, Plan, Tree, Wanted, Work};
use mrail_gpu::device::{DeviceError, Gpu, Options};
use mrail_gpu::state::{Admission, Carrier, Config, ConfigError, LayerSnapshot, Memory, Shape, Storage};
use oracle::Random;
use pollster::block_on;
use std::fmt;
use std::time::{Duration, Instant};
use wgpu::{BufferUsages, CommandEncoder, CommandEncoderDescriptor};

/// The heads of a small model, of a middle-sized one and of one with wide heads.
pub(crate) const SHAPES: [Shape; 3] = [
    Shape { heads: 9, kv_heads: 3, head_dim: 64 },
    Shape { heads: 28, kv_heads: 4, head_dim: 128 },
    Shape { heads: 24, kv_heads: 4, head_dim: 256 },
];

/// Tokens before the steps that are measured.
pub(crate) const CONTEXTS: [u32; 4] = [1 << 10, 1 << 12, 1 << 14, 1 << 16];

pub(crate) const BAND: u32 = 256;
pub(crate) const STORE: u32 = 512;
const CELLS: u32 = 64;

/// A model waits once for all its layers: steps of one layer, submitted one by one, are waited for together.
const STEPS_A_WAIT: u32 = PASSES_IN_FLIGHT as u32;

/// What a layer keeps of its past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Constant,
    Cells,
    Native,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::Cells => "constant, 64 cells",
            Self::Native => "native",
        })
    }
}

impl Mode {
    fn setup(self, shape: Shape) -> Result<LayerSetup, ConfigError> {
        let config = match self {
            Self::Native => Config::new(shape, Storage::F16, Memory::Native)?,
            _ => Config::uniform(shape, Storage::F16, BAND, STORE, Admission::Look { from: 16 })?,
        };
        // The image of A is as wide as it can be: what turnovers cost at most.
        let cells = || Carrier::Cells(oracle::random_cells(2, shape, CELLS, shape.head_dim));
        let carrier = if self == Self::Cells { cells() } else { Carrier::None };
        Ok(LayerSetup::plain(config).with_carrier(carrier))
    }
}

pub(crate) fn name(shape: Shape) -> String {
    format!("({}, {}, {})", shape.heads, shape.kv_heads, shape.head_dim)
}

pub(crate) fn thousands(tokens: u32) -> String {
    format!("{}k", tokens / 1024)
}

/// The device; `MRAIL_ADAPTER` chooses among several by a part of the name.
pub(crate) fn open() -> Result<Gpu, DeviceError> {
    block_on(Gpu::request(&Options { name: std::env::var("MRAIL_ADAPTER").ok(), ..Options::default() }))
}

/// Passes that were run, and how long they took until the device was done with the last one.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) time: Duration,
    pub(crate) passes: Vec<Pass>,
}

/// Layers of one kind on a device, with rows to read. All rows are there beforehand; no step waits for anything but the device.
#[derive(Debug)]
pub(crate) struct Rig<'g> {
    gpu: &'g Gpu,
    attention: Attention,
}

impl<'g> Rig<'g> {
    /// Layers with room for `capacity` tokens in native mode, and for passes of `rows` rows.
    pub(crate) fn new(
        gpu: &'g Gpu,
        (shape, mode): (Shape, Mode),
        layers: usize,
        (capacity, rows): (u32, u32),
    ) -> Result<Self, AttentionError> {
        let setup = mode.setup(shape).expect("good sizes");
        let wanted = Wanted { rows, pass_rows: rows, capacity };
        let attention = block_on(Attention::new(gpu, vec![setup; layers], wanted))?;
        let io = attention.io();
        let mut random = Random::new(3);
        for buffer in [io.queries, io.keys, io.values] {
            let numbers: Vec<f32> = (0..buffer.size() / 4).map(|_| random.normal()).collect();
            gpu.write(buffer, 0, bytemuck::cast_slice(&numbers))?;
        }
        Ok(Self { gpu, attention })
    }

    /// Puts the layers in a state of so many tokens, with the same content whatever the number in constant state.
    pub(crate) fn fill(&mut self, tokens: u32) -> Result<(), AttentionError> {
        let LayerSetup { config, carrier, .. } = self.attention.setup(0);
        let state = LayerSnapshot::of_noise(config, carrier, tokens, 1);
        self.attention.restore(self.gpu, &vec![state; self.attention.layers()])?;
        Ok(block_on(self.gpu.finished())?)
    }

    /// Decodes `count` rows, one a step.
    pub(crate) fn steps(&mut self, count: u32) -> Result<Run, AttentionError> {
        self.run(count, |attention, gpu| attention.extend(gpu, 1))
    }

    /// Verifies a tree `count` times against the same state.
    pub(crate) fn verify(&mut self, tree: &Tree, count: u32) -> Result<Run, AttentionError> {
        self.run(count, |attention, gpu| attention.verify(gpu, tree))
    }

    fn run(
        &mut self,
        count: u32,
        mut plan: impl FnMut(&mut Attention, &Gpu) -> Result<Pass, AttentionError>,
    ) -> Result<Run, AttentionError> {
        let mut passes = Vec::with_capacity(count as usize);
        let start = Instant::now();
        for step in 1..=count {
            let pass = plan(&mut self.attention, self.gpu)?;
            let mut encoder = encoder(self.gpu);
            for layer in 0..self.attention.layers() {
                self.attention.encode(&mut encoder, &pass, layer)?;
            }
            self.gpu.queue().submit([encoder.finish()]);
            passes.push(pass);
            if step % STEPS_A_WAIT == 0 || step == count {
                block_on(self.gpu.finished())?;
            }
        }
        Ok(Run { time: start.elapsed(), passes })
    }

    /// How long `count` steps take from so many tokens on: the state goes back after `span` steps, and the time for that does
    /// not count.
    pub(crate) fn steps_from(&mut self, tokens: u32, span: u32, count: u64) -> Result<Duration, AttentionError> {
        let (mut left, mut time) = (count, Duration::ZERO);
        while left > 0 {
            self.fill(tokens)?;
            let some = left.min(span.into()) as u32;
            time += self.steps(some)?.time;
            left -= u64::from(some);
        }
        Ok(time)
    }

    /// What the passes of a run did to one layer.
    pub(crate) fn works(&self, run: &Run) -> Vec<Work> {
        run.passes.iter().map(|pass| pass.work(self.attention.setup(0), self.plan())).collect()
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.attention.plan(0)
    }
}

/// A copy of a large buffer on the device: bytes read and written, a second. The best of several.
pub(crate) fn copy_rate(gpu: &Gpu) -> Result<f64, DeviceError> {
    let size = gpu.limits().max_buffer_size.min(256 << 20) / 4 * 4;
    let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let from = block_on(gpu.buffer("copied", size, usage))?;
    let to = block_on(gpu.buffer("copy", size, usage))?;
    let mut best = f64::INFINITY;
    // The first one maps pages and is not the best.
    for _ in 0..8 {
        let copies = 4;
        let start = Instant::now();
        let mut encoder = encoder(gpu);
        for _ in 0..copies {
            encoder.copy_buffer_to_buffer(&from, 0, &to, 0, size);
        }
        gpu.queue().submit([encoder.finish()]);
        block_on(gpu.finished())?;
        best = best.min(start.elapsed().as_secs_f64() / f64::from(copies));
    }
    Ok(2. * size as f64 / best)
}

fn encoder(gpu: &Gpu) -> CommandEncoder {
    gpu.device().create_command_encoder(&CommandEncoderDescriptor::default())
}
