//! A layer's state on the host: what is read back from a device, compared, and written as an anchor.
//!
//! A snapshot holds the state and no parameters, so its lengths mean something only beside the layer's
//! [`Config`] and [`Carrier`]: [`LayerSnapshot::check`] says whether they fit each other. Nothing is restored to a device
//! without that check, since anchors come from files.

//!
//! [`to_anchor`] writes the layers of a model as one anchored state and [`from_anchor`] reads them back, see there for
//! the arrays. [`listing`] and [`changed_rows`] say what an anchor's bytes are.

mod anchor;
mod check;
mod difference;
mod error;
mod field;
mod filled;
mod listing;
#[cfg(test)]
mod tests;

pub use anchor::{from_anchor, to_anchor};
pub(crate) use check::same_surprises;
pub use error::SnapshotError;
pub use field::Field;
pub(crate) use filled::Noise;
pub use listing::{ChangedRows, Listing, changed_rows, listing};

use super::{BLOCK, Carrier, Config, DECAYS, TERMS};

/// Tokens that a state may hold. Positions are added to in 32 bits, which leaves room up to here.
pub const MAX_TOKENS: u32 = 1 << 31;

/// What one key-value head keeps. Rows of keys and values are bytes, little-endian numbers in the layer's storage.
#[derive(Clone, Debug, Default)]
pub struct HeadSnapshot {
    /// Keys of the band, \[B + E, `head_dim`]: a ring, whose row is the token's position modulo B + E. In native mode
    /// \[tokens, `head_dim`], a row a token. Rows that no token was written to are zero.
    pub band_keys: Vec<u8>,
    /// Values of the band, laid out as its keys.
    pub band_values: Vec<u8>,
    /// Keys of the store, \[S, `head_dim`]. Slots that no token was written to are zero, here and in what follows.
    pub store_keys: Vec<u8>,
    /// Values of the store, \[S, `head_dim`].
    pub store_values: Vec<u8>,
    /// Position of the token in each slot, \[S].
    pub store_positions: Vec<u32>,
    /// Admission score of the token in each slot, \[S].
    pub store_scores: Vec<f32>,
    /// Look of each token of the band, \[B + E], a ring as the keys are; none in native mode.
    pub looks: Vec<f32>,
}

/// State of a layer's carrier. Arrays are in C order.
#[derive(Clone, Debug, Default)]
pub enum CarrierSnapshot {
    /// The layer has no carrier.
    #[default]
    None,
    /// Sums of the decay carrier: \[heads, 5, 9, `head_dim` + 1].
    Decay(Vec<f32>),
    /// Sums of the cell carrier.
    Cells {
        /// Keys that went to each cell, n: \[`kv_heads`, M].
        counts: Vec<f32>,
        /// Their sums, sk: \[`kv_heads`, M, `head_dim`].
        keys: Vec<f32>,
        /// Sums of their values: \[`kv_heads`, M, `head_dim`].
        values: Vec<f32>,
        /// Sums of |Aᵀ (k - mu)|², sx: \[`kv_heads`, M].
        squares: Vec<f32>,
    },
}

/// State of one attention layer.
///
/// There is no `==`: a NaN would differ from itself and zeros of either sign would be equal, and neither is wanted of a
/// state. [`LayerSnapshot::first_difference`] compares bits.
#[derive(Clone, Debug, Default)]
pub struct LayerSnapshot {
    /// Tokens that the layer has taken in.
    pub tokens: u32,
    /// Tokens whose surprise is known: those below this. At most `tokens` + 1; 0 where no head ranks by surprise.
    pub surprised: u32,
    /// Surprises in nat, \[B + 2 E]: a ring, whose element is the token's position modulo its length. None where no head
    /// ranks by surprise. Elements that no surprise was written to are zero.
    pub surprises: Vec<f32>,
    /// Key-value heads.
    pub heads: Vec<HeadSnapshot>,
    /// What summarises the tokens that were dropped.
    pub carrier: CarrierSnapshot,
}

impl CarrierSnapshot {
    /// Of this carrier's kind, without its numbers.
    fn of(carrier: &Carrier) -> Self {
        let none = Vec::new;
        match carrier {
            Carrier::None => Self::None,
            Carrier::Decay(_) => Self::Decay(none()),
            Carrier::Cells(_) => Self::Cells { counts: none(), keys: none(), values: none(), squares: none() },
        }
    }
}

impl LayerSnapshot {
    /// The state of no tokens: all that is kept is zero.
    pub fn empty(config: &Config, carrier: &Carrier) -> Self {
        let shape = config.shape();
        let (dim, kv_heads) = (shape.head_dim as usize, shape.kv_heads as usize);
        let row = dim * config.storage().size() as usize;
        let band = config.schedule().most_in_band().unwrap_or(0) as usize;
        let head = |head| {
            let store = config.store(head) as usize;
            HeadSnapshot {
                band_keys: vec![0; band * row],
                band_values: vec![0; band * row],
                store_keys: vec![0; store * row],
                store_values: vec![0; store * row],
                store_positions: vec![0; store],
                store_scores: vec![0.; store],
                looks: vec![0.; band],
            }
        };
        let carrier = match carrier {
            Carrier::None => CarrierSnapshot::None,
            Carrier::Decay(_) => CarrierSnapshot::Decay(vec![0.; shape.heads as usize * DECAYS * TERMS * (dim + 1)]),
            Carrier::Cells(cells) => {
                let cells = kv_heads * cells.cells as usize;
                let (counts, squares) = (vec![0.; cells], vec![0.; cells]);
                CarrierSnapshot::Cells { counts, keys: vec![0.; cells * dim], values: vec![0.; cells * dim], squares }
            }
        };
        let surprises = vec![0.; surprise_ring(config)];
        Self { tokens: 0, surprised: 0, surprises, heads: (0..kv_heads).map(head).collect(), carrier }
    }
}

/// Elements of the ring of surprises: the band's, a block that is being appended, and a block for the window before.
pub(crate) fn surprise_ring(config: &Config) -> usize {
    let band = config.schedule().most_in_band().filter(|_| config.wants_surprises());
    band.map_or(0, |band| (band + BLOCK) as usize)
}
