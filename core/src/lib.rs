//! Maps of what a language model has already computed: reading and writing `.mrail` files.
//!
//! A map is an append-only list of exact runs of one model: token sequences with the model's own greedy answers, anchored
//! states, use counts, and tracks (runs whose long context lives elsewhere). With a map a runtime answers a known context
//! without running the model, restarts from exact states, and drafts continuations that the model verifies. The map changes
//! speed, never a single output token.
//!
//! This crate is the format and what can be asked of it: byte slices in, bytes out. It has no filesystem, no clock and no
//! threads, needs `alloc` but not `std`, and contains no `unsafe`. Where there is no allocator either, the feature
//! `heapless` without `alloc` gives `fixed`: maps read in flash, with memory that is counted beforehand.
//!
//! ```
//! use mrail::map::locate::End;
//! use mrail::{Map, Options};
//!
//! // A host that keeps its file in memory. On disk: cut the file to `offset()`, then write `bytes()` there.
//! let mut file = Map::create().bytes();
//! let mut map = Map::open(file.clone(), Options::default())?;
//! let run = map.prepare_session(&[1, 9690, 198, 520, 725, 2], 3)?;
//! run.apply_to(&mut file);
//! map.commit(&run)?;
//!
//! let map = Map::open(file, Options::default())?;
//! let answer = map.answer(&[1, 9690, 198], 64, &[2]).expect("the run's own context");
//! assert_eq!(answer.tokens, [520, 725, 2]);
//! assert_eq!(answer.end, End::Stop);
//! assert_eq!(map.locate(&[1, 9690, 7]).lcp, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rooms
//!
//! In the order data meets them: bytes → [`record`] → [`run`] and [`track`] (with [`mod@copy`]) → the index → [`map`]
//! (open, [`locate`](map::locate), answer, [`append`](map::append)) → [`anchor`] → [`draft`]; [`chain`] beside them. What
//! lies behind the last whole record is [`tail`]'s, damage is [`repair`]'s, and several maps become one in [`merge`].
//!
//! Without an allocator, for microcontrollers: `fixed` (feature `heapless`) answers from a map in flash, with tables of constant
//! size or a list that a host prepared, and `flash` (feature `flash`) keeps what a device adds, through power cuts.
//!
//! # What is promised
//!
//! * Any bytes are safe to open: no panic, no endless loop, memory within a small factor of the input. Bad records are
//!   skipped and reported with their offsets, the others stay usable.
//! * A session answers only after its tokens were compared with the context, so no hash collision can answer. A track's
//!   context and an anchored prefix have no tokens in the map: they rest on a 64-bit hash alone, which someone who wants to
//!   can make collide. Open maps from people you do not trust as [`Foreign`]: such maps draft, and never answer.
//! * What was acknowledged stays: an append says where the file must be cut before it is written, and is refused where
//!   cutting could lose good records.
//! * A run holds one answer of the model. A conversation stored as one run would return the user's turns as the model's:
//!   store one run a turn.
//!
//! # What it does not do
//!
//! It runs no model, knows no tokenizer, locks no file (a file has one writer; hosts lock), and does not know whose model a
//! map belongs to: whoever opens it says whether it is trusted.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod anchor;
pub mod chain;
#[cfg(any(feature = "alloc", feature = "heapless"))]
mod content;
#[cfg(feature = "alloc")]
pub mod copy;
#[cfg(feature = "alloc")]
pub mod draft;
#[cfg(feature = "heapless")]
pub mod fixed;
#[cfg(feature = "flash")]
pub mod flash;
#[cfg(any(feature = "alloc", feature = "heapless"))]
mod index;
#[cfg(feature = "alloc")]
pub mod map;
#[cfg(feature = "alloc")]
pub mod merge;
pub mod record;
#[cfg(feature = "alloc")]
pub mod repair;
#[cfg(any(feature = "alloc", feature = "heapless"))]
mod rules;
pub mod run;
pub mod tail;
pub mod tokens;
pub mod track;
pub mod usage;

pub use chain::PrefixHash;
#[cfg(feature = "alloc")]
pub use map::{Foreign, Map, Options};
