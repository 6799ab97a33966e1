//! What memory a model takes on a device or a processor, known before a byte of its weights is read.
//!
//! Weights stay as they are written. A matrix larger than a binding is split between rows, and each part is a buffer of its own;
//! norms and biases become f32. Beside them there are the layers' state and what a pass works with. Buffers of a few bytes
//! (uniform blocks, empty tables) and what a driver adds to every buffer are not counted.

use super::device::{self, Fetch};
use super::gguf::Tensor;
use super::layout::{self, Form};
use super::{Model, ModelConfig, cpu};
use crate::attention::{AttentionError, LayerSetup, Plan, Wanted, plans};
use std::fmt;
use std::ops::Range;
use wgpu::Limits;

/// Why it cannot be said what memory a model takes: it does not fit, whatever memory there is.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryError {
    /// 8 rows, or a norm, are larger than the largest buffer that a kernel can read.
    Row {
        /// The tensor.
        tensor: String,
        /// Its bytes.
        bytes: u64,
        /// Bytes of the largest buffer.
        most: u64,
    },
    /// A matrix would take more than [`MOST_PARTS`] parts.
    Parts {
        /// The tensor.
        tensor: String,
        /// Its bytes.
        bytes: u64,
        /// Bytes of the largest buffer.
        most: u64,
    },
    /// Attention's layers do not fit.
    Attention(AttentionError),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row { tensor, bytes, most } => {
                write!(f, "8 rows of tensor {tensor:?} take {bytes} bytes, and this GPU binds at most {most}")
            }
            Self::Parts { tensor, bytes, most } => {
                write!(f, "tensor {tensor:?} takes {bytes} bytes, more than {MOST_PARTS} times the {most} of a binding")
            }
            Self::Attention(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MemoryError {}

/// Parts of a matrix, at most: 128 GiB where bindings are as small as WebGPU allows.
pub const MOST_PARTS: u64 = 1024;

/// The largest buffer or texture that a kernel can read as a whole, in bytes: a multiple of 16, addressed in 32 bits.
pub fn largest_buffer(limits: &Limits) -> u64 {
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    most.min(device::MOST_TEXTURE_BYTES).min(u64::from(u32::MAX)) / 16 * 16
}

/// Bytes that a matrix of these sizes takes on a device, as products read it.
pub fn matrix_bytes(tensor: &Tensor, rows: u64) -> u64 {
    device::matrix_bytes(Form::of(tensor.element()), rows, tensor.row())
}

/// Splits the rows of a matrix into parts that fit a buffer each, in order: as few as possible, all but the last with as many
/// rows, which are a multiple of 8.
pub fn split(limits: &Limits, tensor: &Tensor) -> Result<Vec<Range<u64>>, MemoryError> {
    const GROUP: u64 = layout::GROUP as u64;
    let (rows, group) = (tensor.rows(), matrix_bytes(tensor, GROUP));
    let most = largest_buffer(limits);
    let at_once = most / group;
    if at_once == 0 {
        return Err(MemoryError::Row { tensor: tensor.name().into(), bytes: group, most });
    }
    // As few parts, of about the same size.
    let groups = rows.div_ceil(GROUP);
    let parts = groups.div_ceil(at_once);
    if parts > MOST_PARTS {
        return Err(MemoryError::Parts { tensor: tensor.name().into(), bytes: matrix_bytes(tensor, rows), most });
    }
    let each = groups.div_ceil(parts) * GROUP;
    Ok((0..rows.div_ceil(each)).map(|at| at * each..rows.min((at + 1) * each)).collect())
}

/// Bytes that a model needs on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Weights.
    pub weights: u64,
    /// What the layers remember, with their tables, carriers and the rows that wait.
    pub layers: u64,
    /// What attention works with, for all layers.
    pub scratch: u64,
    /// Rows between and inside the layers, and logits.
    pub rows: u64,
}

/// Whether a model fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It does.
    Fits {
        /// Bytes needed.
        needs: u64,
        /// Bytes there are.
        available: u64,
    },
    /// It does not.
    TooLarge {
        /// Bytes needed.
        needs: u64,
        /// Bytes there are.
        available: u64,
    },
    /// Nobody says how much memory there is. Browsers do not.
    Unknown {
        /// Bytes needed.
        needs: u64,
    },
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fits { needs, available } => write!(f, "{needs} bytes are needed, and {available} are there"),
            Self::TooLarge { needs, available } => {
                write!(f, "{needs} bytes are needed, and only {available} are there")
            }
            Self::Unknown { needs } => write!(f, "{needs} bytes are needed; how many there are is not known"),
        }
    }
}

