//! What can be wrong with a layer's state or its anchor.

use super::Field;
use mrail::anchor::AnchorError;
use std::fmt;

/// Why a state is none of a layer, or cannot be read or written. Heads are key-value heads; layers, heads, slots and
/// indices count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// One of several layers is at fault.
    Layer {
        /// The layer.
        layer: usize,
        /// Its fault.
        error: Box<Self>,
    },
    /// More tokens than positions of 32 bits leave room for.
    Tokens {
        /// Tokens of the state.
        found: u32,
        /// [`super::MAX_TOKENS`].
        most: u32,
    },
    /// A layer holds another number of tokens than the first.
    LayerTokens {
        /// Its tokens.
        found: u32,
        /// Tokens of the first layer.
        wanted: u32,
    },
    /// Surprises are the model's, and two layers that rank by them hold different ones.
    LayerSurprises,
    /// The number of known surprises is none that a state of so many tokens can have.
    Surprised {
        /// The number.
        found: u32,
        /// What the turnovers so far have used.
        least: u32,
        /// One more than tokens; 0 where no head ranks by surprise.
        most: u32,
    },
    /// The state has another number of heads than the layer.
    Heads {
        /// Heads of the state.
        found: usize,
        /// Heads of the layer.
        wanted: u32,
    },
    /// The state is one of another carrier.
    Carrier {
        /// What the state has.
        found: &'static str,
        /// What the layer has.
        wanted: &'static str,
    },
    /// An array has another length than the layer's sizes ask for.
    Len {
        /// The array.
        field: Field,
        /// Its head, if it is kept by head.
        head: Option<usize>,
        /// Elements there are; bytes of keys and values.
        found: usize,
        /// Elements that there should be.
        wanted: u64,
    },
    /// What was never written to is not zero.
    NotZero {
        /// The array.
        field: Field,
        /// Its head, if it is kept by head.
        head: Option<usize>,
        /// The element; the byte of keys and values.
        index: usize,
    },
    /// A number is none that a state can hold.
    Value {
        /// The array.
        field: Field,
        /// Its head, if it is kept by head.
        head: Option<usize>,
        /// The element.
        index: usize,
        /// Its bits as f32: a NaN is to equal itself here.
        bits: u32,
        /// What should stand there.
        wanted: &'static str,
    },
    /// The store holds a token that has not left the band.
    Position {
        /// The head.
        head: usize,
        /// The slot.
        slot: usize,
        /// The token's position.
        found: u32,
        /// What every position must be below.
        left: u32,
    },
    /// The store holds a token twice.
    Repeated {
        /// The head.
        head: usize,
        /// The token's position.
        position: u32,
    },
    /// The store does not hold the first token, which never leaves it.
    FirstToken {
        /// The head.
        head: usize,
    },
    /// The anchor has another number of layers.
    LayerCount {
        /// Layers of the anchor.
        found: usize,
        /// Layers of the model; 1 where the anchor is to have one pseudo-layer.
        wanted: usize,
    },
    /// The anchor's scalars do not say what they have to.
    Scalars {
        /// The key whose value is missing, or is no whole number of 32 bits or list of one for each layer.
        key: &'static str,
    },
    /// The anchor lacks an array.
    MissingArray {
        /// The array.
        array: String,
    },
    /// The anchor has an array that no state of the model has.
    UnknownArray {
        /// The array.
        array: String,
    },
    /// An array of the anchor has another type or shape than the model's.
    Array {
        /// The array.
        array: String,
        /// Its type and shape.
        found: String,
        /// The type and shape that the model asks for.
        wanted: String,
    },
    /// The arrays do not make an anchor.
    Anchor(AnchorError),
}

impl SnapshotError {
    pub(crate) fn of_layer(self, layer: usize) -> Self {
        Self::Layer { layer, error: Box::new(self) }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer { layer, error } => write!(f, "layer {layer}: {error}"),
            Self::Tokens { found, most } => write!(f, "{found} tokens are more than {most}"),
            Self::LayerTokens { found, wanted } => write!(f, "{found} tokens, and the first layer has {wanted}"),
            Self::LayerSurprises => f.write_str("other surprises than those of another layer"),
            Self::Surprised { found, least, most } => {
                write!(f, "surprises of {found} tokens are known, and should be of {least} to {most}")
            }
            Self::Heads { found, wanted } => write!(f, "{found} key-value heads, and the layer has {wanted}"),
            Self::Carrier { found, wanted } => write!(f, "{found}, and the layer has {wanted}"),
            Self::Len { field, head, found, wanted } => {
                write!(f, "{}: {found} elements, and there should be {wanted}", Place(*field, *head))
            }
            Self::NotZero { field, head, index } => {
                write!(f, "{}[{index}] was never written to and is not zero", Place(*field, *head))
            }
            Self::Value { field, head, index, bits, wanted } => {
                let found = f32::from_bits(*bits);
                write!(f, "{}[{index}] is {found:?}, and should be {wanted}", Place(*field, *head))
            }
            Self::Position { head, slot, found, left } => {
                let place = Place(Field::StorePositions, Some(*head));
                write!(f, "{place}[{slot}] is position {found}, and only those below {left} have left the band")
            }
            Self::Repeated { head, position } => {
                write!(f, "{}: position {position} is there twice", Place(Field::StorePositions, Some(*head)))
            }
            Self::FirstToken { head } => {
                write!(f, "{}: position 0 is missing", Place(Field::StorePositions, Some(*head)))
            }
            Self::LayerCount { found, wanted } => write!(f, "the anchor has {found} layers, and should have {wanted}"),
            Self::Scalars { key } => write!(f, "the anchor's scalars have no usable \"{key}\""),
            Self::MissingArray { array } => write!(f, "array \"{array}\" is missing"),
            Self::UnknownArray { array } => write!(f, "array \"{}\" is none of the model's", array.escape_debug()),
            Self::Array { array, found, wanted } => {
                write!(f, "array \"{array}\" is {found}, and should be {wanted}")
            }
            Self::Anchor(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<AnchorError> for SnapshotError {
    fn from(error: AnchorError) -> Self {
        Self::Anchor(error)
    }
}

/// A field and perhaps its head: `head 2: store_pos`.
struct Place(Field, Option<usize>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(head) => write!(f, "head {head}: {}", self.0),
            None => self.0.fmt(f),
        }
    }
}
