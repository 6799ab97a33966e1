// One work-group: AT_ONCE pieces of at most BLOCK terms of one row's softmax, for LANES query heads of one group. Each piece is
// summed by itself in the order of its terms, so that no sum knows how many rows or pieces there are. SPAN threads share a
// piece; each takes four of its keys, so that a number of the query is fetched once for four products.

@group(0) @binding(1) var<storage, read> queries: array<f32>;
// Weighted sums of values: [row, head, piece, D].
@group(0) @binding(4) var<storage, read_write> partial: array<vec4<f32>>;
// Largest logit and sum of weights: [row, head, piece].
@group(0) @binding(5) var<storage, read_write> sums: array<vec2<f32>>;
// Weights of the band's tokens, relative to the largest of their piece: [row, head, ring].
@group(0) @binding(6) var<storage, read_write> weights: array<f32>;

const SPAN: u32 = BLOCK / 4u;

var<workgroup> query: array<Num, D>;
var<workgroup> weight: array<Num, 256>;
var<workgroup> terms: array<u32, 256>;
var<workgroup> largest: array<Num, 64>;

@compute @workgroup_size(64)
fn pieces(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let piece = group.x * AT_ONCE + thread / SPAN;
    let kv = group.y / TILES;
    // Query heads of the group that this work-group serves.
    let lane0 = (group.y % TILES) * LANES;
    let lanes = min(LANES, GROUP - lane0);
    let head = kv * GROUP + lane0;
    let row = group.z;
    if terms_of(kv, row, group.x * AT_ONCE) == 0u {
        return;
    }
    let count = terms_of(kv, row, piece);
    // This thread's first term and its place among all.
    let own = thread % SPAN;
    let place = (thread / SPAN) * BLOCK + own;

    for (var i = thread; i < D; i += 64u) {
        var q = Num(0.0);
        for (var lane = 0u; lane < lanes; lane++) {
            q[lane] = queries[((row + pass_.offset) * HEADS + head + lane) * D + i];
        }
        query[i] = q;
    }
    // A term that is not there is read as the first one, and weighs nothing.
    let i = vec4(own, own + SPAN, own + 2u * SPAN, own + 3u * SPAN);
    var counts = i < vec4(count);
    var at = vec4(0u);
    if count > 0u {
        let first = term(kv, row, piece, 0u);
        at = vec4(first);
        if counts.x { at.x = term(kv, row, piece, i.x); }
        if counts.y { at.y = term(kv, row, piece, i.y); }
        if counts.z { at.z = term(kv, row, piece, i.z); }
        if counts.w { at.w = term(kv, row, piece, i.w); }
        counts = counts & vec4(is_there(at.x), is_there(at.y), is_there(at.z), is_there(at.w));
    }
    terms[place] = at.x;
    terms[place + SPAN] = at.y;
    terms[place + 2u * SPAN] = at.z;
    terms[place + 3u * SPAN] = at.w;
    workgroupBarrier();

    // Not an array, which a compiler that does not unroll the loop over it keeps out of registers.
    var a = Num(0.0);
    var b = Num(0.0);
    var c = Num(0.0);
    var d = Num(0.0);
    if count > 0u {
        for (var part = 0u; part < D4; part++) {
            let q0 = query[part * 4u];
            let q1 = query[part * 4u + 1u];
            let q2 = query[part * 4u + 2u];
            let q3 = query[part * 4u + 3u];
            let ka = key4(at.x, part);
            a += q0 * ka.x;
            a += q1 * ka.y;
            a += q2 * ka.z;
            a += q3 * ka.w;
            let kb = key4(at.y, part);
            b += q0 * kb.x;
            b += q1 * kb.y;
            b += q2 * kb.z;
            b += q3 * kb.w;
            let kc = key4(at.z, part);
            c += q0 * kc.x;
            c += q1 * kc.y;
            c += q2 * kc.z;
            c += q3 * kc.w;
            let kd = key4(at.w, part);
            d += q0 * kd.x;
            d += q1 * kd.y;
            d += q2 * kd.z;
            d += q3 * kd.w;
        }
        a = logit_of(a, at.x, head);
        b = logit_of(b, at.y, head);
        c = logit_of(c, at.z, head);
        d = logit_of(d, at.w, head);
    }
    let none = Num(LOWEST);
    a = select(none, a, counts.x);
    b = select(none, b, counts.y);
    c = select(none, c, counts.z);
    d = select(none, d, counts.w);
    largest[thread] = max(max(a, b), max(c, d));
    workgroupBarrier();
    var most = none;
    for (var other = thread - own; other < thread - own + SPAN; other++) {
        most = max(most, largest[other]);
    }
    let zero = Num(0.0);
    a = select(zero, exp_of(a - most), counts.x);
    b = select(zero, exp_of(b - most), counts.y);
    c = select(zero, exp_of(c - most), counts.z);
    d = select(zero, exp_of(d - most), counts.w);
    weight[place] = a;
    weight[place + SPAN] = b;
    weight[place + 2u * SPAN] = c;
    weight[place + 3u * SPAN] = d;
    workgroupBarrier();
    if count == 0u {
        return;
    }

    let slot = slot_of(kv, piece);
    let from_ = place - own;
    // D4 is even: a thread takes two quarters at once, so that a weight is fetched once for eight products.
    for (var part = 2u * own; part < D4; part += 2u * SPAN) {
        var x0 = zero;
        var y0 = zero;
        var z0 = zero;
        var w0 = zero;
        var x1 = zero;
        var y1 = zero;
        var z1 = zero;
        var w1 = zero;
        var total = zero;
        for (var other = from_; other < from_ + count; other++) {
            let p = weight[other];
            let v0 = value4(terms[other], part);
            let v1 = value4(terms[other], part + 1u);
            x0 += p * v0.x;
            y0 += p * v0.y;
            z0 += p * v0.z;
            w0 += p * v0.w;
            x1 += p * v1.x;
            y1 += p * v1.y;
            z1 += p * v1.z;
            w1 += p * v1.w;
            total += p;
        }
        for (var lane = 0u; lane < lanes; lane++) {
            let sum = (row * HEADS + head + lane) * layer.pieces + slot;
            partial[sum * D4 + part] = vec4(x0[lane], y0[lane], z0[lane], w0[lane]);
            partial[sum * D4 + part + 1u] = vec4(x1[lane], y1[lane], z1[lane], w1[lane]);
            if part == 0u {
                sums[sum] = vec2(most[lane], total[lane]);
            }
        }
    }
    let kept = weights_at(kv, piece);
    if kept != NONE {
        for (var lane = 0u; lane < lanes; lane++) {
            let to = (row * HEADS + head + lane) * layer.ring + kept + own;
            if counts.x { weights[to] = a[lane]; }
            if counts.y { weights[to + SPAN] = b[lane]; }
            if counts.z { weights[to + 2u * SPAN] = c[lane]; }
            if counts.w { weights[to + 3u * SPAN] = d[lane]; }
        }
    }
}