impl Needs {
    /// Adds up what a model needs, with one setup for each of its layers, and matrices that are fetched from buffers or from textures.
    pub fn of(
        limits: &Limits,
        model: &Model,
        setups: &[LayerSetup],
        wanted: Wanted,
        fetch: Fetch,
    ) -> Result<Self, MemoryError> {
        let plans = plans(limits, setups, wanted).map_err(MemoryError::Attention)?;
        Ok(Self {
            weights: weight_bytes(limits, model, fetch)?,
            layers: plans.iter().map(Plan::layer_bytes).fold(0, u64::saturating_add),
            scratch: shared_bytes(&plans),
            rows: row_bytes(&model.config, wanted),
        })
    }

    /// Adds up what a model needs on a processor, for draft trees of so many rows. A native cache is counted when it grows.
    pub fn of_cpu(model: &Model, setups: &[LayerSetup], tree_rows: u32) -> Self {
        let matrices = model.weights.matrices().map(|tensor| {
            layout::buffer_words(Form::of(tensor.element()), tensor.rows(), tensor.row()).saturating_mul(4)
        });
        let vectors = model.weights.vectors().map(|tensor| tensor.numbers().saturating_mul(4));
        let config = &model.config;
        let row = u64::from(config.vocabulary) + 4 * u64::from(config.width) + 2 * u64::from(config.feed_forward);
        Self {
            weights: matrices.chain(vectors).fold(0, u64::saturating_add),
            layers: setups.iter().map(|setup| cpu::layer_bytes(&setup.config, 0)).fold(0, u64::saturating_add),
            scratch: 0,
            rows: u64::from(tree_rows).saturating_mul(4 * row),
        }
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        [self.weights, self.layers, self.scratch, self.rows].into_iter().fold(0, u64::saturating_add)
    }

    /// Whether it fits into this many bytes, if anyone knows how many there are.
    pub fn fits(&self, available: Option<u64>) -> Fit {
        let needs = self.total();
        match available {
            None => Fit::Unknown { needs },
            Some(available) if needs <= available => Fit::Fits { needs, available },
            Some(available) => Fit::TooLarge { needs, available },
        }
    }
}

fn weight_bytes(limits: &Limits, model: &Model, fetch: Fetch) -> Result<u64, MemoryError> {
    // Textures end with a whole row of texels. Matrices that share one end with fewer of them.
    let whole = match fetch {
        Fetch::Buffer => 1,
        Fetch::Texture => device::TEXTURE_ROW_BYTES,
    };
    let mut bytes = 0_u64;
    for matrix in model.weights.matrices() {
        let parts = split(limits, matrix)?;
        let own = parts.iter().map(|part| matrix_bytes(matrix, part.end - part.start).next_multiple_of(whole));
        bytes = own.fold(bytes, u64::saturating_add);
    }
    let most = largest_buffer(limits);
    for vector in model.weights.vectors() {
        let own = vector.numbers().saturating_mul(4);
        if own > most {
            return Err(MemoryError::Row { tensor: vector.name().into(), bytes: own, most });
        }
        bytes = bytes.saturating_add(own);
    }
    Ok(bytes)
}

/// Layers of different stores and carriers share buffers that are as large as the largest of them asks for.
fn shared_bytes(plans: &[Plan]) -> u64 {
    let Some((first, others)) = plans.split_first() else { return 0 };
    let mut largest = first.clone();
    for plan in others {
        let (into, of) = (&mut largest.sizes, &plan.sizes);
        into.surprises = into.surprises.max(of.surprises);
        let pairs = into.scratch.iter_mut().zip(of.scratch).chain(into.io.iter_mut().zip(of.io));
        pairs.for_each(|(most, bytes)| *most = bytes.max(*most));
    }
    largest.shared_bytes()
}

/// For every row of a pass: the sum that goes through the layers and its norm, queries, keys and values, the inside of the
/// feed-forward part, and what products read, which is a 16th longer than the longest of these. Logits are only wanted of rows that
/// may be decoded from, which are those of one draft tree, and of the last one.
fn row_bytes(config: &ModelConfig, wanted: Wanted) -> u64 {
    let (width, inside) = (u64::from(config.width), u64::from(config.feed_forward));
    let attending = u64::from(config.shape.heads + 2 * config.shape.kv_heads) * u64::from(config.shape.head_dim);
    let longest = width.max(inside).max(attending);
    let each = 2 * (width + inside) + attending + longest + longest.div_ceil(16);
    let numbers = u64::from(wanted.pass_rows.max(1)).saturating_mul(each);
    let logits = (u64::from(wanted.rows.max(1)) + 1) * u64::from(config.vocabulary);
    numbers.saturating_add(logits).saturating_mul(4)
}
