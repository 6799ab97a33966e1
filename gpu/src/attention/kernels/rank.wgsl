// One work-group: one KV head whose band gives up a block. The block and the store are ranked together; the weakest drop out,
// and what stays of the block takes their slots. Writes the lists by which keys and values then move.

// [KV head, ring].
@group(0) @binding(1) var<storage, read> looks: array<f32>;
// A ring by position, where a head ranks by surprise.
@group(0) @binding(2) var<storage, read> surprises: array<f32>;
// Of each slot of the stores.
@group(0) @binding(3) var<storage, read_write> positions: array<u32>;
@group(0) @binding(4) var<storage, read_write> scores: array<f32>;
// Of each KV head: 64 times (row that drops out, its position, row that moves, row it moves to), then the numbers of drops and
// of moves.
@group(0) @binding(5) var<storage, read_write> turn: array<vec4<u32>>;

// Whole numbers in the order of the numbers, NaN included.
fn order(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

// How a token ranks: its score, but the first token before all.
fn rank_of(position: u32, score: f32) -> u32 {
    return select(order(score), NONE, position == 0u);
}

// Equal scores: the later token is the weaker.
fn weaker(a: vec3<u32>, b: vec3<u32>) -> bool {
    return a.x < b.x || (a.x == b.x && a.y > b.y);
}

fn surprise_at(position: u32) -> f32 {
    return surprises[position % SURPRISES];
}

// The mean surprise of three tokens.
fn mean_surprise(u: u32) -> f32 {
    var sum = surprise_at(u);
    if u >= 1u {
        sum += surprise_at(u - 1u);
    }
    if u >= 2u {
        sum += surprise_at(u - 2u);
    }
    return sum * 0.333333343;
}

fn surprise_score(position: u32) -> f32 {
    let from_ = select(0u, position - 12u, position >= 12u);
    var most = mean_surprise(from_);
    for (var u = from_ + 1u; u <= position + 2u; u++) {
        let mean = mean_surprise(u);
        most = select(most, mean, order(mean) > order(most));
    }
    return most;
}

var<workgroup> found: array<vec3<u32>, 64>;
var<workgroup> best: array<vec3<u32>, 8>;
// Position and index (slot, or behind the slots: token of the block) of what drops out, weakest first.
var<workgroup> dropped: array<vec2<u32>, 64>;
var<workgroup> kept: array<u32, 64>;
var<workgroup> freed: array<u32, 64>;

@compute @workgroup_size(64)
fn rank(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let kv = group.x;
    let store = store_of(kv);
    let slots = layer.heads[kv].z;
    let old_start = pass_.start - BLOCK;
    let filling = old_start < store;
    let position = old_start + thread;
    let from_row = band_row(kv, position);
    var score = 0.0;
    if layer.heads[kv].w == NONE {
        score = surprise_score(position);
    } else {
        score = looks[kv * layer.ring + position % layer.ring];
    }

    kept[thread] = 1u;
    freed[thread] = old_start + thread;
    if !filling {
        // The last one that dropped out; nothing is weaker than the first.
        var last = vec3(0u, NONE, 0u);
        for (var drop = 0u; drop < BLOCK; drop++) {
            // The weakest that is stronger than the last one; none: all ones.
            var weakest = vec3(NONE, 0u, NONE);
            for (var slot = thread; slot < store; slot += 64u) {
                let at = positions[slots + slot];
                let candidate = vec3(rank_of(at, scores[slots + slot]), at, slot);
                if weaker(last, candidate) && !weaker(weakest, candidate) {
                    weakest = candidate;
                }
            }
            let candidate = vec3(rank_of(position, score), position, store + thread);
            if weaker(last, candidate) && !weaker(weakest, candidate) {
                weakest = candidate;
            }
            found[thread] = weakest;
            workgroupBarrier();
            if thread < 8u {
                for (var i = 0u; i < 8u; i++) {
                    let candidate = found[thread * 8u + i];
                    if candidate.z != NONE && (weakest.z == NONE || weaker(candidate, weakest)) {
                        weakest = candidate;
                    }
                }
                best[thread] = weakest;
            }
            workgroupBarrier();
            last = best[0];
            for (var i = 1u; i < 8u; i++) {
                let candidate = best[i];
                if candidate.z != NONE && (last.z == NONE || weaker(candidate, last)) {
                    last = candidate;
                }
            }
            if thread == 0u {
                dropped[drop] = last.yz;
                if last.z >= store {
                    kept[last.z - store] = 0u;
                }
            }
        }
        workgroupBarrier();

        // Those that drop out, in order of position; the slots they leave, in order of slot.
        let own = dropped[thread];
        var earlier = 0u;
        var lower = 0u;
        for (var i = 0u; i < BLOCK; i++) {
            let other = dropped[i];
            earlier += select(0u, 1u, other.x < own.x);
            lower += select(0u, 1u, other.y < own.y);
        }
        var row = first_row(kv) + own.y;
        if own.y >= store {
            row = band_row(kv, own.x);
        } else {
            freed[lower] = own.y;
        }
        turn[kv * TURN + earlier].x = row;
        turn[kv * TURN + earlier].y = own.x;
    }
    storageBarrier();
    workgroupBarrier();

    var before = 0u;
    var moves = 0u;
    for (var i = 0u; i < BLOCK; i++) {
        before += select(0u, kept[i], i < thread);
        moves += kept[i];
    }
    if kept[thread] == 1u {
        let slot = freed[before];
        turn[kv * TURN + before].z = from_row;
        turn[kv * TURN + before].w = first_row(kv) + slot;
        positions[slots + slot] = position;
        scores[slots + slot] = score;
    }
    if thread == 0u {
        turn[kv * TURN + BLOCK] = vec4(select(BLOCK, 0u, filling), moves, 0u, 0u);
    }
}
