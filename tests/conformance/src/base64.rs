//! Bytes as text, and hidden states in them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Decodes base64 with padding.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("no base64: {error}"))
}

/// Decodes little-endian `f32`s.
pub(crate) fn floats(text: &str) -> Result<Vec<f32>, String> {
    let bytes = bytes(text)?;
    let (words, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() {
        Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
    } else {
        Err(format!("{} bytes are not a whole number of f32", bytes.len()))
    }
}
