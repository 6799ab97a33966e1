//! An engine's state as an anchor of a map, and back.
//!
//! The layers are written as [`crate::state::snapshot::to_anchor`] says. One array is added, `hidden` float32\[width]: the
//! last token's row after the final norm, from which its logits follow. An anchor has one list of arrays for all its
//! layers, so every layer has a row; that of the last one counts, and the others are zero.

use super::State;
use crate::state::snapshot::{self, SnapshotError};
use crate::state::{Carrier, Config};
use mrail::anchor::{AnchorError, ArraySpec, Dtype, Snapshot};
use std::fmt;

const HIDDEN: &str = "hidden";

/// Why an anchored state cannot be written, or gone on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnchorFault {
    /// Its layers are not the model's.
    Layers(SnapshotError),
    /// Its last row is missing or makes no sense.
    Hidden {
        /// What is wrong with it.
        what: &'static str,
    },
    /// It holds another number of tokens than its prefix.
    Position {
        /// Tokens that it holds.
        found: u32,
        /// Tokens of the prefix.
        wanted: usize,
    },
    /// The map's records make no state, or the state no record.
    Map(AnchorError),
    /// The engine refused it.
    Engine(String),
    /// It could not be written.
    Write(super::WriteFault),
}

impl fmt::Display for AnchorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers(error) => error.fmt(f),
            Self::Hidden { what } => write!(f, "array \"{HIDDEN}\" {what}"),
            Self::Position { found, wanted } => write!(f, "it holds {found} tokens, and its prefix has {wanted}"),
            Self::Map(error) => error.fmt(f),
            Self::Engine(error) => f.write_str(error),
            Self::Write(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for AnchorFault {}

impl From<SnapshotError> for AnchorFault {
    fn from(error: SnapshotError) -> Self {
        Self::Layers(error)
    }
}

impl From<AnchorError> for AnchorFault {
    fn from(error: AnchorError) -> Self {
        Self::Map(error)
    }
}

/// Writes the state of a model whose layers have these sizes. O(state).
pub fn to_anchor(layers: &[(&Config, &Carrier)], state: &State) -> Result<Snapshot, AnchorFault> {
    if layers.len() != state.layers.len() {
        let (found, wanted) = (state.layers.len(), layers.len());
        return Err(SnapshotError::LayerCount { found, wanted }.into());
    }
    if state.hidden.is_empty() {
        return Err(AnchorFault::Hidden { what: "is empty: there is no state before the first token" });
    }
    let with_states: Vec<_> =
        layers.iter().zip(&state.layers).map(|(&(config, carrier), layer)| (config, carrier, layer)).collect();
    let snapshot = snapshot::to_anchor(&with_states)?;
    let mut arrays = snapshot.arrays().to_vec();
    arrays.push(ArraySpec::new(HIDDEN, Dtype::Float32, [state.hidden.len() as u64]));
    let hidden: Vec<u8> = state.hidden.iter().flat_map(|number| number.to_le_bytes()).collect();
    let blank = vec![0; hidden.len()];
    let last = snapshot.scalars().len().saturating_sub(1);
    let rows = |layer| if layer == last { &hidden[..] } else { &blank[..] };
    let of_layers = snapshot.scalars().iter().enumerate().map(|(layer, scalars)| {
        let arrays = snapshot.layer(layer).map(|(_, bytes)| bytes);
        (scalars.clone(), arrays.chain([rows(layer)]))
    });
    Ok(Snapshot::from_layers(arrays, of_layers)?.describing_rows(true))
}

/// Reads what [`to_anchor`] wrote for a prefix of `position` tokens.
///
/// The anchor may be hostile: a state that no such model can be in is an error. Whether the row is as wide as the model's
/// is the engine's to say. O(state), one copy of it.
pub fn from_anchor(snapshot: &Snapshot, layers: &[(&Config, &Carrier)], position: usize) -> Result<State, AnchorFault> {
    let fault = |what| AnchorFault::Hidden { what };
    let place = snapshot.arrays().iter().position(|array| array.name == HIDDEN).ok_or(fault("is missing"))?;
    let spec = snapshot.arrays().get(place).filter(|spec| spec.dtype == Dtype::Float32 && spec.shape.len() == 1);
    spec.ok_or(fault("is no row of float32"))?;
    let mut hidden = Vec::new();
    for layer in 0..snapshot.scalars().len() {
        let bytes = snapshot.array(layer, place).unwrap_or_default();
        if hidden.iter().any(|&number: &f32| number.to_bits() != 0) {
            return Err(fault("has numbers in a layer that is not the last"));
        }
        hidden = bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default())).collect();
    }
    if hidden.is_empty() {
        return Err(fault("is empty"));
    }
    if !hidden.iter().all(|number| number.is_finite()) {
        return Err(fault("has a number that is not finite"));
    }
    let mut arrays = snapshot.arrays().to_vec();
    arrays.remove(place);
    let of_layers = snapshot.scalars().iter().enumerate().map(|(layer, scalars)| {
        let others = snapshot.layer(layer).enumerate().filter(move |(at, _)| *at != place);
        (scalars.clone(), others.map(|(_, (_, bytes))| bytes))
    });
    let states = snapshot::from_anchor(&Snapshot::from_layers(arrays, of_layers)?, layers)?;
    let found = states.first().map_or(0, |layer| layer.tokens);
    if found as usize != position {
        return Err(AnchorFault::Position { found, wanted: position });
    }
    Ok(State { layers: states, hidden })
}
