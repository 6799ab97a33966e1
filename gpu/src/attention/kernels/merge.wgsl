// One work-group: one row and query head. Its pieces are brought to one scale and added, the carrier's first, then the
// store's, then the band's in order of position.

@group(0) @binding(1) var<storage, read> partial: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> sums: array<vec2<f32>>;
// [row, head, D].
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
// What a weight of a piece of the band counts in the whole softmax: [row, head, ring / BLOCK].
@group(0) @binding(4) var<storage, read_write> shares: array<f32>;

var<workgroup> largest: array<f32, 64>;
var<workgroup> factor: array<f32, 64>;

@compute @workgroup_size(64)
fn merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let head = group.x;
    let row = group.y;
    let kv = head / GROUP;
    let before = carrier_pieces(kv) + store_pieces(kv);
    let count = before + band_pieces(position_of(row));
    let sum = (row * HEADS + head) * layer.pieces;

    var most = LOWEST;
    for (var i = thread; i < count; i += 64u) {
        most = max(most, sums[sum + i].x);
    }
    largest[thread] = most;
    workgroupBarrier();
    most = largest[0];
    for (var i = 1u; i < 64u; i++) {
        most = max(most, largest[i]);
    }

    var total = 0.0;
    var value = vec4(0.0);
    for (var from_ = 0u; from_ < count; from_ += 64u) {
        workgroupBarrier();
        if from_ + thread < count {
            factor[thread] = exp_of(sums[sum + from_ + thread].x - most);
        }
        workgroupBarrier();
        for (var i = 0u; i < min(64u, count - from_); i++) {
            total += sums[sum + from_ + i].y * factor[i];
            if thread < D4 {
                value += partial[(sum + from_ + i) * D4 + thread] * factor[i];
            }
        }
    }
    if thread < D4 {
        out[((row + pass_.offset) * HEADS + head) * D4 + thread] = value / total;
    }
    if LOOKS {
        for (var i = before + thread; i < count; i += 64u) {
            shares[(row * HEADS + head) * (layer.ring / BLOCK) + i - before] = exp_of(sums[sum + i].x - most) / total;
        }
    }
}
