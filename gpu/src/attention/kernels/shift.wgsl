// One thread: four numbers of a key and of a value, from the band into the store.

@group(0) @binding(1) var<storage, read_write> keys: array<Four>;
@group(0) @binding(2) var<storage, read_write> values: array<Four>;
@group(0) @binding(3) var<storage, read> turn: array<vec4<u32>>;

@compute @workgroup_size(64)
fn shift(@builtin(global_invocation_id) id: vec3<u32>) {
    let kv = id.x / D4;
    let part = id.x % D4;
    if kv >= KV_HEADS || id.y >= turn[kv * TURN + BLOCK].y {
        return;
    }
    let move_ = turn[kv * TURN + id.y];
    keys[move_.w * D4 + part] = keys[move_.z * D4 + part];
    values[move_.w * D4 + part] = values[move_.z * D4 + part];
}
