//! Hidden states as short hashes.

use alloc::vec::Vec;
use core::fmt;

/// How many planes there are, and so how many bits a full hash has.
pub const PLANES: usize = 24;

/// The hash of a hidden state: on which side of each plane it lies.
///
/// States at a small angle share most bits (Charikar 2002, "random hyperplanes").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimHash(u32);

impl SimHash {
    /// A hash computed elsewhere, on a GPU for instance. Bits above the lowest 24 are dropped.
    #[must_use]
    pub fn from_bits(full: u32) -> Self {
        Self(full & ((1 << PLANES) - 1))
    }

    /// All 24 bits; the first plane is the top one.
    #[must_use]
    pub fn full(self) -> u32 {
        self.0
    }

    /// The top 12 bits.
    #[must_use]
    pub fn coarse(self) -> u16 {
        (self.0 >> (PLANES / 2)) as u16
    }
}

/// 24 planes through the origin of a model's hidden space, each given by its normal.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    dim: usize,
    values: Vec<f32>,
}

/// What is wrong with planes or with a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanesError {
    /// A space without dimensions, or planes too large for memory.
    Size {
        /// The dimension asked for.
        dim: usize,
    },
    /// Not 24 planes of that dimension.
    Values {
        /// The dimension.
        dim: usize,
        /// How many values were given.
        values: usize,
    },
    /// A state of another dimension.
    Dimension {
        /// The planes' dimension.
        planes: usize,
        /// The state's.
        state: usize,
    },
    /// A value that is infinite or not a number.
    NotFinite {
        /// Its index.
        index: usize,
    },
}

impl fmt::Display for PlanesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { dim } => write!(f, "there can be no planes of dimension {dim} here"),
            Self::Values { dim, values } => write!(f, "{values} values are not {PLANES} planes of dimension {dim}"),
            Self::Dimension { planes, state } => {
                write!(f, "the hidden state has dimension {state}, the planes have {planes}")
            }
            Self::NotFinite { index } => write!(f, "value {index} is infinite or not a number"),
        }
    }
}

impl core::error::Error for PlanesError {}

impl Planes {
    /// Planes with the given normals, one behind the other: `values[p * dim + i]` is component `i` of plane `p`.
    pub fn new(dim: usize, values: Vec<f32>) -> Result<Self, PlanesError> {
        if dim == 0 {
            return Err(PlanesError::Size { dim });
        }
        if dim.checked_mul(PLANES) != Some(values.len()) {
            return Err(PlanesError::Values { dim, values: values.len() });
        }
        check_finite(&values)?;
        Ok(Self { dim, values })
    }

    /// Planes for any model: every component is +1 or -1, from a counter-based generator.
    ///
    /// Component `i` of plane `p` is -1 where the top bit of `mix(seed + (p * dim + i + 1) * 0x9E3779B97F4A7C15)` is set,
    /// with the `mix` of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014) and 64-bit arithmetic that wraps. Maps whose thought
    /// rails are to be compared need the same dimension and seed.
    pub fn seeded(dim: usize, seed: u64) -> Result<Self, PlanesError> {
        let count = dim.checked_mul(PLANES).filter(|&count| count > 0).ok_or(PlanesError::Size { dim })?;
        let mut values = Vec::new();
        values.try_reserve_exact(count).map_err(|_| PlanesError::Size { dim })?;
        let counter = (1..=count as u64).map(|k| seed.wrapping_add(k.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        values.extend(counter.map(|x| if mix(x) >> 63 == 0 { 1.0 } else { -1.0 }));
        Ok(Self { dim, values })
    }

    /// The dimension of the hidden states.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// On which side of each plane a state lies: bit = dot product > 0, in `f64`. O(24 * dim).
    ///
    /// The products of a plane are added in eight interleaved sums, which are added in order: the same bits everywhere.
    pub fn hash(&self, hidden: &[f32]) -> Result<SimHash, PlanesError> {
        if hidden.len() != self.dim {
            return Err(PlanesError::Dimension { planes: self.dim, state: hidden.len() });
        }
        check_finite(hidden)?;
        let bits =
            self.values.chunks_exact(self.dim).fold(0, |bits, plane| bits << 1 | u32::from(dot(plane, hidden) > 0.0));
        Ok(SimHash::from_bits(bits))
    }
}

/// A dot product; the products of two `f32` are exact in `f64`.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (a_lanes, a_rest) = a.as_chunks::<8>();
    let (b_lanes, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from(a) * f64::from(b);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(&a, &b)| f64::from(a) * f64::from(b));
    sums.into_iter().chain(rest).sum()
}

/// Refuses infinities and NaNs.
fn check_finite(values: &[f32]) -> Result<(), PlanesError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(PlanesError::NotFinite { index }),
        None => Ok(()),
    }
}

