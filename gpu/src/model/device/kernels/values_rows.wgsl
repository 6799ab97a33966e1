// The numbers of a row as they are.

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;

fn prepare(row: u32, thread: u32) {}

fn value4(row: u32, four: u32) -> vec4<f32> {
    return x[row * (K / 4u) + four];
}
