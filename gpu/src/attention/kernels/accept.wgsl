// One thread: four numbers of a key and of a value, from where a row waits into the band.

@group(0) @binding(1) var<storage, read_write> keys: array<Four>;
@group(0) @binding(2) var<storage, read_write> values: array<Four>;

@compute @workgroup_size(64)
fn accept(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.y;
    let kv = id.x / D4;
    let part = id.x % D4;
    if kv >= KV_HEADS || i >= pass_.accepted {
        return;
    }
    let from_ = waiting_row(kv, taken(i)) * D4 + part;
    let to = band_row(kv, pass_.first + i) * D4 + part;
    keys[to] = keys[from_];
    values[to] = values[from_];
}
