//! Compares answers, token by token and bit by bit.

use crate::recorder::Recorded;
use mrail_gpu::decode::State;
use std::fmt;

/// Where two ways of answering part, first of all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Divergence {
    /// Another token.
    Token {
        /// Its place in the answer.
        at: usize,
        wanted: Option<u32>,
        got: Option<u32>,
        /// By how much the logit of the wanted token is above the next one.
        margin: f32,
    },
    /// Other logits, which choose the same tokens up to there.
    Logits {
        /// The place in the answer of the token that they choose.
        at: usize,
        /// The first one that is another.
        token: usize,
        wanted: f32,
        got: f32,
        /// By how much the largest logit is above the next one.
        margin: f32,
    },
    /// There are no logits to be compared behind a token of the context or the answer.
    Missing {
        /// The place in the answer of the token that they choose.
        at: usize,
    },
    /// Another state at the end.
    State { layer: usize, what: String },
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token { at, wanted, got, margin } => {
                write!(
                    f,
                    "token {at} of the answer is {got:?}, and plain decoding says {wanted:?} by a margin of {margin}"
                )
            }
            Self::Logits { at, token, wanted, got, margin } => {
                write!(
                    f,
                    "before token {at} of the answer, which has a margin of {margin}, the logit of token {token} is {got:?}, and \
                     plain decoding says {wanted:?}"
                )
            }
            Self::Missing { at } => write!(f, "before token {at} of the answer there are no logits to be compared"),
            Self::State { layer, what } => write!(f, "layer {layer} ends in another state: {what}"),
        }
    }
}

/// Is an answer the plain one? Every token of it is compared, and all logits that chose it.
pub(crate) fn compare(plain: &Recorded, got: &Recorded, context: usize) -> Result<(), Divergence> {
    let (wanted, given) = (plain.outcome.ids(), got.outcome.ids());
    if wanted.is_empty() {
        return Err(Divergence::Missing { at: 0 });
    }
    for at in 0..wanted.len().max(given.len()) {
        let logits = plain.logits.get(&(context + at));
        let (wanted, given) = (wanted.get(at).copied(), given.get(at).copied());
        if wanted != given {
            let margin = logits.map_or(0.0, |logits| margin(logits));
            return Err(Divergence::Token { at, wanted, got: given, margin });
        }
        let Some((wanted, got)) = logits.zip(got.logits.get(&(context + at))) else {
            return Err(Divergence::Missing { at });
        };
        if wanted.len() != got.len() || wanted.is_empty() {
            return Err(Divergence::Missing { at });
        }
        let mut pairs = wanted.iter().zip(got);
        if let Some(token) = pairs.position(|(wanted, got)| wanted.to_bits() != got.to_bits() || wanted.is_nan()) {
            let (wanted, got, margin) = (wanted[token], got[token], margin(wanted));
            return Err(Divergence::Logits { at, token, wanted, got, margin });
        }
    }
    same_state(&plain.state, &got.state)
}

/// The same states, if they are of as many tokens: a stop token that was drafted is taken in, one that was not is not.
fn same_state(plain: &State, got: &State) -> Result<(), Divergence> {
    let tokens = |state: &State| state.layers.first().map_or(0, |layer| layer.tokens);
    if tokens(plain) != tokens(got) {
        return Ok(());
    }
    for (layer, (got, wanted)) in got.layers.iter().zip(&plain.layers).enumerate() {
        if let Some(what) = got.first_difference(wanted) {
            return Err(Divergence::State { layer, what: format!("{what:?}") });
        }
    }
    let bits = |state: &State| state.hidden.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    if bits(plain) == bits(got) {
        Ok(())
    } else {
        Err(Divergence::State { layer: plain.layers.len(), what: "the last row".into() })
    }
}

/// By how much the largest logit is above the next.
fn margin(logits: &[f32]) -> f32 {
    let mut sorted = logits.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.first().zip(sorted.get(1)).map_or(0.0, |(first, second)| first - second)
}
