//! A matrix on the device, and what lies beside it: arranged rows.

use super::RunError;
use super::kernels::{Bound, Kernels, Resource};
use super::product::{Fetch, Shape, TEXTURE_WIDTH, Then, source};
use crate::device::{DeviceError, Gpu, TEXEL_BYTES};
use crate::model::gguf::{Source, Tensor};
use crate::model::layout::{Form, GROUP, buffer_words};
use crate::model::load;
use crate::model::memory::{self, MemoryError};
use std::ops::Range;
use wgpu::{
    Buffer, BufferUsages, ComputePass, Extent3d, Origin3d, TexelCopyBufferLayout, TexelCopyTextureInfo, Texture,
    TextureAspect, TextureFormat, TextureUsages, TextureView,
};

/// Fours in a buffer or a texture.
#[derive(Debug)]
pub(super) enum Fours {
    Buffer(Buffer),
    Texture(Texture, TextureView),
}

impl Fours {
    fn of(texture: Texture) -> Self {
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        Self::Texture(texture, view)
    }

    pub(super) fn codes(&self) -> Resource<'_> {
        match self {
            Self::Buffer(buffer) => Resource::Read(buffer),
            Self::Texture(_, view) => Resource::Codes(view),
        }
    }

    fn numbers(&self) -> Resource<'_> {
        match self {
            Self::Buffer(buffer) => Resource::Read(buffer),
            Self::Texture(_, view) => Resource::Numbers(view),
        }
    }

    pub(super) fn put(&self) -> Resource<'_> {
        match self {
            Self::Buffer(buffer) => Resource::Write(buffer),
            Self::Texture(_, view) => Resource::Put(view),
        }
    }

    fn destroy(&self) {
        match self {
            Self::Buffer(buffer) => buffer.destroy(),
            Self::Texture(texture, _) => texture.destroy(),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Buffer(buffer) => buffer.size(),
            Self::Texture(texture, _) => TEXEL_BYTES * u64::from(texture.width()) * u64::from(texture.height()),
        }
    }
}

/// Pairs of units in a row of `k` numbers; the last may be half empty.
pub(super) fn pairs(form: Form, k: u32) -> u32 {
    k.div_ceil(2 * form.unit())
}

/// Fours that hold a pair of units of 8 rows.
fn record(form: Form) -> u32 {
    (2 * form.code_words() / 4 + u32::from(form.quantised())) * GROUP as u32
}

/// Bytes of `rows` rows of a matrix on the device, or the largest number there is.
pub(crate) fn bytes(form: Form, rows: u64, k: u64) -> u64 {
    let pairs = k.div_ceil(2 * u64::from(form.unit()));
    let fours = rows.div_ceil(GROUP as u64).saturating_mul(pairs).saturating_mul(record(form).into());
    fours.saturating_mul(TEXEL_BYTES)
}

/// Rows that were arranged for products, of matrices in one unit.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) fours: Fours,
    pub(super) unit: u32,
}

impl Operand {
    /// For `rows` rows of at most `k` numbers.
    pub(super) async fn new(gpu: &Gpu, fetch: Fetch, unit: u32, k: u32, rows: u32) -> Result<Self, DeviceError> {
        let width = k.div_ceil(2 * unit) * (unit / 2 + 1);
        let mut allocation = gpu.allocation();
        let fours = match fetch {
            Fetch::Buffer => {
                let bytes = TEXEL_BYTES * u64::from(width) * u64::from(rows);
                Fours::Buffer(allocation.buffer("arranged rows", bytes, BufferUsages::STORAGE)?)
            }
            Fetch::Texture => {
                let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::STORAGE_BINDING;
                Fours::of(allocation.texture("arranged rows", TextureFormat::Rgba32Float, [width, rows], usage)?)
            }
        };
        allocation.done().await?;
        Ok(Self { fours, unit })
    }

    pub(super) fn destroy(&self) {
        self.fours.destroy();
    }
}

/// Some rows of a matrix.
#[derive(Debug)]
struct Part {
    codes: Fours,
    rows: u32,
    first: u32,
}

/// A matrix.
#[derive(Debug)]
pub(super) struct Matrix {
    parts: Vec<Part>,
    pub(super) form: Form,
    pub(super) k: u32,
    pub(super) rows: u32,
}

