//! Plans over sizes and limits, without a device.

use super::*;
use crate::state::{Admission, Cells, Constant, Decay, HALF_LIVES, HeadMemory, Memory, Shape, Storage};

const LOOK: Admission = Admission::Look { from: 16 };

fn shape(heads: u32, kv_heads: u32, head_dim: u32) -> Shape {
    Shape { heads, kv_heads, head_dim }
}

fn native(shape: Shape, storage: Storage) -> Config {
    Config::new(shape, storage, Memory::Native).expect("good sizes")
}

fn uniform(shape: Shape, storage: Storage, band: u32, store: u32, admission: Admission) -> Config {
    Config::uniform(shape, storage, band, store, admission).expect("good sizes")
}

fn decay(shape: Shape) -> Carrier {
    let (heads, dim) = (shape.heads as usize, shape.head_dim as usize);
    Carrier::Decay(Decay {
        bias: vec![0.; heads * dim],
        mix: vec![0.; heads * DECAYS],
        half_life: vec![HALF_LIVES[0]; heads * DECAYS],
        phi: vec![0.; heads * RANK * dim],
        phi_bias: vec![0.; heads * RANK],
        psi: vec![0.; heads * RANK * dim],
        psi_bias: vec![0.; heads * RANK],
    })
}

/// Plans ask only how many cells there are.
fn cells(cells: u32, rank: u32) -> Carrier {
    let none = Vec::new;
    let (codebook, beta, mean, metric, kappa, delta) = (none(), none(), none(), none(), none(), none());
    Carrier::Cells(Cells { cells, rank, codebook, beta, mean, metric, kappa, delta })
}

/// Everything that a plan promises to stay within.
fn check_within(limits: &Limits, config: &Config, carrier: &Carrier, plan: &Plan) {
    let shape = config.shape();
    let sizes = plan.sizes;
    let singles = [
        sizes.keys,
        sizes.looks,
        sizes.slots,
        sizes.carrier,
        sizes.parameters[0],
        sizes.parameters[1],
        sizes.cells[0],
        sizes.cells[1],
        sizes.seen,
        sizes.turn,
        sizes.surprises,
    ];
    for bytes in singles.into_iter().chain(sizes.scratch).chain(sizes.io) {
        assert!(bytes <= limits.max_storage_buffer_binding_size && bytes <= limits.max_buffer_size, "{plan:?}");
        assert!(bytes.is_multiple_of(4), "{plan:?}");
    }
    assert!(sizes.passes <= limits.max_buffer_size && u32::try_from(sizes.passes).is_ok(), "{plan:?}");

    // The dispatches of layer.rs, each dimension of them.
    let parts = (u64::from(shape.kv_heads) * u64::from(shape.head_dim / 4)).div_ceil(64);
    let tiles = u64::from(shape.kv_heads) * u64::from(plan.tiles);
    let of_cells = match carrier {
        Carrier::Cells(of) => (u64::from(of.cells) * u64::from(shape.kv_heads)).div_ceil(64),
        _ => 0,
    };
    let (pieces, heads, rows) = (u64::from(plan.pieces), u64::from(shape.heads), u64::from(plan.rows));
    for groups in [parts, tiles, of_cells, pieces, heads, rows, 64] {
        assert!(groups <= u64::from(limits.max_compute_workgroups_per_dimension), "{plan:?}");
    }
    for kernel in Kernel::of(config, carrier) {
        let bytes = kernel.workgroup_bytes(config, plan.lanes);
        assert!(bytes <= limits.max_compute_workgroup_storage_size, "{kernel:?}");
        assert!(kernel.storage().len() <= limits.max_storage_buffers_per_shader_stage as usize, "{kernel:?}");
    }

    // Work-groups serve every query head of a group, and none serves none.
    let group = shape.group();
    assert!((2..=4).contains(&plan.lanes) && plan.lanes * plan.tiles >= group);
    assert!(plan.tiles == group.div_ceil(plan.lanes) && (plan.tiles - 1) * plan.lanes < group);
    // Heads lie one behind the other, without overlap.
    let row = u64::from(shape.head_dim * config.storage().size());
    let (mut next_row, mut next_slot) = (0, 0);
    for head in 0..shape.kv_heads as usize {
        assert_eq!((plan.first_rows[head], plan.first_slots[head]), (next_row, next_slot));
        next_row += config.store(head) + plan.ring + plan.rows;
        next_slot += config.store(head);
    }
    assert_eq!((u64::from(next_row) * row, u64::from(next_slot) * 4), (sizes.keys, sizes.slots));
    assert!(u64::from(plan.pieces) * 64 >= u64::from(plan.ring));
    assert!((1..=64).contains(&plan.rows));
}

