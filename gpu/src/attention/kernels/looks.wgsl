// One thread: the look of one token of the band, after rows were taken in. A largest one does not depend on who came first.

@group(0) @binding(1) var<storage, read> seen: array<f32>;
// [KV head, ring].
@group(0) @binding(2) var<storage, read_write> looks: array<f32>;

@compute @workgroup_size(64)
fn look(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let kv = group.y;
    let behind = group.x * BLOCK + thread;
    let position = pass_.start + behind;
    if position >= pass_.first + pass_.accepted {
        return;
    }
    let at = kv * layer.ring + position % layer.ring;
    // A token that is taken in now finds the look of the one that had its row before.
    var most = 0.0;
    if position < pass_.first {
        most = looks[at];
    }
    if layer.heads[kv].w != NONE {
        for (var i = 0u; i < pass_.accepted; i++) {
            if pass_.first + i >= position {
                most = max(most, seen[(taken(i) * KV_HEADS + kv) * layer.ring + behind]);
            }
        }
    }
    looks[at] = most;
}
