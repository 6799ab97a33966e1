//! The body of the fuzz target `gguf`, which `cargo test` replays over its corpus.

use mrail_gpu::model::gguf::{Array, GgufError, Header, MOST_NESTED, Tensor, Value};
use mrail_gpu::model::memory::{matrix_bytes, split};
use mrail_gpu::model::{Model, Weights};

/// Takes any bytes for a GGUF file.
///
/// # Panics
///
/// A promise of the reader's is broken.
pub(crate) fn exercise(data: &[u8]) {
    let len = data.len() as u64;
    let whole = Header::parse(data, len);
    assert_eq!(Header::read(&mut { data }), whole, "read in pieces");
    // A part of the file asks for more, or says what the whole says.
    let step = (data.len() / 16).max(1);
    for cut in (0..data.len()).step_by(step) {
        match Header::parse(&data[..cut], len) {
            Err(GgufError::Incomplete { needs }) => {
                assert!(needs > cut as u64 && needs <= len, "cut at {cut}: {needs}");
            }
            other => assert_eq!(other, whole, "cut at {cut}"),
        }
    }
    match &whole {
        Ok(header) => walk(header, len),
        Err(GgufError::Incomplete { needs }) => panic!("{needs} bytes are needed of a file of {len}"),
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
    // A longer file, of which this is the front; the longest, too.
    for longer in [len + (1 << 33), u64::MAX] {
        match Header::parse(data, longer) {
            Ok(header) => walk(&header, longer),
            Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
        }
    }
}

/// Everything that a header says is within it or within the file.
fn walk(header: &Header, len: u64) {
    assert!(header.header_bytes() <= header.data_start());
    for (key, value) in header.entries() {
        assert_eq!(header.get(key).map(|value| format!("{value:?}")), Some(format!("{value:?}")), "{key}");
        if let Value::Array(array) = value {
            walk_array(array, 1);
        }
    }
    let mut ranges = Vec::new();
    for tensor in header.tensors() {
        assert_eq!(header.tensor(tensor.name()), Some(tensor));
        let range = tensor.range();
        assert!(range.start >= header.data_start() && range.end <= len && range.start < range.end);
        assert_eq!(tensor.rows().checked_mul(tensor.row()), Some(tensor.numbers()));
        assert_eq!(tensor.rows().checked_mul(tensor.row_bytes()), Some(tensor.bytes()));
        assert_eq!(tensor.element().bytes_of(tensor.numbers()), Some(tensor.bytes()));
        ranges.push((range.start, range.end));
    }
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "tensors share bytes");
    match Model::read(header) {
        Ok(model) => parts(&model.weights),
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
}

fn walk_array(array: Array<'_>, depth: u32) {
    assert!(depth <= MOST_NESTED);
    let mut count = 0;
    for value in array {
        count += 1;
        if let Value::Array(inner) = value {
            walk_array(inner, depth + 1);
        }
    }
    assert_eq!(count, array.len());
}

/// The parts of a matrix are the matrix.
fn parts(weights: &Weights) {
    for limit in [64, 4096, 128 << 20] {
        let limits = wgpu::Limits { max_storage_buffer_binding_size: limit, ..wgpu::Limits::default() };
        for matrix in weights.matrices() {
            let Ok(parts) = split(&limits, matrix) else { continue };
            let mut next = 0;
            for part in &parts {
                assert_eq!(part.start, next);
                assert!(matrix_bytes(matrix, part.end - part.start) <= limit);
                next = part.end;
            }
            assert_eq!(next, Tensor::rows(matrix));
        }
    }
}
