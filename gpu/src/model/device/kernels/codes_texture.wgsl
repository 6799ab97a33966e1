// Fours of a matrix from a texture, which some devices, lavapipe above all, read much faster than a buffer.

@group(0) @binding(1) var codes: texture_2d<u32>;

fn code4(at: u32) -> vec4<u32> {
    return textureLoad(codes, vec2(at % TEXTURE_WIDTH, at / TEXTURE_WIDTH), 0);
}
