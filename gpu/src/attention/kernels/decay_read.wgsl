// One work-group: what the decays of one query head add to one row's softmax: one term.

@group(0) @binding(1) var<storage, read> queries: array<f32>;
@group(0) @binding(2) var<storage, read> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> partial: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2<f32>>;
// Of the query, for each query head: phi [RANK, D], phi_bias [RANK], mix [DECAYS], half_life [DECAYS].
@group(0) @binding(5) var<storage, read> parameters: array<f32>;

const OF_HEAD: u32 = RANK * D + RANK + DECAYS + DECAYS;

var<workgroup> term_weight: array<f32, TERMS>;
var<workgroup> weight: array<f32, 64>;

@compute @workgroup_size(64)
fn decay_read(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let head = group.x;
    let row = group.y;
    if !carries(head / GROUP) {
        return;
    }
    let own = head * OF_HEAD;
    let mix = own + RANK * D + RANK;
    if thread == RANK {
        term_weight[0] = 1.0;
    } else if thread < RANK {
        var phi = 0.0;
        for (var i = 0u; i < D; i++) {
            phi += parameters[own + thread * D + i] * queries[((row + pass_.offset) * HEADS + head) * D + i];
        }
        term_weight[thread + 1u] = clamp(phi + parameters[own + RANK * D + thread], 0.0, 1000.0);
    }
    workgroupBarrier();
    if thread < DECAYS * TERMS {
        let i = thread / TERMS;
        let age = f32(position_of(row) - pass_.start);
        weight[thread] = parameters[mix + i] * exp2_of(-age / parameters[mix + DECAYS + i]) * term_weight[thread % TERMS];
    }
    workgroupBarrier();
    let first = head * DECAYS * TERMS * (D + 1u);
    var mass = 0.0;
    for (var n = 0u; n < DECAYS * TERMS; n++) {
        mass += weight[n] * state[first + n * (D + 1u) + D];
    }
    // Below this the logarithm would leave normal numbers: as good as empty.
    let there = mass > 1.0e-30;
    let sum = (row * HEADS + head) * layer.pieces;
    for (var part = thread; part < D4; part += 64u) {
        var value = vec4(0.0);
        for (var n = 0u; n < DECAYS * TERMS; n++) {
            let at = first + n * (D + 1u) + part * 4u;
            value += vec4(state[at], state[at + 1u], state[at + 2u], state[at + 3u]) * weight[n];
        }
        partial[sum * D4 + part] = select(vec4(0.0), value / mass, there);
    }
    if thread == 0u {
        sums[sum] = select(vec2(LOWEST, 0.0), vec2(log_of(mass), 1.0), there);
    }
}
