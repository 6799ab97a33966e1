// The terms of a softmax that are cells of the carrier, as cells_finish left them.

@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;
// Of each cell: ln of the tokens in it, or LOWEST, and their variance.
@group(0) @binding(7) var<storage, read> cells: array<vec2<f32>>;
// Of each query head: kappa, delta.
@group(0) @binding(8) var<storage, read> weights_of_heads: array<vec2<f32>>;

fn terms_of(kv: u32, row: u32, piece: u32) -> u32 {
    if !carries(kv) || piece >= CARRIER_PIECES {
        return 0u;
    }
    return min(BLOCK, CELLS - piece * BLOCK);
}

fn slot_of(kv: u32, piece: u32) -> u32 {
    return piece;
}

fn term(kv: u32, row: u32, piece: u32, i: u32) -> u32 {
    return kv * CELLS + piece * BLOCK + i;
}

fn is_there(at: u32) -> bool {
    return cells[at].x > LOWEST;
}

fn key4(at: u32, part: u32) -> vec4<f32> {
    return keys[at * D4 + part];
}

fn value4(at: u32, part: u32) -> vec4<f32> {
    return values[at * D4 + part];
}

fn logit_of(product: Num, at: u32, head: u32) -> Num {
    var logit = product * layer.scale;
    let cell = cells[at];
    for (var lane = 0u; lane < LANES; lane++) {
        let weights = weights_of_heads[min(head + lane, HEADS - 1u)];
        logit[lane] += (weights.x * cell.y * 0.5 + weights.y) + cell.x;
    }
    return logit;
}

fn weights_at(kv: u32, piece: u32) -> u32 {
    return NONE;
}
