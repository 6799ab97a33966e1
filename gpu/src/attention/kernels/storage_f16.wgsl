// Four numbers of a key or a value in two words. Packing rounds to even by whole numbers: WGSL does not fix what
// pack2x16float does between two values.

alias Four = vec2<u32>;

fn half_of(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if magnitude > 0x7f800000u {
        return sign | 0x7e00u;
    }
    // 65504 is the largest.
    let bounded = min(magnitude, 0x477fe000u);
    if bounded < 0x38800000u {
        // Below 2^-14: a multiple of 2^-24, with the bit of the significand that is not stored.
        let shift = 126u - (bounded >> 23u);
        if shift > 24u {
            return sign;
        }
        let significand = (bounded & 0x7fffffu) | 0x800000u;
        let kept = significand >> shift;
        let rest = significand & ((1u << shift) - 1u);
        let tie = 1u << (shift - 1u);
        return sign | (kept + select(0u, 1u, rest > tie || (rest == tie && (kept & 1u) == 1u)));
    }
    // The carry of rounding runs into the exponent, as it should.
    return sign | ((bounded - 0x38000000u + 0xfffu + ((bounded >> 13u) & 1u)) >> 13u);
}

fn pack4(x: vec4<f32>) -> Four {
    return vec2(half_of(x.x) | (half_of(x.y) << 16u), half_of(x.z) | (half_of(x.w) << 16u));
}

fn unpack4(x: Four) -> vec4<f32> {
    return vec4(unpack2x16float(x.x), unpack2x16float(x.y));
}

// Numbers that packing would change beyond rounding.
fn beyond(x: vec4<f32>) -> u32 {
    let over = vec4<u32>(bitcast<vec4<u32>>(x) & vec4(0x7fffffffu)) > vec4(0x477fefffu);
    let ones = select(vec4(0u), vec4(1u), over);
    return ones.x + ones.y + ones.z + ones.w;
}
