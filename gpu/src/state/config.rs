//! The sizes of one layer.

use super::{BLOCK, Schedule};
use std::fmt;

/// Key-value heads that a layer may have at most: their sizes travel in a uniform buffer.
pub const MAX_KV_HEADS: u32 = 64;

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Query heads.
    pub heads: u32,
    /// Key-value heads; query head h reads key-value head h / (heads / `kv_heads`).
    pub kv_heads: u32,
    /// Numbers in a key, a value or a query: a multiple of 8, at most 256.
    pub head_dim: u32,
}

impl Shape {
    /// Query heads that share a key-value head.
    pub const fn group(&self) -> u32 {
        self.heads / self.kv_heads
    }
}

/// How keys and values are kept. All arithmetic is in f32 whatever this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Two to a word, clamped to ±65504, rounded to even.
    F16,
    /// As they come.
    F32,
}

impl Storage {
    /// Bytes of one number.
    pub const fn size(self) -> u32 {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
        }
    }
}

/// What ranks a token when it leaves the band (ATTENTION: admission score).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The largest weight that a committed row gave it, from rows at least `from` positions later: 0 counts the token's own
    /// row, 16 is the far look.
    Look {
        /// Positions between the token and the first row whose weight counts.
        from: u32,
    },
    /// How much the text around it surprised the model.
    Surprise,
}

/// The store of one key-value head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadMemory {
    /// Tokens in the store: a multiple of [`BLOCK`], 0 for no store.
    pub store: u32,
    /// What the store is ranked by.
    pub admission: Admission,
}

/// A state of constant size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Recent tokens kept exactly, B: a multiple of [`BLOCK`], at least one block.
    pub band: u32,
    /// The store of each key-value head.
    pub heads: Vec<HeadMemory>,
}

/// What the layer keeps of its past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Every token: a cache that grows with the context.
    Native,
    /// A band, stores and perhaps a carrier.
    Constant(Constant),
}

/// A layer's sizes, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    shape: Shape,
    storage: Storage,
    memory: Memory,
}

