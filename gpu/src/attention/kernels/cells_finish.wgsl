// One thread: what a row reads of one cell: mean key, mean value, ln of its tokens and their variance.

@group(0) @binding(1) var<storage, read> state: array<f32>;
@group(0) @binding(2) var<storage, read> parameters: array<f32>;
@group(0) @binding(3) var<storage, read_write> mean_keys: array<f32>;
@group(0) @binding(4) var<storage, read_write> mean_values: array<f32>;
@group(0) @binding(5) var<storage, read_write> cells: array<vec2<f32>>;

const OF_HEAD: u32 = CELLS * D + CELLS + D + IMAGE * D;
const OF_CELL: u32 = 2u * D + 2u;

@compute @workgroup_size(64)
fn cells_finish(@builtin(global_invocation_id) id: vec3<u32>) {
    let cell = id.x;
    if cell >= KV_HEADS * CELLS {
        return;
    }
    let at = cell * OF_CELL;
    let tokens = state[at + 2u * D];
    let empty = tokens < 1.0;
    for (var i = 0u; i < D; i++) {
        mean_keys[cell * D + i] = select(state[at + i] / tokens, 0.0, empty);
        mean_values[cell * D + i] = select(state[at + D + i] / tokens, 0.0, empty);
    }
    if empty {
        cells[cell] = vec2(LOWEST, 0.0);
        return;
    }
    let mean = (cell / CELLS) * OF_HEAD + CELLS * D + CELLS;
    let metric = mean + D;
    var sum = 0.0;
    for (var r = 0u; r < IMAGE; r++) {
        var image = 0.0;
        for (var i = 0u; i < D; i++) {
            image += parameters[metric + r * D + i] * (mean_keys[cell * D + i] - parameters[mean + i]);
        }
        sum += image * image;
    }
    cells[cell] = vec2(log_of(tokens), max(0.0, state[at + 2u * D + 1u] / tokens - sum));
}
