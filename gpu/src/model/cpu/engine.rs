//! What the decode loop asks of a model, on the CPU.

use super::rows::{choice, surprise};
use super::{CpuError, CpuModel, Waiting};
use crate::attention::twin::Twin;
use crate::attention::{Tree, TreeError};
use crate::decode::{Engine, State};
use crate::state::snapshot::{MAX_TOKENS, SnapshotError, same_surprises};

/// Rows of a pass, at most: no more than the smallest band, so that all surprises are known that a block is ranked by.
const PASS: usize = 64;

impl CpuModel {
    /// Are these tokens, and is there room for so many?
    fn check(&self, tokens: &[u32], positions: usize) -> Result<(), CpuError> {
        let vocabulary = self.network.config.vocabulary;
        if let Some(&token) = tokens.iter().find(|token| **token >= vocabulary) {
            return Err(CpuError::Token { token, vocabulary });
        }
        if positions > (MAX_TOKENS - self.tokens) as usize {
            return Err(CpuError::TooLong { tokens: self.tokens, more: positions, most: MAX_TOKENS });
        }
        Ok(())
    }

    /// Tells the layers the surprises of tokens from a position on, if they do not know them yet.
    fn hand_in(&mut self, first: u32, surprises: &[f32]) {
        let known = (self.surprised - first).min(surprises.len() as u32);
        let new = &surprises[known as usize..];
        for (twin, setup) in self.twins.iter_mut().zip(&self.setups) {
            if setup.config.wants_surprises() {
                twin.surprises(new);
            }
        }
        self.surprised += new.len() as u32;
    }

    /// The surprise of the token that comes next.
    fn surprise_of_next(&self, token: u32) -> f32 {
        if self.tokens == 0 { 0.0 } else { surprise(&self.logits, token) }
    }

    /// Takes in a pass of tokens; where it is the last one, the logits behind it are computed, too.
    fn take_in(&mut self, tokens: &[u32], is_last: bool) -> Result<(), CpuError> {
        let first = self.tokens;
        if self.wants_surprises {
            let surprise = self.surprise_of_next(tokens[0]);
            self.hand_in(first, &[surprise]);
        }
        let (network, twins) = (&self.network, &mut self.twins);
        let positions = first..first + tokens.len() as u32;
        let rows = network.pass(tokens, positions, twins, Twin::extend)?;
        let (width, vocabulary) = (network.config.width as usize, network.config.vocabulary as usize);
        let last = &rows[rows.len() - width..];
        self.hidden = last.to_vec();
        if self.wants_surprises {
            let mut logits = network.logits(&rows);
            let next = tokens[1..].iter().zip(logits.chunks_exact(vocabulary));
            let surprises: Vec<f32> = next.map(|(token, logits)| surprise(logits, *token)).collect();
            self.hand_in(first + 1, &surprises);
            self.logits = logits.split_off(logits.len() - vocabulary);
        } else if is_last {
            self.logits = network.logits(last);
        }
        self.tokens += tokens.len() as u32;
        self.evaluated += tokens.len() as u64;
        self.choice = is_last.then(|| choice(&self.logits));
        Ok(())
    }

    fn take_in_all(&mut self, tokens: &[u32]) -> Result<u32, CpuError> {
        self.check(tokens, tokens.len())?;
        if !tokens.is_empty() {
            self.waiting = None;
        }
        let passes = tokens.len().div_ceil(PASS);
        for (at, tokens) in tokens.chunks(PASS).enumerate() {
            self.take_in(tokens, at + 1 == passes)?;
        }
        self.choice.ok_or(CpuError::NoTokens)
    }

