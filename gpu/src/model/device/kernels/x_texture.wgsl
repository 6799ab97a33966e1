// Fours of arranged rows from a texture.

@group(0) @binding(2) var x: texture_2d<f32>;

fn x4(row: u32, at: u32) -> vec4<f32> {
    return textureLoad(x, vec2(at, row), 0);
}
