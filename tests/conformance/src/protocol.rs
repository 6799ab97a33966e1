//! Requests of the kit's protocol, read from a line without copies where that can be helped.
//!
//! All operations share one flat structure: an enum by `op` would make serde buffer megabytes of tokens before it knows
//! which one they belong to.

use mrail::PrefixHash;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// One request. Which fields count depends on the operation.
#[derive(Deserialize)]
pub(crate) struct Request<'a> {
    #[serde(borrow)]
    pub(crate) op: Cow<'a, str>,
    #[serde(borrow, default = "default_map")]
    pub(crate) m: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) path: Option<Cow<'a, str>>,
    pub(crate) stride: Option<usize>,
    pub(crate) rail_prompts: Option<bool>,
    pub(crate) nmax: Option<usize>,
    pub(crate) limit: Option<usize>,
    #[serde(default)]
    pub(crate) extra: Vec<(String, Option<usize>)>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) ctx: Option<Tokens>,
    pub(crate) answer: Option<Tokens>,
    pub(crate) ans: Option<Tokens>,
    #[serde(default)]
    pub(crate) stop: Tokens,
    #[serde(rename = "gen")]
    pub(crate) gen_start: Option<usize>,
    pub(crate) max_new: Option<usize>,
    pub(crate) min_copy: Option<usize>,
    pub(crate) budget: Option<usize>,
    pub(crate) index: Option<usize>,
    #[serde(borrow)]
    pub(crate) src: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) state: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) hidden: Option<Cow<'a, str>>,
    pub(crate) h0: Option<Hash>,
    pub(crate) hash: Option<Hash>,
    pub(crate) parent: Option<Hash>,
    pub(crate) hits: Option<u32>,
    pub(crate) sid: Option<u32>,
    #[serde(rename = "P")]
    pub(crate) position: Option<u32>,
    #[serde(borrow)]
    pub(crate) layers: Option<Vec<Vec<(String, Array<'a>)>>>,
    #[serde(borrow)]
    pub(crate) scalars: Option<Vec<&'a RawValue>>,
}

fn default_map() -> Cow<'static, str> {
    Cow::Borrowed("m")
}

/// One array of a layer.
#[derive(Deserialize)]
pub(crate) struct Array<'a> {
    #[serde(borrow)]
    pub(crate) dtype: Cow<'a, str>,
    pub(crate) shape: Vec<u64>,
    #[serde(borrow)]
    pub(crate) b64: Cow<'a, str>,
}

/// The value of a field that an operation cannot do without.
pub(crate) fn needed<T>(field: Option<T>, name: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("\"{name}\" is missing"))
}

/// A prefix hash in hexadecimal.
pub(crate) struct Hash(pub(crate) PrefixHash);

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

/// Token ids. What is no `u32` is refused by its position.
#[derive(Default)]
pub(crate) struct Tokens(pub(crate) Vec<u32>);

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Tokens;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of token ids")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tokens, A::Error> {
                let mut tokens = Vec::new();
                loop {
                    match list.next_element::<u32>() {
                        Ok(Some(token)) => tokens.push(token),
                        Ok(None) => return Ok(Tokens(tokens)),
                        Err(error) => return Err(A::Error::custom(format!("token {}: {error}", tokens.len()))),
                    }
                }
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        serde_json::from_str::<Request>(line).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_token_that_is_none_is_named_by_its_position() {
        for token in ["-1", "4294967296", "1.5", "\"a\"", "null", "true"] {
            let error = error(&format!("{{\"op\":\"chain\",\"tokens\":[1,2,{token}]}}"));
            assert!(error.contains("token 2: "), "{token}: {error}");
        }
    }

    #[test]
    fn a_hash_has_sixteen_digits() {
        assert!(error("{\"op\":\"bump\",\"hash\":\"61626364\"}").contains("16 hexadecimal digits"));
    }
}
