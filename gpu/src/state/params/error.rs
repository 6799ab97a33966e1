//! What can be wrong with a carrier's parameters.

use safetensors::Dtype;
use std::fmt;

/// Why parameters cannot be read, written or used. Tensors are named as in the file; outside of files the names lack
/// the layer (`decay.mix`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// The file ends before its header does.
    Short {
        /// Bytes needed up to the header's end.
        needs: u64,
        /// Bytes there are.
        len: usize,
    },
    /// The file's header is none, or contradicts itself.
    File {
        /// What is wrong, in the words of the reader.
        fault: String,
    },
    /// The file has other data than its header says.
    DataLen {
        /// Bytes of data as the header says.
        declared: usize,
        /// Bytes there are.
        len: usize,
    },
    /// The name stands for no parameter.
    UnknownTensor {
        /// The name.
        tensor: String,
    },
    /// The tensor belongs to a layer that the model does not have.
    NoSuchLayer {
        /// The tensor.
        tensor: String,
        /// Layers of the model.
        layers: usize,
    },
    /// A layer has tensors of both kinds of carriers.
    TwoCarriers {
        /// The layer, from 0.
        layer: usize,
    },
    /// A layer has some tensors of a carrier and lacks this one.
    Missing {
        /// The tensor.
        tensor: String,
    },
    /// The tensor's elements are not F32.
    Dtype {
        /// The tensor.
        tensor: String,
        /// The type of its elements.
        found: Dtype,
    },
    /// The tensor has another shape than the model asks for.
    Dimensions {
        /// The tensor.
        tensor: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape that the model asks for.
        wanted: Vec<usize>,
    },
    /// There are no cells, no rank, or more than the limit.
    Count {
        /// The tensor whose middle dimension counts them.
        tensor: String,
        /// How many there are.
        found: u64,
        /// How many there may be; 1 is the least.
        most: u64,
    },
    /// A field has another number of elements than its shape asks for.
    Len {
        /// The field's tensor.
        tensor: String,
        /// Elements there are.
        found: usize,
        /// Elements that the shape asks for.
        wanted: u64,
    },
    /// A number is none that the carrier can work with.
    Value {
        /// The tensor.
        tensor: String,
        /// The element, counted in C order.
        index: usize,
        /// The number's bits: a NaN is to equal itself here.
        bits: u32,
        /// What should stand there.
        wanted: &'static str,
    },
    /// Carriers and shapes are given for different numbers of layers.
    LayerCount {
        /// Carriers given.
        carriers: usize,
        /// Shapes given.
        shapes: usize,
    },
}

impl ParamsError {
    /// The same error of a [`super::Carrier`] that belongs to a layer of a file.
    pub(super) fn of_layer(mut self, layer: usize) -> Self {
        if let Self::Count { tensor, .. } | Self::Len { tensor, .. } | Self::Value { tensor, .. } = &mut self {
            *tensor = format!("layers.{layer}.{tensor}");
        }
        self
    }
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { needs, len } => write!(f, "the header needs {needs} bytes, and the file has {len}"),
            Self::File { fault } => write!(f, "no safetensors file: {fault}"),
            Self::DataLen { declared, len } => {
                write!(f, "the header declares {declared} bytes of data, and the file has {len}")
            }
            Self::UnknownTensor { tensor } => write!(f, "tensor {} is no parameter of a carrier", Named(tensor)),
            Self::NoSuchLayer { tensor, layers } => {
                write!(f, "tensor {} is of a layer past the model's {layers}", Named(tensor))
            }
            Self::TwoCarriers { layer } => write!(f, "layer {layer} has tensors of both a decay and a cell carrier"),
            Self::Missing { tensor } => write!(f, "tensor {} is missing", Named(tensor)),
            Self::Dtype { tensor, found } => write!(f, "tensor {} is {found}, and should be F32", Named(tensor)),
            Self::Dimensions { tensor, found, wanted } => {
                write!(f, "tensor {} has the shape {found:?}, and should have {wanted:?}", Named(tensor))
            }
            Self::Count { tensor, found, most } => {
                write!(f, "tensor {} has a middle dimension of {found}, and should have 1 to {most}", Named(tensor))
            }
            Self::Len { tensor, found, wanted } => {
                write!(f, "tensor {} has {found} elements, and should have {wanted}", Named(tensor))
            }
            Self::Value { tensor, index, bits, wanted } => {
                let found = f32::from_bits(*bits);
                write!(f, "tensor {}: element {index} is {found:?}, and should be {wanted}", Named(tensor))
            }
            Self::LayerCount { carriers, shapes } => write!(f, "{carriers} carriers for the shapes of {shapes} layers"),
        }
    }
}

impl std::error::Error for ParamsError {}

/// A tensor's name in a message: quoted, and cut where it is longer than a name should be.
struct Named<'a>(&'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 60;
        let dots = if self.0.chars().nth(SHOWN).is_some() { "..." } else { "" };
        f.write_str("\"")?;
        self.0.chars().take(SHOWN).try_for_each(|c| write!(f, "{}", c.escape_debug()))?;
        write!(f, "{dots}\"")
    }
}