/// Shapes of models, of tests, and between them.
fn shapes() -> Vec<Shape> {
    let mut all: Vec<_> = [1, 2, 3, 4, 8]
        .into_iter()
        .flat_map(|kv_heads| [1, 2, 3, 4, 5, 7, 8, 9].map(move |group| (group * kv_heads, kv_heads)))
        .filter(|&(heads, _)| heads <= 32)
        .flat_map(|(heads, kv_heads)| (1..=32).map(move |eighths| shape(heads, kv_heads, 8 * eighths)))
        .collect();
    all.extend([shape(32, 32, 128), shape(9, 3, 64), shape(28, 4, 128), shape(24, 4, 256), shape(32, 8, 256)]);
    assert!(all.contains(&shape(1, 1, 8)));
    all
}

#[test]
fn every_shape_fits_webgpus_defaults_or_the_error_says_what_does_not() {
    let limits = Limits::default();
    let most = (limits.max_storage_buffer_binding_size, limits.max_buffer_size);
    assert_eq!(most, (128 << 20, 256 << 20));
    let (mut planned, mut refused) = (0, 0);
    let mut one = |config: &Config, carrier: &Carrier, wanted: Wanted| match plan(&limits, config, carrier, wanted) {
        Ok(plan) => {
            check_within(&limits, config, carrier, &plan);
            planned += 1;
        }
        Err(error) => {
            assert!(error.needs > error.most, "{error}");
            refused += 1;
        }
    };
    for shape in shapes() {
        for storage in [Storage::F16, Storage::F32] {
            let mut memories = Vec::new();
            for (band, store) in [(64, 0), (64, 64), (256, 512), (512, 256), (1024, 8192), (4096, 65536)] {
                for admission in [LOOK, Admission::Surprise] {
                    memories.push(uniform(shape, storage, band, store, admission));
                }
            }
            for config in &memories {
                for carrier in [Carrier::None, decay(shape), cells(64, 8), cells(4096, shape.head_dim)] {
                    for rows in [1, 32, 64] {
                        one(config, &carrier, Wanted { rows, ..Wanted::default() });
                    }
                }
            }
            for capacity in [0, 1, 64, 65, 1000, 4096, 32_768, 131_072, 1_000_000] {
                let config = native(shape, storage);
                one(&config, &Carrier::None, Wanted { capacity, ..Wanted::default() });
            }
        }
    }
    assert!(planned > 100_000 && refused > 1000, "{planned} fit and {refused} do not");
}

#[test]
fn the_published_sizes_fit_webgpus_defaults() {
    // 27B, 16 such layers: heads of 256, band 1024, store 8192.
    let shape = shape(24, 4, 256);
    let config = uniform(shape, Storage::F16, 1024, 8192, LOOK);
    let plan = plan(&Limits::default(), &config, &decay(shape), Wanted::default()).expect("it fits");
    assert_eq!((plan.ring, plan.pieces, plan.lanes, plan.tiles), (1088, 1 + 17 + 128, 3, 2));
    assert_eq!(plan.sizes.carrier, 4 * 24 * 5 * 9 * 257);
    assert_eq!(
        plan.state_bytes(),
        4 * (8192 + 1088) * 256 * 2 * 2 + 4 * 4 * 1088 + 2 * 4 * 4 * 8192 + plan.sizes.carrier
    );
    assert_eq!(plan.rows, 32);
}

