// One thread: two numbers of one head of one row, from where queries, keys and values lie in a row to where attention takes them.
// Those of queries and keys are turned by the row's angle.

// [rows, HEADS + 2 KV_HEADS, D].
@group(0) @binding(0) var<storage, read> all: array<f32>;
// [rows, DIMS / 2]: cosine and sine.
@group(0) @binding(1) var<storage, read> angles: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> queries: array<f32>;
@group(0) @binding(3) var<storage, read_write> keys: array<f32>;
@group(0) @binding(4) var<storage, read_write> values: array<f32>;

const EACH: u32 = HEADS + 2u * KV_HEADS;

@compute @workgroup_size(64)
fn rope(@builtin(global_invocation_id) id: vec3<u32>) {
    let half = DIMS / 2u;
    let head = id.x / (D / 2u);
    let pair = id.x % (D / 2u);
    if head >= EACH {
        return;
    }
    let row = rows.first + id.y;
    let turned = head < HEADS + KV_HEADS && pair < half;
    let split = turned && !NEIGHBOURS;
    let first = select(2u * pair, pair, split);
    let second = first + select(1u, half, split);
    let from_ = (row * EACH + head) * D;
    var a = all[from_ + first];
    var b = all[from_ + second];
    if turned {
        let turn = angles[row * half + pair];
        let x = a * turn.x - b * turn.y;
        b = a * turn.y + b * turn.x;
        a = x;
    }
    if head < HEADS {
        let to = (row * HEADS + head) * D;
        queries[to + first] = a;
        queries[to + second] = b;
    } else if head < HEADS + KV_HEADS {
        let to = (row * KV_HEADS + head - HEADS) * D;
        keys[to + first] = a;
        keys[to + second] = b;
    } else {
        let to = (row * KV_HEADS + head - HEADS - KV_HEADS) * D;
        values[to + first] = a;
        values[to + second] = b;
    }
}
