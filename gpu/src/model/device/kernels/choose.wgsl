// One work-group: the largest logit of a row, of equal ones the lowest id. Compared as whole numbers in the logits' order, in which
// a NaN is below all others: WGSL promises nothing about it.

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> choices: array<u32>;

var<workgroup> best: array<vec2<u32>, 256>;

fn order(l: f32) -> u32 {
    let bits = bitcast<u32>(l);
    let size = bits & 0x7fffffffu;
    if size > 0x7f800000u {
        return 0u;
    }
    if bits > 0x80000000u {
        return ~bits;
    }
    return size | 0x80000000u;
}

fn better(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if b.x > a.x || (b.x == a.x && b.y < a.y) {
        return b;
    }
    return a;
}

@compute @workgroup_size(256)
fn choose(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let row = rows.out + group.x;
    var own = vec2(0u, 0u);
    for (var id = thread; id < VOCABULARY; id += 256u) {
        own = better(own, vec2(order(logits[row * VOCABULARY + id]), id));
    }
    best[thread] = own;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if thread < half {
            best[thread] = better(best[thread], best[thread + half]);
        }
        workgroupBarrier();
    }
    if thread == 0u {
        choices[row] = best[0].y;
    }
}
