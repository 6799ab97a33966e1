//! The kernels and their CPU twins: constant-state attention of a stack of layers on a device.
//!
//! A pass reads rows, layer by layer; the model around it computes each layer's queries, keys and values into [`Io`] and takes
//! the outputs from there. [`Attention::extend`] plans rows that are read and taken in; [`Attention::verify`] plans a draft tree
//! that is only read, of which [`Attention::accept`] then takes in a path. The rest needs no undoing: rows wait beside the state
//! until they are taken in.

mod layer;
mod pass;
mod plan;
mod reserve;
mod selftest;
mod shaders;
mod transfer;
mod tree;
pub mod twin;
mod work;

pub use layer::LayerSetup;
pub use pass::{PASSES_IN_FLIGHT, Pass, PassError};
pub use plan::{Plan, PlanError, Sizes, Wanted, plan};
pub use selftest::SelfTest;
pub use transfer::Turnover;
pub use tree::{MOST_ROWS, Tree, TreeError};
pub use work::Work;

use crate::device::{DeviceError, Gpu};
use crate::state::snapshot::SnapshotError;
use layer::{Layer, Pipelines, Shared, storage};
use pass::{BLOCK_BYTES, Clock, Rules, STRIDE, Segment};
use std::fmt;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferSize, BufferUsages,
    CommandEncoder, ComputePass, ComputePassDescriptor,
};

/// Why attention cannot be set up or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttentionError {
    /// There are no layers.
    NoLayers,
    /// A layer has other heads, another band or another mode than the first: they share rows and schedule.
    Unlike {
        /// The layer.
        layer: usize,
    },
    /// A layer does not fit the device.
    Plan {
        /// The layer.
        layer: usize,
        /// What does not fit.
        error: PlanError,
    },
    /// A carrier's parameters do not fit its layer.
    Carrier {
        /// The layer.
        layer: usize,
        /// What is wrong with them.
        error: crate::state::params::ParamsError,
    },
    /// There is no such layer.
    Layer {
        /// The number given.
        layer: usize,
        /// Layers there are.
        layers: usize,
    },
    /// A pass cannot be planned or encoded.
    Pass(PassError),
    /// The device failed.
    Device(DeviceError),
    /// A state is none of these layers'.
    Snapshot(SnapshotError),
    /// The state is not that of a number of tokens: a verified root waits before which a block has left. Accept it first.
    RootWaits,
}

impl fmt::Display for AttentionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLayers => f.write_str("attention without layers"),
            Self::Unlike { layer } => {
                write!(f, "layer {layer} has other heads, another band or another mode than layer 0")
            }
            Self::Plan { layer, error } => write!(f, "layer {layer}: {error}"),
            Self::Carrier { layer, error } => write!(f, "layer {layer}: {error}"),
            Self::Layer { layer, layers } => write!(f, "layer {layer} of {layers}"),
            Self::Pass(error) => error.fmt(f),
            Self::Device(error) => error.fmt(f),
            Self::Snapshot(error) => error.fmt(f),
            Self::RootWaits => f.write_str("a verified root waits, before which a block has left: accept it first"),
        }
    }
}

impl std::error::Error for AttentionError {}

impl From<DeviceError> for AttentionError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl From<PassError> for AttentionError {
    fn from(error: PassError) -> Self {
        Self::Pass(error)
    }
}

impl From<SnapshotError> for AttentionError {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

/// The rows of a pass, in f32, one layer after the other through the same buffers.
#[derive(Clone, Copy, Debug)]
pub struct Io<'a> {
    /// \[rows, heads, `head_dim`], as they are after the rotary embedding.
    pub queries: &'a Buffer,
    /// \[rows, `kv_heads`, `head_dim`].
    pub keys: &'a Buffer,
    /// \[rows, `kv_heads`, `head_dim`].
    pub values: &'a Buffer,
    /// \[rows, heads, `head_dim`].
    pub out: &'a Buffer,
    /// Surprises of tokens, for [`Attention::hand_in`]: -ln p of each, in nat.
    pub surprises: &'a Buffer,
}

