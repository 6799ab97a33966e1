//! One layer on a device: its buffers, and its kernels bound to them.

use super::AttentionError;
use super::pass::{STRIDE, Segment};
use super::plan::Plan;
use super::shaders::{Access, Kernel};
use super::work::{self, Dispatch};
use crate::device::{Allocation, DeviceError, Gpu};
use crate::state::{Carrier, Config, Memory};
use std::collections::BTreeMap;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry,
    BindingType, Buffer, BufferBindingType, BufferUsages, ComputePass, ComputePipeline, ShaderStages,
};

/// What a layer is.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSetup {
    /// Its sizes.
    pub config: Config,
    /// Its carrier; none in native mode.
    pub carrier: Carrier,
    /// What logits are multiplied by: 1 / sqrt(`head_dim`) in most models.
    pub scale: f32,
}

impl LayerSetup {
    /// A layer without a carrier, whose logits are divided by the root of the head's width.
    pub fn plain(config: Config) -> Self {
        let scale = 1.0 / (config.shape().head_dim as f32).sqrt();
        Self { config, carrier: Carrier::None, scale }
    }

    /// The layer with a carrier.
    #[must_use]
    pub fn with_carrier(self, carrier: Carrier) -> Self {
        Self { carrier, ..self }
    }
}

pub(super) const STORAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// A storage buffer; where there is nothing to hold, the least that can be bound.
pub(super) fn storage(allocation: &mut Allocation<'_>, label: &str, bytes: u64) -> Result<Buffer, DeviceError> {
    allocation.buffer(label, bytes.max(16), STORAGE)
}

/// Buffers that layers use one after the other.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) partial: Buffer,
    pub(super) sums: Buffer,
    pub(super) weights: Buffer,
    pub(super) shares: Buffer,
    pub(super) surprises: Buffer,
    pub(super) queries: Buffer,
    pub(super) keys: Buffer,
    pub(super) values: Buffer,
    pub(super) out: Buffer,
    pub(super) surprises_in: Buffer,
}

impl Shared {
    /// What no caller knows of.
    pub(super) fn scratch(&self) -> [&Buffer; 4] {
        [&self.partial, &self.sums, &self.weights, &self.shares]
    }

    pub(super) fn all(&self) -> Vec<&Buffer> {
        vec![
            &self.partial,
            &self.sums,
            &self.weights,
            &self.shares,
            &self.surprises,
            &self.queries,
            &self.keys,
            &self.values,
            &self.out,
            &self.surprises_in,
        ]
    }
}

/// Pipelines by their sources: layers of the same sizes share them.
#[derive(Debug)]
pub(super) struct Pipelines {
    by_source: BTreeMap<(Kernel, String), (ComputePipeline, BindGroupLayout)>,
    pass_layout: BindGroupLayout,
}

impl Pipelines {
    pub(super) fn new(gpu: &Gpu) -> Self {
        let entries = [uniform_entry(0, true)];
        let descriptor = BindGroupLayoutDescriptor { label: Some("pass"), entries: &entries };
        Self { by_source: BTreeMap::new(), pass_layout: gpu.device().create_bind_group_layout(&descriptor) }
    }

    pub(super) fn pass_layout(&self) -> &BindGroupLayout {
        &self.pass_layout
    }

    async fn get(
        &mut self,
        gpu: &Gpu,
        kernel: Kernel,
        source: String,
    ) -> Result<(ComputePipeline, BindGroupLayout), DeviceError> {
        let key = (kernel, source);
        if let Some(found) = self.by_source.get(&key) {
            return Ok(found.clone());
        }
        let storage = kernel.storage().iter().zip(1..).map(|(access, binding)| storage_entry(binding, *access));
        let entries: Vec<_> = [uniform_entry(0, false)].into_iter().chain(storage).collect();
        let descriptor = BindGroupLayoutDescriptor { label: Some(kernel.entry()), entries: &entries };
        let layout = gpu.device().create_bind_group_layout(&descriptor);
        let layouts = [&layout, &self.pass_layout];
        let pipeline = gpu.pipeline(kernel.entry(), &key.1, kernel.entry(), &layouts).await?;
        let made = (pipeline, layout);
        self.by_source.insert(key, made.clone());
        Ok(made)
    }
}

fn uniform_entry(binding: u32, dynamic: bool) -> BindGroupLayoutEntry {
    entry(
        binding,
        BindingType::Buffer { ty: BufferBindingType::Uniform, has_dynamic_offset: dynamic, min_binding_size: None },
    )
}

fn storage_entry(binding: u32, access: Access) -> BindGroupLayoutEntry {
    let ty = BufferBindingType::Storage { read_only: access == Access::Read };
    entry(binding, BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None })
}