#[test]
fn a_plan_holds_what_one_adds_up_by_hand() {
    // Two KV heads, of three query heads each, with stores of one and of three blocks.
    let shape = shape(6, 2, 16);
    let heads = [(64, LOOK), (192, Admission::Surprise)];
    let heads = heads.map(|(store, admission)| HeadMemory { store, admission }).to_vec();
    let memory = Memory::Constant(Constant { band: 128, heads });
    let config = Config::new(shape, Storage::F16, memory).expect("good sizes");
    let wanted = Wanted { rows: 8, pass_rows: 100, capacity: 7 };
    let made = plan(&Limits::default(), &config, &cells(70, 5), wanted).expect("it fits");
    let want = Plan {
        rows: 8,
        lanes: 3,
        tiles: 1,
        ring: 192,
        // Two of cells, three of the larger store, three of the band.
        pieces: 8,
        first_rows: vec![0, 64 + 192 + 8],
        first_slots: vec![0, 64],
        sizes: Sizes {
            // 264 rows and 392, of 16 numbers of 2 bytes.
            keys: 656 * 32,
            waiting: 2 * 8 * 32,
            looks: 2 * 192 * 4,
            slots: (64 + 192) * 4,
            // 140 cells of two sums of 16 numbers, a count and a square.
            carrier: 140 * 34 * 4,
            // Codebook, offsets, mean and metric; weight and offset.
            parameters: [2 * (70 * 16 + 70 + 16 + 5 * 16) * 4, 6 * 2 * 4],
            cells: [140 * 16 * 4, 140 * 8],
            seen: 8 * 2 * 192 * 4,
            // 64 entries and the counts.
            turn: 2 * 65 * 16,
            surprises: (192 + 128 + 100) * 4,
            scratch: [8 * 6 * 8 * 16 * 4, 8 * 6 * 8 * 8, 8 * 6 * 192 * 4, 8 * 6 * 3 * 4],
            io: [100 * 96 * 4, 100 * 32 * 4, 100 * 96 * 4, 400],
            // Two passes of 100 + 100 / 64 + 3 segments, and 128 more.
            passes: 768 * (2 * 104 + 128),
        },
    };
    assert_eq!(made, want);
    // Keys and values without the rows that wait; looks; positions and scores; the carrier.
    assert_eq!(made.state_bytes(), 2 * 640 * 32 + 1536 + 2 * 1024 + 19040);
    let parameters = 2 * 1286 * 4 + 48;
    let cells = 2 * 8960 + 1120;
    assert_eq!(made.layer_bytes(), 2 * 20992 + 1536 + 2048 + 19040 + cells + 12288 + 2080 + parameters);
    let rows = 38400 + 2 * 12800 + 38400 + 400;
    assert_eq!(made.shared_bytes(), 1680 + 24576 + 3072 + 36864 + 576 + rows + 258_048);

    let made = plan(&Limits::default(), &config, &decay(shape), wanted).expect("it fits");
    assert_eq!(made.pieces, 7);
    assert_eq!(made.sizes.carrier, 6 * 5 * 9 * 17 * 4);
    // Bias, psi and half-lives; phi, weights and half-lives.
    assert_eq!(made.sizes.parameters, [6 * (16 + 9 * 8 + 8 * 8 + 5) * 4, 6 * (8 * 16 + 8 + 10) * 4]);
    assert_eq!(made.sizes.cells, [0, 0]);

    let made = plan(&Limits::default(), &native(shape, Storage::F32), &Carrier::None, wanted).expect("it fits");
    assert_eq!((made.ring, made.pieces, made.sizes.keys), (64, 1, 2 * 72 * 64));
    assert_eq!((made.sizes.looks, made.sizes.seen, made.sizes.surprises, made.sizes.slots), (0, 0, 0, 0));
    assert_eq!(made.state_bytes(), 2 * 2 * 64 * 64);
}