/// Attention of all layers of a model on a device.
#[derive(Debug)]
pub struct Attention {
    layers: Vec<Layer>,
    shared: Shared,
    pipelines: Pipelines,
    rules: Rules,
    clock: Clock,
    /// The tree that was verified last and not accepted.
    waiting: Option<Segment>,
    uniforms: Buffer,
    bound: BindGroup,
    /// Uniform blocks written so far.
    written: u64,
    /// How often the state was replaced.
    epoch: u64,
}

impl Attention {
    /// Sets layers up, with an empty state.
    pub async fn new(gpu: &Gpu, setups: Vec<LayerSetup>, wanted: Wanted) -> Result<Self, AttentionError> {
        let plans = plans(gpu.limits(), &setups, wanted)?;
        let Some(first) = plans.first() else { return Err(AttentionError::NoLayers) };
        let config = &setups[0].config;
        let rules = Rules {
            schedule: config.schedule(),
            rows: first.rows,
            wanted,
            capacity: config.schedule().most_in_band().is_none().then_some(first.ring),
            wants_surprises: setups.iter().any(|setup| setup.config.wants_surprises()),
        };
        let (shared, uniforms) = shared(gpu, &plans).await?;
        let mut pipelines = Pipelines::new(gpu);
        let size = BufferSize::new(BLOCK_BYTES);
        let resource = BindingResource::Buffer(BufferBinding { buffer: &uniforms, offset: 0, size });
        let entries = [BindGroupEntry { binding: 0, resource }];
        let descriptor =
            BindGroupDescriptor { label: Some("pass"), layout: pipelines.pass_layout(), entries: &entries };
        let bound = gpu.device().create_bind_group(&descriptor);
        let mut layers = Vec::with_capacity(setups.len());
        for (setup, plan) in setups.into_iter().zip(plans) {
            layers.push(Layer::new(gpu, &mut pipelines, setup, plan, &shared).await?);
        }
        let attention = Self {
            layers,
            shared,
            pipelines,
            rules,
            clock: Clock::default(),
            waiting: None,
            uniforms,
            bound,
            written: 0,
            epoch: 0,
        };
        attention.finish_cells(gpu);
        Ok(attention)
    }

