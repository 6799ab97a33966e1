// Fours of a matrix from a buffer.

@group(0) @binding(1) var<storage, read> codes: array<vec4<u32>>;

fn code4(at: u32) -> vec4<u32> {
    return codes[at];
}
