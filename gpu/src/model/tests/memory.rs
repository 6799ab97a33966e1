use super::*;
use crate::attention::{LayerSetup, Wanted, plan};
use crate::model::device::Fetch;
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
fn a_matrix_is_split_between_groups_into_as_few_parts_as_possible() {
    let matrix = tensor(100, Element::Q6K);
    // 8 pairs of units of 16, of 8 words of codes and 4 of scales, for 8 rows.
    let group = 8 * 12 * 4 * 8;
    assert_eq!((matrix_bytes(&matrix, 8), matrix_bytes(&matrix, 100)), (group, 13 * group));
    for most in [group, group + 1, 2 * group - 1, 2 * group, 5 * group, 13 * group - 1, 13 * group, 1 << 27] {
        let parts = split(&binding(most), &matrix).unwrap();
        assert_eq!(parts.len() as u64, 13_u64.div_ceil(most / group), "{most}");
        let mut next = 0;
        for part in &parts {
            assert_eq!((part.start, part.start % 8), (next, 0));
            assert!(part.start < part.end && matrix_bytes(&matrix, part.end - part.start) <= most);
            next = part.end;
        }
        assert_eq!(next, 100);
    }
    // Parts are of about the same size.
    assert_eq!(split(&binding(6 * group), &matrix).unwrap(), [0..40, 40..80, 80..100]);
}

#[test]
fn rows_that_fit_no_binding_are_an_error() {
    let matrix = tensor(12, Element::F32);
    assert_eq!(split(&binding(8192), &matrix).unwrap().len(), 2);
    let error = split(&binding(8191), &matrix).unwrap_err();
    assert_eq!(error, MemoryError::Row { tensor: "t".into(), bytes: 8192, most: 8176 });
    assert_eq!(error.to_string(), "8 rows of tensor \"t\" take 8192 bytes, and this GPU binds at most 8176");
}

#[test]
fn a_matrix_of_too_many_parts_is_an_error() {
    let matrix = tensor(16 * 1024, Element::Q4K);
    let group = matrix_bytes(&matrix, 8);
    assert_eq!(split(&binding(2 * group), &matrix).unwrap().len(), 1024);
    let error = split(&binding(group), &matrix).unwrap_err();
    assert_eq!(error, MemoryError::Parts { tensor: "t".into(), bytes: 2048 * group, most: group });
}

#[test]
fn buffers_are_no_larger_than_any_limit() {
    assert_eq!(largest_buffer(&Limits::default()), 128 << 20);
    let limits = Limits { max_buffer_size: 1003, ..Limits::default() };
    assert_eq!(largest_buffer(&limits), 992);
    // What a texture holds everywhere.
    let limits = Limits { max_buffer_size: u64::MAX, ..binding(u64::MAX) };
    assert_eq!(largest_buffer(&limits), 512 << 20);
}

#[test]
fn needs_are_the_sum_of_their_parts() {
    let model = read(&metadata("qwen2"), &tensors(true, false)).unwrap();
    let (limits, wanted) = (Limits::default(), Wanted { rows: 8, pass_rows: 16, capacity: 0 });
    let setups = setups(&model, 64);
    let needs = Needs::of(&limits, &model, &setups, wanted, Fetch::Buffer).unwrap();
    // Rows are filled up to 8, units of 32 to pairs. Tables of 6 rows: Q8_0 and Q5_1. A layer: Q4_1 32 x 32 and three of 32 x 64
    // (one of them of 64 in a row), Q4_0 and F16 32 x 16, Q5_0 32 x 32.
    let (nibbles, bytes, halves) = (2 * 16 + 16, 2 * 32 + 16, 2 * 64);
    let tables = 2 * 8 * bytes;
    let matrices = 32 * nibbles + (64 + 64 + 32) * nibbles + 16 * nibbles + 16 * halves + 32 * bytes;
    // Two norms and the biases, in f32.
    let vectors = 4 * (2 * 32 + 32 + 16 + 16);
    assert_eq!(needs.weights, tables + 2 * (matrices + vectors) + 4 * 32);
    // In textures each of two tables and of seven matrices of two layers fills rows of 64 KiB up.
    let textures = Needs::of(&limits, &model, &setups, wanted, Fetch::Texture).unwrap();
    assert_eq!(textures, Needs { weights: (2 + 2 * 7) * (64 << 10) + 2 * vectors + 4 * 32, ..needs });
    let plan = plan(&limits, &setups[0].config, &setups[0].carrier, wanted).unwrap();
    assert_eq!(needs.layers, 2 * plan.layer_bytes());
    assert_eq!(needs.scratch, plan.shared_bytes());
    // Two heads of 16 over one.
    assert_eq!(needs.rows, 4 * (16 * (2 * (32 + 64) + 4 * 16 + 64 + 4) + 9 * 6));
    assert_eq!(needs.total(), needs.weights + needs.layers + needs.scratch + needs.rows);
}