    /// The buffers of the caller's rows.
    pub fn io(&self) -> Io<'_> {
        let Shared { queries, keys, values, out, surprises_in, .. } = &self.shared;
        Io { queries, keys, values, out, surprises: surprises_in }
    }

    /// Tokens taken in.
    pub fn tokens(&self) -> u32 {
        self.clock.tokens
    }

    /// Tokens whose surprise is known: those below this.
    pub fn surprised(&self) -> u32 {
        self.clock.surprised
    }

    /// Layers.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// What a layer was set up with.
    ///
    /// # Panics
    ///
    /// Where there is no such layer.
    pub fn setup(&self, layer: usize) -> &LayerSetup {
        &self.layers[layer].setup
    }

    /// How a layer lies in memory.
    ///
    /// # Panics
    ///
    /// Where there is no such layer.
    pub fn plan(&self, layer: usize) -> &Plan {
        &self.layers[layer].plan
    }

    /// Rows that run at once.
    pub fn rows(&self) -> u32 {
        self.rules.rows
    }

    /// Runs at most so many rows at once from now on, 1 at least; never more than was planned. Results do not depend on it, but a
    /// draft tree has no more rows.
    pub fn limit_rows(&mut self, rows: u32) {
        let planned = self.layers.iter().map(|layer| layer.plan.rows).min().unwrap_or(1);
        self.rules.rows = rows.clamp(1, planned);
    }

    /// Bytes of all buffers on the device as they are: those of every layer and what layers share.
    pub fn device_bytes(&self) -> u64 {
        let own = self.layers.iter().flat_map(|layer| layer.own.all());
        own.chain(self.shared.all()).chain([&self.uniforms]).map(Buffer::size).sum()
    }

    /// Nodes of one path, the root among them, that may be verified now: deeper ones stand where the band will have moved.
    pub fn depth_left(&self) -> u32 {
        self.rules.depth_left(&self.clock)
    }

    /// Tokens that a native cache has room for; none where the state's size is constant.
    pub fn capacity(&self) -> Option<u32> {
        self.rules.capacity
    }

    /// Plans a pass whose `rows` rows are read and taken in, in order. The state's position moves on with this call: encode the
    /// pass for every layer, and submit.
    ///
    /// Where heads rank by surprise, a pass may need surprises that are not known yet; then it must be shorter: a pass of at most
    /// B rows needs none of its own.
    pub fn extend(&mut self, gpu: &Gpu, rows: u32) -> Result<Pass, AttentionError> {
        gpu.check()?;
        let mut segments = self.rules.extend(&mut self.clock, rows)?;
        self.waiting = None;
        self.write(gpu, &mut segments)?;
        Ok(Pass { segments, epoch: self.epoch })
    }

    /// Plans a pass that reads the rows of a draft tree, whose root is the token that comes next: the path that is then accepted
    /// begins with it.
    ///
    /// Drafts behind it change nothing, whether they are accepted or not. A block that leaves before the root leaves now.
    pub fn verify(&mut self, gpu: &Gpu, tree: &Tree) -> Result<Pass, AttentionError> {
        gpu.check()?;
        let mut segments = vec![self.rules.verify(&mut self.clock, tree)?];
        self.write(gpu, &mut segments)?;
        self.waiting = segments.last().cloned();
        Ok(Pass { segments, epoch: self.epoch })
    }

    /// Encodes what a pass does to one layer, once. Layers come in their order, each after its rows were written to [`Io`].
    pub fn encode(&self, encoder: &mut CommandEncoder, pass: &Pass, layer: usize) -> Result<(), AttentionError> {
        self.encode_into(&mut encoder.begin_compute_pass(&ComputePassDescriptor::default()), pass, layer)
    }

    /// As [`Self::encode`], into a pass of the device's that is already open: each costs time. The bind groups 0 and 1 are set.
    pub fn encode_into(&self, compute: &mut ComputePass<'_>, pass: &Pass, layer: usize) -> Result<(), AttentionError> {
        let blocks = self.uniforms.size() / STRIDE;
        let overwritten = pass.segments.iter().any(|segment| self.written - segment.serial > blocks);
        if overwritten || pass.epoch != self.epoch {
            return Err(PassError::Stale.into());
        }
        let layer = self.layer(layer)?;
        for segment in &pass.segments {
            layer.encode(compute, &self.bound, segment);
        }
        Ok(())
    }

    fn layer(&self, layer: usize) -> Result<&Layer, AttentionError> {
        self.layers.get(layer).ok_or(AttentionError::Layer { layer, layers: self.layers.len() })
    }

    /// Takes in the rows of a path of the tree that was verified last, in all layers.
    pub fn accept(&mut self, gpu: &Gpu, encoder: &mut CommandEncoder, path: &[u32]) -> Result<(), AttentionError> {
        gpu.check()?;
        let waiting = self.waiting.as_ref().ok_or(PassError::NothingWaits)?;
        waiting.tree.check_path(path).map_err(PassError::Tree)?;
        let mut segments = vec![Segment { path: path.to_vec(), ..waiting.clone() }];
        self.write(gpu, &mut segments)?;
        self.waiting = None;
        self.clock.tokens += path.len() as u32;
        let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        for segment in &segments {
            self.layers.iter().for_each(|layer| layer.accept(&mut compute, &self.bound, segment));
        }
        Ok(())
    }

    /// Hands in the surprises of the next `count` tokens from [`Io`]: of those that a pass has read, of those it is about to
    /// read, or of the one that comes next. Without heads that rank by surprise it does nothing.
    pub fn hand_in(&mut self, gpu: &Gpu, encoder: &mut CommandEncoder, count: u32) -> Result<(), AttentionError> {
        gpu.check()?;
        if !self.rules.wants_surprises {
            return Ok(());
        }
        let most = (self.clock.tokens + 1).max(self.clock.tokens.saturating_add(self.rules.wanted.pass_rows));
        let known = self.clock.surprised.saturating_add(count);
        let room = self.rules.wanted.pass_rows;
        if count > room {
            return Err(PassError::Rows { rows: count, most: room }.into());
        }
        if known > most {
            return Err(PassError::TooManySurprises { known, most }.into());
        }
        let ring = self.shared.surprises.size() / 4;
        let mut done = 0;
        while done < u64::from(count) {
            let at = (u64::from(self.clock.surprised) + done) % ring;
            let len = (u64::from(count) - done).min(ring - at);
            encoder.copy_buffer_to_buffer(&self.shared.surprises_in, 4 * done, &self.shared.surprises, 4 * at, 4 * len);
            done += len;
        }
        self.clock.surprised = known;
        Ok(())
    }

    /// Gives the segments their uniform blocks.
    fn write(&mut self, gpu: &Gpu, segments: &mut [Segment]) -> Result<(), DeviceError> {
        let blocks = self.uniforms.size() / STRIDE;
        for segment in segments {
            segment.at = (self.written % blocks) as u32;
            segment.serial = self.written;
            self.written += 1;
            gpu.write(&self.uniforms, u64::from(segment.at) * STRIDE, &segment.uniform())?;
        }
        Ok(())
    }

    fn finish_cells(&self, gpu: &Gpu) {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            for layer in &self.layers {
                compute.set_bind_group(1, &self.bound, &[0]);
                layer.finish_cells(&mut compute);
            }
        }
        gpu.queue().submit([encoder.finish()]);
    }
}

