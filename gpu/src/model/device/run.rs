//! Passes through the layers.

use super::kernels::ROWS_STRIDE;
use super::{DeviceModel, RunError, Waiting};
use crate::attention::{Pass, Tree};
use crate::decode::{Engine, State};
use crate::model::cpu::rows::angles;
use std::ops::Range;
use wgpu::{Buffer, CommandEncoder, CommandEncoderDescriptor, ComputePass, ComputePassDescriptor};

/// Which rows a kernel takes: the first that is read, how many, the first that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Which {
    first: u32,
    count: u32,
    out: u32,
}

/// Rows whose logits are computed together, and the surprises that follow from them.
#[derive(Clone, Debug)]
struct Chunk {
    rows: Which,
    /// Places in the list of surprises asked for.
    asked: Which,
}

/// What a pass writes to the device before it runs: blocks of [`Which`], and surprises asked for.
#[derive(Debug, Default)]
struct Blocks {
    which: Vec<Which>,
    /// Row of the logits, token, place.
    asked: Vec<[u32; 4]>,
}

impl Blocks {
    /// The offset of a block that says this.
    fn at(&mut self, which: Which) -> u32 {
        let at = self.which.iter().position(|there| *there == which).unwrap_or_else(|| {
            self.which.push(which);
            self.which.len() - 1
        });
        at as u32 * ROWS_STRIDE as u32
    }
}

impl DeviceModel {
    fn check(&self, tokens: &[u32]) -> Result<(), RunError> {
        let vocabulary = self.config.vocabulary;
        match tokens.iter().find(|token| **token >= vocabulary) {
            Some(&token) => Err(RunError::Token { token, vocabulary }),
            None => Ok(()),
        }
    }

    fn encoder(&self) -> CommandEncoder {
        self.gpu.device().create_command_encoder(&CommandEncoderDescriptor::default())
    }

