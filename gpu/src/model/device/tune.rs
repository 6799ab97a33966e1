//! Which shapes of products are the fastest on a device: tried out, since nobody's table of devices is long enough.

use super::kernels::{Kernels, ROWS_STRIDE};
use super::matrix::{Matrix, Operand, Target};
use super::{Fetch, RunError, Shape};
use crate::device::Gpu;
use crate::model::layout::Form;
use wgpu::{BufferUsages, CommandEncoderDescriptor, ComputePassDescriptor};

/// Rows and numbers in a row of the matrices that are tried: those of a small model's feed-forward part. Large work-groups leave
/// cores idle where there are few rows.
const SIZES: [[u32; 2]; 2] = [[1536, 576], [576, 1536]];
/// Rows at once where there are many.
const MANY: u32 = 16;
/// Products in a measurement, and measurements, of which the shortest counts.
const REPEATS: u32 = 4;
const TRIES: u32 = 3;

/// What was measured of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The shape.
    pub shape: Shape,
    /// Rows that were multiplied at once.
    pub rows: u32,
    /// Time of a product with each of the matrices, in the clock's units.
    pub time: f64,
}

/// What is tried: from textures and from buffers, for one row and for many.
fn candidates() -> Vec<(Shape, u32)> {
    let mut all = Vec::new();
    for fetch in [Fetch::Texture, Fetch::Buffer] {
        let few = [(64, 1, 8), (16, 1, 8), (16, 4, 2), (32, 4, 1)];
        all.extend(few.map(|(lanes, slices, rows)| (Shape { lanes, slices, rows, columns: 1, fetch }, 1)));
        let many = [(16, 1, 8, 8), (16, 1, 8, 4), (8, 1, 16, 4), (64, 1, 2, 4), (32, 4, 1, 4)];
        all.extend(many.map(|(lanes, slices, rows, columns)| (Shape { lanes, slices, rows, columns, fetch }, MANY)));
    }
    all
}

/// Tries shapes out, with 4-bit weights. `now` is a clock; a tenth of a second on a GPU, two on a processor that stands for one.
/// Whatever comes out, results are the same bits.
pub async fn tune(gpu: &Gpu, mut now: impl FnMut() -> f64) -> Result<([Shape; 2], Vec<Trial>), RunError> {
    let mut trials = Vec::new();
    for (shape, rows) in candidates() {
        let mut time = 0.0;
        for size in SIZES {
            time += measure(gpu, shape, size, rows, &mut now).await?;
        }
        trials.push(Trial { shape, rows, time });
    }
    Ok((choose(&trials), trials))
}

/// The fastest for one row, then the fastest for many that fetches in the same way: weights lie in one place.
fn choose(trials: &[Trial]) -> [Shape; 2] {
    let best = |of: &dyn Fn(&&Trial) -> bool| {
        let fastest = trials.iter().filter(of).min_by(|a, b| a.time.total_cmp(&b.time));
        fastest.map(|trial| trial.shape)
    };
    let few = best(&|trial| trial.rows == 1);
    let few = few.unwrap_or(Shape { lanes: 32, slices: 4, rows: 1, columns: 1, fetch: Fetch::Buffer });
    let many = best(&|trial| trial.rows > 1 && trial.shape.fetch == few.fetch);
    [few, many.unwrap_or(few)]
}

async fn measure(
    gpu: &Gpu,
    shape: Shape,
    [height, k]: [u32; 2],
    rows: u32,
    now: &mut impl FnMut() -> f64,
) -> Result<f64, RunError> {
    let form = Form::Nibbles;
    let matrix = Matrix::zeros(gpu, shape.fetch, form, height, k).await?;
    let operand = Operand::new(gpu, shape.fetch, form.unit(), k, MANY).await?;
    let out = gpu.buffer("tried", 4 * u64::from(height * MANY), BufferUsages::STORAGE).await?;
    let which = gpu.buffer("which rows", ROWS_STRIDE, BufferUsages::UNIFORM | BufferUsages::COPY_DST).await?;
    gpu.write(&which, 0, bytemuck::cast_slice(&[0, rows, 0, 0]))?;
    let mut kernels = Kernels::new(gpu);
    let to = Target { out: &out, stride: height, first: 0, bias: None, add: false };
    let product = matrix.product(gpu, &mut kernels, [shape; 2], &operand, &to).await?;
    let bound = kernels.rows(gpu, &which);
    let mut shortest = f64::INFINITY;
    // The first one is not counted: drivers put work off until then.
    for attempt in 0..=TRIES {
        let mut encoder = gpu.device().create_command_encoder(&CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            pass.set_bind_group(1, &bound, &[0]);
            (0..REPEATS).for_each(|_| product.run(&mut pass, rows));
        }
        let start = now();
        gpu.queue().submit([encoder.finish()]);
        gpu.finished().await?;
        let time = (now() - start) / f64::from(REPEATS);
        if attempt > 0 {
            shortest = shortest.min(time);
        }
    }
    matrix.destroy();
    operand.destroy();
    [out, which].iter().for_each(wgpu::Buffer::destroy);
    Ok(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_fetch_in_the_same_way() {
        let shape = |fetch, columns| Shape { lanes: 64, slices: 1, rows: 8, columns, fetch };
        let trial = |fetch, columns, rows, time| Trial { shape: shape(fetch, columns), rows, time };
        let trials = [
            trial(Fetch::Texture, 1, 1, 2.0),
            trial(Fetch::Texture, 4, MANY, 9.0),
            trial(Fetch::Buffer, 1, 1, 3.0),
            trial(Fetch::Buffer, 4, MANY, 1.0),
        ];
        assert_eq!(choose(&trials), [shape(Fetch::Texture, 1), shape(Fetch::Texture, 4)]);
        assert_eq!(choose(&trials[2..]), [shape(Fetch::Buffer, 1), shape(Fetch::Buffer, 4)]);
        assert_eq!(choose(&trials[..1]), [shape(Fetch::Texture, 1); 2]);
    }

    #[test]
    fn every_candidate_fits_the_least_device() {
        let limits = wgpu::Limits::default();
        for (shape, _) in candidates() {
            assert!(shape.lanes * shape.slices <= limits.max_compute_invocations_per_workgroup, "{shape:?}");
            assert!(shape.workgroup_bytes() <= limits.max_compute_workgroup_storage_size, "{shape:?}");
            assert!(shape.lanes.is_multiple_of(8), "{shape:?}");
        }
    }
}
