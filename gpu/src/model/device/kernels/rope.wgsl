// One thread: a pair of numbers of one head of one row, turned by the row's angle.

@group(0) @binding(0) var<storage, read_write> heads: array<f32>;
// [rows, DIMS / 2]: cosine and sine.
@group(0) @binding(1) var<storage, read> angles: array<vec2<f32>>;

@compute @workgroup_size(64)
fn rope(@builtin(global_invocation_id) id: vec3<u32>) {
    let half = DIMS / 2u;
    let head = id.x / half;
    let pair = id.x % half;
    if head >= HEADS {
        return;
    }
    let row = rows.first + id.y;
    let start = (row * HEADS + head) * D;
    let first = start + select(pair, 2u * pair, NEIGHBOURS);
    let second = first + select(half, 1u, NEIGHBOURS);
    let turn = angles[row * half + pair];
    let a = heads[first];
    let b = heads[second];
    heads[first] = a * turn.x - b * turn.y;
    heads[second] = a * turn.y + b * turn.x;
}
