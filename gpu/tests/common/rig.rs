//! Runs a stack of layers on a device from rows on the host, one layer after the other.

use mrail_gpu::attention::{Attention, AttentionError, LayerSetup, Pass, Tree, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::{LayerSnapshot, Shape};
use std::ops::Range;

/// What the layers read: rows by position, the same for every layer.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    /// \[tokens, heads, d].
    pub q: &'a [f32],
    /// \[tokens, `kv_heads`, d].
    pub k: &'a [f32],
    /// \[tokens, `kv_heads`, d].
    pub v: &'a [f32],
    /// \[tokens].
    pub surprise: &'a [f32],
}

/// Layers on a device.
#[derive(Debug)]
pub struct Rig<'g> {
    /// The device.
    pub gpu: &'g Gpu,
    /// The layers.
    pub attention: Attention,
}

impl<'g> Rig<'g> {
    /// Layers with an empty state.
    pub async fn new(gpu: &'g Gpu, setups: Vec<LayerSetup>, wanted: Wanted) -> Result<Self, AttentionError> {
        Ok(Self { gpu, attention: Attention::new(gpu, setups, wanted).await? })
    }

    fn shape(&self) -> Shape {
        self.attention.setup(0).config.shape()
    }

    fn load(&self, tokens: Tokens<'_>, rows: &[usize]) -> Result<(), AttentionError> {
        let shape = self.shape();
        let (wide, narrow) = ((shape.heads * shape.head_dim) as usize, (shape.kv_heads * shape.head_dim) as usize);
        let pick = |of: &[f32], len: usize| -> Vec<f32> {
            rows.iter().flat_map(|&row| &of[row * len..(row + 1) * len]).copied().collect()
        };
        let io = self.attention.io();
        self.gpu.write(io.queries, 0, bytemuck::cast_slice(&pick(tokens.q, wide)))?;
        self.gpu.write(io.keys, 0, bytemuck::cast_slice(&pick(tokens.k, narrow)))?;
        self.gpu.write(io.values, 0, bytemuck::cast_slice(&pick(tokens.v, narrow)))?;
        Ok(())
    }

    async fn out(&self, rows: usize) -> Result<Vec<f32>, AttentionError> {
        let shape = self.shape();
        let bytes = 4 * rows as u64 * u64::from(shape.heads * shape.head_dim);
        let bytes = self.gpu.read(self.attention.io().out, 0..bytes).await?;
        Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Hands in surprises, as many at once as the buffers take.
    pub fn hand_in(&mut self, surprises: &[f32]) -> Result<(), AttentionError> {
        for part in surprises.chunks(self.attention.io().surprises.size() as usize / 4) {
            self.gpu.write(self.attention.io().surprises, 0, bytemuck::cast_slice(part))?;
            let mut encoder = self.encoder();
            self.attention.hand_in(self.gpu, &mut encoder, part.len() as u32)?;
            self.gpu.queue().submit([encoder.finish()]);
        }
        Ok(())
    }

    /// Reads tokens and takes them in, in one pass; returns the outputs of the last layer.
    pub async fn extend(&mut self, tokens: Tokens<'_>, range: Range<usize>) -> Result<Vec<f32>, AttentionError> {
        let rows: Vec<usize> = range.collect();
        let pass = self.attention.extend(self.gpu, rows.len() as u32)?;
        self.load(tokens, &rows)?;
        let mut encoder = self.encoder();
        for layer in 0..self.attention.layers() {
            self.attention.encode(&mut encoder, &pass, layer)?;
        }
        self.gpu.queue().submit([encoder.finish()]);
        self.out(rows.len()).await
    }

    /// Reads tokens as the nodes of a tree: node i is the token `nodes[i]`.
    pub async fn verify(
        &mut self,
        tokens: Tokens<'_>,
        nodes: &[usize],
        tree: &Tree,
    ) -> Result<Vec<f32>, AttentionError> {
        let pass = self.attention.verify(self.gpu, tree)?;
        self.load(tokens, nodes)?;
        let mut encoder = self.encoder();
        for layer in 0..self.attention.layers() {
            self.attention.encode(&mut encoder, &pass, layer)?;
        }
        self.gpu.queue().submit([encoder.finish()]);
        self.out(nodes.len()).await
    }

    /// Like [`Rig::extend`], but the outputs stay on the device: they are copied to row `at` of a buffer.
    pub fn extend_to(
        &mut self,
        tokens: Tokens<'_>,
        range: Range<usize>,
        to: &wgpu::Buffer,
    ) -> Result<(), AttentionError> {
        let rows: Vec<usize> = range.collect();
        let pass = self.attention.extend(self.gpu, rows.len() as u32)?;
        let places: Vec<_> = (0..rows.len()).map(|row| (row, rows[row])).collect();
        self.run(tokens, &rows, &pass, to, &places)
    }

    /// Like [`Rig::verify`], but the outputs of some nodes stay on the device: node to row of a buffer.
    pub fn verify_to(
        &mut self,
        tokens: Tokens<'_>,
        nodes: &[usize],
        tree: &Tree,
        to: &wgpu::Buffer,
        places: &[(usize, usize)],
    ) -> Result<(), AttentionError> {
        let pass = self.attention.verify(self.gpu, tree)?;
        self.run(tokens, nodes, &pass, to, places)
    }

    fn run(
        &self,
        tokens: Tokens<'_>,
        rows: &[usize],
        pass: &Pass,
        to: &wgpu::Buffer,
        places: &[(usize, usize)],
    ) -> Result<(), AttentionError> {
        self.load(tokens, rows)?;
        let mut encoder = self.encoder();
        for layer in 0..self.attention.layers() {
            self.attention.encode(&mut encoder, pass, layer)?;
        }
        let shape = self.shape();
        let bytes = 4 * u64::from(shape.heads * shape.head_dim);
        for &(from, place) in places {
            let out = self.attention.io().out;
            encoder.copy_buffer_to_buffer(out, from as u64 * bytes, to, place as u64 * bytes, bytes);
        }
        self.gpu.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Takes in a path of the verified tree.
    pub fn accept(&mut self, path: &[u32]) -> Result<(), AttentionError> {
        let mut encoder = self.encoder();
        self.attention.accept(self.gpu, &mut encoder, path)?;
        self.gpu.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// The state of all layers.
    pub async fn snapshot(&self) -> Result<Vec<LayerSnapshot>, AttentionError> {
        self.attention.snapshot(self.gpu).await
    }
}
