//! How a layer lies in a device's memory and how its kernels are started: a pure function of sizes and limits.

use super::pass::{STRIDE, kept_segments};
use super::shaders::Kernel;
use super::tree::MOST_ROWS;
use crate::state::{BLOCK, Carrier, Config, DECAYS, RANK};
use std::fmt;
use wgpu::Limits;

/// What is to be planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Rows that a kernel takes at once, hence also nodes of a draft tree: 1 to 64. A plan may have fewer where scratch memory
    /// would not fit a binding; results do not depend on it.
    pub rows: u32,
    /// Rows that the caller may hand over for one pass.
    pub pass_rows: u32,
    /// Tokens of a cache in native mode, rounded up to whole blocks; of no meaning otherwise.
    pub capacity: u32,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { rows: 32, pass_rows: 256, capacity: 1024 }
    }
}

/// One layer's place on a device. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Rows that a kernel takes at once.
    pub rows: u32,
    /// Query heads of a group that one work-group serves, and work-groups that a group takes.
    pub lanes: u32,
    /// Work-groups that a group takes.
    pub tiles: u32,
    /// Rows of a head's band.
    pub ring: u32,
    /// Pieces of a row's softmax, at most.
    pub pieces: u32,
    /// First row of each KV head in keys and in values; it has its store, its ring and the rows that wait.
    pub first_rows: Vec<u32>,
    /// First slot of each KV head in the store's tables.
    pub first_slots: Vec<u32>,
    /// Buffers.
    pub sizes: Sizes,
}

/// Bytes of a layer's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Keys, and as many for values, with the rows that wait.
    pub keys: u64,
    /// Of which wait.
    pub waiting: u64,
    /// Looks of the band's tokens.
    pub looks: u64,
    /// Positions of the store's tokens, and as many for scores.
    pub slots: u64,
    /// The carrier's sums.
    pub carrier: u64,
    /// The carrier's parameters for what enters it, and for what reads it.
    pub parameters: [u64; 2],
    /// The cells as they are read: keys, as many for values, and logarithms with variances.
    pub cells: [u64; 2],
    /// What rows saw of the band's tokens, until they are accepted or not.
    pub seen: u64,
    /// Lists of the last turnover.
    pub turn: u64,
    /// The ring of surprises, one for all layers.
    pub surprises: u64,
    /// Scratch for all layers: sums of pieces, their largest logits and totals, the band's weights, what these count.
    pub scratch: [u64; 4],
    /// The caller's rows: queries, keys (as many for values), outputs, surprises.
    pub io: [u64; 4],
    /// Uniform blocks of the passes in flight, one buffer for all layers.
    pub passes: u64,
}

/// What does not fit a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// What it is.
    pub what: String,
    /// What it takes.
    pub needs: u64,
    /// The limit's name in WebGPU.
    pub limit: &'static str,
    /// The limit.
    pub most: u64,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, needs, limit, most } = self;
        write!(f, "{what}: {needs} are needed, and this GPU's {limit} is {most}")
    }
}

impl std::error::Error for PlanError {}

/// Threads of every work-group.
pub(super) const THREADS: u32 = 64;

/// Bytes of the lists of one KV head's turnover.
pub(super) const TURN: u64 = 16 * (BLOCK as u64 + 1);

/// Buffers are addressed in 32 bits.
const ADDRESSABLE: u64 = u32::MAX as u64;

/// Checks of one limit after the other.
struct Check<'a>(&'a Limits);

impl Check<'_> {
    fn within(what: &str, needs: u64, limit: &'static str, most: u64) -> Result<(), PlanError> {
        if needs <= most { Ok(()) } else { Err(PlanError { what: what.into(), needs, limit, most }) }
    }

    fn buffer(&self, what: &str, bytes: u64) -> Result<(), PlanError> {
        let binding = self.0.max_storage_buffer_binding_size.min(ADDRESSABLE);
        Self::within(what, bytes, "maxStorageBufferBindingSize", binding)?;
        Self::within(what, bytes, "maxBufferSize", self.0.max_buffer_size)
    }

    fn groups(&self, what: &str, groups: u64) -> Result<(), PlanError> {
        let most = u64::from(self.0.max_compute_workgroups_per_dimension);
        Self::within(what, groups, "maxComputeWorkgroupsPerDimension", most)
    }

    fn kernel(&self, kernel: Kernel, config: &Config, lanes: u32) -> Result<(), PlanError> {
        let name = kernel.entry();
        let limits = self.0;
        let storage = u64::from(limits.max_storage_buffers_per_shader_stage);
        let buffers = kernel.storage().len() as u64;
        Self::within(name, buffers, "maxStorageBuffersPerShaderStage", storage)?;
        let bytes = u64::from(kernel.workgroup_bytes(config, lanes));
        let most = u64::from(limits.max_compute_workgroup_storage_size);
        Self::within(name, bytes, "maxComputeWorkgroupStorageSize", most)?;
        let threads = u64::from(THREADS);
        let most = u64::from(limits.max_compute_invocations_per_workgroup);
        Self::within(name, threads, "maxComputeInvocationsPerWorkgroup", most)?;
        let most = u64::from(limits.max_compute_workgroup_size_x);
        Self::within(name, threads, "maxComputeWorkgroupSizeX", most)
    }
}

