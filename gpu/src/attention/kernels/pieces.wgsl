// One work-group: one piece of at most BLOCK terms of one row's softmax, for LANES query heads of one group. Each piece is
// summed by itself in the order of its terms, so that no sum knows how many rows or pieces there are.

@group(0) @binding(1) var<storage, read> queries: array<f32>;
// Weighted sums of values: [row, head, piece, D].
@group(0) @binding(4) var<storage, read_write> partial: array<vec4<f32>>;
// Largest logit and sum of weights: [row, head, piece].
@group(0) @binding(5) var<storage, read_write> sums: array<vec2<f32>>;
// Weights of the band's tokens, relative to the largest of their piece: [row, head, ring].
@group(0) @binding(6) var<storage, read_write> weights: array<f32>;

var<workgroup> query: array<Num, D>;
var<workgroup> weight: array<Num, BLOCK>;
var<workgroup> terms: array<u32, BLOCK>;
var<workgroup> largest: array<Num, 8>;

@compute @workgroup_size(64)
fn pieces(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let piece = group.x;
    let kv = group.y / TILES;
    // Query heads of the group that this work-group serves.
    let lane0 = (group.y % TILES) * LANES;
    let lanes = min(LANES, GROUP - lane0);
    let head = kv * GROUP + lane0;
    let row = group.z;
    let count = terms_of(kv, row, piece);
    if count == 0u {
        return;
    }

    for (var i = thread; i < D; i += 64u) {
        var q = Num(0.0);
        for (var lane = 0u; lane < lanes; lane++) {
            q[lane] = queries[((row + pass_.offset) * HEADS + head + lane) * D + i];
        }
        query[i] = q;
    }
    var at = NONE;
    if thread < count {
        at = term(kv, row, piece, thread);
    }
    terms[thread] = at;
    workgroupBarrier();

    var counts = false;
    var logit = Num(LOWEST);
    if thread < count {
        counts = is_there(at);
    }
    if counts {
        var product = Num(0.0);
        for (var part = 0u; part < D4; part++) {
            let k = key4(at, part);
            product += query[part * 4u] * k.x;
            product += query[part * 4u + 1u] * k.y;
            product += query[part * 4u + 2u] * k.z;
            product += query[part * 4u + 3u] * k.w;
        }
        logit = logit_of(product, at, head);
    }
    weight[thread] = logit;
    workgroupBarrier();

    if thread < 8u {
        var most = weight[thread * 8u];
        for (var i = 1u; i < 8u; i++) {
            most = max(most, weight[thread * 8u + i]);
        }
        largest[thread] = most;
    }
    workgroupBarrier();
    var most = largest[0];
    for (var i = 1u; i < 8u; i++) {
        most = max(most, largest[i]);
    }
    var own = Num(0.0);
    if counts {
        own = exp_of(logit - most);
    }
    weight[thread] = own;
    workgroupBarrier();

    let slot = slot_of(kv, piece);
    for (var part = thread; part < D4; part += 64u) {
        var x = Num(0.0);
        var y = Num(0.0);
        var z = Num(0.0);
        var w = Num(0.0);
        var total = Num(0.0);
        for (var i = 0u; i < count; i++) {
            let p = weight[i];
            let v = value4(terms[i], part);
            x += p * v.x;
            y += p * v.y;
            z += p * v.z;
            w += p * v.w;
            total += p;
        }
        for (var lane = 0u; lane < lanes; lane++) {
            let sum = (row * HEADS + head + lane) * layer.pieces + slot;
            partial[sum * D4 + part] = vec4(x[lane], y[lane], z[lane], w[lane]);
            if part == 0u {
                sums[sum] = vec2(most[lane], total[lane]);
            }
        }
    }
    let kept = weights_at(kv, piece);
    if kept != NONE && thread < count {
        for (var lane = 0u; lane < lanes; lane++) {
            weights[(row * HEADS + head + lane) * layer.ring + kept + thread] = own[lane];
        }
    }
}
