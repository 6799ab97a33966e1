//! Real text as tokens, for contexts of up to 200k of them.

use super::data;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

/// The tokens of the corpus. Read once, about a million of them.
///
/// # Errors
/// The file is missing or damaged.
pub fn corpus() -> io::Result<&'static [u16]> {
    static CORPUS: OnceLock<Vec<u16>> = OnceLock::new();
    if let Some(tokens) = CORPUS.get() {
        return Ok(tokens);
    }
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(data().join("corpus/corpus.u16.gz"))?).read_to_end(&mut bytes)?;
    let (pairs, _) = bytes.as_chunks();
    Ok(CORPUS.get_or_init(|| pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect()))
}