/// The output function of `SplitMix64`.
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    /// Axis `p % dim` of the space, with alternating signs.
    fn axes(dim: usize) -> Planes {
        let values = (0..PLANES * dim).map(|k| {
            let (plane, i) = (k / dim, k % dim);
            if i != plane % dim {
                0.0
            } else if plane % 2 == 0 {
                1.0
            } else {
                -1.0
            }
        });
        Planes::new(dim, values.collect()).unwrap()
    }

    #[test]
    fn the_first_plane_is_the_top_bit_and_zero_is_no_side() {
        let hash = axes(24).hash(&[1.0; 24]).unwrap();
        assert_eq!((hash.full(), hash.coarse()), (0xAA_AAAA, 0xAAA));
        let mut state = [0.0; 24];
        assert_eq!(axes(24).hash(&state).unwrap(), SimHash::default());
        state[0] = 1e-30;
        assert_eq!(axes(24).hash(&state).unwrap().full(), 1 << 23);
        assert_eq!(axes(24).hash(&state).unwrap().coarse(), 1 << 11);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let planes = Planes::new(2, vec![f32::MAX; 48]).unwrap();
        assert_eq!(planes.hash(&[f32::MAX, f32::MAX]).unwrap().full(), 0xFF_FFFF);
        assert_eq!(planes.hash(&[f32::MAX, -f32::MAX]).unwrap().full(), 0);
    }

    #[test]
    fn errors_say_the_numbers() {
        let planes = axes(3);
        let wrong = planes.hash(&[0.0; 2]).unwrap_err();
        assert_eq!(wrong.to_string(), "the hidden state has dimension 2, the planes have 3");
        assert_eq!(planes.hash(&[0.0, f32::NAN, 0.0]), Err(PlanesError::NotFinite { index: 1 }));
        assert_eq!(Planes::new(2, vec![0.0; 47]), Err(PlanesError::Values { dim: 2, values: 47 }));
        assert_eq!(Planes::new(0, vec![]), Err(PlanesError::Size { dim: 0 }));
        assert_eq!(Planes::new(1, vec![f32::INFINITY; 24]), Err(PlanesError::NotFinite { index: 0 }));
        for dim in [0, usize::MAX, usize::MAX / PLANES] {
            assert_eq!(Planes::seeded(dim, 0), Err(PlanesError::Size { dim }));
        }
    }

    #[test]
    fn seeded_planes_are_golden_and_separate_states() {
        let planes = Planes::seeded(8, 7).unwrap();
        assert_eq!(planes, Planes::seeded(8, 7).unwrap());
        assert_ne!(planes, Planes::seeded(8, 8).unwrap());
        let state = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5, -0.125, 1.0];
        let hash = planes.hash(&state).unwrap();
        assert_eq!(hash.full(), SEEDED, "{:#x}", hash.full());
        let opposite = planes.hash(&state.map(|x| -x)).unwrap();
        assert_eq!(opposite.full(), !SEEDED & 0xFF_FFFF);
        let negative = planes.values.iter().filter(|&&value| value < 0.0).count();
        assert!((64..128).contains(&negative), "{negative} of 192");
    }
    const SEEDED: u32 = 0x16_094A;
}