    fn read(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, CpuError> {
        let rows = tree.rows();
        if tokens.len() != rows || rows > self.tree_rows as usize {
            return Err(CpuError::Rows { tokens: tokens.len(), rows, most: self.tree_rows });
        }
        self.check(tokens, tree.depth() as usize + 1)?;
        let positions = tree.nodes().iter().map(|node| self.tokens + node.depth);
        let hidden = self.network.pass(tokens, positions, &mut self.twins, |twin, rows| twin.verify(rows, tree))?;
        let logits = self.network.logits(&hidden);
        let choices: Vec<u32> = logits.chunks_exact(self.network.config.vocabulary as usize).map(choice).collect();
        self.evaluated += rows as u64;
        self.waiting =
            Some(Waiting { tree: tree.clone(), tokens: tokens.to_vec(), hidden, logits, choices: choices.clone() });
        Ok(choices)
    }

    fn take_in_path(&mut self, path: &[u32]) -> Result<(), CpuError> {
        let waiting = self.waiting.as_ref().ok_or(CpuError::NothingWaits)?;
        waiting.tree.check_path(path).map_err(CpuError::Tree)?;
        let Some(waiting) = self.waiting.take() else { return Err(CpuError::NothingWaits) };
        for twin in &mut self.twins {
            twin.accept(path)?;
        }
        let (width, vocabulary) = (self.network.config.width as usize, self.network.config.vocabulary as usize);
        let logits = |row: u32| &waiting.logits[row as usize * vocabulary..][..vocabulary];
        let token = |row: u32| waiting.tokens[row as usize];
        let (root, last) = (path[0], path[path.len() - 1]);
        if self.wants_surprises {
            let behind = path.windows(2).map(|pair| surprise(logits(pair[0]), token(pair[1])));
            let surprises: Vec<f32> = [self.surprise_of_next(token(root))].into_iter().chain(behind).collect();
            self.hand_in(self.tokens, &surprises);
        }
        self.tokens += path.len() as u32;
        self.hidden = waiting.hidden[last as usize * width..][..width].to_vec();
        self.logits = logits(last).to_vec();
        self.choice = Some(waiting.choices[last as usize]);
        Ok(())
    }

    /// Logits behind a row of the tree that was verified last, \[vocabulary].
    pub fn verified_logits(&self, row: u32) -> Result<Vec<f32>, CpuError> {
        let waiting = self.waiting.as_ref().ok_or(CpuError::NothingWaits)?;
        let vocabulary = self.network.config.vocabulary as usize;
        let logits = waiting.logits.chunks_exact(vocabulary).nth(row as usize);
        let missing = CpuError::Tree(TreeError::Path { at: 0, row: Some(row) });
        logits.map(<[f32]>::to_vec).ok_or(missing)
    }

    fn go_on_from(&mut self, state: &State) -> Result<(), CpuError> {
        let (found, wanted) = (state.layers.len(), self.twins.len());
        if found != wanted {
            return Err(CpuError::Layers { found, wanted });
        }
        let tokens = state.layers[0].tokens;
        let wanted = if tokens == 0 { 0 } else { self.network.config.width as usize };
        if state.hidden.len() != wanted {
            return Err(CpuError::Hidden { found: state.hidden.len(), wanted });
        }
        if let Some(layer) = state.layers.iter().position(|layer| layer.tokens != tokens) {
            return Err(CpuError::Tokens { layer });
        }
        same_surprises(&state.layers)?;
        for (layer, (state, setup)) in state.layers.iter().zip(&self.setups).enumerate() {
            let mut checked = state.check(&setup.config, &setup.carrier);
            // What was computed on the way is known; only then can the next ones follow.
            if setup.config.wants_surprises() && state.surprised < tokens {
                let (least, most) = (tokens, tokens + 1);
                checked = checked.and(Err(SnapshotError::Surprised { found: state.surprised, least, most }));
            }
            checked.map_err(|error| error.of_layer(layer))?;
        }
        for (twin, state) in self.twins.iter_mut().zip(&state.layers) {
            twin.restore(state)?;
        }
        let surprised = state.layers.iter().filter(|state| !state.surprises.is_empty()).map(|state| state.surprised);
        self.surprised = surprised.max().unwrap_or(tokens);
        self.waiting = None;
        self.tokens = tokens;
        self.hidden.clone_from(&state.hidden);
        self.logits = if tokens == 0 { Vec::new() } else { self.network.logits(&self.hidden) };
        self.choice = (tokens > 0).then(|| choice(&self.logits));
        Ok(())
    }
}

impl Engine for CpuModel {
    type Error = CpuError;

    fn vocabulary(&self) -> u32 {
        self.network.config.vocabulary
    }

    fn tokens(&self) -> u32 {
        self.tokens
    }

    fn capacity(&self) -> Option<u32> {
        None
    }

    fn tree_rows(&self) -> u32 {
        self.tree_rows
    }

    fn depth_left(&self) -> u32 {
        let room = MAX_TOKENS - self.tokens;
        let schedule = self.setups.first().map(|setup| setup.config.schedule());
        let moves = schedule.and_then(|schedule| schedule.next_growth(self.tokens + 1));
        moves.map_or(room, |position| (position - self.tokens).min(room))
    }

    fn evaluated(&self) -> u64 {
        self.evaluated
    }

    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, CpuError> {
        let threads = self.threads.clone();
        threads.run(|| self.take_in_all(tokens))
    }

    fn choice(&self) -> Option<u32> {
        self.choice
    }

    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, CpuError> {
        let threads = self.threads.clone();
        threads.run(|| self.read(tokens, tree))
    }

    async fn accept(&mut self, path: &[u32]) -> Result<(), CpuError> {
        self.take_in_path(path)
    }

    async fn logits(&mut self) -> Result<Vec<f32>, CpuError> {
        if self.tokens == 0 { Err(CpuError::NoTokens) } else { Ok(self.logits.clone()) }
    }

    async fn state(&mut self) -> Result<State, CpuError> {
        if self.twins.iter().any(Twin::root_waits) {
            return Err(CpuError::RootWaits);
        }
        Ok(State { layers: self.twins.iter().map(Twin::snapshot).collect(), hidden: self.hidden.clone() })
    }

    async fn restore(&mut self, state: &State) -> Result<(), CpuError> {
        let threads = self.threads.clone();
        threads.run(|| self.go_on_from(state))
    }

    async fn clear(&mut self) -> Result<(), CpuError> {
        self.twins.iter_mut().for_each(Twin::clear);
        (self.tokens, self.surprised, self.choice, self.waiting) = (0, 0, None, None);
        self.hidden.clear();
        self.logits.clear();
        Ok(())
    }
}
