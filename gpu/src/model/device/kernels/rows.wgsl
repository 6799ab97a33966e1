// Which rows a kernel takes.

struct Rows {
    // First row that is read, how many there are, first row that is written.
    first: u32,
    count: u32,
    out: u32,
    unused: u32,
}

@group(1) @binding(0) var<uniform> rows: Rows;
