//! Products on a device beside the text of `docs/arithmetic.md`.

use super::kernels::{Kernels, ROWS_STRIDE, Resource};
use super::matrix::{Matrix, Operand, Target};
use super::{Fetch, Shape};
use crate::attention::{LayerSetup, Wanted};
use crate::device::{Gpu, Options};
use crate::model::Model;
use crate::model::gguf::Header;
use crate::model::layout::{Form, interleave, number};
use crate::model::memory::Needs;
use crate::model::quant::Element;
use crate::model::seeded::Seeded;
use crate::state::{Admission, Config, Storage};
use std::rc::Rc;
use wgpu::{BufferUsages, ComputePassDescriptor};

/// The code of number j of unit u of a row.
fn code(form: Form, words: &[u32], (row, u, j): (usize, usize, usize), k: usize) -> f32 {
    let (unit, record) = (form.unit() as usize, form.record_words() as usize);
    let each = unit / form.code_words() as usize;
    let word = words[((row / 8 * (k / unit) + u) * record + j / each) * 8 + row % 8];
    match form {
        Form::Nibbles => (word >> (4 * (j % each)) & 15) as f32,
        Form::Bytes { .. } => f32::from(((word >> (8 * (j % each))) as u8).cast_signed()),
        _ => number(form, words, k as u32, row, u * unit + j),
    }
}

/// A product as the text has it, number by number.
fn by_the_text(form: Form, words: &[u32], k: usize, rows: usize, x: &[f32]) -> Vec<f32> {
    let unit = form.unit() as usize;
    let record = form.record_words() as usize;
    let scale = |row: usize, u: usize, w: usize| {
        let at = ((row / 8 * (k / unit) + u) * record + w) * 8 + row % 8;
        f32::from_bits(words[at])
    };
    let dot = |row: usize| {
        let (mut t, mut y) = (0.0_f32, 0.0_f32);
        for u in 0..k / unit {
            if u > 0 && u % (128 / unit) == 0 {
                t += y;
                y = 0.0;
            }
            let own = &x[u * unit..(u + 1) * unit];
            let s = own.iter().fold(0.0_f32, |s, x| s + x);
            let plain = !form.quantised();
            let (d, m) = if plain { (1.0, 0.0) } else { (scale(row, u, record - 2), scale(row, u, record - 1)) };
            let code = |j: usize| code(form, words, (row, u, j), k);
            let p = own.iter().enumerate().fold(0.0_f32, |p, (j, x)| p + code(j) * x);
            y = if plain { y + p } else { (y + d * p) + m * s };
        }
        t + y
    };
    (0..rows).map(dot).collect()
}

#[test]
fn products_are_those_of_the_text() {
    pollster::block_on(async {
        let gpu = Gpu::request(&Options::default()).await.unwrap();
        for element in Element::ALL {
            let (width, head_dim, feed_forward) = (256, 64, 512);
            let seeded = Seeded { width, head_dim, feed_forward, element, ..Seeded::default() };
            let file = seeded.file();
            let header = Header::parse(&file, file.len() as u64).unwrap();
            let tensor = header.tensor("blk.0.ffn_down.weight").unwrap();
            let (k, rows) = (tensor.row() as u32, tensor.rows() as usize);
            let form = Form::of(element);
            let mut words = Vec::new();
            let range = tensor.range();
            interleave(element, k, &file[range.start as usize..range.end as usize], &mut words).unwrap();
            let hash = |i: u32| (i + 1).wrapping_mul(2_654_435_761);
            let x: Vec<f32> = (0..k).map(|i| (hash(i) as f32 / 4e9 - 0.5) * 3.0).collect();
            let expected = by_the_text(form, &words, k as usize, rows, &x);
            for fetch in [Fetch::Buffer, Fetch::Texture] {
                let shape = Shape { lanes: 16, slices: 2, rows: 1, columns: 1, fetch };
                let mut kernels = Kernels::new(&gpu);
                let operand = Operand::new(&gpu, fetch, form.unit(), k, 1).await.unwrap();
                let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
                let given = gpu.buffer("x", 4 * u64::from(k), storage).await.unwrap();
                let out = gpu.buffer("out", 4 * rows as u64, storage).await.unwrap();
                let which =
                    gpu.buffer("which", ROWS_STRIDE, BufferUsages::UNIFORM | BufferUsages::COPY_DST).await.unwrap();
                gpu.write(&given, 0, bytemuck::cast_slice(&x)).unwrap();
                gpu.write(&which, 0, bytemuck::cast_slice(&[0_u32, 1, 0, 0])).unwrap();
                let matrix = Matrix::load(&gpu, fetch, &mut &file[..], &[tensor], |_, _| ()).await.unwrap();
                let target = Target { out: &out, stride: rows as u32, first: 0, bias: None, add: false };
                let product = matrix.product(&gpu, &mut kernels, [shape; 2], &operand, &target).await.unwrap();
                let arrange = super::build::arrange_rows(fetch, form.unit(), k);
                let resources = [(0, operand.fours.put()), (1, Resource::Read(&given))];
                let arrange = kernels.bind(&gpu, "operand", arrange, &resources).await.unwrap();
                let bound = kernels.rows(&gpu, &which);
                let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                {
                    let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                    pass.set_bind_group(1, &bound, &[0]);
                    arrange.run(&mut pass, [1, 1]);
                    product.run(&mut pass, 1);
                }
                gpu.queue().submit([encoder.finish()]);
                let bytes = gpu.read(&out, 0..out.size()).await.unwrap();
                let found: Vec<f32> = bytes.as_chunks().0.iter().map(|n| f32::from_le_bytes(*n)).collect();
                let differ = found.iter().zip(&expected).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
                assert_eq!(differ, 0, "{element} from {fetch:?}, of {rows}");
            }
        }
    });
}

#[test]
fn needs_cover_the_weights_that_are_held() {
    pollster::block_on(async {
        let gpu = Rc::new(Gpu::request(&Options::default()).await.unwrap());
        let file = Seeded::default().file();
        let model = Model::read(&Header::parse(&file, file.len() as u64).unwrap()).unwrap();
        let config = Config::uniform(model.config.shape, Storage::F32, 64, 64, Admission::Look { from: 16 }).unwrap();
        let setups = vec![LayerSetup::plain(config); model.config.layers as usize];
        for fetch in [Fetch::Buffer, Fetch::Texture] {
            let shapes = super::Options::of(&gpu).shapes.map(|shape| Shape { fetch, ..shape });
            let options = super::Options { shapes, ..super::Options::of(&gpu) };
            let mut source = &file[..];
            let loaded = super::DeviceModel::load(gpu.clone(), &mut source, &model, setups.clone(), options, |_| ());
            let held = loaded.await.unwrap().weight_bytes();
            let needs = Needs::of(gpu.limits(), &model, &setups, Wanted::default(), fetch).unwrap().weights;
            // Queries, keys and values, and gate and up, share a texture's last row of texels.
            let shared = if fetch == Fetch::Texture { 3 * super::TEXTURE_ROW_BYTES } else { 0 };
            let layers = u64::from(model.config.layers);
            assert_eq!(held + layers * shared, needs, "{fetch:?}");
        }
    });
}
