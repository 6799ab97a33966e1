//! Answers, one token at a time.

use crate::rules::{End, Taken};
use crate::tokens::Tokens;
use crate::track::Decoded;
use core::iter::Skip;

/// What a map answers to a context: an iterator over the tokens, which lie in the map and in the context.
///
/// Empty only where no tokens were asked for, or where a track's answer is empty.
#[derive(Clone, Debug)]
pub struct Answer<'a, 'c> {
    run: usize,
    tokens: Taken<'c, Source<'a, 'c>>,
}

/// Where the tokens come from.
#[derive(Clone, Debug)]
enum Source<'a, 'c> {
    Session(Tokens<'a>),
    Track(Skip<Decoded<'a, 'c>>),
}

impl Iterator for Source<'_, '_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Session(tokens) => {
                let token = tokens.get(0)?;
                *tokens = tokens.from(1);
                Some(token)
            }
            Self::Track(decoded) => decoded.next(),
        }
    }
}

impl<'a, 'c> Answer<'a, 'c> {
    pub(super) fn of_session(run: usize, tokens: Tokens<'a>, max_new: usize, stop: &'c [u32]) -> Self {
        Self { run, tokens: Taken::new(Source::Session(tokens), max_new, stop) }
    }

    pub(super) fn of_track(run: usize, decoded: Decoded<'a, 'c>, from: usize, max_new: usize, stop: &'c [u32]) -> Self {
        Self { run, tokens: Taken::new(Source::Track(decoded.skip(from)), max_new, stop) }
    }

    /// The run that answers.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Why the tokens end, once they have: with a stop token or the number asked for as soon as the last one was taken,
    /// with the run once there is no other.
    pub fn end(&self) -> Option<End> {
        self.tokens.end
    }
}

impl Iterator for Answer<'_, '_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.tokens.next()
    }
}
