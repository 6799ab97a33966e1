// One work-group: the decays of one query head, when tokens enter them: all older sums fade by one block, then each token is
// added in order of position.

@group(0) @binding(1) var<storage, read> keys: array<Four>;
@group(0) @binding(2) var<storage, read> values: array<Four>;
@group(0) @binding(3) var<storage, read> turn: array<vec4<u32>>;
// [head, decay, term, D + 1]: the last number is the sum of weights.
@group(0) @binding(4) var<storage, read_write> state: array<f32>;
// Of the keys, for each query head: bias [D], psi [RANK, D], psi_bias [RANK], half_life [DECAYS].
@group(0) @binding(5) var<storage, read> parameters: array<f32>;

const OF_HEAD: u32 = D + RANK * D + RANK + DECAYS;

var<workgroup> weight: array<array<f32, TERMS>, 64>;
var<workgroup> fade: array<array<f32, DECAYS>, 64>;

fn product(at: u32, row: u32) -> f32 {
    var sum = 0.0;
    for (var part = 0u; part < D4; part++) {
        let k = unpack4(keys[row * D4 + part]);
        sum += parameters[at + part * 4u] * k.x;
        sum += parameters[at + part * 4u + 1u] * k.y;
        sum += parameters[at + part * 4u + 2u] * k.z;
        sum += parameters[at + part * 4u + 3u] * k.w;
    }
    return sum;
}

@compute @workgroup_size(64)
fn decay_drop(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let head = group.x;
    let kv = head / GROUP;
    let own = head * OF_HEAD;
    let half_lives = own + D + RANK * D + RANK;
    let count = turn[kv * TURN + BLOCK].x;
    if thread < count {
        let token = turn[kv * TURN + thread];
        let weight0 = exp_of(clamp(product(own, token.x), -40.0, 40.0));
        weight[thread][0] = weight0;
        for (var r = 0u; r < RANK; r++) {
            let psi = product(own + D + r * D, token.x) + parameters[own + D + RANK * D + r];
            weight[thread][r + 1u] = weight0 * clamp(psi, 0.0, 1000.0);
        }
        for (var i = 0u; i < DECAYS; i++) {
            fade[thread][i] = exp2_of(-f32(pass_.start - token.y) / parameters[half_lives + i]);
        }
    }
    workgroupBarrier();
    for (var n = thread; n < DECAYS * TERMS * (D4 + 1u); n += 64u) {
        let part = n % (D4 + 1u);
        let term = (n / (D4 + 1u)) % TERMS;
        let i = n / ((D4 + 1u) * TERMS);
        let at = ((head * DECAYS + i) * TERMS + term) * (D + 1u) + part * 4u;
        let block = exp2_of(-f32(BLOCK) / parameters[half_lives + i]);
        if part < D4 {
            var sum = vec4(state[at], state[at + 1u], state[at + 2u], state[at + 3u]) * block;
            for (var j = 0u; j < count; j++) {
                let row = turn[kv * TURN + j].x;
                sum += unpack4(values[row * D4 + part]) * (weight[j][term] * fade[j][i]);
            }
            state[at] = sum.x;
            state[at + 1u] = sum.y;
            state[at + 2u] = sum.z;
            state[at + 3u] = sum.w;
        } else {
            var sum = state[at] * block;
            for (var j = 0u; j < count; j++) {
                sum += weight[j][term] * fade[j][i];
            }
            state[at] = sum;
        }
    }
}
