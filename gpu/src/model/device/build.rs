//! Loading: weights to the device, and every kernel to its buffers.

use super::kernels::{Bound, Kernels, ROWS_STRIDE, Resource};
use super::matrix::{Matrix, Operand, Product, Target};
use super::product::{Fetch, ROWS};
use super::{DeviceModel, Options, RunError};
use crate::attention::{Attention, LayerSetup, MOST_ROWS, Wanted};
use crate::device::{DeviceError, Gpu};
use crate::model::config::Pairing;
use crate::model::gguf::{Source, Tensor};
use crate::model::layout::Form;
use crate::model::load::{self, Progress};
use crate::model::{LayerWeights, Model, ModelConfig};
use crate::state::Memory;
use std::fmt::Write as _;
use std::rc::Rc;
use wgpu::{Buffer, BufferUsages};

const STORAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_DST).union(BufferUsages::COPY_SRC);

/// Rows between the layers, and what belongs to them.
#[derive(Debug)]
pub(super) struct Rows {
    /// Which rows kernels are to take: blocks of [`ROWS_STRIDE`].
    pub(super) which: Buffer,
    /// \[rows].
    pub(super) tokens: Buffer,
    /// \[rows, dims / 2, 2]: cosines and sines.
    pub(super) angles: Buffer,
    /// \[rows, width].
    pub(super) x: Buffer,
    /// \[rows, heads + 2 `kv_heads`, `head_dim`]: queries, keys and values.
    pub(super) attending: Buffer,
    /// \[rows, 2 `feed_forward`]: gates and what they let through.
    pub(super) inside: Buffer,
    /// \[rows, width], after the final norm.
    pub(super) plain: Buffer,
    /// \[tree rows, vocabulary].
    pub(super) logits: Buffer,
    /// \[vocabulary]: those behind the last token taken in.
    pub(super) last: Buffer,
    /// \[width]: that token's row after the final norm.
    pub(super) hidden: Buffer,
    /// \[tree rows].
    pub(super) choices: Buffer,
    /// \[rows + 1, 4].
    pub(super) asked: Buffer,
}

impl Rows {
    async fn new(gpu: &Gpu, config: &ModelConfig, options: Options) -> Result<Self, DeviceError> {
        let (rows, tree) = (u64::from(options.pass_rows), u64::from(options.tree_rows));
        let (width, inside, tokens) =
            (u64::from(config.width), u64::from(config.feed_forward), u64::from(config.vocabulary));
        let mut allocation = gpu.allocation();
        let which = 8 + 2 * rows.div_ceil(tree);
        let which = allocation.buffer_of_parts(
            "which rows",
            which * ROWS_STRIDE,
            BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        )?;
        let mut numbers = |label, numbers: u64| allocation.buffer(label, 4 * numbers, STORAGE);
        let made = Self {
            which,
            tokens: numbers("tokens", rows)?,
            angles: numbers("angles", rows * u64::from(config.rope.dims))?,
            x: numbers("rows", rows * width)?,
            attending: numbers("queries, keys and values", rows * u64::from(attending(config)))?,
            inside: numbers("gates", rows * 2 * inside)?,
            plain: numbers("normed rows", rows * width)?,
            logits: numbers("logits", tree * tokens)?,
            last: numbers("last logits", tokens)?,
            hidden: numbers("last row", width)?,
            choices: numbers("choices", tree)?,
            asked: numbers("surprises asked for", 4 * (rows + 1))?,
        };
        allocation.done().await?;
        Ok(made)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Buffer> {
        let Self { which, tokens, angles, x, attending, inside, plain, logits, last, hidden, choices, asked } = self;
        [which, tokens, angles, x, attending, inside, plain, logits, last, hidden, choices, asked].into_iter()
    }
}

/// A layer's kernels around attention.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) attention_norm: Vec<Bound>,
    /// Queries, keys and values: one product where they are of one form.
    pub(super) attending: Vec<Product>,
    pub(super) rope: Bound,
    pub(super) attended: Vec<Bound>,
    pub(super) output: Vec<Product>,
    pub(super) feed_forward_norm: Vec<Bound>,
    /// Gates and what they let through.
    pub(super) inside: Vec<Product>,
    pub(super) gated: Vec<Bound>,
    pub(super) down: Vec<Product>,
}

