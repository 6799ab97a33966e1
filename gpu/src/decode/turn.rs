//! One answer, step by step.

use super::draft::Limits;
use super::{DecodeError, Decoder, End, Engine, Options, Origin, Outcome, Stats, Step, Token};
use crate::attention::MOST_ROWS;
use mrail::map::locate;

/// An answer on its way: [`Self::next`] until there is nothing more, then [`Self::finish`].
///
/// Between two steps, or in the middle of one, it may be left. Dropped, it leaves no run in the map; finished early, the run
/// that it leaves has no end, and is gone on from when it is asked for again. The engine is sound in each case. After an
/// error, or a step whose future was dropped, the next step tries again, from the last state that is known.
///
/// Every token is evaluated once: the last one of an answer not at all, unless it was drafted.
#[derive(Debug)]
pub struct Turn<'d, E: Engine> {
    decoder: &'d mut Decoder<E>,
    options: Options,
    /// The context and what was said so far.
    tokens: Vec<u32>,
    said: Vec<Token>,
    stage: Stage,
    /// The place where the context parts from the map's runs, if a state is to be anchored there.
    parts: Option<usize>,
    /// Rows that the engine had evaluated before.
    before: u64,
    stats: Stats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Does the map know the answer?
    Ask,
    /// From which state is there the least to read?
    Start,
    /// The engine has a prefix of the tokens, and reads the rest.
    Read,
    /// The engine has all tokens but the last.
    Decode,
    Done(End),
}

impl<'d, E: Engine> Turn<'d, E> {
    pub(super) fn new(decoder: &'d mut Decoder<E>, context: &[u32], options: &Options) -> Self {
        let (options, tokens, before) = (options.clone(), context.to_vec(), decoder.engine().evaluated());
        let stats = Stats { context: context.len(), ..Stats::default() };
        Self { decoder, options, tokens, said: Vec::new(), stage: Stage::Ask, parts: None, before, stats }
    }

    /// What was said so far.
    pub fn said(&self) -> &[Token] {
        &self.said
    }

    /// What it took so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The decoder, whose engine may be asked for logits. It must take nothing in.
    pub fn decoder(&mut self) -> &mut Decoder<E> {
        self.decoder
    }

    /// Does a step; none where the answer has ended.
    pub async fn next(&mut self) -> Result<Option<Step>, DecodeError<E::Error>> {
        loop {
            match self.stage {
                Stage::Ask => {
                    if let Some(step) = self.ask() {
                        return Ok(Some(step));
                    }
                }
                Stage::Start => self.start().await?,
                // An engine that was left in the middle of something starts again.
                Stage::Read | Stage::Decode if self.decoder.common(&self.tokens).is_none() => self.stage = Stage::Start,
                Stage::Read => {
                    if let Some(step) = self.read().await? {
                        return Ok(Some(step));
                    }
                }
                Stage::Decode => {
                    if let Some(step) = self.decode().await? {
                        return Ok(Some(step));
                    }
                }
                Stage::Done(_) => return Ok(None),
            }
        }
    }

    /// Ends the turn: the answer, as far as it got, is kept in the own map, unless that knows it already.
    pub fn finish(mut self) -> Result<Outcome, DecodeError<E::Error>> {
        let end = if let Stage::Done(end) = self.stage { end } else { End::Open };
        if let Some(own) = self.decoder.own.as_mut().filter(|_| self.options.use_map) {
            self.stats.written = own.keep(&self.tokens, self.stats.context).map_err(DecodeError::Write)?;
        }
        Ok(Outcome { tokens: self.said, end, stats: self.stats })
    }

    /// Takes from the map what it knows of the answer.
    fn ask(&mut self) -> Option<Step> {
        self.stage = Stage::Start;
        let own = self.decoder.own.as_ref().filter(|_| self.options.use_map)?;
        let answer = own.map.answer(&self.tokens, self.options.max_new, &self.options.stops)?;
        match answer.end {
            locate::End::Stop => self.stage = Stage::Done(End::Stop),
            locate::End::MaxNew => self.stage = Stage::Done(End::MaxNew),
            // The run ended, and the model would have gone on.
            locate::End::Run => {}
        }
        self.stats.served = answer.tokens.len();
        let said: Vec<_> = answer.tokens.iter().map(|&id| Token { id, origin: Origin::Map }).collect();
        self.tokens.extend(answer.tokens);
        self.said.extend_from_slice(&said);
        (!said.is_empty()).then_some(Step::Tokens(said))
    }

    /// Brings the engine to the longest prefix of the tokens whose state there is: its own, or an anchored one.
    async fn start(&mut self) -> Result<(), DecodeError<E::Error>> {
        let tokens = self.tokens.len();
        if let Some(capacity) = self.decoder.engine().capacity().filter(|&capacity| tokens > capacity as usize) {
            // What the map knew filled it.
            if !self.said.is_empty() {
                self.stage = Stage::Done(End::Full);
                return Ok(());
            }
            return Err(DecodeError::Capacity { tokens, capacity });
        }
        (self.stats.kept, self.stats.restored) = (0, 0);
        let located = self.decoder.map().filter(|_| self.options.use_map).map(|map| map.locate(&self.tokens));
        let have = self.decoder.common(&self.tokens);
        let anchor = located.and_then(|located| located.anchor);
        if let Some((hash, position)) = anchor.filter(|&(_, position)| position > have.unwrap_or(0)) {
            match self.decoder.restore(hash, position, &self.tokens).await {
                Ok(()) => self.stats.restored = position,
                Err(fault) => self.stats.faults.push(fault),
            }
        }
        if self.stats.restored == 0 {
            match self.decoder.common(&self.tokens) {
                Some(kept) => self.stats.kept = kept,
                None => self.decoder.clear().await?,
            }
        }
        let from = self.stats.restored.max(self.stats.kept);
        let far = |shared: &usize| self.options.anchors.shared.is_some_and(|least| *shared >= from + least.get());
        self.parts = located.map(|located| located.shared).filter(far);
        if self.options.draft > 0 {
            self.decoder.learn(&self.tokens, self.options.use_map);
        }
        self.stage = Stage::Read;
        Ok(())
    }