/// Lays a layer out for a device with these limits.
///
/// The number of work-groups and the addresses follow from the plan; no sum's order does.
pub fn plan(limits: &Limits, config: &Config, carrier: &Carrier, wanted: Wanted) -> Result<Plan, PlanError> {
    let check = Check(limits);
    let shape = config.shape();
    let group = shape.group();
    let tiles = group.div_ceil(4);
    let lanes = group.div_ceil(tiles).max(2);
    for kernel in Kernel::of(config, carrier) {
        check.kernel(kernel, config, lanes)?;
    }
    let ring = match config.schedule().most_in_band() {
        Some(most) => most,
        None => wanted.capacity.max(1).checked_next_multiple_of(BLOCK).unwrap_or(u32::MAX / BLOCK * BLOCK),
    };
    let mut rows = wanted.rows.clamp(1, MOST_ROWS as u32);
    loop {
        let plan = lay_out(config, carrier, Wanted { rows, ..wanted }, ring, (lanes, tiles));
        match fits(&check, config, &plan) {
            // Only scratch memory and waiting rows depend on the rows.
            Err(_) if rows > 1 => rows /= 2,
            Err(error) => return Err(error),
            Ok(()) => return Ok(plan),
        }
    }
}

fn lay_out(config: &Config, carrier: &Carrier, wanted: Wanted, ring: u32, (lanes, tiles): (u32, u32)) -> Plan {
    let shape = config.shape();
    let stores: Vec<u32> = (0..shape.kv_heads as usize).map(|head| config.store(head)).collect();
    let pieces = carrier.pieces() + stores.iter().max().unwrap_or(&0) / BLOCK + ring / BLOCK;
    let sum_up = |of: &dyn Fn(u32) -> u64| -> (Vec<u32>, u64) {
        let mut next = 0;
        let mut firsts = Vec::with_capacity(stores.len());
        for &store in &stores {
            firsts.push(next as u32);
            next += of(store);
        }
        (firsts, next)
    };
    let rows = u64::from(wanted.rows);
    let (first_rows, all_rows) = sum_up(&|store| u64::from(store) + u64::from(ring) + rows);
    let (first_slots, slots) = sum_up(&u64::from);
    let (heads, kv_heads) = (u64::from(shape.heads), u64::from(shape.kv_heads));
    let (dim, ring64) = (u64::from(shape.head_dim), u64::from(ring));
    let row = dim * u64::from(config.storage().size());
    let band = config.schedule().most_in_band().map_or(0, u64::from);
    let (rank, decays) = (RANK as u64, DECAYS as u64);
    let (parameters, cells) = match carrier {
        Carrier::None => ([0; 2], [0; 2]),
        Carrier::Decay(_) => {
            let shared = rank * dim + rank + decays;
            ([4 * heads * (shared + dim), 4 * heads * (shared + decays)], [0; 2])
        }
        Carrier::Cells(of) => {
            let (cells, image) = (u64::from(of.cells), u64::from(of.rank));
            let own = cells * dim + cells + dim + image * dim;
            ([4 * kv_heads * own, 8 * heads], [4 * kv_heads * cells * dim, 8 * kv_heads * cells])
        }
    };
    let wide = u64::from(pieces);
    let pass_rows = u64::from(wanted.pass_rows.max(1));
    let sizes = Sizes {
        keys: all_rows * row,
        waiting: kv_heads * rows * row,
        looks: 4 * kv_heads * band,
        slots: 4 * slots,
        carrier: carrier.state_bytes(shape),
        parameters,
        cells,
        seen: 4 * rows * kv_heads * band,
        turn: TURN * kv_heads,
        // What a pass may hand in before its first block leaves, beside all that still counts.
        surprises: if config.wants_surprises() { 4 * (band + 2 * u64::from(BLOCK) + pass_rows) } else { 0 },
        scratch: [
            product([4, rows, heads, wide, dim]),
            product([8, rows, heads, wide, 1]),
            product([4, rows, heads, band, 1]),
            product([4, rows, heads, ring64 / u64::from(BLOCK), 1]),
        ],
        io: [
            product([4, pass_rows, heads, dim, 1]),
            product([4, pass_rows, kv_heads, dim, 1]),
            product([4, pass_rows, heads, dim, 1]),
            4 * pass_rows,
        ],
        passes: STRIDE * kept_segments(wanted.pass_rows),
    };
    Plan { rows: wanted.rows, lanes, tiles, ring, pieces, first_rows, first_slots, sizes }
}