#[test]
fn the_state_is_the_same_however_many_rows_run() {
    let shape = shape(9, 3, 64);
    for config in [uniform(shape, Storage::F16, 256, 512, Admission::Surprise), native(shape, Storage::F32)] {
        for carrier in [Carrier::None, decay(shape), cells(64, 16)] {
            let with = |rows, pass_rows| {
                let wanted = Wanted { rows, pass_rows, capacity: 4096 };
                plan(&Limits::default(), &config, &carrier, wanted).expect("it fits")
            };
            let one = with(1, 1);
            for rows in 1..=64 {
                let other = with(rows, 16 * rows);
                assert_eq!(other.rows, rows);
                assert_eq!(other.state_bytes(), one.state_bytes());
                assert!(other.layer_bytes() >= one.layer_bytes() && other.shared_bytes() >= one.shared_bytes());
            }
            // Also where a device has room for fewer.
            let limits = Limits { max_storage_buffer_binding_size: one.sizes.keys + 4096, ..Limits::default() };
            let wanted = Wanted { rows: 64, pass_rows: 1, capacity: 4096 };
            let fewer = plan(&limits, &config, &carrier, wanted).expect("it fits with fewer rows");
            assert!(fewer.rows < 64);
            assert_eq!(fewer.state_bytes(), one.state_bytes());
        }
    }
}

#[test]
fn rows_shrink_to_what_scratch_memory_takes() {
    let shape = shape(32, 8, 256);
    let config = native(shape, Storage::F16);
    let of = |rows, capacity| {
        let wanted = Wanted { rows, pass_rows: 256, capacity };
        plan(&Limits::default(), &config, &Carrier::None, wanted)
    };
    // Sums of pieces take 32 KiB a row and piece.
    assert_eq!(of(64, 4096).map(|plan| plan.rows), Ok(64));
    assert_eq!(of(64, 4160).map(|plan| plan.rows), Ok(32));
    assert_eq!(of(32, 4160).map(|plan| plan.rows), Ok(32));
    assert_eq!(of(33, 16_384).map(|plan| plan.rows), Ok(16));
    // What no number of rows can help: keys of 4 KiB a token.
    let error = of(64, 1 << 20).expect_err("4 GiB of keys");
    let needs = 4096 * (1 << 20) + 8 * 512;
    let limit = "maxStorageBufferBindingSize";
    assert_eq!(error, PlanError { what: "keys".into(), needs, limit, most: 128 << 20 });
    assert_eq!(
        error.to_string(),
        "keys: 4294971392 are needed, and this GPU's maxStorageBufferBindingSize is 134217728"
    );
}

