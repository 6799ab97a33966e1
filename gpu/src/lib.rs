//! Constant-state attention on wgpu, beside maps of what a model has already computed.
//!
//! # The idea
//!
//! Attention reads every earlier token for every new one, so its cache grows with the context. Here a layer keeps a state of one
//! size. For each key-value (KV) head it is
//!
//! * a **band**: the last B to B + E tokens, exactly (E = 64 tokens leave it together);
//! * a **store**: up to S far tokens, exactly, namely those that some query looked at hardest while they were in the band, or
//!   around which the text surprised the model, with the first token always among them;
//! * a **carrier**: a recurrent summary of every other far token.
//!
//! Nothing is counted twice: a token is in one of the three.
#![doc = ""]
#![doc = include_str!("../docs/state.svg")]
#![doc = ""]
//! # The formulas
//!
//! For one query head with query q at position t, scale c (1 / sqrt d) and the band's start ev(t) = E ⌊max(0, t - B) / E⌋:
//!
//! ```text
//! out = sum_i w_i v_i / sum_i w_i       w_i = exp(l_i - max l)
//!       i over the carrier's terms, the store and the band
//!
//! token of store or band, as stored
//!       l = c q . k
//! decays, one term for all tokens j that were dropped
//!       l = ln m          v = s / m
//!       m = sum_j u_j     s = sum_j u_j v_j
//!       u_j = exp(b . k_j) sum_i a_i 2^(-(t - j) / H_i) (1 + f(q) . g(k_j))
//!       f(q), g(k): 8 linear functions each, cut to 0..1000; b . k to -40..40
//! cell, of n tokens whose means are k and v
//!       l = c q . k + ln n + kappa var / 2 + delta
//!       var = mean |A^T (k_j - mu)|^2 - |A^T (k - mu)|^2
//! ```
//!
//! A token's **look** is the largest share w / sum w that a committed row gave it in its band time, over the query heads of its group;
//! a far look counts only rows at least 16 positions later. Its **surprise score** is the largest mean of three surprises
//! -ln p from 12 tokens before it to 2 behind it. When a block leaves the band, it is ranked together with the store: token 0
//! first, larger scores first, of equal ones the earlier; the first S stay and the rest enter the carrier, in order of position.
//! The decays are published, with their half-lives from a fixed catalogue and their rank of 8; the cells are this project's.
//!
//! # What is promised
//!
//! * **Exact below the store**: up to B + S + E tokens (the smallest S of the heads) the output is that of native attention:
//!   [`state::Config::exact_until`]. To the last bit where the device compiles the two modes' kernels alike, as those of the tests do.
//! * **Grouping does not matter**: one pass, chunks, single tokens, drafts that are accepted in part or rejected: the same bits of
//!   outputs and state, on one device. Each sum runs over pieces of 64 terms, in order of position, whatever shares the pass.
//!   WGSL lets a driver contract a * b + c, reorder, and round division loosely. In attention one pipeline serves all rows, and
//!   [`attention::Attention::self_test`] finds out at start whether its bits hold for 1, 2, 8 and 32 rows. A model's products have
//!   one pipeline for few rows and one for many: [`model::device::self_test`] says whether those two agree, and what to use if not.
//! * **Between devices nothing is promised, and much is equal**: exp, ln and powers of two are built here from +, -, *, /, floor
//!   and bit casts, and packing to f16 rounds to even by whole numbers. So only contraction, and division where it is not IEEE's, can
//!   tell devices apart.
#![doc = include_str!("../docs/devices.md")]
//!
//! # Rooms
//!
//! * [`device`]: the door to the GPU, natively through Vulkan or Metal, in browsers through WebGPU;
//! * [`state`]: what a layer remembers, the carriers' parameters, and its bytes as an anchor of a map;
//! * [`attention`]: the WGSL kernels, their dispatch, and their [`twin`](attention::twin) in plain Rust;
//! * [`model`]: what a GGUF file holds, its tokenizer, what memory its model needs, and the model itself, on a device and on the CPU;
//! * [`decode`]: a model beside its map: exact answers, restored states, and drafts that are verified.
//!
//! # An example
//!
//! ```ignore-wasm
//! use mrail_gpu::attention::{Attention, LayerSetup, Wanted};
//! use mrail_gpu::device::{Gpu, Options};
//! use mrail_gpu::state::{Admission, Config, Shape, Storage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> { pollster::block_on(async {
//! let gpu = Gpu::request(&Options::default()).await?;
//! let shape = Shape { heads: 9, kv_heads: 3, head_dim: 64 };
//! let config = Config::uniform(shape, Storage::F16, 256, 512, Admission::Look { from: 16 })?;
//! let mut attention = Attention::new(&gpu, vec![LayerSetup::plain(config); 2], Wanted::default()).await?;
//! assert!(attention.self_test(&gpu).await?.passed());
//!
//! // A pass of three rows through two layers.
//! let pass = attention.extend(&gpu, 3)?;
//! let mut encoder = gpu.device().create_command_encoder(&Default::default());
//! for layer in 0..attention.layers() {
//!     // The model writes the layer's rows to attention.io().queries, .keys and .values here,
//!     attention.encode(&mut encoder, &pass, layer)?;
//!     // and takes them from attention.io().out.
//! }
//! gpu.queue().submit([encoder.finish()]);
//! assert_eq!(attention.tokens(), 3);
//! # Ok(()) }) }
//! ```
#![forbid(unsafe_code)]

pub mod attention;
pub mod decode;
pub mod device;
pub mod model;
mod parallel;
pub mod state;