impl Matrix {
    /// Reads tensors of one form as one matrix, the rows of the first before those of the second. `told` is called after every
    /// piece that was read, with its tensor and the rows that it held.
    pub(super) async fn load<S: Source>(
        gpu: &Gpu,
        fetch: Fetch,
        source: &mut S,
        tensors: &[&Tensor],
        mut told: impl FnMut(&Tensor, u64),
    ) -> Result<Self, RunError> {
        let Some(&first) = tensors.first() else { return Err(RunError::NoTensors) };
        let form = Form::of(first.element());
        let large = |tensor: &Tensor| {
            let bytes = tensor.bytes();
            MemoryError::Row { tensor: tensor.name().into(), bytes, most: u32::MAX.into() }
        };
        let k = u32::try_from(first.row()).map_err(|_| large(first))?;
        let rows: u64 = tensors.iter().map(|tensor| tensor.rows()).sum();
        let rows = u32::try_from(rows).map_err(|_| large(first))?;
        // All in one buffer, if they fit; all but the last are whole groups.
        let whole = tensors.iter().rev().skip(1).all(|tensor| tensor.rows().is_multiple_of(GROUP as u64));
        let together = whole && bytes(form, rows.into(), k.into()) <= memory::largest_buffer(gpu.limits());
        let mut stretches: Vec<Vec<(&Tensor, Range<u64>)>> = Vec::new();
        if together {
            stretches.push(tensors.iter().map(|tensor| (*tensor, 0..tensor.rows())).collect());
        } else {
            for tensor in tensors {
                stretches.extend(memory::split(gpu.limits(), tensor)?.into_iter().map(|rows| vec![(*tensor, rows)]));
            }
        }
        let mut parts = Vec::new();
        let mut at = 0;
        for stretch in stretches {
            let height = stretch.iter().map(|(_, rows)| rows.end - rows.start).sum::<u64>() as u32;
            let part = Part { codes: allocate(gpu, fetch, form, k, height).await?, rows: height, first: at };
            let mut upload = Upload { gpu, to: &part.codes, form, k, at: 0, waiting: Vec::new() };
            for (tensor, rows) in stretch {
                load::rows(source, tensor, rows, |words| {
                    upload.take(words)?;
                    told(tensor, words.len() as u64 / buffer_words(form, 8, k.into()).max(1) * 8);
                    Ok::<(), RunError>(())
                })?;
            }
            upload.finish()?;
            at += height;
            parts.push(part);
        }
        Ok(Self { parts, form, k, rows })
    }

    /// A matrix of zeros.
    pub(super) async fn zeros(gpu: &Gpu, fetch: Fetch, form: Form, rows: u32, k: u32) -> Result<Self, DeviceError> {
        let codes = allocate(gpu, fetch, form, k, rows).await?;
        Ok(Self { parts: vec![Part { codes, rows, first: 0 }], form, k, rows })
    }

    /// Binds the products of this matrix with rows of `operand`, into `out`.
    pub(super) async fn product(
        &self,
        gpu: &Gpu,
        kernels: &mut Kernels,
        shapes: [Shape; 2],
        operand: &Operand,
        to: &Target<'_>,
    ) -> Result<Product, DeviceError> {
        let mut of_shapes = Vec::new();
        for shape in shapes {
            let mut parts = Vec::new();
            for part in &self.parts {
                let uniform = self.uniform(gpu, part, to.first, to.stride).await?;
                let then = to.then();
                let resources = [
                    (0, Resource::Uniform(&uniform)),
                    (1, part.codes.codes()),
                    (2, operand.fours.numbers()),
                    (3, Resource::Write(to.out)),
                    (4, Resource::Read(to.bias.unwrap_or(&uniform))),
                ];
                // A kernel without a bias does not have its binding.
                let used = if then == Then::Bias { &resources[..] } else { &resources[..4] };
                let bound = kernels.bind(gpu, "product", source(self.form, then, shape), used).await?;
                parts.push((bound, part.rows.div_ceil(8).div_ceil(shape.rows_at_once() / 8)));
            }
            of_shapes.push((shape, parts));
        }
        Ok(Product { of_shapes })
    }

    /// Binds the lookup of tokens' rows, into `out`.
    pub(super) async fn embedding(
        &self,
        gpu: &Gpu,
        kernels: &mut Kernels,
        fetch: Fetch,
        tokens: &Buffer,
        out: &Buffer,
    ) -> Result<Vec<Bound>, DeviceError> {
        let mut bound = Vec::new();
        for part in &self.parts {
            let uniform = self.uniform(gpu, part, 0, self.k).await?;
            let resources = [
                (0, Resource::Uniform(&uniform)),
                (1, part.codes.codes()),
                (2, Resource::Read(tokens)),
                (3, Resource::Write(out)),
            ];
            let source = super::product::embedding(self.form, fetch);
            bound.push(kernels.bind(gpu, "embed", source, &resources).await?);
        }
        Ok(bound)
    }

    async fn uniform(&self, gpu: &Gpu, part: &Part, first: u32, stride: u32) -> Result<Buffer, DeviceError> {
        let buffer = gpu.buffer("matrix", 32, BufferUsages::UNIFORM | BufferUsages::COPY_DST).await?;
        let words = [pairs(self.form, self.k), part.rows, part.rows.div_ceil(8), first + part.first, stride, 0, 0, 0];
        gpu.write(&buffer, 0, bytemuck::cast_slice(&words))?;
        Ok(buffer)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.codes.bytes()).sum()
    }

    pub(super) fn destroy(&self) {
        self.parts.iter().for_each(|part| part.codes.destroy());
    }
}

/// Where sums go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) out: &'a Buffer,
    /// Numbers of a row there, and the one that the matrix's first row gives.
    pub(super) stride: u32,
    pub(super) first: u32,
    /// \[stride].
    pub(super) bias: Option<&'a Buffer>,
    /// Added to what is there.
    pub(super) add: bool,
}

