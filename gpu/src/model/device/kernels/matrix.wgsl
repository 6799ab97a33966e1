// A part of a matrix, as it lies: fours of codes of a pair of units and, if these are quantised, one of their scales and offsets,
// interleaved over 8 rows.

const CODES: u32 = CODE_WORDS / 4u;
const RECORD: u32 = 2u * CODES + SCALES;

struct Matrix {
    // Pairs of units in a row.
    pairs: u32,
    // Rows in this part, and groups of 8 of them.
    rows: u32,
    groups: u32,
    // Of all rows, the one that is its first.
    first: u32,
    // Numbers of a result: rows of the matrix for a product, numbers of its rows for an embedding.
    stride: u32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}

@group(0) @binding(0) var<uniform> matrix_: Matrix;
