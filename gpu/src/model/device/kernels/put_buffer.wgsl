@group(0) @binding(0) var<storage, read_write> arranged: array<vec4<f32>>;

fn put(row: u32, at: u32, v: vec4<f32>) {
    arranged[row * (PAIRS * (FOURS + 1u)) + at] = v;
}
