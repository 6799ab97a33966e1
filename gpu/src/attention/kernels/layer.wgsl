// What every kernel knows of its layer and of its pass.

const BLOCK: u32 = 64u;
const NONE: u32 = 0xffffffffu;
// Entries of a KV head in the lists of a turnover: those of a block, and their numbers.
const TURN: u32 = BLOCK + 1u;

struct Layer {
    // Rows of a head's band.
    ring: u32,
    // Terms of a sum that a row and head may have at most, in pieces.
    pieces: u32,
    scale: f32,
    unused: u32,
    // Of each KV head: tokens in its store, first row in keys and values, first slot in the store's tables, and from how many
    // positions away a look counts (NONE: the head ranks by surprise).
    heads: array<vec4<u32>, KV_HEADS>,
}

struct Pass {
    // Position of the first row.
    first: u32,
    // The band's first position.
    start: u32,
    rows: u32,
    // Of the caller's rows, the one that is row 0 here.
    offset: u32,
    // Rows to take in.
    accepted: u32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
    // Of each row: positions behind the first, and the row before it (255: none), 8 bits each.
    nodes: array<vec4<u32>, 16>,
    // Rows to take in, in order of position.
    path: array<vec4<u32>, 16>,
}

@group(0) @binding(0) var<uniform> layer: Layer;
@group(1) @binding(0) var<uniform> pass_: Pass;

fn node(row: u32) -> u32 {
    return pass_.nodes[row / 4u][row % 4u];
}

fn depth_of(row: u32) -> u32 {
    return node(row) & 255u;
}

fn position_of(row: u32) -> u32 {
    return pass_.first + depth_of(row);
}

// The row that stands at `depth` on the way to `row`.
fn ancestor(row: u32, depth: u32) -> u32 {
    var at = row;
    while depth_of(at) > depth {
        at = node(at) >> 8u;
    }
    return at;
}

fn taken(i: u32) -> u32 {
    return pass_.path[i / 4u][i % 4u];
}

fn store_of(kv: u32) -> u32 {
    return layer.heads[kv].x;
}

fn first_row(kv: u32) -> u32 {
    return layer.heads[kv].y;
}

// Where the token at a position below the pass lies.
fn band_row(kv: u32, position: u32) -> u32 {
    return first_row(kv) + store_of(kv) + position % layer.ring;
}

// Where a row of the pass waits for being taken in.
fn waiting_row(kv: u32, row: u32) -> u32 {
    return first_row(kv) + store_of(kv) + layer.ring + row;
}

// Pieces of the store that hold tokens: it fills by whole blocks.
fn store_pieces(kv: u32) -> u32 {
    return min(pass_.start, store_of(kv)) / BLOCK;
}

// Has a token of this head entered the carrier?
fn carries(kv: u32) -> bool {
    return pass_.start > store_of(kv);
}

fn carrier_pieces(kv: u32) -> u32 {
    return select(0u, CARRIER_PIECES, carries(kv));
}

// Pieces of the band that a row at `position` sees.
fn band_pieces(position: u32) -> u32 {
    return (position - pass_.start) / BLOCK + 1u;
}
