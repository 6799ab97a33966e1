// One work-group: the cells of one KV head, when tokens enter them: each goes to its nearest cell, in order of position.

@group(0) @binding(1) var<storage, read> keys: array<Four>;
@group(0) @binding(2) var<storage, read> values: array<Four>;
@group(0) @binding(3) var<storage, read> turn: array<vec4<u32>>;
// [KV head, cell, D keys, D values, tokens, squares].
@group(0) @binding(4) var<storage, read_write> state: array<f32>;
// Of each KV head: codebook [CELLS, D], beta [CELLS], mean [D], metric [IMAGE, D].
@group(0) @binding(5) var<storage, read> parameters: array<f32>;

const OF_HEAD: u32 = CELLS * D + CELLS + D + IMAGE * D;
const OF_CELL: u32 = 2u * D + 2u;

var<workgroup> cell: array<u32, 64>;
var<workgroup> square: array<f32, 64>;

@compute @workgroup_size(64)
fn cells_drop(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let kv = group.x;
    let own = kv * OF_HEAD;
    let mean = own + CELLS * D + CELLS;
    let metric = mean + D;
    let count = turn[kv * TURN + BLOCK].x;
    if thread < count {
        let row = turn[kv * TURN + thread].x;
        var nearest = 0u;
        var most = LOWEST;
        for (var m = 0u; m < CELLS; m++) {
            var near = 0.0;
            for (var part = 0u; part < D4; part++) {
                let k = unpack4(keys[row * D4 + part]);
                let at = own + m * D + part * 4u;
                near += k.x * parameters[at];
                near += k.y * parameters[at + 1u];
                near += k.z * parameters[at + 2u];
                near += k.w * parameters[at + 3u];
            }
            near += parameters[own + CELLS * D + m];
            if near > most {
                most = near;
                nearest = m;
            }
        }
        var sum = 0.0;
        for (var i = 0u; i < IMAGE; i++) {
            var image = 0.0;
            for (var part = 0u; part < D4; part++) {
                let k = unpack4(keys[row * D4 + part]);
                let at = part * 4u;
                image += parameters[metric + i * D + at] * (k.x - parameters[mean + at]);
                image += parameters[metric + i * D + at + 1u] * (k.y - parameters[mean + at + 1u]);
                image += parameters[metric + i * D + at + 2u] * (k.z - parameters[mean + at + 2u]);
                image += parameters[metric + i * D + at + 3u] * (k.w - parameters[mean + at + 3u]);
            }
            sum += image * image;
        }
        cell[thread] = nearest;
        square[thread] = sum;
    }
    workgroupBarrier();
    // A thread keeps to its numbers of each cell, so that no two write the same.
    for (var part = thread; part < D4; part += 64u) {
        for (var j = 0u; j < count; j++) {
            let row = turn[kv * TURN + j].x;
            let at = (kv * CELLS + cell[j]) * OF_CELL + part * 4u;
            let k = unpack4(keys[row * D4 + part]);
            let v = unpack4(values[row * D4 + part]);
            state[at] += k.x;
            state[at + 1u] += k.y;
            state[at + 2u] += k.z;
            state[at + 3u] += k.w;
            state[at + D] += v.x;
            state[at + D + 1u] += v.y;
            state[at + D + 2u] += v.z;
            state[at + D + 3u] += v.w;
        }
    }
    if thread == 0u {
        for (var j = 0u; j < count; j++) {
            let at = (kv * CELLS + cell[j]) * OF_CELL + 2u * D;
            state[at] += 1.0;
            state[at + 1u] += square[j];
        }
    }
}
