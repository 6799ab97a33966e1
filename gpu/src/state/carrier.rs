//! What summarises every far token that no store keeps.

use super::Shape;

/// Decays a query head mixes.
pub const DECAYS: usize = 5;

/// Pairs of functions of query and key.
pub const RANK: usize = 8;

/// Sums a decay keeps: the plain one and one for each pair.
pub const TERMS: usize = RANK + 1;

/// Half-lives, in tokens, that a decay may have. They are powers of two so that age / half-life is exact.
pub const HALF_LIVES: [f32; 14] =
    [16., 32., 64., 128., 256., 512., 1024., 2048., 4096., 8192., 16384., 32768., 65536., 131_072.];

/// The carrier of a layer, with its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Carrier {
    /// What leaves the store is forgotten.
    #[default]
    None,
    /// Exponential decays.
    Decay(Decay),
    /// Cells of a codebook.
    Cells(Cells),
}

/// Parameters of the decay carrier. Far token j weighs at time t, for query head h,
///
/// ```text
/// exp(clamp(bias_h . k_j, -40, 40)) * sum_i mix_hi 2^(-(t - j) / half_life_hi) * (1 + f_h(q_t) . g_h(k_j))
/// f_h(q) = clamp(phi_h q + phi_bias_h, 0, 1000)
/// g_h(k) = clamp(psi_h k + psi_bias_h, 0, 1000)
/// ```
///
/// which is never negative. The bounds keep sums over 10^5 tokens whose values are 6 * 10^5 within f32, where mixes are about 1. Arrays are in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Decay {
    /// Key bias: \[heads, `head_dim`].
    pub bias: Vec<f32>,
    /// Weights of the decays, none negative: \[heads, 5].
    pub mix: Vec<f32>,
    /// Half-lives in tokens, each one of [`HALF_LIVES`]: \[heads, 5].
    pub half_life: Vec<f32>,
    /// Of the query: \[heads, 8, `head_dim`].
    pub phi: Vec<f32>,
    /// \[heads, 8].
    pub phi_bias: Vec<f32>,
    /// Of the key: \[heads, 8, `head_dim`].
    pub psi: Vec<f32>,
    /// \[heads, 8].
    pub psi_bias: Vec<f32>,
}

/// Parameters of the cell carrier: see ATTENTION. Arrays are in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Cells of a key-value head, M.
    pub cells: u32,
    /// Numbers of A's image, at most `head_dim`.
    pub rank: u32,
    /// Codebook W: \[`kv_heads`, cells, `head_dim`].
    pub codebook: Vec<f32>,
    /// Codebook's offsets: \[`kv_heads`, cells].
    pub beta: Vec<f32>,
    /// Mean of the dropped calibration keys: \[`kv_heads`, `head_dim`].
    pub mean: Vec<f32>,
    /// Aᵀ, where A Aᵀ = E\[q qᵀ] / d: \[`kv_heads`, rank, `head_dim`].
    pub metric: Vec<f32>,
    /// Weight of the variance: \[heads].
    pub kappa: Vec<f32>,
    /// Offset of the logit: \[heads].
    pub delta: Vec<f32>,
}

impl Carrier {
    /// Pieces of at most [`super::BLOCK`] terms that a row reads of it.
    pub fn pieces(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Decay(_) => 1,
            Self::Cells(cells) => cells.cells.div_ceil(super::BLOCK),
        }
    }

    /// Bytes of its state in a layer of this shape.
    pub fn state_bytes(&self, shape: Shape) -> u64 {
        let (heads, kv_heads, dim) = (u64::from(shape.heads), u64::from(shape.kv_heads), u64::from(shape.head_dim));
        4 * match self {
            Self::None => 0,
            Self::Decay(_) => heads * (DECAYS * TERMS) as u64 * (dim + 1),
            Self::Cells(cells) => kv_heads * u64::from(cells.cells) * (2 * dim + 2),
        }
    }
}
