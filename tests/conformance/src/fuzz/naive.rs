//! FORMAT.md's prefix index, word for word: a table of every indexed prefix. It shares nothing with `mrail`.

use super::scenario::Step;
use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy)]
struct Entry {
    run: usize,
    len: usize,
}

/// The tables of a map.
pub(crate) struct Naive {
    stride: usize,
    runs: Vec<Vec<u32>>,
    prefixes: HashMap<Vec<u32>, Entry>,
    answers: HashMap<Vec<u32>, Entry>,
    anchors: HashSet<Vec<u32>>,
}

impl Naive {
    pub(crate) fn new(stride: usize) -> Self {
        let (prefixes, answers) = (HashMap::new(), HashMap::new());
        Self { stride, runs: Vec::new(), prefixes, answers, anchors: HashSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Loads a file's records, of which at most `limit` runs.
    pub(crate) fn load(&mut self, steps: &[Step], foreign: bool, limit: Option<usize>) {
        let mut left = limit.unwrap_or(usize::MAX);
        for step in steps {
            match step {
                Step::Anchor { prefix } => {
                    self.anchors.insert(prefix.clone());
                }
                Step::Track { .. } if foreign => {}
                _ if left == 0 => {}
                Step::Track { context, answer } => {
                    left -= 1;
                    self.track(context, answer);
                }
                Step::Session { tokens, gen_start } => {
                    left -= 1;
                    self.session(tokens, if foreign { tokens.len() } else { *gen_start });
                }
            }
        }
    }

    fn session(&mut self, tokens: &[u32], gen_start: usize) {
        let entry = Entry { run: self.runs.len(), len: tokens.len() };
        let put = |table: &mut HashMap<Vec<u32>, Entry>, prefix: &[u32]| {
            let place = table.entry(prefix.to_vec()).or_insert(entry);
            if entry.len > place.len {
                *place = entry;
            }
        };
        for position in 1..=tokens.len() {
            if position % self.stride == 0 || position >= gen_start {
                put(&mut self.prefixes, &tokens[..position]);
            }
            if gen_start <= position && position < tokens.len() {
                put(&mut self.answers, &tokens[..position]);
            }
        }
        self.runs.push(tokens.to_vec());
    }

    fn track(&mut self, context: &[u32], answer: &[u32]) {
        let entry = Entry { run: self.runs.len(), len: context.len() + 1 };
        for table in [&mut self.prefixes, &mut self.answers] {
            table.entry(context.to_vec()).or_insert(entry);
        }
        self.runs.push([context, answer].concat());
    }

    /// Longest indexed prefix, the run that answers, and length of the longest anchored prefix.
    pub(crate) fn locate(&self, context: &[u32]) -> (usize, Option<usize>, usize) {
        let longest = |held: &dyn Fn(&[u32]) -> bool, most: usize| {
            (1..=most).rev().find(|&position| held(&context[..position])).unwrap_or(0)
        };
        let lcp = longest(&|prefix| self.prefixes.contains_key(prefix), context.len());
        let answers = self.answers.get(context).filter(|_| lcp == context.len());
        let anchor = longest(&|prefix| self.anchors.contains(prefix), lcp);
        (lcp, answers.map(|entry| entry.run), anchor)
    }

    /// What follows the context in the run that answers it.
    pub(crate) fn answer(&self, context: &[u32]) -> Option<(usize, &[u32])> {
        let (_, run, _) = self.locate(context);
        Some((run?, &self.runs[run?][context.len()..]))
    }
}