fn entry(binding: u32, ty: BindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry { binding, visibility: ShaderStages::COMPUTE, ty, count: None }
}

/// A layer's own buffers.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) uniform: Buffer,
    pub(super) keys: Buffer,
    pub(super) values: Buffer,
    pub(super) looks: Buffer,
    pub(super) positions: Buffer,
    pub(super) scores: Buffer,
    pub(super) carrier: Buffer,
    pub(super) parameters: [Buffer; 2],
    pub(super) mean_keys: Buffer,
    pub(super) mean_values: Buffer,
    pub(super) cells: Buffer,
    pub(super) seen: Buffer,
    pub(super) turn: Buffer,
    pub(super) overflows: Buffer,
}

impl Own {
    pub(super) fn all(&self) -> Vec<&Buffer> {
        let [drop, read] = &self.parameters;
        vec![
            &self.uniform,
            &self.keys,
            &self.values,
            &self.looks,
            &self.positions,
            &self.scores,
            &self.carrier,
            drop,
            read,
            &self.mean_keys,
            &self.mean_values,
            &self.cells,
            &self.seen,
            &self.turn,
            &self.overflows,
        ]
    }
}

/// One layer on a device.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) setup: LayerSetup,
    pub(super) plan: Plan,
    pub(super) own: Own,
    kernels: BTreeMap<Kernel, (ComputePipeline, BindGroup)>,
}

impl Layer {
    pub(super) async fn new(
        gpu: &Gpu,
        pipelines: &mut Pipelines,
        setup: LayerSetup,
        plan: Plan,
        shared: &Shared,
    ) -> Result<Self, AttentionError> {
        let own = allocate(gpu, &plan).await?;
        gpu.write(&own.uniform, 0, &uniform(&setup, &plan))?;
        let [entering, reading] = parameters(&setup.carrier, setup.config.shape().head_dim as usize);
        gpu.write(&own.parameters[0], 0, bytemuck::cast_slice(&entering))?;
        gpu.write(&own.parameters[1], 0, bytemuck::cast_slice(&reading))?;
        let mut kernels = BTreeMap::new();
        for kernel in Kernel::of(&setup.config, &setup.carrier) {
            let source = kernel.source(&setup.config, &setup.carrier, &plan);
            let (pipeline, layout) = pipelines.get(gpu, kernel, source).await?;
            kernels.insert(kernel, (pipeline, bind(gpu, kernel, &layout, &own, shared)));
        }
        Ok(Self { setup, plan, own, kernels })
    }

    fn run(&self, pass: &mut ComputePass<'_>, kernel: Kernel, groups: [u32; 3]) {
        let Some((pipeline, bound)) = self.kernels.get(&kernel) else { return };
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, bound, &[]);
        pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
    }

    fn run_all(&self, pass: &mut ComputePass<'_>, bound: &BindGroup, segment: &Segment, all: Vec<Dispatch>) {
        pass.set_bind_group(1, bound, &[segment.at * STRIDE as u32]);
        for (kernel, groups) in all {
            self.run(pass, kernel, groups);
        }
    }

    /// Everything that a segment does to this layer.
    pub(super) fn encode(&self, pass: &mut ComputePass<'_>, bound: &BindGroup, segment: &Segment) {
        self.run_all(pass, bound, segment, work::of_segment(&self.setup, &self.plan, segment));
    }

    /// Takes in the rows of a segment's path.
    pub(super) fn accept(&self, pass: &mut ComputePass<'_>, bound: &BindGroup, segment: &Segment) {
        self.run_all(pass, bound, segment, work::of_acceptance(&self.setup, segment));
    }

    /// Makes what is read of the cells from their sums.
    pub(super) fn finish_cells(&self, pass: &mut ComputePass<'_>) {
        if let Some((kernel, groups)) = work::of_cells(&self.setup) {
            self.run(pass, kernel, groups);
        }
    }

    /// Tokens that fit in native mode.
    pub(super) fn capacity(&self) -> Option<u32> {
        matches!(self.setup.config.memory(), Memory::Native).then_some(self.plan.ring)
    }
}