    fn begin(encoder: &mut CommandEncoder) -> ComputePass<'_> {
        encoder.begin_compute_pass(&ComputePassDescriptor::default())
    }

    /// Gives the device the rows of a pass: tokens, and the angles of their positions.
    fn give(&self, tokens: &[u32], positions: impl Iterator<Item = u32>, blocks: &Blocks) -> Result<(), RunError> {
        let (cosines, sines) = angles(&self.config.rope, positions);
        let turns: Vec<[f32; 2]> = cosines.into_iter().zip(sines).map(|(cosine, sine)| [cosine, sine]).collect();
        self.gpu.write(&self.rows.tokens, 0, bytemuck::cast_slice(tokens))?;
        self.gpu.write(&self.rows.angles, 0, bytemuck::cast_slice(&turns))?;
        self.give_blocks(blocks)
    }

    fn give_blocks(&self, blocks: &Blocks) -> Result<(), RunError> {
        let mut bytes = Vec::new();
        for Which { first, count, out } in &blocks.which {
            bytes.extend([*first, *count, *out, 0].iter().flat_map(|word| word.to_le_bytes()));
            bytes.resize(bytes.len().next_multiple_of(ROWS_STRIDE as usize), 0);
        }
        self.gpu.write(&self.rows.which, 0, &bytes)?;
        Ok(self.gpu.write(&self.rows.asked, 0, bytemuck::cast_slice(&blocks.asked))?)
    }

    /// Encodes the layers over `rows` rows, whose block is at `all`.
    fn layers(&self, encoder: &mut CommandEncoder, pass: &Pass, rows: u32, all: u32) -> Result<(), RunError> {
        let shape = self.config.shape;
        let pairs = (shape.heads + 2 * shape.kv_heads) * shape.head_dim / 2;
        let mut compute = Self::begin(encoder);
        compute.set_bind_group(1, &self.bound, &[all]);
        let width = self.config.width.div_ceil(64);
        self.embed.iter().for_each(|embed| embed.run(&mut compute, [width, rows]));
        for (index, layer) in self.layers.iter().enumerate() {
            compute.set_bind_group(1, &self.bound, &[all]);
            layer.attention_norm.iter().for_each(|norm| norm.run(&mut compute, [rows, 1]));
            layer.attending.iter().for_each(|product| product.run(&mut compute, rows));
            layer.rope.run(&mut compute, [pairs.div_ceil(64), rows]);
            self.attention.encode_into(&mut compute, pass, index)?;
            compute.set_bind_group(1, &self.bound, &[all]);
            layer.attended.iter().for_each(|arrange| arrange.run(&mut compute, [rows, 1]));
            layer.output.iter().for_each(|product| product.run(&mut compute, rows));
            layer.feed_forward_norm.iter().for_each(|norm| norm.run(&mut compute, [rows, 1]));
            layer.inside.iter().for_each(|product| product.run(&mut compute, rows));
            layer.gated.iter().for_each(|arrange| arrange.run(&mut compute, [rows, 1]));
            layer.down.iter().for_each(|product| product.run(&mut compute, rows));
        }
        Ok(())
    }

    /// Encodes the logits of a stretch of rows, the choice of each and the surprises asked for.
    fn finish(&self, encoder: &mut CommandEncoder, blocks: &mut Blocks, chunk: &Chunk) {
        let (rows, asked) = (blocks.at(chunk.rows), blocks.at(chunk.asked));
        let count = chunk.rows.count;
        let mut compute = Self::begin(encoder);
        compute.set_bind_group(1, &self.bound, &[rows]);
        self.norm.iter().for_each(|norm| norm.run(&mut compute, [count, 1]));
        self.logits.run(&mut compute, count);
        self.choose.run(&mut compute, [count, 1]);
        if chunk.asked.count > 0 {
            compute.set_bind_group(1, &self.bound, &[asked]);
            self.surprise[0].run(&mut compute, [chunk.asked.count, 1]);
        }
    }

    /// Keeps the logits and the normed row of the last token taken in.
    fn keep(&self, encoder: &mut CommandEncoder, logits: u32, row: u32) {
        let (vocabulary, width) = (4 * u64::from(self.config.vocabulary), 4 * u64::from(self.config.width));
        let rows = &self.rows;
        encoder.copy_buffer_to_buffer(&rows.logits, u64::from(logits) * vocabulary, &rows.last, 0, vocabulary);
        encoder.copy_buffer_to_buffer(&rows.plain, u64::from(row) * width, &rows.hidden, 0, width);
    }

    /// Asks for the surprise of the token that follows the last one taken in; that of the first token is 0.
    fn first_surprise(&self, encoder: &mut CommandEncoder, blocks: &mut Blocks, token: u32) -> Result<(), RunError> {
        if self.attention.tokens() == 0 {
            return Ok(self.gpu.write(self.attention.io().surprises, 0, &[0; 4])?);
        }
        let first = blocks.asked.len() as u32;
        blocks.asked.push([0, token, 0, 0]);
        let at = blocks.at(Which { first, count: 1, out: 0 });
        let mut compute = Self::begin(encoder);
        compute.set_bind_group(1, &self.bound, &[at]);
        self.surprise[1].run(&mut compute, [1, 1]);
        Ok(())
    }

    /// Reads tokens that fit one pass, and takes them in. The last of them is decoded from if `decode` says so.
    fn pass(&mut self, tokens: &[u32], decode: bool) -> Result<Option<u32>, RunError> {
        let (first, rows) = (self.attention.tokens(), tokens.len() as u32);
        let mut blocks = Blocks::default();
        let mut encoder = self.encoder();
        if self.surprises {
            self.first_surprise(&mut encoder, &mut blocks, tokens[0])?;
        }
        let all = blocks.at(Which { first: 0, count: rows, out: 0 });
        let pass = self.attention.extend(&self.gpu, rows)?;
        self.layers(&mut encoder, &pass, rows, all)?;
        let tree = self.options.tree_rows;
        // Rows whose logits are wanted: all if surprises are, else the last.
        let mut at = if self.surprises { 0 } else { rows - u32::from(decode) };
        let mut last = None;
        while at < rows {
            let count = (rows - at).min(tree);
            let first_asked = blocks.asked.len() as u32;
            if self.surprises {
                let next = (at..at + count).filter(|row| row + 1 < rows);
                blocks.asked.extend(next.map(|row| [row - at, tokens[row as usize + 1], row + 1, 0]));
            }
            let asked = Which { first: first_asked, count: blocks.asked.len() as u32 - first_asked, out: 0 };
            let chunk = Chunk { rows: Which { first: at, count, out: 0 }, asked };
            self.finish(&mut encoder, &mut blocks, &chunk);
            last = Some(count - 1);
            at += count;
        }
        if let Some(row) = last {
            self.keep(&mut encoder, row, rows - 1);
        }
        self.attention.hand_in(&self.gpu, &mut encoder, rows)?;
        self.give(tokens, first..first + rows, &blocks)?;
        self.gpu.queue().submit([encoder.finish()]);
        self.evaluated += u64::from(rows);
        self.passes += 1;
        Ok(last)
    }

    /// The choices of the first `count` rows of logits.
    async fn choices(&self, from: u32, count: u32) -> Result<Vec<u32>, RunError> {
        let bytes = 4 * u64::from(from)..4 * u64::from(from + count);
        let read = self.gpu.read(&self.rows.choices, bytes).await?;
        Ok(read.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Logits behind a row of the tree that was verified last, \[vocabulary].
    pub async fn verified_logits(&self, row: u32) -> Result<Vec<f32>, RunError> {
        let waiting = self.waiting.as_ref().ok_or(RunError::NothingWaits)?;
        let rows = waiting.tree.rows();
        if row as usize >= rows {
            return Err(RunError::Rows { tokens: row as usize, rows });
        }
        let bytes = 4 * u64::from(self.config.vocabulary);
        self.numbers(&self.rows.logits, u64::from(row) * bytes..(u64::from(row) + 1) * bytes).await
    }

    async fn numbers(&self, buffer: &Buffer, bytes: Range<u64>) -> Result<Vec<f32>, RunError> {
        let read = self.gpu.read(buffer, bytes).await?;
        Ok(read.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    pub(super) fn forget(&mut self) {
        self.choice = None;
        self.waiting = None;
    }
}

impl Engine for DeviceModel {
    type Error = RunError;

    fn vocabulary(&self) -> u32 {
        self.config.vocabulary
    }

    fn tokens(&self) -> u32 {
        self.attention.tokens()
    }

    fn capacity(&self) -> Option<u32> {
        self.attention.capacity()
    }

    fn tree_rows(&self) -> u32 {
        self.attention.rows().min(self.options.tree_rows)
    }

    fn depth_left(&self) -> u32 {
        self.attention.depth_left()
    }

    fn evaluated(&self) -> u64 {
        self.evaluated
    }

    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, RunError> {
        self.check(tokens)?;
        if tokens.is_empty() {
            return self.choice.ok_or(RunError::NoTokens);
        }
        self.forget();
        let mut last = None;
        let mut rest = tokens;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(self.most as usize));
            last = self.pass(now, later.is_empty())?;
            rest = later;
        }
        let choice = self.choices(last.unwrap_or(0), 1).await?;
        self.choice = choice.first().copied();
        self.choice.ok_or(RunError::NoTokens)
    }

    fn choice(&self) -> Option<u32> {
        self.choice
    }

    async fn verify(&mut self, tokens: &[u32], tree: &Tree) -> Result<Vec<u32>, RunError> {
        self.check(tokens)?;
        let rows = tree.rows() as u32;
        if tokens.len() != tree.rows() || rows > self.tree_rows() {
            return Err(RunError::Rows { tokens: tokens.len(), rows: tree.rows() });
        }
        self.waiting = None;
        let first = self.attention.tokens();
        let pass = self.attention.verify(&self.gpu, tree)?;
        let mut blocks = Blocks::default();
        let all = Which { first: 0, count: rows, out: 0 };
        let at = blocks.at(all);
        let mut encoder = self.encoder();
        self.layers(&mut encoder, &pass, rows, at)?;
        let chunk = Chunk { rows: all, asked: Which { first: 0, count: 0, out: 0 } };
        self.finish(&mut encoder, &mut blocks, &chunk);
        self.give(tokens, tree.depths().map(|depth| first + depth), &blocks)?;
        self.gpu.queue().submit([encoder.finish()]);
        self.evaluated += u64::from(rows);
        self.passes += 1;
        let choices = self.choices(0, rows).await?;
        self.waiting = Some(Waiting { tokens: tokens.to_vec(), tree: tree.clone(), choices: choices.clone() });
        Ok(choices)
    }

    async fn accept(&mut self, path: &[u32]) -> Result<(), RunError> {
        let waiting = self.waiting.take().ok_or(RunError::NothingWaits)?;
        let checked = waiting.tree.check_path(path).map_err(RunError::Path);
        let (Ok(()), Some(&last)) = (&checked, path.last()) else {
            self.waiting = Some(waiting);
            return checked;
        };
        let mut encoder = self.encoder();
        if self.surprises {
            let mut blocks = Blocks::default();
            self.first_surprise(&mut encoder, &mut blocks, waiting.tokens[path[0] as usize])?;
            let first = blocks.asked.len() as u32;
            for (place, pair) in (1..).zip(path.windows(2)) {
                blocks.asked.push([pair[0], waiting.tokens[pair[1] as usize], place, 0]);
            }
            let count = blocks.asked.len() as u32 - first;
            if count > 0 {
                let at = blocks.at(Which { first, count, out: 0 });
                let mut compute = Self::begin(&mut encoder);
                compute.set_bind_group(1, &self.bound, &[at]);
                self.surprise[0].run(&mut compute, [count, 1]);
            }
            self.give_blocks(&blocks)?;
            self.attention.hand_in(&self.gpu, &mut encoder, path.len() as u32)?;
        }
        self.attention.accept(&self.gpu, &mut encoder, path)?;
        self.keep(&mut encoder, last, last);
        self.gpu.queue().submit([encoder.finish()]);
        self.choice = waiting.choices.get(last as usize).copied();
        Ok(())
    }

    async fn logits(&mut self) -> Result<Vec<f32>, RunError> {
        if self.attention.tokens() == 0 {
            return Err(RunError::NoTokens);
        }
        self.numbers(&self.rows.last, 0..self.rows.last.size()).await
    }

    async fn state(&mut self) -> Result<State, RunError> {
        let layers = self.attention.snapshot(&self.gpu).await?;
        let hidden = if self.attention.tokens() == 0 {
            Vec::new()
        } else {
            self.numbers(&self.rows.hidden, 0..self.rows.hidden.size()).await?
        };
        Ok(State { layers, hidden })
    }

    async fn restore(&mut self, state: &State) -> Result<(), RunError> {
        let tokens = state.layers.first().map_or(0, |layer| layer.tokens);
        if tokens > 0 && state.hidden.len() != self.config.width as usize {
            return Err(RunError::Hidden { numbers: state.hidden.len(), width: self.config.width });
        }
        // The next surprise that is handed in is that of the next token.
        let surprised = state.layers.iter().filter(|layer| !layer.surprises.is_empty());
        if let Some(found) = surprised.map(|layer| layer.surprised).find(|surprised| *surprised != tokens) {
            return Err(RunError::Surprised { found, tokens });
        }
        self.forget();
        self.attention.restore(&self.gpu, &state.layers)?;
        if tokens == 0 {
            return Ok(());
        }
        self.gpu.write(&self.rows.plain, 0, bytemuck::cast_slice(&state.hidden))?;
        let mut blocks = Blocks::default();
        let at = blocks.at(Which { first: 0, count: 1, out: 0 });
        self.give_blocks(&blocks)?;
        let mut encoder = self.encoder();
        {
            let mut compute = Self::begin(&mut encoder);
            compute.set_bind_group(1, &self.bound, &[at]);
            self.kept.iter().for_each(|rows| rows.run(&mut compute, [1, 1]));
            self.logits.run(&mut compute, 1);
            self.choose.run(&mut compute, [1, 1]);
        }
        self.keep(&mut encoder, 0, 0);
        self.gpu.queue().submit([encoder.finish()]);
        self.choice = self.choices(0, 1).await?.first().copied();
        Ok(())
    }

    async fn clear(&mut self) -> Result<(), RunError> {
        self.forget();
        Ok(self.attention.clear(&self.gpu)?)
    }
}
