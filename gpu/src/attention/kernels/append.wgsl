// One thread: four numbers of a key and of a value of one row, from the caller to where rows wait.

@group(0) @binding(1) var<storage, read> keys_in: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values_in: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> keys: array<Four>;
@group(0) @binding(4) var<storage, read_write> values: array<Four>;
// Numbers that did not fit the storage.
@group(0) @binding(5) var<storage, read_write> overflows: atomic<u32>;

@compute @workgroup_size(64)
fn append(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.y;
    let kv = id.x / D4;
    let part = id.x % D4;
    if kv >= KV_HEADS || row >= pass_.rows {
        return;
    }
    let given = ((row + pass_.offset) * KV_HEADS + kv) * D4 + part;
    let at = waiting_row(kv, row) * D4 + part;
    let key = keys_in[given];
    let value = values_in[given];
    keys[at] = pack4(key);
    values[at] = pack4(value);
    let over = beyond(key) + beyond(value);
    if over > 0u {
        atomicAdd(&overflows, over);
    }
}
