// The terms of a softmax that are tokens: the store's pieces in order of slot, then the band's in order of position.

@group(0) @binding(2) var<storage, read> keys: array<Four>;
@group(0) @binding(3) var<storage, read> values: array<Four>;

// Terms of a piece; 0 where there is no such piece.
fn terms_of(kv: u32, row: u32, piece: u32) -> u32 {
    let stored = store_pieces(kv);
    if piece < stored {
        return BLOCK;
    }
    let position = position_of(row);
    let first = pass_.start + (piece - stored) * BLOCK;
    if first > position {
        return 0u;
    }
    return min(BLOCK, position - first + 1u);
}

fn slot_of(kv: u32, piece: u32) -> u32 {
    return carrier_pieces(kv) + piece;
}

fn term(kv: u32, row: u32, piece: u32, i: u32) -> u32 {
    let stored = store_pieces(kv);
    if piece < stored {
        return first_row(kv) + piece * BLOCK + i;
    }
    let position = pass_.start + (piece - stored) * BLOCK + i;
    if position < pass_.first {
        return band_row(kv, position);
    }
    return waiting_row(kv, ancestor(row, position - pass_.first));
}

fn is_there(at: u32) -> bool {
    return true;
}

fn key4(at: u32, part: u32) -> vec4<f32> {
    return unpack4(keys[at * D4 + part]);
}

fn value4(at: u32, part: u32) -> vec4<f32> {
    return unpack4(values[at * D4 + part]);
}

fn logit_of(product: Num, at: u32, head: u32) -> Num {
    return product * layer.scale;
}

// Where the weights of a piece go which looks are made of: only those of the band.
fn weights_at(kv: u32, piece: u32) -> u32 {
    let stored = store_pieces(kv);
    return select((piece - stored) * BLOCK, NONE, !LOOKS || piece < stored);
}