#[test]
fn a_processor_needs_what_it_then_holds() {
    use crate::model::cpu::{CpuModel, Options};
    use crate::model::seeded::Seeded;
    let file = Seeded { element: Element::Q4_1, vocabulary: 325, ..Seeded::default() }.file();
    let model = Model::read(&Header::parse(&file, file.len() as u64).unwrap()).unwrap();
    let setups = setups(&model, 64);
    let needs = Needs::of_cpu(&model, &setups, 8);
    let vectors: u64 = model.weights.vectors().map(|vector| 4 * vector.numbers()).sum();
    let loaded = CpuModel::load(&mut &file[..], &model, setups.clone(), Options::default(), |_| ()).unwrap();
    assert_eq!((needs.weights, needs.layers), (loaded.weight_bytes() + vectors, loaded.state_bytes()));
    let config = &model.config;
    assert_eq!(needs.rows, 8 * 4 * u64::from(config.vocabulary + 4 * config.width + 2 * config.feed_forward));
    assert_eq!(needs.total(), needs.weights + needs.layers + needs.rows);
    let huge = Needs::of_cpu(&model, &setups, u32::MAX);
    assert!(huge.rows > u64::from(u32::MAX), "nothing wraps");
}

#[test]
fn layers_of_different_stores_share_what_the_largest_needs() {
    let model = read(&metadata("llama"), &tensors(false, true)).unwrap();
    let (limits, wanted) = (Limits::default(), Wanted::default());
    let needs = |stores: [u32; 2]| {
        let setups = stores.map(|store| setups(&model, store)[0].clone());
        Needs::of(&limits, &model, &setups, wanted, Fetch::Buffer).unwrap()
    };
    let (small, large, mixed) = (needs([64, 64]), needs([1024, 1024]), needs([64, 1024]));
    assert_eq!(mixed.scratch, large.scratch);
    assert_eq!(2 * mixed.layers, small.layers + large.layers);
    assert!(small.scratch < large.scratch && small.weights == large.weights);

    // One layer that ranks by surprise is enough for a ring of surprises.
    let look = setups(&model, 64)[0].clone();
    let config = Config::uniform(model.config.shape, Storage::F16, 256, 64, Admission::Surprise).unwrap();
    let surprise = LayerSetup::plain(config);
    let needs = |setups: [&LayerSetup; 2]| {
        Needs::of(&limits, &model, &setups.map(Clone::clone), wanted, Fetch::Buffer).unwrap()
    };
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
    let error = Needs::of(&binding(4096), &model, &setups(&model, 1024), Wanted::default(), Fetch::Buffer).unwrap_err();
    assert!(matches!(error, MemoryError::Attention(_)), "{error}");
    let error = Needs::of(&Limits::default(), &model, &[], Wanted::default(), Fetch::Buffer);
    assert_eq!(error.map(|needs| needs.layers), Ok(0));
}
