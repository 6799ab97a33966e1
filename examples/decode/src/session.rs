//! A model with its maps, and one answer after the other.

use crate::args::{Ask, Saying, anchors};
use crate::error::{Exit, Failure, Result};
use crate::files::{self, OwnMap};
use crate::identity::Identity;
use crate::model::{AnyEngine, Loaded};
use crate::output::warn;
use crate::progress::Progress;
use mrail::Map;
use mrail_gpu::decode::{AnchorRule, DecodeError, Decoder, Options, Outcome, Step, Token, usual_draft};
use pollster::block_on;
use std::time::{Duration, Instant};

pub(crate) struct Session {
    pub(crate) model: Loaded,
    decoder: Decoder<AnyEngine>,
    options: Options,
    warned: bool,
}

/// An answer, and how long it took.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) outcome: Outcome,
    /// Until the first token that was not known.
    pub(crate) read: Duration,
    /// From then on.
    pub(crate) said: Duration,
}

impl Session {
    /// Loads nothing more: the model is there, and has no maps.
    pub(crate) fn new(mut model: Loaded, saying: &Saying, rule: AnchorRule) -> Result<Self> {
        let engine = model.engine.take().ok_or_else(|| Failure::new(Exit::Engine, "the model is in use"))?;
        let options = Options {
            max_new: saying.max_new,
            draft: saying.draft.unwrap_or(usual_draft(model.is_processor)),
            stops: model.tokenizer.stops().to_vec(),
            anchors: rule,
            ..Options::default()
        };
        let decoder = Decoder::new(engine, model.layers.clone());
        Ok(Self { model, decoder, options, warned: false })
    }

    /// With the maps that the arguments name.
    pub(crate) fn open(model: Loaded, ask: &Ask, own: Option<OwnMap>) -> Result<Self> {
        let mut session = Self::new(model, &ask.saying, anchors(&ask.anchor))?;
        match (own, &ask.map) {
            (Some(own), _) => session.attach(own)?,
            (None, Some(_)) => session.options.use_map = false,
            (None, None) => {
                // A new map holds no token of another model.
                let _ = session.decoder.attach(Map::create(), None);
            }
        }
        for path in &ask.foreign {
            let map = files::open_foreign(path)?;
            let refused = |error| Failure::of_file(Exit::Refused, path, error);
            session.decoder.attach_foreign(map).map_err(refused)?;
        }
        Ok(session)
    }

    /// Makes the map of a file the own one.
    pub(crate) fn attach(&mut self, own: OwnMap) -> Result<()> {
        let OwnMap { path, mut identity, map, file, new } = own;
        identity.computed_in(&self.model.arithmetic);
        identity.check(&path)?;
        let refused = |error: &dyn std::fmt::Display| Failure::of_file(Exit::Refused, &path, error);
        self.decoder.attach(map, Some(Box::new(file))).map_err(|error| refused(&error))?;
        if new {
            let written = identity.write(&path, &self.model.adapter);
            written.map_err(|error| refused(&format!("{}: {error}", Identity::path(&path).display())))?;
        }
        Ok(())
    }

    /// Whether the own map gives the whole answer.
    pub(crate) fn knows(&self, context: &[u32]) -> bool {
        let known = self.decoder.map().and_then(|map| map.answer(context, self.options.max_new, &self.options.stops));
        known.is_some_and(|answer| answer.end != mrail::map::locate::End::Run)
    }

    /// Answers a context. `say` is told the tokens as they come.
    pub(crate) fn answer(&mut self, context: &[u32], mut say: impl FnMut(&[Token]) -> Result<()>) -> Result<Answered> {
        let started = Instant::now();
        let (mut read, mut bar) = (None, None);
        let mut turn = self.decoder.begin(context, &self.options).map_err(failed)?;
        while let Some(step) = block_on(turn.next()).map_err(failed)? {
            match step {
                Step::Read { tokens, of } => {
                    let bar = bar.get_or_insert_with(|| Progress::new("reading", of as u64));
                    bar.at(tokens as u64);
                    read = Some(started.elapsed());
                }
                Step::Tokens(tokens) => {
                    bar = None;
                    say(&tokens)?;
                }
            }
        }
        let outcome = turn.finish().map_err(failed)?;
        let (read, total) = (read.unwrap_or_default(), started.elapsed());
        let answered = Answered { outcome, read, said: total.saturating_sub(read) };
        self.warn(context.len() + answered.outcome.tokens.len(), &answered.outcome);
        Ok(answered)
    }

    /// Says what is not as it was hoped for.
    fn warn(&mut self, tokens: usize, outcome: &Outcome) {
        for fault in &outcome.stats.faults {
            warn(format_args!("an anchored state was left out: {fault}"));
        }
        let exact = self.model.exact_until.filter(|&exact| tokens as u64 > exact && outcome.stats.evaluated > 0);
        if let Some(exact) = exact.filter(|_| !self.warned) {
            self.warned = true;
            warn(format_args!(
                "{tokens} tokens are more than the {exact} that are kept exactly: from there on far tokens are \
                 {}; --store N or --native keeps more",
                if self.model.has_carriers { "summarised" } else { "forgotten" }
            ));
        }
    }
}

fn failed(error: DecodeError<impl std::error::Error>) -> Failure {
    let exit = match &error {
        DecodeError::EmptyContext | DecodeError::Vocabulary { .. } | DecodeError::Capacity { .. } => Exit::Usage,
        DecodeError::Engine(_) | DecodeError::Silent { .. } => Exit::Engine,
        DecodeError::Write(_) => Exit::Refused,
    };
    Failure::new(exit, error)
}