#[test]
fn a_small_device_is_told_which_limit_is_too_small() {
    let shape = shape(12, 4, 64);
    let config = uniform(shape, Storage::F16, 128, 256, LOOK);
    let of = |limits: Limits, carrier: &Carrier| {
        let error =
            plan(&limits, &config, carrier, Wanted { rows: 4, pass_rows: 16, capacity: 0 }).expect_err("too small");
        (error.limit, error.needs, error.most)
    };
    let base = Limits::default;
    let none = Carrier::None;
    // Queries, keys, values; sums, totals, weights.
    let few = Limits { max_storage_buffers_per_shader_stage: 4, ..base() };
    assert_eq!(of(few, &none), ("maxStorageBuffersPerShaderStage", 5, 4));
    let few = Limits { max_storage_buffers_per_shader_stage: 5, ..base() };
    assert_eq!(of(few, &none), ("maxStorageBuffersPerShaderStage", 6, 5));
    // Cells and their weights besides.
    let few = Limits { max_storage_buffers_per_shader_stage: 7, ..base() };
    assert_eq!(of(few, &cells(64, 8)), ("maxStorageBuffersPerShaderStage", 8, 7));
    let narrow = Limits { max_compute_invocations_per_workgroup: 32, ..base() };
    assert_eq!(of(narrow, &none), ("maxComputeInvocationsPerWorkgroup", 64, 32));
    let narrow = Limits { max_compute_workgroup_size_x: 63, ..base() };
    assert_eq!(of(narrow, &none), ("maxComputeWorkgroupSizeX", 64, 63));
    let narrow = Limits { max_compute_workgroup_storage_size: 1024, ..base() };
    assert_eq!(of(narrow, &none), ("maxComputeWorkgroupStorageSize", 16 * (64 + 256 + 64) + 1024, 1024));
    let narrow = Limits { max_storage_buffer_binding_size: 65_536, ..base() };
    assert_eq!(of(narrow, &none), ("maxStorageBufferBindingSize", 4 * (256 + 192 + 1) * 128, 65_536));
    let narrow = Limits { max_buffer_size: 65_536, ..base() };
    assert_eq!(of(narrow, &none), ("maxBufferSize", 4 * (256 + 192 + 1) * 128, 65_536));
    let narrow = Limits { max_compute_workgroups_per_dimension: 63, ..base() };
    assert_eq!(of(narrow, &none), ("maxComputeWorkgroupsPerDimension", 64, 63));

    // A block takes 64, so more is asked of only the largest layers.
    let few = Limits { max_compute_workgroups_per_dimension: 100, ..base() };
    assert!(plan(&few, &config, &none, Wanted::default()).is_ok());
    let of = |config: &Config, capacity| {
        let error = plan(&few, config, &none, Wanted { rows: 1, pass_rows: 1, capacity }).expect_err("too many");
        (error.what, error.limit, error.needs, error.most)
    };
    let limit = "maxComputeWorkgroupsPerDimension";
    let of_pieces = native(Shape { heads: 1, kv_heads: 1, head_dim: 8 }, Storage::F16);
    assert_eq!(of(&of_pieces, 6464), ("pieces of a softmax".into(), limit, 101, 100));
    let of_heads = native(Shape { heads: 101, kv_heads: 1, head_dim: 8 }, Storage::F16);
    assert_eq!(of(&of_heads, 64), ("query heads".into(), limit, 101, 100));
    let of_lanes = native(Shape { heads: 60 * 5, kv_heads: 60, head_dim: 8 }, Storage::F16);
    assert_eq!(of(&of_lanes, 64), ("KV heads by lanes".into(), limit, 120, 100));
    // Uniform blocks alone: long passes.
    let wanted = Wanted { rows: 1, pass_rows: 400_000, capacity: 64 };
    let error = plan(&base(), &of_pieces, &none, wanted).expect_err("too many");
    let needs = 768 * (2 * (400_000 + 6250 + 3) + 128);
    assert_eq!(
        error,
        PlanError { what: "uniform blocks of passes".into(), needs, limit: "maxBufferSize", most: 256 << 20 }
    );
}

#[test]
fn a_limit_just_below_the_largest_buffer_is_noticed() {
    type Largest = fn(&Sizes) -> u64;
    let small = shape(2, 2, 8);
    let look = |shape, store| uniform(shape, Storage::F16, 64, store, LOOK);
    let one = Wanted { rows: 1, pass_rows: 1, capacity: 0 };
    let long = Wanted { pass_rows: 4000, ..one };
    let of_what: [(&str, Config, Carrier, Wanted, Largest); 7] = [
        ("keys", look(small, 64), Carrier::None, one, |sizes| sizes.keys),
        ("sums of pieces", look(shape(64, 1, 64), 64), Carrier::None, one, |sizes| sizes.scratch[0]),
        ("weights of the band", look(shape(64, 1, 8), 0), Carrier::None, one, |sizes| sizes.scratch[2]),
        ("sums of the carrier", look(shape(16, 1, 8), 0), decay(shape(16, 1, 8)), one, |sizes| sizes.carrier),
        ("sums of the carrier", look(small, 0), cells(1024, 1), one, |sizes| sizes.carrier),
        ("parameters of the carrier", look(small, 0), cells(8, 4096), one, |sizes| sizes.parameters[0]),
        ("rows of a pass", look(small, 64), Carrier::None, long, |sizes| sizes.io[0]),
    ];
    for (what, config, carrier, wanted, largest) in of_what {
        let roomy = plan(&Limits::default(), &config, &carrier, wanted).expect("it fits");
        let needs = largest(&roomy.sizes);
        let with = |most| Limits { max_storage_buffer_binding_size: most, ..Limits::default() };
        assert_eq!(plan(&with(needs), &config, &carrier, wanted), Ok(roomy), "{what}");
        let limit = "maxStorageBufferBindingSize";
        let error = PlanError { what: what.into(), needs, limit, most: needs - 1 };
        assert_eq!(plan(&with(needs - 1), &config, &carrier, wanted), Err(error));
    }
}

