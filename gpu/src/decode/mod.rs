//! Decoding with a map: what is known is answered or restored, what is guessed is verified, and what is computed is kept.
//!
//! A [`Decoder`] owns an [`Engine`], which runs the model, an own map, and foreign ones. A context is answered so:
//!
//! ```text
//! ask     the own map answers exactly     its tokens, and nothing is computed; where its run ended too early, go on behind it
//! start   the engine has a prefix         go on from there
//!         or a longer one is anchored     restore it; a fault is told, and costs only time
//! read    the rest of the context         in chunks; states are anchored where the rule says
//! decode  a pass at a time                the token that is known is the root of a tree of drafts; the longest path that is
//!                                         the model's own choice is taken in, and nothing is evaluated again
//! finish  the answer becomes a run        unless the map has it
//! ```
//!
//! Drafts come from the own map, the running conversation and foreign maps, which never answer. They are one tree, as if all
//! were one log: FORMAT's weights of a path are added up.
//!
//! ```ignore-wasm
//! use mrail::Map;
//! use mrail_gpu::attention::LayerSetup;
//! use mrail_gpu::decode::{Decoder, Options, Step};
//! use mrail_gpu::model::{Model, gguf::Header, seeded::Seeded};
//! use mrail_gpu::model::cpu::{self, CpuModel};
//! use mrail_gpu::state::{Config, Memory, Storage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> { pollster::block_on(async {
//! // A tiny model of random numbers; a real one is opened as `gguf::Seekable`.
//! let file = Seeded::default().file();
//! let model = Model::read(&Header::parse(&file, file.len() as u64)?)?;
//! let config = Config::new(model.config.shape, Storage::F16, Memory::Native)?;
//! let layers = vec![LayerSetup::plain(config); model.config.layers as usize];
//! let engine = CpuModel::load(&mut &file[..], &model, layers.clone(), cpu::Options::default(), |_| ())?;
//!
//! let mut decoder = Decoder::new(engine, layers);
//! decoder.attach(Map::create(), None)?;
//! let options = Options { max_new: 8, ..Options::default() };
//! let mut turn = decoder.begin(&[5, 6, 7], &options)?;
//! while let Some(step) = turn.next().await? {
//!     if let Step::Tokens(tokens) = step {
//!         // Show them; leave the loop to stop the answer here.
//!         assert!(!tokens.is_empty());
//!     }
//! }
//! let first = turn.finish()?;
//! assert!(first.stats.evaluated >= 3 + 7);
//! // Now the map knows.
//! let second = decoder.generate(&[5, 6, 7], &options).await?;
//! assert_eq!((second.ids(), second.stats.evaluated), (first.ids(), 0));
//! # Ok(()) }) }
//! ```
//!
//! # What is promised
//!
//! * The tokens are the engine's own greedy answer, whatever the maps hold, as long as the own map's runs are this model's.
//! * Nothing is evaluated twice. Without drafts, a context of n tokens and an answer of m to it cost n + m - 1 rows, less what
//!   was restored or kept; an answer that the own map knows costs none.
//! * A record is in the journal before the map knows it, in one write behind all others: a crash costs the last one at most.

mod anchor;
mod decoder;
mod draft;
mod either;
mod engine;
mod error;
mod journal;
mod options;
#[cfg(test)]
mod tests;
mod turn;

pub use anchor::{AnchorFault, from_anchor, to_anchor};
pub use decoder::Decoder;
pub use draft::Source;
pub use either::Either;
pub use engine::{Engine, State};
pub use error::{AttachError, DecodeError, WriteFault};
pub use journal::Journal;
pub use options::{Accepted, AnchorRule, End, Options, Origin, Outcome, Stats, Step, Token, usual_draft};
pub use turn::Turn;