impl DeviceModel {
    /// Loads a model, each layer's attention as `setups` say. Whether it fits is [`crate::model::memory::Needs`]'s question,
    /// to be asked before. `told` is called as bytes are read.
    pub async fn load<S: Source>(
        gpu: Rc<Gpu>,
        source: &mut S,
        model: &Model,
        setups: Vec<LayerSetup>,
        options: Options,
        mut told: impl FnMut(Progress<'_>),
    ) -> Result<Self, RunError> {
        let config = model.config.clone();
        let fits = setups.iter().all(|setup| setup.config.shape() == config.shape);
        if setups.len() != config.layers as usize || !fits {
            return Err(RunError::Setups { layers: setups.len(), wanted: config.layers });
        }
        let surprises = setups.iter().any(|setup| setup.config.wants_surprises());
        let band = |setup: &LayerSetup| match setup.config.memory() {
            Memory::Constant(constant) if surprises => Some(constant.band),
            _ => None,
        };
        let band = setups.iter().filter_map(band).min();
        let Options { tree_rows, pass_rows, capacity, shapes } = options;
        if let Some(wrong) = shapes.iter().find(|shape| !shape.is_sound()) {
            return Err(RunError::Shape(*wrong));
        }
        let tree_rows = tree_rows.clamp(1, MOST_ROWS as u32);
        let pass_rows = pass_rows.clamp(tree_rows, gpu.limits().max_compute_workgroups_per_dimension.max(tree_rows));
        let options = Options { tree_rows, pass_rows, ..options };
        let most = band.unwrap_or(pass_rows).min(pass_rows);
        let wanted = Wanted { rows: tree_rows, pass_rows, capacity };
        let attention = Attention::new(&gpu, setups, wanted).await?;
        let fetch = shapes[0].fetch;
        let shapes = shapes.map(|shape| super::Shape { fetch, ..shape });
        let rows = Rows::new(&gpu, &config, options).await?;
        let total = model.weights.matrices().chain(model.weights.vectors()).map(Tensor::bytes).sum();
        let mut build = Build {
            gpu: &gpu,
            config: &config,
            kernels: Kernels::new(&gpu),
            fetch,
            shapes,
            operands: Vec::new(),
            matrices: Vec::new(),
            vectors: Vec::new(),
            source,
            done: 0,
            total,
            told: &mut told,
        };
        let bound = build.kernels.rows(&gpu, &rows.which);
        let deepest = config.width.max(config.feed_forward).max(config.shape.heads * config.shape.head_dim);
        let mut units: Vec<u32> = model.weights.matrices().map(|tensor| Form::of(tensor.element()).unit()).collect();
        units.sort_unstable();
        units.dedup();
        for unit in units {
            build.operands.push(Operand::new(&gpu, fetch, unit, deepest, pass_rows).await?);
        }
        let table = build.matrix(&[&model.weights.embedding]).await?;
        let embed = table.embedding(&gpu, &mut build.kernels, fetch, &rows.tokens, &rows.x).await?;
        build.matrices.push(table);
        let mut layers = Vec::new();
        for weights in &model.weights.layers {
            layers.push(build.layer(weights, &attention, &rows).await?);
        }
        let output = match &model.weights.output {
            Some(tensor) => Some(build.matrix(&[tensor]).await?),
            None => None,
        };
        build.matrices.extend(output);
        let last = if model.weights.output.is_some() { build.matrices.len() - 1 } else { 0 };
        let last = build.matrices.swap_remove(last);
        let norm = build.norm(&model.weights.norm, &rows, true, last.form).await?;
        let kept = build.arranged("values_rows", &[Resource::Read(&rows.plain)], config.width, last.form).await?;
        let to = Target { out: &rows.logits, stride: config.vocabulary, first: 0, bias: None, add: false };
        let logits = build.product(&last, &to).await?;
        build.matrices.push(last);
        let choose = build.choose(&rows).await?;
        let surprise = [
            build.surprise(&rows.logits, &rows, &attention).await?,
            build.surprise(&rows.last, &rows, &attention).await?,
        ];
        let Build { operands, matrices, vectors, .. } = build;
        gpu.finished().await?;
        Ok(Self {
            config,
            attention,
            options,
            matrices,
            operands,
            vectors,
            rows,
            bound,
            embed,
            layers,
            norm,
            kept,
            logits,
            choose,
            surprise,
            surprises,
            most,
            choice: None,
            waiting: None,
            evaluated: 0,
            passes: 0,
            gpu,
        })
    }
}

/// A model that is being loaded.
struct Build<'a, S> {
    gpu: &'a Gpu,
    config: &'a ModelConfig,
    kernels: Kernels,
    fetch: Fetch,
    shapes: [super::Shape; 2],
    operands: Vec<Operand>,
    matrices: Vec<Matrix>,
    vectors: Vec<Buffer>,
    source: &'a mut S,
    done: u64,
    total: u64,
    told: &'a mut dyn FnMut(Progress<'_>),
}