#[test]
fn absurd_sizes_are_errors_and_no_overflow() {
    let huge = Limits {
        max_buffer_size: u64::MAX,
        max_storage_buffer_binding_size: u64::MAX,
        max_compute_workgroups_per_dimension: u32::MAX,
        ..Limits::default()
    };
    let shapes = [shape(1, 1, 8), shape(64, 64, 256), shape(1 << 24, 1, 256), shape(1 << 24, 64, 8)];
    let mut refused = 0;
    for limits in [Limits::default(), huge] {
        for shape in shapes {
            let configs = [
                native(shape, Storage::F32),
                uniform(shape, Storage::F32, 1 << 24, 1 << 24, Admission::Surprise),
                uniform(shape, Storage::F16, 64, 0, LOOK),
            ];
            for config in &configs {
                for carrier in [Carrier::None, cells(u32::MAX, u32::MAX)] {
                    for (rows, pass_rows, capacity) in
                        [(u32::MAX, u32::MAX, u32::MAX), (0, 0, 0), (1, u32::MAX, 1), (u32::MAX, 1, u32::MAX)]
                    {
                        match plan(&limits, config, &carrier, Wanted { rows, pass_rows, capacity }) {
                            Ok(plan) => {
                                assert!(u32::try_from(plan.sizes.keys).is_ok());
                                assert!(plan.layer_bytes() + plan.shared_bytes() >= plan.state_bytes());
                            }
                            Err(error) => {
                                assert!(error.needs > error.most, "{error}");
                                refused += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
    // Past what 64 bits count.
    assert_eq!(product([1 << 30, 1 << 30, 1 << 30, 1, 1]), u64::MAX);
    assert_eq!(product([0, 1 << 40, 1 << 40, 1, 1]), 0);
}

/// The crate's page has a picture of this layer beside a native cache of 4096 tokens: 640 wide, like the cache's bar.
#[test]
fn the_picture_of_the_state_is_to_scale() {
    let picture = include_str!("../../../docs/state.svg");
    let width = |id: &str| -> f64 {
        let bar = picture.split(&format!("id=\"{id}\"")).nth(1).expect("a bar of this name");
        let width = bar.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
        width.and_then(|width| width.parse().ok()).expect("a bar has a width")
    };
    let shape = Shape { heads: 9, kv_heads: 3, head_dim: 64 };
    let config = Config::uniform(shape, Storage::F16, 256, 512, Admission::Look { from: 16 }).expect("good sizes");
    let plan = plan(&Limits::default(), &config, &cells(64, 64), Wanted::default()).expect("it fits");
    let (token, sizes) = (2 * 3 * 64 * 2, plan.sizes);
    let native = 4096 * token;
    let parts = [
        ("native", native),
        ("band", 320 * token),
        ("store", 512 * token),
        ("carrier", sizes.carrier),
        ("tables", sizes.looks + 2 * sizes.slots),
    ];
    for (id, bytes) in parts {
        let wanted = bytes as f64 * 640.0 / native as f64;
        assert!((width(id) - wanted).abs() < 0.1, "{id}: {} and not {wanted}", width(id));
    }
    assert_eq!(plan.state_bytes(), parts[1..].iter().map(|part| part.1).sum::<u64>());
    let kib = format!("{:.1} KiB, whatever the context", plan.state_bytes() as f64 / 1024.0);
    assert!(picture.contains(&kib), "{kib}");
}