/// Lays all layers out, with as many rows at once as all of them can take.
pub(crate) fn plans(limits: &wgpu::Limits, setups: &[LayerSetup], wanted: Wanted) -> Result<Vec<Plan>, AttentionError> {
    let mut rows = wanted.rows;
    loop {
        let mut plans = Vec::with_capacity(setups.len());
        for (layer, setup) in setups.iter().enumerate() {
            let like = |other: &LayerSetup| {
                (other.config.shape(), other.config.schedule()) == (setup.config.shape(), setup.config.schedule())
            };
            if !setups.first().is_none_or(like) {
                return Err(AttentionError::Unlike { layer });
            }
            let check = setup.carrier.check(setup.config.shape());
            check.map_err(|error| AttentionError::Carrier { layer, error })?;
            let made = plan(limits, &setup.config, &setup.carrier, Wanted { rows, ..wanted });
            plans.push(made.map_err(|error| AttentionError::Plan { layer, error })?);
        }
        match plans.iter().map(|plan| plan.rows).min() {
            Some(least) if plans.iter().any(|plan| plan.rows != least) => rows = least,
            _ => return Ok(plans),
        }
    }
}

async fn shared(gpu: &Gpu, plans: &[Plan]) -> Result<(Shared, Buffer), DeviceError> {
    let most = |of: &dyn Fn(&Plan) -> u64| plans.iter().map(of).max().unwrap_or(0);
    let mut allocation = gpu.allocation();
    let make = &mut allocation;
    let shared = Shared {
        partial: storage(make, "sums of pieces", most(&|plan| plan.sizes.scratch[0]))?,
        sums: storage(make, "totals of pieces", most(&|plan| plan.sizes.scratch[1]))?,
        weights: storage(make, "weights of the band", most(&|plan| plan.sizes.scratch[2]))?,
        shares: storage(make, "shares of pieces", most(&|plan| plan.sizes.scratch[3]))?,
        surprises: storage(make, "surprises", most(&|plan| plan.sizes.surprises))?,
        queries: storage(make, "queries", most(&|plan| plan.sizes.io[0]))?,
        keys: storage(make, "keys of a pass", most(&|plan| plan.sizes.io[1]))?,
        values: storage(make, "values of a pass", most(&|plan| plan.sizes.io[1]))?,
        out: storage(make, "outputs", most(&|plan| plan.sizes.io[2]))?,
        surprises_in: storage(make, "surprises of a pass", most(&|plan| plan.sizes.io[3]))?,
    };
    let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
    let uniforms = make.buffer_of_parts("passes", most(&|plan| plan.sizes.passes), usage)?;
    allocation.done().await?;
    Ok((shared, uniforms))
}

impl Drop for Attention {
    fn drop(&mut self) {
        // In browsers memory would wait for JavaScript's collector.
        let own = self.layers.iter().flat_map(|layer| layer.own.all());
        own.chain(self.shared.all()).chain([&self.uniforms]).for_each(Buffer::destroy);
    }
}
