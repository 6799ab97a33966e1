//! Maps and contexts out of any bytes: few distinct tokens, so that prefixes are shared, and short runs.

/// One record of a scenario.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Session { tokens: Vec<u32>, gen_start: usize },
    Track { context: Vec<u32>, answer: Vec<u32> },
    Anchor { prefix: Vec<u32> },
}

/// A map to be written, how it is opened, and what it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) stride: usize,
    pub(crate) limit: Option<usize>,
    pub(crate) foreign_limit: Option<usize>,
    pub(crate) foreign: Vec<Step>,
    pub(crate) own: Vec<Step>,
    pub(crate) contexts: Vec<Vec<u32>>,
}

/// Tokens in a run at most: longer ones only take longer.
const LONGEST: usize = 24;

/// Hands out bytes; zeros once there are no more.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    /// A list of tokens that often goes on from one that was there before.
    fn tokens(&mut self, known: &[Vec<u32>], distinct: usize) -> Vec<u32> {
        let shape = self.byte();
        let mut tokens = Vec::new();
        if shape & 1 == 1
            && let Some(from) = known.get(self.byte() % known.len().max(1))
        {
            tokens.extend_from_slice(&from[..self.byte() % (from.len() + 1)]);
        }
        for _ in 0..shape / 2 % 10 {
            let token = self.byte();
            // Now and then the largest one.
            tokens.push(if token == 255 { u32::MAX } else { (token % distinct) as u32 });
        }
        tokens.truncate(LONGEST);
        tokens
    }

    fn limit(&mut self) -> Option<usize> {
        let limit = self.byte();
        (limit & 1 == 1).then_some(limit / 2 % 8)
    }
}

impl Scenario {
    pub(crate) fn read(data: &[u8]) -> Self {
        let mut source = Source(data);
        let stride = [1, 1, 2, 3, 7][source.byte() % 5];
        let distinct = 1 + source.byte() % 4;
        let (limit, foreign_limit) = (source.limit(), source.limit());
        let mut known = Vec::new();
        let mut steps = [Vec::new(), Vec::new()];
        for (side, steps) in steps.iter_mut().enumerate() {
            for _ in 0..source.byte() % 16 {
                let tokens = source.tokens(&known, distinct);
                known.push(tokens.clone());
                steps.push(match source.byte() % 8 {
                    0..5 => Step::Session { gen_start: source.byte() % (tokens.len() + 1), tokens },
                    5 | 6 => Step::Track { answer: source.tokens(&known, distinct), context: tokens },
                    _ if side == 0 => continue,
                    _ => Step::Anchor { prefix: tokens },
                });
            }
        }
        let [foreign, own] = steps;
        let contexts = (0..=source.byte() % 12).map(|_| source.tokens(&known, distinct)).collect();
        Self { stride, limit, foreign_limit, foreign, own, contexts }
    }
}
