use super::*;
use crate::attention::{LayerSetup, Wanted, plan};
use crate::model::memory::*;
use crate::state::{Admission, Config, Storage};
use wgpu::Limits;

fn binding(bytes: u64) -> Limits {
    Limits { max_storage_buffer_binding_size: bytes, ..Limits::default() }
}

fn tensor(rows: u64, element: Element) -> gguf::Tensor {
    let bytes = gguf::build::Build::default().tensor("t", &[256, rows], element).bytes();
    Header::parse(&bytes, bytes.len() as u64).unwrap().tensor("t").unwrap().clone()
}

fn setups(model: &Model, store: u32) -> Vec<LayerSetup> {
    let look = Admission::Look { from: 16 };
    let config = Config::uniform(model.config.shape, Storage::F16, 256, store, look).unwrap();
    vec![LayerSetup::plain(config); model.config.layers as usize]
}

#[test]
fn a_matrix_is_split_between_rows_into_as_few_parts_as_possible() {
    let matrix = tensor(100, Element::Q6K);
    let start = matrix.range().start;
    assert_eq!((matrix.row_bytes(), matrix.bytes()), (210, 21_000));
    for most in [212, 213, 419, 420, 2_100, 6_300, 10_500, 20_999, 21_000, 1 << 27] {
        let parts = split(&binding(most), &matrix).unwrap();
        let most = most / 4 * 4;
        assert_eq!(parts.len() as u64, 100_u64.div_ceil(most / 210), "{most}");
        let mut next = 0;
        for part in &parts {
            assert_eq!((part.rows.start, part.file.start), (next, start + 210 * next));
            assert_eq!(part.file.end, start + 210 * part.rows.end);
            assert!(part.rows.start < part.rows.end && part.buffer_bytes() <= most);
            assert_eq!(part.buffer_bytes() % 4, 0);
            next = part.rows.end;
        }
        assert_eq!(next, 100);
    }
    // Parts are of about the same size.
    let rows = split(&binding(49 * 210 + 2), &matrix).unwrap().into_iter().map(|part| part.rows);
    assert_eq!(rows.collect::<Vec<_>>(), [0..34, 34..68, 68..100]);
}

#[test]
fn a_row_that_fits_no_binding_is_an_error() {
    let matrix = tensor(4, Element::F32);
    assert_eq!(split(&binding(1024), &matrix).unwrap().len(), 4);
    let error = split(&binding(1023), &matrix).unwrap_err();
    assert_eq!(error, MemoryError::Row { tensor: "t".into(), bytes: 1024, most: 1020 });
    assert_eq!(error.to_string(), "a row of tensor \"t\" takes 1024 bytes, and this GPU binds at most 1020");
    let error = split(&binding(36), &tensor(4, Element::Q8_0)).unwrap_err();
    assert!(matches!(error, MemoryError::Row { .. }));
}

#[test]
fn a_matrix_of_too_many_parts_is_an_error() {
    let matrix = tensor(2048, Element::Q4K);
    assert_eq!(split(&binding(288), &matrix).unwrap().len(), 1024);
    let error = split(&binding(144), &matrix).unwrap_err();
    assert_eq!(error, MemoryError::Parts { tensor: "t".into(), bytes: 144 * 2048, most: 144 });
}

#[test]
fn buffers_are_no_larger_than_either_limit() {
    assert_eq!(largest_buffer(&Limits::default()), 128 << 20);
    let limits = Limits { max_buffer_size: 1003, ..Limits::default() };
    assert_eq!(largest_buffer(&limits), 1000);
    let limits = Limits { max_buffer_size: u64::MAX, ..binding(u64::MAX) };
    assert_eq!(largest_buffer(&limits), (1 << 32) - 4);
}

