// One work-group: -ln p of a token, from the logits before it.

alias Num = f32;
alias NumInt = i32;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
// Of each: row of the logits, token, place of its surprise.
@group(0) @binding(1) var<storage, read> asked: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> surprises: array<f32>;

var<workgroup> partial: array<f32, 256>;

@compute @workgroup_size(256)
fn surprise(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let own = asked[rows.first + group.x];
    let start = own.x * VOCABULARY;
    var most = LOWEST;
    for (var id = thread; id < VOCABULARY; id += 256u) {
        most = max(most, logits[start + id]);
    }
    partial[thread] = most;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if thread < half {
            partial[thread] = max(partial[thread], partial[thread + half]);
        }
        workgroupBarrier();
    }
    most = partial[0];
    workgroupBarrier();
    var sum = 0.0;
    for (var id = thread; id < VOCABULARY; id += 256u) {
        sum += exp_of(logits[start + id] - most);
    }
    partial[thread] = sum;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if thread < half {
            partial[thread] += partial[thread + half];
        }
        workgroupBarrier();
    }
    if thread == 0u {
        surprises[own.z] = log_of(partial[0]) - (logits[start + own.y] - most);
    }
}
