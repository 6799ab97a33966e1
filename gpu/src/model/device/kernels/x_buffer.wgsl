// Fours of arranged rows from a buffer.

@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;

fn x4(row: u32, at: u32) -> vec4<f32> {
    return x[row * (matrix_.pairs * OPERAND) + at];
}