impl<S: Source> Build<'_, S> {
    fn tell(&mut self, tensor: &Tensor, bytes: u64) {
        self.done += bytes;
        (self.told)(Progress { done: self.done, total: self.total, tensor: tensor.name() });
    }

    async fn matrix(&mut self, tensors: &[&Tensor]) -> Result<Matrix, RunError> {
        let (start, total, told) = (self.done, self.total, &mut *self.told);
        let mut done = start;
        let matrix = Matrix::load(self.gpu, self.fetch, self.source, tensors, |tensor, held| {
            done += held * tensor.row_bytes();
            told(Progress { done, total, tensor: tensor.name() });
        });
        let matrix = matrix.await?;
        self.done = start + tensors.iter().map(|tensor| tensor.bytes()).sum::<u64>();
        Ok(matrix)
    }

    async fn vector(&mut self, tensor: &Tensor) -> Result<Buffer, RunError> {
        let numbers = load::vector(self.source, tensor)?;
        let buffer = self.gpu.buffer(tensor.name(), 4 * numbers.len() as u64, STORAGE).await?;
        self.gpu.write(&buffer, 0, bytemuck::cast_slice(&numbers))?;
        self.tell(tensor, tensor.bytes());
        self.vectors.push(buffer.clone());
        Ok(buffer)
    }

    async fn product(&mut self, matrix: &Matrix, to: &Target<'_>) -> Result<Product, RunError> {
        let unit = matrix.form.unit();
        let operand = self.operands.iter().find(|operand| operand.unit == unit).ok_or(RunError::Unit(unit))?;
        Ok(matrix.product(self.gpu, &mut self.kernels, self.shapes, operand, to).await?)
    }

    /// Loads matrices whose results stand one behind the other, and binds their products: neighbours of one form as one matrix.
    async fn loaded(&mut self, tensors: &[&Tensor], to: Target<'_>) -> Result<Vec<Product>, RunError> {
        let mut products = Vec::new();
        let mut first = 0;
        for like in tensors.chunk_by(|a, b| a.element() == b.element()) {
            let matrix = self.matrix(like).await?;
            products.push(self.product(&matrix, &Target { first, ..to }).await?);
            first += matrix.rows;
            self.matrices.push(matrix);
        }
        Ok(products)
    }

    /// Kernels that arrange rows of `k` numbers for the products that read them: one for each unit of `forms`.
    async fn operands(
        &mut self,
        text: &str,
        resources: &[Resource<'_>],
        k: u32,
        forms: &[Form],
    ) -> Result<Vec<Bound>, RunError> {
        let mut bound = Vec::new();
        for operand in self.operands.iter().filter(|operand| forms.iter().any(|form| form.unit() == operand.unit)) {
            let source = arrangement(self.fetch, operand.unit, k, text);
            let all = [operand.fours.put()].into_iter().chain(resources.iter().copied());
            let all: Vec<_> = (0..).zip(all).collect();
            bound.push(self.kernels.bind(self.gpu, "operand", source, &all).await?);
        }
        Ok(bound)
    }

    async fn arranged(
        &mut self,
        name: &str,
        resources: &[Resource<'_>],
        k: u32,
        form: Form,
    ) -> Result<Vec<Bound>, RunError> {
        let text = match name {
            "values_gate" => include_str!("kernels/values_gate.wgsl").to_owned(),
            _ => [SINGLE, include_str!("kernels/values_rows.wgsl")].concat(),
        };
        self.operands(&text, resources, k, &[form]).await
    }

    /// A norm of x, arranged for matrices of these forms.
    async fn norm_for(
        &mut self,
        tensor: &Tensor,
        rows: &Rows,
        keep: bool,
        forms: &[Form],
    ) -> Result<Vec<Bound>, RunError> {
        let weights = self.vector(tensor).await?;
        let ModelConfig { width, epsilon, .. } = *self.config;
        let mut text = String::from(SINGLE);
        // As many digits as bring every bit back.
        let number = |of: f32| format!("{of:e}f");
        let (reciprocal, epsilon) = (number(1.0 / width as f32), number(epsilon));
        let constants = format!("const RECIPROCAL: f32 = {reciprocal};\nconst EPSILON: f32 = {epsilon};\n");
        text.write_str(&constants).unwrap_or_default();
        text.push_str(include_str!("kernels/values_norm.wgsl"));
        text.push_str(if keep { include_str!("kernels/keep.wgsl") } else { "fn keep(at: u32, v: vec4<f32>) {}\n" });
        let resources = [Resource::Read(&rows.x), Resource::Read(&weights), Resource::Write(&rows.plain)];
        let resources = if keep { &resources[..] } else { &resources[..2] };
        self.operands(&text, resources, width, forms).await
    }

    async fn norm(&mut self, tensor: &Tensor, rows: &Rows, keep: bool, form: Form) -> Result<Vec<Bound>, RunError> {
        self.norm_for(tensor, rows, keep, &[form]).await
    }

    async fn layer(&mut self, of: &LayerWeights, attention: &Attention, rows: &Rows) -> Result<Layer, RunError> {
        let ModelConfig { width, feed_forward, shape, .. } = *self.config;
        let form = |tensor: &Tensor| Form::of(tensor.element());
        let first = [&of.queries, &of.keys, &of.values];
        let attention_norm = self.norm_for(&of.attention_norm, rows, false, &first.map(form)).await?;
        let bias = match &of.biases {
            Some(biases) => Some(self.joined(biases).await?),
            None => None,
        };
        let stride = attending(self.config);
        let to = Target { out: &rows.attending, stride, first: 0, bias: bias.as_ref(), add: false };
        let attending = self.loaded(&first, to).await?;
        let rope = self.rope(attention, rows).await?;
        let attended = shape.heads * shape.head_dim;
        let io = attention.io();
        let form_ = form(&of.attention_output);
        let attended = self.arranged("values_rows", &[Resource::Read(io.out)], attended, form_).await?;
        let back = Target { out: &rows.x, stride: width, first: 0, bias: None, add: true };
        let output = self.loaded(&[&of.attention_output], back).await?;
        let second = [&of.gate, &of.up];
        let feed_forward_norm = self.norm_for(&of.feed_forward_norm, rows, false, &second.map(form)).await?;
        let to = Target { out: &rows.inside, stride: 2 * feed_forward, first: 0, bias: None, add: false };
        let inside = self.loaded(&second, to).await?;
        let gated = self.arranged("values_gate", &[Resource::Read(&rows.inside)], feed_forward, form(&of.down)).await?;
        let down = self.loaded(&[&of.down], back).await?;
        Ok(Layer { attention_norm, attending, rope, attended, output, feed_forward_norm, inside, gated, down })
    }

    /// Biases one behind the other.
    async fn joined(&mut self, tensors: &[Tensor]) -> Result<Buffer, RunError> {
        let mut numbers = Vec::new();
        for tensor in tensors {
            numbers.extend(load::vector(self.source, tensor)?);
            self.tell(tensor, tensor.bytes());
        }
        let buffer = self.gpu.buffer("biases", 4 * numbers.len() as u64, STORAGE).await?;
        self.gpu.write(&buffer, 0, bytemuck::cast_slice(&numbers))?;
        self.vectors.push(buffer.clone());
        Ok(buffer)
    }

    async fn rope(&mut self, attention: &Attention, rows: &Rows) -> Result<Bound, RunError> {
        let (rope, shape, io) = (self.config.rope, self.config.shape, attention.io());
        let numbers =
            [("D", shape.head_dim), ("DIMS", rope.dims), ("HEADS", shape.heads), ("KV_HEADS", shape.kv_heads)];
        let mut source = numbers.map(|(name, value)| format!("const {name}: u32 = {value}u;\n")).concat();
        let pairing = format!("const NEIGHBOURS: bool = {};\n", rope.pairing == Pairing::Neighbours);
        source += &[&pairing, ROWS, include_str!("kernels/rope.wgsl")].concat();
        let resources = [
            (0, Resource::Read(&rows.attending)),
            (1, Resource::Read(&rows.angles)),
            (2, Resource::Write(io.queries)),
            (3, Resource::Write(io.keys)),
            (4, Resource::Write(io.values)),
        ];
        Ok(self.kernels.bind(self.gpu, "rope", source, &resources).await?)
    }

    async fn choose(&mut self, rows: &Rows) -> Result<Bound, RunError> {
        let source = [&self.vocabulary(), ROWS, include_str!("kernels/choose.wgsl")].concat();
        let resources = [(0, Resource::Read(&rows.logits)), (1, Resource::Write(&rows.choices))];
        Ok(self.kernels.bind(self.gpu, "choose", source, &resources).await?)
    }

    async fn surprise(&mut self, logits: &Buffer, rows: &Rows, attention: &Attention) -> Result<Bound, RunError> {
        let text = include_str!("kernels/surprise.wgsl");
        let source = [&self.vocabulary(), ROWS, NUMBER, LOGARITHM, text].concat();
        let surprises = attention.io().surprises;
        let resources =
            [(0, Resource::Read(logits)), (1, Resource::Read(&rows.asked)), (2, Resource::Write(surprises))];
        Ok(self.kernels.bind(self.gpu, "surprise", source, &resources).await?)
    }

    fn vocabulary(&self) -> String {
        format!("const VOCABULARY: u32 = {}u;\n", self.config.vocabulary)
    }
}

/// The kernel that arranges rows of `k` numbers for products in units of `unit`; `values` says what the numbers are.
fn arrangement(fetch: Fetch, unit: u32, k: u32, values: &str) -> String {
    let put = match fetch {
        Fetch::Buffer => include_str!("kernels/put_buffer.wgsl"),
        Fetch::Texture => include_str!("kernels/put_texture.wgsl"),
    };
    let constants = format!("const UNIT: u32 = {unit}u;\nconst K: u32 = {k}u;\n");
    [&constants, ROWS, NUMBER, include_str!("kernels/operand.wgsl"), put, values].concat()
}

/// The same for rows as they are.
#[cfg(all(test, not(target_arch = "wasm32")))]
pub(super) fn arrange_rows(fetch: Fetch, unit: u32, k: u32) -> String {
    arrangement(fetch, unit, k, &[SINGLE, include_str!("kernels/values_rows.wgsl")].concat())
}

/// For parts that compute with single numbers.
const SINGLE: &str = "alias Num = f32;\nalias NumInt = i32;\n";

/// Numbers of a row of queries, keys and values.
fn attending(config: &ModelConfig) -> u32 {
    (config.shape.heads + 2 * config.shape.kv_heads) * config.shape.head_dim
}

const NUMBER: &str = include_str!("../../attention/kernels/number.wgsl");
const LOGARITHM: &str = include_str!("../../attention/kernels/logarithm.wgsl");
