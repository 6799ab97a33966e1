//! What the metadata says of a tokenizer, checked.

use super::TextError;
use super::split::{PRE_TOKENIZERS, Rules};
use crate::model::gguf::{Array, Header, Value, clip};
use std::collections::HashMap;

/// Most tokens. The largest vocabularies have some 260 thousand.
pub const MOST_TOKENS: u64 = 1 << 20;
/// Most merges. The largest vocabularies have half a million.
pub const MOST_MERGES: u64 = 1 << 21;
/// Most bytes of the texts of all tokens that are searched for in a text, rather than put together from it.
pub const MOST_ADDED: u64 = 1 << 20;

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";
const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";
const EOT: &str = "tokenizer.ggml.eot_token_id";
const EOM: &str = "tokenizer.ggml.eom_token_id";

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is made by merges.
    Normal,
    /// It stands for what no token stands for.
    Unknown,
    /// It steers the model, and is no text.
    Control,
    /// It is text that is never taken apart.
    UserDefined,
    /// It fills a gap.
    Unused,
}

impl Kind {
    fn of(value: Value<'_>) -> Option<Self> {
        Some(match value.as_u64()? {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            _ => return None,
        })
    }
}

/// Tokens that the metadata names, and when to write the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    pub(super) eot: Option<u32>,
    /// All that end an answer, sorted.
    pub(super) stops: Vec<u32>,
    pub(super) adds_bos: bool,
}

/// A tokenizer as a file describes it.
pub(super) struct Described<'a> {
    pub(super) rules: Rules,
    pub(super) tokens: Vec<(&'a str, Kind)>,
    /// Pairs of normal or user-defined tokens that are one such token together, the earlier the sooner.
    pub(super) merges: Vec<(&'a str, &'a str)>,
    pub(super) named: Named,
}

impl<'a> Described<'a> {
    pub(super) fn read(header: &'a Header) -> Result<Self, TextError> {
        let model = text(header, MODEL)?.ok_or(TextError::Missing { key: MODEL })?;
        if model != "gpt2" {
            return Err(TextError::Unsupported { key: MODEL, found: clip(model), known: &["gpt2"] });
        }
        let pre = text(header, PRE)?.ok_or(TextError::Missing { key: PRE })?;
        let unknown = || TextError::Unsupported { key: PRE, found: clip(pre), known: PRE_TOKENIZERS };
        let rules = Rules::named(pre).ok_or_else(unknown)?;
        let tokens = tokens(header)?;
        let merges = merges(header, &made_of(&tokens)?)?;
        let named = Named::read(header, tokens.len() as u32, rules)?;
        Ok(Self { rules, tokens, merges, named })
    }
}

impl Named {
    fn read(header: &Header, vocabulary: u32, rules: Rules) -> Result<Self, TextError> {
        let token = |key| {
            let Some(value) = header.get(key) else { return Ok(None) };
            let id = value.as_u64().ok_or_else(|| TextError::value(key, "a token's number", value))?;
            let known = u32::try_from(id).ok().filter(|id| *id < vocabulary);
            known.map(Some).ok_or(TextError::Id { id, vocabulary, key: Some(key) })
        };
        let [bos, eos, eot, eom] = [token(BOS)?, token(EOS)?, token(EOT)?, token(EOM)?];
        let adds_bos = match header.get(ADD_BOS) {
            None => rules.adds_bos && bos.is_some(),
            Some(Value::Bool(adds)) => adds,
            Some(value) => return Err(TextError::value(ADD_BOS, "true or false", value)),
        };
        if adds_bos && bos.is_none() {
            return Err(TextError::Missing { key: BOS });
        }
        let mut stops: Vec<u32> = [eos, eot, eom].into_iter().flatten().collect();
        stops.sort_unstable();
        stops.dedup();
        Ok(Self { bos, eos, eot, stops, adds_bos })
    }
}

/// The texts of the first token and of the last one, which chat templates write.
pub(super) fn ends(header: &Header) -> Result<[Option<String>; 2], TextError> {
    let find = |key| {
        let Some(value) = header.get(key) else { return Ok(None) };
        let id = value.as_u64().ok_or_else(|| TextError::value(key, "a token's number", value))?;
        let tokens = array(header, TOKENS)?.ok_or(TextError::Missing { key: TOKENS })?;
        let token = tokens.iter().nth(usize::try_from(id).unwrap_or(usize::MAX));
        let vocabulary = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        let token = token.ok_or(TextError::Id { id, vocabulary, key: Some(key) })?;
        Ok(Some(token.as_str().ok_or(TextError::Utf8 { key: TOKENS, at: id })?.to_owned()))
    };
    Ok([find(BOS)?, find(EOS)?])
}

