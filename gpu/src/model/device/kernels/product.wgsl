// out[n, r] of rows of x with a matrix: each thread ROWS rows of the matrix, 8 apart, for COLUMNS rows of x, and every SLICES-th of
// their pieces. No sum knows of these numbers. docs/arithmetic.md says in which order numbers are added. The statements of ROWS and
// COLUMNS are written out by product.rs, since a compiler that does not unroll a loop over an array keeps the array out of registers.

// Pairs of units in a piece.
const PIECE: u32 = 64u / UNIT;
// Fours of a pair of units of x, with the one of their sums.
const OPERAND: u32 = UNIT / 2u + 1u;

@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