/// Why sizes do not make a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The head width is no multiple of 8 from 8 to 256.
    HeadDim(u32),
    /// Query heads are no positive multiple of the key-value heads, or there are more than [`MAX_KV_HEADS`] of these.
    Heads {
        /// Query heads.
        heads: u32,
        /// Key-value heads.
        kv_heads: u32,
    },
    /// The band is no positive multiple of [`BLOCK`], or no longer fits positions of 32 bits.
    Band(u32),
    /// A store's size is no multiple of [`BLOCK`], or too large for positions of 32 bits.
    Store {
        /// Its key-value head.
        head: usize,
        /// The size given.
        store: u32,
    },
    /// A look counts only from farther away than there are positions.
    Look {
        /// The key-value head.
        head: usize,
        /// The distance given.
        from: u32,
    },
    /// Stores are given for another number of heads than there are.
    StoreCount {
        /// Stores given.
        given: usize,
        /// Key-value heads.
        kv_heads: u32,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HeadDim(dim) => write!(f, "a head width of {dim} is no multiple of 8 from 8 to 256"),
            Self::Heads { heads, kv_heads } => write!(
                f,
                "{heads} query heads over {kv_heads} key-value heads: the first must be a positive multiple of the \
                 second, which is at most {MAX_KV_HEADS}"
            ),
            Self::Band(band) => write!(f, "a band of {band} tokens is no multiple of {BLOCK} from {BLOCK} to 2^24"),
            Self::Store { head, store } => {
                write!(f, "key-value head {head}: a store of {store} tokens is no multiple of {BLOCK} up to 2^24")
            }
            Self::Look { head, from } => {
                write!(f, "key-value head {head}: looks from {from} positions away, of at most 2^24")
            }
            Self::StoreCount { given, kv_heads } => write!(f, "{given} stores for {kv_heads} key-value heads"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Sizes up to this many tokens can be added without a thought about 32 bits.
const MOST_TOKENS: u32 = 1 << 24;

impl Config {
    /// A layer of these sizes.
    pub fn new(shape: Shape, storage: Storage, memory: Memory) -> Result<Self, ConfigError> {
        let Shape { heads, kv_heads, head_dim } = shape;
        if head_dim == 0 || head_dim % 8 != 0 || head_dim > 256 {
            return Err(ConfigError::HeadDim(head_dim));
        }
        if kv_heads == 0 || kv_heads > MAX_KV_HEADS || heads == 0 || heads % kv_heads != 0 || heads > MOST_TOKENS {
            return Err(ConfigError::Heads { heads, kv_heads });
        }
        if let Memory::Constant(Constant { band, heads }) = &memory {
            if *band == 0 || band % BLOCK != 0 || *band > MOST_TOKENS {
                return Err(ConfigError::Band(*band));
            }
            if heads.len() != kv_heads as usize {
                return Err(ConfigError::StoreCount { given: heads.len(), kv_heads });
            }
            for (head, &HeadMemory { store, admission }) in heads.iter().enumerate() {
                if let Admission::Look { from } = admission
                    && from > MOST_TOKENS
                {
                    return Err(ConfigError::Look { head, from });
                }
                if store % BLOCK != 0 || store > MOST_TOKENS {
                    return Err(ConfigError::Store { head, store });
                }
            }
        }
        Ok(Self { shape, storage, memory })
    }

    /// A layer whose heads all have a store of the same size, ranked in the same way.
    pub fn uniform(
        shape: Shape,
        storage: Storage,
        band: u32,
        store: u32,
        admission: Admission,
    ) -> Result<Self, ConfigError> {
        let heads = vec![HeadMemory { store, admission }; shape.kv_heads.min(MAX_KV_HEADS) as usize];
        Self::new(shape, storage, Memory::Constant(Constant { band, heads }))
    }

    /// The heads.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// How keys and values are kept.
    pub const fn storage(&self) -> Storage {
        self.storage
    }

    /// What is kept of the past.
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// When tokens leave the band.
    pub const fn schedule(&self) -> Schedule {
        match &self.memory {
            Memory::Native => Schedule::native(),
            Memory::Constant(constant) => Schedule::with_band(constant.band),
        }
    }

    /// Tokens in the store of a key-value head; none in native mode.
    pub fn store(&self, kv_head: usize) -> u32 {
        match &self.memory {
            Memory::Native => 0,
            Memory::Constant(constant) => constant.heads.get(kv_head).map_or(0, |head| head.store),
        }
    }

    /// What ranks the tokens of a key-value head; none in native mode, where none leave.
    pub fn admission(&self, kv_head: usize) -> Option<Admission> {
        match &self.memory {
            Memory::Native => None,
            Memory::Constant(constant) => constant.heads.get(kv_head).map(|head| head.admission),
        }
    }

    /// Does a head rank by surprise?
    pub fn wants_surprises(&self) -> bool {
        (0..self.shape.kv_heads as usize).any(|head| self.admission(head) == Some(Admission::Surprise))
    }

    /// Longest context, in tokens, whose output is that of native attention (X of ATTENTION); none in native mode, which
    /// always is. One token later the carrier is not empty.
    pub fn exact_until(&self) -> Option<u64> {
        let Memory::Constant(constant) = &self.memory else { return None };
        let least = constant.heads.iter().map(|head| head.store).min().unwrap_or(0);
        Some(u64::from(constant.band) + u64::from(least) + u64::from(BLOCK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { heads: 9, kv_heads: 3, head_dim: 64 };
    const LOOK: Admission = Admission::Look { from: 0 };

    #[test]
    fn sizes_that_make_no_layer_are_named() {
        let with = |shape, band, store| Config::uniform(shape, Storage::F16, band, store, LOOK).map(|_| ());
        assert_eq!(with(SHAPE, 256, 512), Ok(()));
        assert_eq!(with(Shape { head_dim: 60, ..SHAPE }, 256, 512), Err(ConfigError::HeadDim(60)));
        assert_eq!(with(Shape { head_dim: 264, ..SHAPE }, 256, 512), Err(ConfigError::HeadDim(264)));
        assert_eq!(with(Shape { heads: 8, ..SHAPE }, 256, 512), Err(ConfigError::Heads { heads: 8, kv_heads: 3 }));
        let none = Shape { kv_heads: 0, ..SHAPE };
        assert_eq!(with(none, 256, 512), Err(ConfigError::Heads { heads: 9, kv_heads: 0 }));
        let many = Shape { heads: 65, kv_heads: 65, head_dim: 8 };
        assert_eq!(with(many, 256, 512), Err(ConfigError::Heads { heads: 65, kv_heads: 65 }));
        assert_eq!(with(SHAPE, 0, 512), Err(ConfigError::Band(0)));
        assert_eq!(with(SHAPE, 100, 512), Err(ConfigError::Band(100)));
        assert_eq!(with(SHAPE, 256, 100), Err(ConfigError::Store { head: 0, store: 100 }));
        let blind = Config::uniform(SHAPE, Storage::F16, 256, 512, Admission::Look { from: u32::MAX });
        assert_eq!(blind, Err(ConfigError::Look { head: 0, from: u32::MAX }));
        let short = Memory::Constant(Constant { band: 64, heads: vec![HeadMemory { store: 64, admission: LOOK }] });
        let error = Config::new(SHAPE, Storage::F16, short);
        assert_eq!(error, Err(ConfigError::StoreCount { given: 1, kv_heads: 3 }));
    }

    #[test]
    fn the_smallest_store_says_how_far_a_layer_is_exact() {
        let config = Config::uniform(SHAPE, Storage::F16, 256, 512, LOOK).expect("good sizes");
        assert_eq!(config.exact_until(), Some(256 + 512 + 64));
        let heads = [512, 64, 1024].map(|store| HeadMemory { store, admission: LOOK }).to_vec();
        let memory = Memory::Constant(Constant { band: 256, heads });
        let config = Config::new(SHAPE, Storage::F16, memory).expect("good sizes");
        assert_eq!(config.exact_until(), Some(256 + 64 + 64));
        assert_eq!(Config::new(SHAPE, Storage::F16, Memory::Native).expect("good sizes").exact_until(), None);
    }
}
