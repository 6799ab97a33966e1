// One thread: the largest weight that one row's heads of one group gave to one token of the band.

@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> shares: array<f32>;
// [row, KV head, ring], by the position behind the band's start.
@group(0) @binding(3) var<storage, read_write> seen: array<f32>;

@compute @workgroup_size(64)
fn see(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let kv = group.y;
    let row = group.z;
    let distance = layer.heads[kv].w;
    let position = pass_.start + group.x * BLOCK + thread;
    let own = position_of(row);
    if distance == NONE || position > own {
        return;
    }
    var most = 0.0;
    if own - position >= distance {
        for (var i = 0u; i < GROUP; i++) {
            let head = row * HEADS + kv * GROUP + i;
            let share = shares[head * (layer.ring / BLOCK) + group.x];
            most = max(most, weights[head * layer.ring + group.x * BLOCK + thread] * share);
        }
    }
    seen[(row * KV_HEADS + kv) * layer.ring + group.x * BLOCK + thread] = most;
}