async fn allocate(gpu: &Gpu, plan: &Plan) -> Result<Own, DeviceError> {
    let sizes = plan.sizes;
    let mut allocation = gpu.allocation();
    let make = &mut allocation;
    let own = Own {
        uniform: make.buffer(
            "layer",
            16 * (1 + plan.first_rows.len() as u64),
            BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        )?,
        keys: storage(make, "keys", sizes.keys)?,
        values: storage(make, "values", sizes.keys)?,
        looks: storage(make, "looks", sizes.looks)?,
        positions: storage(make, "positions", sizes.slots)?,
        scores: storage(make, "scores", sizes.slots)?,
        carrier: storage(make, "carrier", sizes.carrier)?,
        parameters: [
            storage(make, "parameters", sizes.parameters[0])?,
            storage(make, "parameters", sizes.parameters[1])?,
        ],
        mean_keys: storage(make, "cells' keys", sizes.cells[0])?,
        mean_values: storage(make, "cells' values", sizes.cells[0])?,
        cells: storage(make, "cells", sizes.cells[1])?,
        seen: storage(make, "seen", sizes.seen)?,
        turn: storage(make, "turn", sizes.turn)?,
        overflows: storage(make, "overflows", 4)?,
    };
    allocation.done().await?;
    Ok(own)
}

fn uniform(setup: &LayerSetup, plan: &Plan) -> Vec<u8> {
    let mut words = vec![plan.ring, plan.pieces, setup.scale.to_bits(), 0];
    for (head, (&row, &slot)) in plan.first_rows.iter().zip(&plan.first_slots).enumerate() {
        let from = match setup.config.admission(head) {
            Some(crate::state::Admission::Look { from }) => from,
            _ => u32::MAX,
        };
        words.extend([setup.config.store(head), row, slot, from]);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The carrier's parameters as the kernels read them: for what enters, and for what is read.
fn parameters(carrier: &Carrier, dim: usize) -> [Vec<f32>; 2] {
    use crate::state::{DECAYS, RANK};
    match carrier {
        Carrier::None => [Vec::new(), Vec::new()],
        Carrier::Decay(of) => {
            let (mut entering, mut reading) = (Vec::new(), Vec::new());
            for head in 0..of.mix.len() / DECAYS {
                let part = |all: &[f32], len: usize| all[head * len..(head + 1) * len].to_vec();
                let half_lives = part(&of.half_life, DECAYS);
                let keys = [part(&of.bias, dim), part(&of.psi, RANK * dim), part(&of.psi_bias, RANK)];
                entering.extend(keys.into_iter().flatten().chain(half_lives.iter().copied()));
                let queries = [part(&of.phi, RANK * dim), part(&of.phi_bias, RANK), part(&of.mix, DECAYS)];
                reading.extend(queries.into_iter().flatten().chain(half_lives));
            }
            [entering, reading]
        }
        Carrier::Cells(of) => {
            let (cells, image) = (of.cells as usize, of.rank as usize);
            let mut entering = Vec::new();
            for head in 0..of.mean.len() / dim {
                let part = |all: &[f32], len: usize| all[head * len..(head + 1) * len].to_vec();
                let all = [part(&of.codebook, cells * dim), part(&of.beta, cells), part(&of.mean, dim)];
                entering.extend(all.into_iter().flatten().chain(part(&of.metric, image * dim)));
            }
            let reading = of.kappa.iter().zip(&of.delta).flat_map(|(kappa, delta)| [*kappa, *delta]).collect();
            [entering, reading]
        }
    }
}

fn bind(gpu: &Gpu, kernel: Kernel, layout: &BindGroupLayout, own: &Own, shared: &Shared) -> BindGroup {
    let Shared { partial, sums, weights, shares, surprises, queries, out, .. } = shared;
    let Own { keys, values, looks, positions, scores, carrier, mean_keys, mean_values, cells, seen, turn, .. } = own;
    let [entering, reading] = &own.parameters;
    let buffers: Vec<&Buffer> = match kernel {
        Kernel::Append => vec![&shared.keys, &shared.values, keys, values, &own.overflows],
        Kernel::Pieces => vec![queries, keys, values, partial, sums, weights],
        Kernel::CellPieces => vec![queries, mean_keys, mean_values, partial, sums, weights, cells, reading],
        Kernel::DecayRead => vec![queries, carrier, partial, sums, reading],
        Kernel::Merge => vec![partial, sums, out, shares],
        Kernel::See => vec![weights, shares, seen],
        Kernel::Accept => vec![keys, values],
        Kernel::Look => vec![seen, looks],
        Kernel::Rank => vec![looks, surprises, positions, scores, turn],
        Kernel::DecayDrop | Kernel::CellsDrop => vec![keys, values, turn, carrier, entering],
        Kernel::CellsFinish => vec![carrier, entering, mean_keys, mean_values, cells],
        Kernel::Shift => vec![keys, values, turn],
    };
    let all = [&own.uniform].into_iter().chain(buffers).zip(0..);
    let entries: Vec<_> =
        all.map(|(buffer, binding)| BindGroupEntry { binding, resource: buffer.as_entire_binding() }).collect();
    let descriptor = BindGroupDescriptor { label: Some(kernel.entry()), layout, entries: &entries };
    gpu.device().create_bind_group(&descriptor)
}