#[test]
fn needs_are_the_sum_of_their_parts() {
    let model = read(&metadata("qwen2"), &tensors(true, false)).unwrap();
    let (limits, wanted) = (Limits::default(), Wanted { rows: 8, pass_rows: 16, capacity: 0 });
    let setups = setups(&model, 64);
    let needs = Needs::of(&limits, &model, &setups, wanted).unwrap();
    // Tables of 6 rows: Q8_0 and Q5_1. A layer: Q4_1 32 x 32 and three of 32 x 64, Q4_0 and F16 32 x 16, Q5_0 32 x 32.
    let tables = 6 * 34 + 6 * 24;
    let matrices = 32 * 20 + 3 * 64 * 20 + 16 * 18 + 2 * 512 + 32 * 22;
    // Two norms and the biases, in f32.
    let vectors = 4 * (2 * 32 + 32 + 16 + 16);
    assert_eq!(needs.weights, tables + 2 * (matrices + vectors) + 4 * 32);
    let plan = plan(&limits, &setups[0].config, &setups[0].carrier, wanted).unwrap();
    assert_eq!(needs.layers, 2 * plan.layer_bytes());
    assert_eq!(needs.scratch, plan.shared_bytes());
    assert_eq!(needs.rows, 4 * (16 * 2 * (32 + 64) + 8 * 6));
    assert_eq!(needs.total(), needs.weights + needs.layers + needs.scratch + needs.rows);
}

#[test]
fn layers_of_different_stores_share_what_the_largest_needs() {
    let model = read(&metadata("llama"), &tensors(false, true)).unwrap();
    let (limits, wanted) = (Limits::default(), Wanted::default());
    let needs = |stores: [u32; 2]| {
        let setups = stores.map(|store| setups(&model, store)[0].clone());
        Needs::of(&limits, &model, &setups, wanted).unwrap()
    };
    let (small, large, mixed) = (needs([64, 64]), needs([1024, 1024]), needs([64, 1024]));
    assert_eq!(mixed.scratch, large.scratch);
    assert_eq!(2 * mixed.layers, small.layers + large.layers);
    assert!(small.scratch < large.scratch && small.weights == large.weights);

    // One layer that ranks by surprise is enough for a ring of surprises.
    let look = setups(&model, 64)[0].clone();
    let config = Config::uniform(model.config.shape, Storage::F16, 256, 64, Admission::Surprise).unwrap();
    let surprise = LayerSetup::plain(config);
    let needs = |setups: [&LayerSetup; 2]| Needs::of(&limits, &model, &setups.map(Clone::clone), wanted).unwrap();
    let ring = plan(&limits, &surprise.config, &surprise.carrier, wanted).unwrap().sizes.surprises;
    assert!(ring > 0);
    assert_eq!(needs([&look, &surprise]).scratch, needs([&look, &look]).scratch + ring);
    assert_eq!(needs([&surprise, &look]).scratch, needs([&surprise, &surprise]).scratch);
}

#[test]
fn the_answer_has_both_numbers() {
    let needs = Needs { weights: 100, layers: 20, scratch: 3, rows: 1 };
    assert_eq!(needs.fits(Some(124)), Fit::Fits { needs: 124, available: 124 });
    assert_eq!(needs.fits(Some(123)), Fit::TooLarge { needs: 124, available: 123 });
    assert_eq!(needs.fits(None), Fit::Unknown { needs: 124 });
    assert_eq!(needs.fits(Some(123)).to_string(), "124 bytes are needed, and only 123 are there");
    let huge = Needs { weights: u64::MAX, ..needs };
    assert_eq!(huge.fits(Some(1 << 40)), Fit::TooLarge { needs: u64::MAX, available: 1 << 40 });
}

#[test]
fn what_attention_cannot_hold_is_its_own_error() {
    let model = read(&metadata("llama"), &tensors(false, true)).unwrap();
    let error = Needs::of(&binding(4096), &model, &setups(&model, 1024), Wanted::default()).unwrap_err();
    assert!(matches!(error, MemoryError::Attention(_)), "{error}");
    let error = Needs::of(&Limits::default(), &model, &[], Wanted::default());
    assert_eq!(error.map(|needs| needs.layers), Ok(0));
}
