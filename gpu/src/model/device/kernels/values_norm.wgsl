// RMS norm: the numbers of a row over the root of their mean square, times a weight. Another part may keep it as it is, too.

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weights: array<vec4<f32>>;

var<workgroup> partial: array<f32, 64>;

// 1 / sqrt v for v > 0, by Newton's steps: WGSL leaves both functions to the device.
fn inverse_root(v: f32) -> f32 {
    let h = 0.5 * v;
    var y = bitcast<f32>(0x5f3759dfu - (bitcast<u32>(v) >> 1u));
    for (var i = 0u; i < 4u; i++) {
        y = y * (1.5 - (h * y) * y);
    }
    return y;
}

var<private> factor: f32;

fn prepare(row: u32, thread: u32) {
    var sum = 0.0;
    for (var i = thread; i < K; i += 64u) {
        let v = x[(row * K + i) / 4u][i % 4u];
        sum += v * v;
    }
    partial[thread] = sum;
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
        if thread < half {
            partial[thread] += partial[thread + half];
        }
        workgroupBarrier();
    }
    factor = inverse_root(partial[0] * RECIPROCAL + EPSILON);
}

fn value4(row: u32, four: u32) -> vec4<f32> {
    let v = (x[row * (K / 4u) + four] * factor) * weights[four];
    keep(row * (K / 4u) + four, v);
    return v;
}
