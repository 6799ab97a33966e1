//! Text and tokens: the tokenizer that a GGUF file describes, its chat template, and text from tokens as they come.
//!
//! * [`Tokenizer`] encodes and decodes: byte-level BPE, `gpt2` in GGUF, with one of the pre-tokenizers in [`PRE_TOKENIZERS`];
//! * [`Chat`] renders messages by the model's own template;
//! * [`Stream`] gives the text of tokens one after the other, and never half a character.
//!
//! A file may say anything: what cannot be right is a [`TextError`], and so is a way of splitting text that is not known,
//! since with another one the model would read other tokens than it was made for.

mod added;
pub(super) mod bytes;
mod chat;
mod encode;
mod error;
mod json;
mod read;
mod split;
mod stream;

pub use chat::{Chat, MOST_TEMPLATE, Message};
pub use encode::{Special, Tokenizer};
pub use error::TextError;
pub use read::{MOST_ADDED, MOST_MERGES, MOST_TOKENS};
pub use split::PRE_TOKENIZERS;
pub use stream::Stream;

#[cfg(test)]
mod tests;