/// A text of the metadata.
pub(super) fn text<'a>(header: &'a Header, key: &'static str) -> Result<Option<&'a str>, TextError> {
    let Some(value) = header.get(key) else { return Ok(None) };
    value.as_str().map(Some).ok_or_else(|| TextError::value(key, "a text", value))
}

fn array<'a>(header: &'a Header, key: &'static str) -> Result<Option<Array<'a>>, TextError> {
    let Some(value) = header.get(key) else { return Ok(None) };
    value.as_array().map(Some).ok_or_else(|| TextError::value(key, "an array", value))
}

fn tokens(header: &Header) -> Result<Vec<(&str, Kind)>, TextError> {
    let texts = array(header, TOKENS)?.ok_or(TextError::Missing { key: TOKENS })?;
    let most = MOST_TOKENS;
    if texts.len() > most {
        return Err(TextError::Large { what: "tokens", found: texts.len(), most });
    }
    let types = array(header, TYPES)?;
    if let Some(types) = types.filter(|types| types.len() != texts.len()) {
        return Err(TextError::Counts { tokens: texts.len(), types: types.len() });
    }
    let mut types = types.map(IntoIterator::into_iter);
    let mut tokens = Vec::with_capacity(texts.len() as usize);
    for (id, token) in (0..).zip(texts) {
        let token = token.as_str().ok_or(TextError::Utf8 { key: TOKENS, at: u64::from(id) })?;
        let kind = match types.as_mut().and_then(Iterator::next) {
            None => Kind::Normal,
            Some(kind) => Kind::of(kind).ok_or_else(|| {
                let found = crate::model::config::shown(kind);
                TextError::Type { id, found }
            })?,
        };
        tokens.push((token, kind));
    }
    Ok(tokens)
}

/// What text is made of: normal and user-defined tokens, which have different texts. A control token is never found by merging
/// pairs, so that nobody can write one with the characters of its name.
fn made_of<'a>(tokens: &[(&'a str, Kind)]) -> Result<HashMap<&'a str, Kind>, TextError> {
    let mut added = 0;
    let mut seen = HashMap::with_capacity(tokens.len());
    for (second, (token, kind)) in (0..).zip(tokens.iter().copied()) {
        // Gaps may be filled with nothing.
        if token.is_empty() {
            continue;
        }
        if let Some((first, _)) = seen.insert(token, (second, kind)) {
            return Err(TextError::Twice { first, second });
        }
        if !matches!(kind, Kind::Normal | Kind::Unused) {
            added += token.len() as u64;
        }
    }
    if added > MOST_ADDED {
        return Err(TextError::Large { what: "bytes of special tokens", found: added, most: MOST_ADDED });
    }
    seen.retain(|_, (_, kind)| matches!(kind, Kind::Normal | Kind::UserDefined));
    Ok(seen.into_iter().map(|(token, (_, kind))| (token, kind)).collect())
}

fn merges<'a>(header: &'a Header, made_of: &HashMap<&str, Kind>) -> Result<Vec<(&'a str, &'a str)>, TextError> {
    let merges = array(header, MERGES)?.ok_or(TextError::Missing { key: MERGES })?;
    if merges.len() > MOST_MERGES {
        return Err(TextError::Large { what: "merges", found: merges.len(), most: MOST_MERGES });
    }
    let mut pairs = Vec::with_capacity(merges.len() as usize);
    let mut whole = String::new();
    for (at, merge) in (0..).zip(merges) {
        let merge = merge.as_str().ok_or(TextError::Utf8 { key: MERGES, at })?;
        let wrong = || TextError::Merge { at, text: clip(merge) };
        let (left, right) = merge.split_once(' ').ok_or_else(wrong)?;
        whole.clear();
        whole.extend([left, right]);
        // The engine below relies on the third one: it does not look.
        if ![left, right, &whole].iter().all(|token| made_of.contains_key(token)) {
            return Err(wrong());
        }
        pairs.push((left, right));
    }
    Ok(pairs)
}
