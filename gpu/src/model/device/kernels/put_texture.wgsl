@group(0) @binding(0) var arranged: texture_storage_2d<rgba32float, write>;

fn put(row: u32, at: u32, v: vec4<f32>) {
    textureStore(arranged, vec2(at, row), v);
}
