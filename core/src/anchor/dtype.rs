//! Element types, by the names that numpy prints.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

macro_rules! dtypes {
    ($($variant:ident $name:literal $size:literal,)*) => {
        /// Type of an array's elements. Only the size matters here: elements are kept as bytes and never looked at.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Dtype {
            $(#[doc = concat!("`", $name, "`, ", $size, " bytes.")] $variant,)*
        }

        impl Dtype {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Bytes of an element.
            #[must_use]
            pub const fn size(self) -> usize {
                match self { $(Self::$variant => $size,)* }
            }

            /// numpy's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl FromStr for Dtype {
            type Err = UnknownDtype;

            fn from_str(name: &str) -> Result<Self, UnknownDtype> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(UnknownDtype { name: name.to_string() }),
                }
            }
        }
    };
}

dtypes! {
    Bool "bool" 1,
    Int8 "int8" 1,
    Int16 "int16" 2,
    Int32 "int32" 4,
    Int64 "int64" 8,
    UInt8 "uint8" 1,
    UInt16 "uint16" 2,
    UInt32 "uint32" 4,
    UInt64 "uint64" 8,
    Float16 "float16" 2,
    // Not numpy's own; the name that the package ml_dtypes registers there.
    BFloat16 "bfloat16" 2,
    Float32 "float32" 4,
    Float64 "float64" 8,
    // numpy's long double: one of the two, as the writer's platform has it.
    Float96 "float96" 12,
    Float128 "float128" 16,
    Complex64 "complex64" 8,
    Complex128 "complex128" 16,
    Complex192 "complex192" 24,
    Complex256 "complex256" 32,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that stands for no numeric type of fixed size and native byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDtype {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown element type \"{}\"", self.name.escape_debug())
    }
}

impl core::error::Error for UnknownDtype {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
    }

    #[test]
    fn sizes_follow_from_the_names() {
        for dtype in Dtype::ALL {
            let bits = dtype.name().trim_start_matches(|c: char| !c.is_ascii_digit());
            assert_eq!(dtype.size() * 8, bits.parse().unwrap_or(8), "{dtype}");
        }
    }

    #[test]
    fn other_names_are_named() {
        for name in ["", "uint", "Float32", ">i4", "<U2", "datetime64[D]", "object"] {
            let error = name.parse::<Dtype>().unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