impl Target<'_> {
    fn then(&self) -> Then {
        match (self.bias, self.add) {
            (Some(_), _) => Then::Bias,
            (None, true) => Then::Add,
            (None, false) => Then::Set,
        }
    }
}

/// Products with one matrix, for one row and for many.
#[derive(Debug)]
pub(super) struct Product {
    of_shapes: Vec<(Shape, Vec<(Bound, u32)>)>,
}

impl Product {
    /// Multiplies `rows` rows. Which shape does it changes no result: that for many rows, once half of its columns have one.
    pub(super) fn run(&self, pass: &mut ComputePass<'_>, rows: u32) {
        let fits = |(shape, _): &&(Shape, _)| shape.columns.div_ceil(2) <= rows;
        let chosen = self.of_shapes.iter().rev().find(fits).or(self.of_shapes.first());
        if let Some((shape, parts)) = chosen {
            for (bound, groups) in parts {
                bound.run(pass, [*groups, rows.div_ceil(shape.columns)]);
            }
        }
    }
}

async fn allocate(gpu: &Gpu, fetch: Fetch, form: Form, k: u32, rows: u32) -> Result<Fours, DeviceError> {
    let bytes = bytes(form, rows.into(), k.into());
    let mut allocation = gpu.allocation();
    let fours = match fetch {
        Fetch::Buffer => {
            Fours::Buffer(allocation.buffer("weights", bytes, BufferUsages::STORAGE | BufferUsages::COPY_DST)?)
        }
        Fetch::Texture => {
            let height = (bytes / TEXEL_BYTES).div_ceil(TEXTURE_WIDTH.into());
            let height = u32::try_from(height).unwrap_or(u32::MAX);
            let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
            Fours::of(allocation.texture("weights", TextureFormat::Rgba32Uint, [TEXTURE_WIDTH, height], usage)?)
        }
    };
    allocation.done().await?;
    Ok(fours)
}

/// Brings words in the order of [`crate::model::layout`] into fours, and to the device.
struct Upload<'a> {
    gpu: &'a Gpu,
    to: &'a Fours,
    form: Form,
    k: u32,
    /// Fours that were written.
    at: u32,
    waiting: Vec<u32>,
}

impl Upload<'_> {
    fn take(&mut self, words: &[u32]) -> Result<(), DeviceError> {
        let units = (self.k / self.form.unit()) as usize;
        let (codes, record) = (self.form.code_words() as usize, self.form.record_words() as usize);
        for group in words.chunks_exact((units * record * GROUP).max(1)) {
            let word =
                |u: usize, w: usize, lane: usize| group.get((u * record + w) * GROUP + lane).copied().unwrap_or(0);
            for pair in 0..units.div_ceil(2) {
                for (u, four) in
                    [2 * pair, 2 * pair + 1].into_iter().flat_map(|u| (0..codes / 4).map(move |four| (u, four)))
                {
                    for lane in 0..GROUP {
                        let there = u < units;
                        self.waiting.extend((0..4).map(|part| if there { word(u, four * 4 + part, lane) } else { 0 }));
                    }
                }
                if self.form.quantised() {
                    for lane in 0..GROUP {
                        for u in [2 * pair, 2 * pair + 1] {
                            let scale = |w| if u < units { word(u, w, lane) } else { 0 };
                            self.waiting.extend([scale(codes), scale(codes + 1)]);
                        }
                    }
                }
            }
        }
        // Whole rows of a texture.
        let whole = self.waiting.len() / (4 * TEXTURE_WIDTH as usize) * 4 * TEXTURE_WIDTH as usize;
        self.write(whole)
    }

    fn finish(mut self) -> Result<(), DeviceError> {
        if matches!(self.to, Fours::Texture(..)) {
            self.waiting.resize(self.waiting.len().next_multiple_of(4 * TEXTURE_WIDTH as usize), 0);
        }
        self.write(self.waiting.len())
    }

    fn write(&mut self, words: usize) -> Result<(), DeviceError> {
        let Some(part) = self.waiting.get(..words).filter(|part| !part.is_empty()) else { return Ok(()) };
        match self.to {
            Fours::Buffer(buffer) => {
                self.gpu.write(buffer, TEXEL_BYTES * u64::from(self.at), bytemuck::cast_slice(part))?;
            }
            Fours::Texture(texture, _) => {
                self.gpu.check()?;
                let height = (words / 4) as u32 / TEXTURE_WIDTH;
                let origin = Origin3d { x: 0, y: self.at / TEXTURE_WIDTH, z: 0 };
                let to = TexelCopyTextureInfo { texture, mip_level: 0, origin, aspect: TextureAspect::All };
                let bytes_per_row = Some(TEXEL_BYTES as u32 * TEXTURE_WIDTH);
                let layout = TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: Some(height) };
                let size = Extent3d { width: TEXTURE_WIDTH, height, depth_or_array_layers: 1 };
                self.gpu.queue().write_texture(to, bytemuck::cast_slice(part), layout, size);
            }
        }
        // What was written stays in the queue's memory until something is submitted.
        self.gpu.queue().submit([]);
        self.at += (words / 4) as u32;
        self.waiting.drain(..words);
        Ok(())
    }
}