/// Sizes that nothing has checked yet may be past what can be counted; then they are too large for any device.
fn product(factors: [u64; 5]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

fn fits(check: &Check<'_>, config: &Config, plan: &Plan) -> Result<(), PlanError> {
    let shape = config.shape();
    let sizes = &plan.sizes;
    let quarter = u64::from(shape.head_dim / 4);
    check.buffer("keys", sizes.keys)?;
    check.buffer("looks", sizes.looks)?;
    check.buffer("sums of pieces", sizes.scratch[0])?;
    check.buffer("totals of pieces", sizes.scratch[1])?;
    check.buffer("weights of the band", sizes.scratch[2])?;
    check.buffer("shares of pieces", sizes.scratch[3])?;
    check.buffer("what rows saw", sizes.seen)?;
    check.buffer("tables of the store", sizes.slots)?;
    check.buffer("sums of the carrier", sizes.carrier)?;
    check.buffer("parameters of the carrier", sizes.parameters[0].max(sizes.parameters[1]))?;
    check.buffer("cells", sizes.cells[0].max(sizes.cells[1]))?;
    check.buffer("lists of a turnover", sizes.turn)?;
    check.buffer("surprises", sizes.surprises)?;
    check.buffer("rows of a pass", sizes.io.into_iter().max().unwrap_or(0))?;
    // Offsets into it have 32 bits.
    let uniform = check.0.max_buffer_size.min(ADDRESSABLE);
    Check::within("uniform blocks of passes", sizes.passes, "maxBufferSize", uniform)?;
    check.groups("pieces of a softmax", u64::from(plan.pieces))?;
    check.groups("KV heads by lanes", u64::from(shape.kv_heads) * u64::from(plan.tiles))?;
    check.groups("query heads", u64::from(shape.heads))?;
    check.groups("tokens of a block", u64::from(plan.rows.max(BLOCK)))?;
    let threads = u64::from(THREADS);
    check.groups("parts of cells", (sizes.cells[1] / 8).div_ceil(threads))?;
    check.groups("parts of keys", (u64::from(shape.kv_heads) * quarter).div_ceil(threads))
}

impl Plan {
    /// Bytes of the state: what a layer remembers, whatever the context. Rows that wait and scratch memory are not in it.
    pub fn state_bytes(&self) -> u64 {
        let sizes = &self.sizes;
        2 * (sizes.keys - sizes.waiting) + sizes.looks + 2 * sizes.slots + sizes.carrier
    }

    /// Bytes of all the buffers of one layer, without what it shares with others.
    pub fn layer_bytes(&self) -> u64 {
        let sizes = &self.sizes;
        let cells = 2 * sizes.cells[0] + sizes.cells[1];
        2 * sizes.keys
            + sizes.looks
            + 2 * sizes.slots
            + sizes.carrier
            + cells
            + sizes.seen
            + sizes.turn
            + sizes.parameters.iter().sum::<u64>()
    }

    /// Bytes of what all layers share: scratch memory, surprises, the caller's rows and what tells kernels of passes.
    pub fn shared_bytes(&self) -> u64 {
        let sizes = &self.sizes;
        let [queries, keys, outputs, surprises] = sizes.io;
        let rows = queries + 2 * keys + outputs + surprises;
        sizes.surprises + sizes.scratch.iter().sum::<u64>() + rows + sizes.passes
    }
}

#[cfg(test)]
mod tests;
