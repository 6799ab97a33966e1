//! Why a text cannot be encoded, or a file's tokenizer not be built.

use crate::model::config::shown;
use crate::model::gguf::{Value, clip};
use std::fmt;

/// Why there is no tokenizer, no tokens or no text. What comes from a file is cut to what a line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextError {
    /// An entry of the metadata is needed and not there.
    Missing {
        /// Its key.
        key: &'static str,
    },
    /// An entry of the metadata has a value that it cannot have.
    Value {
        /// Its key.
        key: &'static str,
        /// What it should be.
        wants: &'static str,
        /// What it is.
        found: String,
    },
    /// The file asks for a tokenizer that is not supported.
    Unsupported {
        /// The entry that asks for it.
        key: &'static str,
        /// What it asks for.
        found: String,
        /// What is supported.
        known: &'static [&'static str],
    },
    /// There is more of something than any model has.
    Large {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much there may be.
        most: u64,
    },
    /// There are not as many types of tokens as tokens.
    Counts {
        /// Tokens.
        tokens: u64,
        /// Their types.
        types: u64,
    },
    /// A token has a type that a token of such a tokenizer cannot have.
    Type {
        /// The token.
        id: u32,
        /// Its type.
        found: String,
    },
    /// A token's text or a merge is not UTF-8.
    Utf8 {
        /// The entry of the metadata.
        key: &'static str,
        /// The element's number in it.
        at: u64,
    },
    /// Two tokens have the same text, so nobody can say which one a text should become.
    Twice {
        /// The first of them.
        first: u32,
        /// The other one.
        second: u32,
    },
    /// A merge is not two tokens, or what it gives is none.
    Merge {
        /// The merge's number.
        at: u64,
        /// Its text.
        text: String,
    },
    /// A token is named that the vocabulary does not have.
    Id {
        /// Its number.
        id: u64,
        /// Tokens of the vocabulary.
        vocabulary: u32,
        /// The entry of the metadata that names it, if one does.
        key: Option<&'static str>,
    },
    /// The vocabulary has no token for a byte of the text: [`super::Tokenizer::lacks`].
    Byte {
        /// The byte.
        byte: u8,
    },
    /// The chat template is not valid, or cannot render these messages.
    Template {
        /// What the template engine says.
        why: String,
    },
    /// The chat template refuses these messages.
    Raised {
        /// What it says.
        message: String,
    },
    /// The chat template takes more work than any honest one.
    Endless,
    /// The engine below refuses what was checked before.
    Engine {
        /// What it says.
        why: String,
    },
}

impl TextError {
    pub(super) fn value(key: &'static str, wants: &'static str, found: Value<'_>) -> Self {
        Self::Value { key, wants, found: shown(found) }
    }

    pub(super) fn engine(why: impl fmt::Display) -> Self {
        Self::Engine { why: clip(&why.to_string()) }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { key } => write!(f, "the metadata does not say {key}"),
            Self::Value { key, wants, found } => write!(f, "{key} is {found}, and should be {wants}"),
            Self::Unsupported { key, found, known } => {
                let be = if known.len() == 1 { "is" } else { "are" };
                write!(f, "{key} asks for {found}, which is not supported; {} {be}", known.join(", "))
            }
            Self::Large { what, found, most } => write!(f, "{found} {what} are more than the {most} that there may be"),
            Self::Counts { tokens, types } => write!(f, "there are {tokens} tokens, and types of {types}"),
            Self::Type { id, found } => write!(f, "token {id} is of type {found}, which none can be; 1 to 5 are"),
            Self::Utf8 { key, at } => write!(f, "element {at} of {key} is not UTF-8"),
            Self::Twice { first, second } => write!(f, "tokens {first} and {second} have the same text"),
            Self::Merge { at, text } => write!(f, "merge {at}, {text:?}, is not two tokens that make up a third one"),
            Self::Id { id, vocabulary, key: Some(key) } => {
                write!(f, "{key} is token {id}, and the vocabulary has {vocabulary}")
            }
            Self::Id { id, vocabulary, key: None } => {
                write!(f, "there is no token {id}: the vocabulary has {vocabulary}")
            }
            Self::Byte { byte } => write!(f, "the vocabulary has no token for the byte {byte:#04x}"),
            Self::Template { why } => write!(f, "the chat template fails: {why}"),
            Self::Raised { message } => write!(f, "the chat template refuses the messages: {message}"),
            Self::Endless => f.write_str("the chat template does not come to an end"),
            Self::Engine { why } => write!(f, "the tokenizer fails: {why}"),
        }
    }
}

impl std::error::Error for TextError {}
