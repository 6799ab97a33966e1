//! What can be wrong with an anchored state.

use super::UnknownDtype;
use crate::chain::PrefixHash;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// Why a state cannot be read or written. Offsets count from the start of the JSON or of the body, as the variant says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnchorError {
    /// A link of the chain that leads to a whole state is at fault.
    Link {
        /// The prefix of the record at fault.
        anchor: PrefixHash,
        /// Its fault.
        error: Box<Self>,
    },
    /// No record has this hash.
    Missing,
    /// The record leads back to itself through its parents.
    Cycle {
        /// The parent that was met before.
        parent: PrefixHash,
    },
    /// More deltas than the format allows lie between the state and a whole one.
    ChainTooLong {
        /// What a chain must stay below.
        limit: u32,
    },
    /// The JSON counts other links than there are.
    WrongChain {
        /// Links as the JSON says.
        declared: u32,
        /// Deltas between the state and a whole one.
        actual: u32,
    },
    /// The JSON is not UTF-8.
    Utf8 {
        /// Where in the JSON.
        offset: usize,
    },
    /// The JSON is none, or does not say what it has to.
    Json {
        /// Where in the JSON.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// The JSON lacks a key.
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// An array's elements are of no known type.
    Dtype {
        /// The array.
        array: String,
        /// The type's name.
        error: UnknownDtype,
    },
    /// Two arrays have one name.
    DuplicateArray {
        /// The name.
        array: String,
    },
    /// An array's shape, or what lies before it, is too large to be counted.
    TooLarge {
        /// The array.
        array: String,
    },
    /// The layers together are too large to be counted.
    TooManyLayers {
        /// How many there are.
        layers: usize,
        /// Bytes of each.
        layer_len: usize,
    },
    /// The zlib stream is damaged or cut off.
    Zlib {
        /// Where in the body decompression stopped.
        offset: usize,
        /// What is wrong.
        fault: &'static str,
    },
    /// The zlib stream could not hold what the JSON declares, however well it is packed.
    Unpackable {
        /// Bytes that the JSON declares.
        declared: usize,
        /// Bytes of the stream.
        packed: usize,
    },
    /// The body holds more than what the JSON declares.
    BodyTooLong {
        /// Bytes that the JSON allows.
        declared: usize,
    },
    /// The body holds another number of bytes than what the JSON declares.
    BodyLen {
        /// Bytes that the JSON declares.
        declared: usize,
        /// Bytes there are.
        len: usize,
    },
    /// The body of a delta ends inside an array.
    BodyEnds {
        /// The layer, from 0.
        layer: usize,
        /// The array.
        array: String,
        /// Bytes of the decompressed body needed up to here.
        needs: u64,
        /// Bytes there are.
        len: usize,
    },
    /// A row mask has bits behind its last row.
    Padding {
        /// The layer, from 0.
        layer: usize,
        /// The array.
        array: String,
        /// Rows there are.
        rows: usize,
    },
    /// A delta changes rows of an array that its parent does not have.
    ParentLacks {
        /// The array.
        array: String,
    },
    /// A delta changes rows of an array that is another in its parent.
    ParentDiffers {
        /// The array.
        array: String,
        /// Its type and shape in the delta.
        here: String,
        /// Its type and shape in the parent.
        parent: String,
    },
    /// A delta changes rows of layers that its parent does not have.
    ParentLayers {
        /// Layers of the delta.
        layers: usize,
        /// Layers of the parent.
        parent: usize,
    },
    /// A layer was given with another number of arrays than are listed.
    ArrayCount {
        /// The layer, from 0.
        layer: usize,
        /// Arrays listed.
        listed: usize,
    },
    /// An array was given with another number of bytes than its type and shape have.
    ArrayLen {
        /// The layer, from 0.
        layer: usize,
        /// The array.
        array: String,
        /// Bytes by type and shape.
        needs: usize,
        /// Bytes given.
        len: usize,
    },
    /// The record would be longer than 4 GiB.
    PayloadTooLong {
        /// Bytes that its payload would have.
        len: u64,
    },
}