    /// Reads a chunk of what the engine has not taken in. When there is nothing left, its choice is the next token.
    async fn read(&mut self) -> Result<Option<Step>, DecodeError<E::Error>> {
        let of = self.tokens.len();
        let from = self.decoder.common(&self.tokens).unwrap_or(of);
        if from < of {
            let to = self.chunk_end(from);
            self.decoder.extend(self.tokens.get(from..to).unwrap_or_default()).await?;
            self.stats.read += to - from;
            self.count();
            self.anchor(to).await;
            return Ok(Some(Step::Read { tokens: to, of }));
        }
        self.stage = Stage::Decode;
        if self.said.len() >= self.options.max_new {
            self.stage = Stage::Done(End::MaxNew);
            return Ok(None);
        }
        let choice = self.decoder.engine().choice().ok_or(DecodeError::Silent { tokens: of as u32 })?;
        let token = Token { id: choice, origin: Origin::Model };
        self.say(token);
        Ok(Some(Step::Tokens(vec![token])))
    }

    /// Where the next chunk ends: at the latest where a state is to be anchored.
    fn chunk_end(&self, from: usize) -> usize {
        let rule = self.options.anchors;
        let every = rule.every.map(|every| (from / every.get()).saturating_add(1).saturating_mul(every.get()));
        let prompt = rule.prompt.then_some(self.stats.context);
        let places = [every, prompt, self.parts].into_iter().flatten().filter(|&place| place > from);
        let end = from.saturating_add(self.options.chunk.get()).min(self.tokens.len());
        places.fold(end, usize::min)
    }

    /// Anchors the engine's state, if the rule asks for it after so many tokens. A fault costs the anchor alone.
    async fn anchor(&mut self, position: usize) {
        let rule = self.options.anchors;
        let wanted = rule.prompt && position == self.stats.context
            || rule.every.is_some_and(|every| position.is_multiple_of(every.get()))
            || self.parts == Some(position);
        if wanted && self.options.use_map {
            match self.decoder.anchor().await {
                Ok(written) => self.stats.anchors += usize::from(written),
                Err(fault) => self.stats.faults.push(fault),
            }
        }
    }

    /// One pass: the last token, which the engine has not taken in, and what was drafted behind it.
    async fn decode(&mut self) -> Result<Option<Step>, DecodeError<E::Error>> {
        let Some((&root, before)) = self.tokens.split_last() else { return Ok(None) };
        let taken = before.len();
        let engine = self.decoder.engine();
        let room = engine.capacity().map_or(usize::MAX, |capacity| (capacity as usize).saturating_sub(taken));
        if room == 0 {
            self.stage = Stage::Done(End::Full);
            return Ok(None);
        }
        // A path of n rows gives n tokens: its drafts, and the choice behind its last row.
        let left = self.options.max_new.saturating_sub(self.said.len());
        let to_anchor = self.options.anchors.every.map_or(usize::MAX, |every| every.get() - taken % every.get());
        let limits = Limits {
            nodes: self.options.draft.min(MOST_ROWS - 1).min((engine.tree_rows() as usize).saturating_sub(1)),
            depth: left.min(room).min(engine.depth_left() as usize).min(to_anchor),
            vocabulary: engine.vocabulary(),
            stops: &self.options.stops,
        };
        let draft = self.decoder.draft(&self.tokens, self.options.use_map, limits);
        let mut said = Vec::new();
        if draft.tokens.is_empty() {
            let choice = self.decoder.extend(&[root]).await?;
            said.push(Token { id: choice, origin: Origin::Model });
        } else {
            let choices = self.decoder.verify(root, &draft).await?;
            let mut path = vec![0];
            loop {
                let row = path.last().copied().unwrap_or(0);
                let choice = choices.get(row as usize).copied().unwrap_or_default();
                let Some(next) = draft.child(row, choice) else {
                    said.push(Token { id: choice, origin: Origin::Model });
                    break;
                };
                let source = draft.sources.get(next as usize - 1).copied();
                said.extend(source.map(|source| Token { id: choice, origin: Origin::Draft(source) }));
                path.push(next);
                if self.options.stops.contains(&choice) {
                    break;
                }
            }
            let drafts = said.iter().take(path.len() - 1).map(|token| token.id);
            let accepted: Vec<u32> = [root].into_iter().chain(drafts).collect();
            self.decoder.accept(&path, &accepted).await?;
        }
        self.stats.passes += 1;
        self.stats.drafted += draft.tokens.len();
        self.count();
        for &token in &said {
            if let Origin::Draft(source) = token.origin {
                self.stats.accepted.count(source);
            }
            self.say(token);
        }
        if let Some(taken) = self.decoder.common(&self.tokens) {
            self.anchor(taken).await;
        }
        Ok(Some(Step::Tokens(said)))
    }

    fn say(&mut self, token: Token) {
        self.tokens.push(token.id);
        self.said.push(token);
        if self.options.stops.contains(&token.id) {
            self.stage = Stage::Done(End::Stop);
        } else if self.said.len() >= self.options.max_new {
            self.stage = Stage::Done(End::MaxNew);
        }
    }

    fn count(&mut self) {
        self.stats.evaluated = self.decoder.engine().evaluated().saturating_sub(self.before);
    }
}
