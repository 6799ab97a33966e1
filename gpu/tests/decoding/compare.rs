//! Decodes and compares, token by token and bit by bit.

use mrail_gpu::decode::{Decoder, Engine, Options, Outcome, State, Step};
use std::fmt;

/// An answer with what the model was at on its way: after so many tokens, these logits.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) outcome: Outcome,
    pub(crate) logits: Vec<(usize, Vec<f32>)>,
    pub(crate) state: State,
}

/// Answers a context and writes down the logits after each step.
pub(crate) async fn record<E: Engine>(decoder: &mut Decoder<E>, context: &[u32], options: &Options) -> Recorded {
    let mut logits = Vec::new();
    let mut turn = decoder.begin(context, options).expect("a context");
    while let Some(step) = turn.next().await.expect("an engine that works") {
        let engine = turn.decoder().engine_mut();
        let taken = engine.tokens() as usize;
        if let Step::Tokens(_) = step {
            logits.push((taken, engine.logits().await.expect("logits")));
        }
    }
    let outcome = turn.finish().expect("a map that is written");
    let state = decoder.engine_mut().state().await.expect("a state");
    Recorded { outcome, logits, state }
}

/// Where two ways of answering part.
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
    Logits { taken: usize, token: usize, wanted: f32, got: f32 },
    /// Nothing was compared.
    Nothing,
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
            Self::Logits { taken, token, wanted, got } => {
                write!(
                    f,
                    "after {taken} tokens the logit of token {token} is {got:?}, and plain decoding says {wanted:?}"
                )
            }
            Self::Nothing => f.write_str("no logits are there to be compared"),
            Self::State { layer, what } => write!(f, "layer {layer} ends in another state: {what}"),
        }
    }
}

/// Is an answer the plain one? `plain` has the logits after every token.
pub(crate) fn compare(plain: &Recorded, got: &Recorded, context: usize) -> Result<(), Divergence> {
    let (wanted, given) = (plain.outcome.ids(), got.outcome.ids());
    for at in 0..wanted.len().max(given.len()) {
        let (wanted, got) = (wanted.get(at).copied(), given.get(at).copied());
        if wanted != got {
            let logits = plain.logits.iter().find(|(taken, _)| *taken == context + at);
            return Err(Divergence::Token {
                at,
                wanted,
                got,
                margin: logits.map_or(0.0, |(_, logits)| margin(logits)),
            });
        }
    }
    let mut compared = 0;
    for (taken, got) in &got.logits {
        let Some((_, wanted)) = plain.logits.iter().find(|(there, _)| there == taken) else { continue };
        if wanted.len() != got.len() || wanted.is_empty() {
            return Err(Divergence::Nothing);
        }
        compared += 1;
        let mut pairs = wanted.iter().zip(got);
        if let Some(token) = pairs.position(|(wanted, got)| wanted.to_bits() != got.to_bits() || wanted.is_nan()) {
            return Err(Divergence::Logits { taken: *taken, token, wanted: wanted[token], got: got[token] });
        }
    }
    if compared == 0 {
        return Err(Divergence::Nothing);
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