impl AnchorError {
    pub(super) fn of_link(self, anchor: PrefixHash) -> Self {
        Self::Link { anchor, error: Box::new(self) }
    }
}

impl fmt::Display for AnchorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link { anchor, error } => write!(f, "anchor {anchor}: {error}"),
            Self::Missing => f.write_str("no record in the map"),
            Self::Cycle { parent } => write!(f, "its parents lead back to {parent}"),
            Self::ChainTooLong { limit } => write!(f, "its chain of deltas reaches {limit}"),
            Self::WrongChain { declared, actual } => {
                write!(f, "its JSON says a chain of {declared}, and there are {actual} deltas")
            }
            Self::Utf8 { offset } => write!(f, "its JSON is not UTF-8 at byte {offset}"),
            Self::Json { offset, expected } => write!(f, "its JSON should have {expected} at byte {offset}"),
            Self::MissingKey { key } => write!(f, "its JSON has no \"{key}\""),
            Self::Dtype { array, error } => write!(f, "{}: {error}", Named(array)),
            Self::DuplicateArray { array } => write!(f, "{} is listed twice", Named(array)),
            Self::TooLarge { array } => write!(f, "{} ends past what can be addressed", Named(array)),
            Self::TooManyLayers { layers, layer_len } => {
                write!(f, "{layers} layers of {layer_len} bytes are more than what can be addressed")
            }
            Self::Zlib { offset, fault } => write!(f, "its zlib stream {fault} at byte {offset}"),
            Self::Unpackable { declared, packed } => {
                write!(f, "its JSON declares {declared} bytes, more than {packed} bytes of zlib can hold")
            }
            Self::BodyTooLong { declared } => {
                write!(f, "its body holds more than the {declared} bytes that its JSON allows")
            }
            Self::BodyLen { declared, len } => {
                write!(f, "its body holds {len} bytes, and its JSON declares {declared}")
            }
            Self::BodyEnds { layer, array, needs, len } => {
                write!(f, "{} of layer {layer} needs {needs} bytes of the body, which has {len}", Named(array))
            }
            Self::Padding { layer, array, rows } => {
                write!(f, "{} of layer {layer} changes rows behind its {rows}", Named(array))
            }
            Self::ParentLacks { array } => write!(f, "it changes rows of {}, which its parent lacks", Named(array)),
            Self::ParentDiffers { array, here, parent } => {
                write!(f, "it changes rows of {}, which is {here} here and {parent} in its parent", Named(array))
            }
            Self::ParentLayers { layers, parent } => {
                write!(f, "it changes rows of {layers} layers, and its parent has {parent}")
            }
            Self::ArrayCount { layer, listed } => {
                write!(f, "layer {layer} has another number of arrays than the {listed} listed")
            }
            Self::ArrayLen { layer, array, needs, len } => {
                write!(f, "{} of layer {layer} has {len} bytes, and its shape needs {needs}", Named(array))
            }
            Self::PayloadTooLong { len } => write!(f, "its record would have {len} bytes, more than 4 GiB"),
        }
    }
}

impl core::error::Error for AnchorError {}

/// An array's name in a message: quoted, and cut where it is longer than a name should be.
struct Named<'a>(&'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 60;
        let dots = if self.0.chars().nth(SHOWN).is_some() { "..." } else { "" };
        f.write_str("array \"")?;
        self.0.chars().take(SHOWN).try_for_each(|c| write!(f, "{}", c.escape_debug()))?;
        write!(f, "{dots}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn messages_name_the_anchor_the_array_and_both_numbers() {
        let error = AnchorError::BodyEnds { layer: 3, array: "k\n".to_string(), needs: 10, len: 4 };
        assert_eq!(
            error.of_link(PrefixHash(*b"prefixes")).to_string(),
            "anchor 7072656669786573: array \"k\\n\" of layer 3 needs 10 bytes of the body, which has 4"
        );
        let long = AnchorError::DuplicateArray { array: "ä".repeat(1000) };
        assert_eq!(long.to_string().chars().filter(|&c| c == 'ä').count(), 60);
    }
}
