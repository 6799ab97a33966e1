//! What stands where in a region: kinds, offsets and sizes, as functions of the flash's word size.

use crate::record::{HEADER_LEN, MAGIC};
use embedded_storage::nor_flash::NorFlash;

/// Kind of the record behind the magic that makes a file an append region. Payload: layout version, word size, filling.
pub const HEAD: u8 = 0xF0;
/// Kind of the record before each appended one. Payload: that one's payload length, its complement, filling.
pub const BEGIN: u8 = 0xF1;
/// Kind of the record behind each appended one. Payload: its CRC-32, and filling up to the next word.
pub const SEAL: u8 = 0xF2;
/// Kind of a record that stands in place of one that a power cut left unfinished. Its payload means nothing.
pub const VOID: u8 = 0xF3;

/// Version of this layout.
pub const VERSION: u8 = 1;

/// Bytes held in memory at a time; no word and no smallest read may be longer.
pub(super) const BUFFER: usize = 256;
/// What an erased byte reads as.
pub(super) const ERASED: u8 = 0xFF;

/// Where the head's fields are.
const HEAD_VERSION_AT: usize = MAGIC.len() + HEADER_LEN;
const HEAD_WORD_AT: usize = HEAD_VERSION_AT + 1;
pub(super) const HEAD_FIELDS: usize = HEAD_WORD_AT + 2;
/// Where the fields of BEGIN are.
const BEGIN_LENGTH_AT: usize = HEADER_LEN;
const BEGIN_COMPLEMENT_AT: usize = BEGIN_LENGTH_AT + 4;
pub(super) const BEGIN_FIELDS: usize = BEGIN_COMPLEMENT_AT + 4;
/// Bytes of a SEAL without its filling.
pub(super) const SEAL_FIELDS: usize = HEADER_LEN + 4;

/// Sizes that follow from the word size, known to the compiler: dividing by them cannot fail.
pub(super) trait Shape: NorFlash {
    /// Bytes that are written at once, and once.
    const WORD: usize = at_least_one(Self::WRITE_SIZE);
    /// Bytes of the magic and the head.
    const HEAD_LEN: usize = in_words(HEAD_FIELDS, Self::WORD);
    /// Bytes of a BEGIN.
    const BEGIN_LEN: usize = in_words(BEGIN_FIELDS, Self::WORD);
    /// Bytes of the words that hold a record's header. What else they hold is the start of its payload.
    const HEADER_WORDS: usize = in_words(HEADER_LEN, Self::WORD);
    /// Bytes written in one go.
    const CHUNK: usize = BUFFER / Self::WORD * Self::WORD;
    /// Smallest number of bytes that are read.
    const READ: usize = at_least_one(Self::READ_SIZE);

    /// Bytes of a record with this payload and its SEAL.
    fn sealed_len(payload: u32) -> Option<u32> {
        let bytes = payload.checked_add((HEADER_LEN + SEAL_FIELDS) as u32)?;
        match bytes % Self::WORD as u32 {
            0 => Some(bytes),
            over => bytes.checked_add((Self::WORD as u32).saturating_sub(over)),
        }
    }

    /// Bytes that a record with this payload takes in a region.
    fn frame_len(payload: u32) -> Option<u32> {
        Self::sealed_len(payload)?.checked_add(Self::BEGIN_LEN as u32)
    }
}

impl<F: NorFlash> Shape for F {}

const fn at_least_one(size: usize) -> usize {
    if size == 0 { 1 } else { size }
}

const fn in_words(bytes: usize, word: usize) -> usize {
    bytes.div_ceil(word) * word
}

/// Copies `bytes` to `at`, as far as there is room.
pub(super) fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    for (slot, byte) in buffer.iter_mut().skip(at).zip(bytes) {
        *slot = *byte;
    }
}

/// A record's header.
pub(super) fn header(kind: u8, length: u32) -> [u8; HEADER_LEN] {
    let [a, b, c, d] = length.to_le_bytes();
    [kind, a, b, c, d]
}

/// The magic and the head's fields, of a region with words of `word` bytes; with the filling, `len` bytes.
pub(super) fn head(word: u16, len: usize) -> [u8; HEAD_FIELDS] {
    let mut bytes = [VERSION; HEAD_FIELDS];
    put(&mut bytes, 0, &MAGIC);
    put(&mut bytes, MAGIC.len(), &header(HEAD, len.saturating_sub(HEAD_VERSION_AT) as u32));
    put(&mut bytes, HEAD_WORD_AT, &word.to_le_bytes());
    bytes
}

/// The version and the word size, if `bytes` start with the magic and a head. One that was cut has no word size, mostly.
pub(super) fn parse_head(bytes: &[u8]) -> Option<(u8, u16)> {
    let rest = bytes.strip_prefix(&MAGIC)?.strip_prefix(&[HEAD])?;
    let ([_, _, _, _, version, low, high], _) = rest.split_first_chunk()?;
    let word = u16::from_le_bytes([*low, *high]);
    (1..=BUFFER).contains(&usize::from(word)).then_some((*version, word))
}

/// The fields of the BEGIN of a record with this payload; with the filling, `len` bytes.
pub(super) fn begin(payload: u32, len: usize) -> [u8; BEGIN_FIELDS] {
    let mut bytes = [0; BEGIN_FIELDS];
    put(&mut bytes, 0, &header(BEGIN, len.saturating_sub(HEADER_LEN) as u32));
    put(&mut bytes, BEGIN_LENGTH_AT, &payload.to_le_bytes());
    put(&mut bytes, BEGIN_COMPLEMENT_AT, &(!payload).to_le_bytes());
    bytes
}

/// The length of the payload that a BEGIN announces, if `bytes` are exactly a BEGIN.
pub(super) fn parse_begin(bytes: &[u8]) -> Option<u32> {
    let payload = u32::from_le_bytes(*bytes.get(BEGIN_LENGTH_AT..)?.first_chunk()?);
    is_filled(bytes, &begin(payload, bytes.len())).then_some(payload)
}

/// Whether `bytes` are these fields and filling.
pub(super) fn is_filled(bytes: &[u8], fields: &[u8]) -> bool {
    bytes.strip_prefix(fields).is_some_and(is_erased)
}

/// The header of the SEAL behind a record with this payload; both together take `sealed` bytes.
pub(super) fn seal_header(payload: u32, sealed: u32) -> [u8; HEADER_LEN] {
    header(SEAL, sealed.saturating_sub(payload).saturating_sub(2 * HEADER_LEN as u32))
}

/// Whether a record of this kind may be in a region: not the end, and none of the region's own.
pub(super) fn is_content(kind: u8) -> bool {
    kind != 0 && kind < HEAD
}

pub(super) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == ERASED)
}

/// CRC-32 (polynomial 0x04C11DB7 reflected, as in zlib), four bits a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crc(u32);

impl Crc {
    pub(super) const START: Self = Self(u32::MAX);

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 ^= u32::from(byte);
            self.0 = self.0 >> 4 ^ nibble(self.0);
            self.0 = self.0 >> 4 ^ nibble(self.0);
        }
    }

    pub(super) fn value(self) -> u32 {
        !self.0
    }
}

/// What the lowest four bits become when they are shifted out.
fn nibble(crc: u32) -> u32 {
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut at = 0;
        while at < 16 {
            let mut crc = at as u32;
            let mut bit = 0;
            while bit < 4 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
                bit += 1;
            }
            table[at] = crc;
            at += 1;
        }
        table
    };
    TABLE.get((crc & 15) as usize).copied().unwrap_or_default()
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        let mut crc = Crc::START;
        crc.update(b"1234");
        crc.update(b"56789");
        assert_eq!(crc.value(), 0xCBF4_3926);
    }

    #[test]
    fn a_begin_that_is_programmed_in_part_is_none() {
        for payload in [0, 12, 0xFFFF, 0x1234_5678, u32::MAX] {
            let mut whole = [ERASED; 16];
            put(&mut whole, 0, &begin(payload, 16));
            assert_eq!(parse_begin(&whole), Some(payload));
            for bit in 0..128 {
                let mut torn = whole;
                torn[bit / 8] |= 1 << (bit % 8);
                assert!(torn == whole || parse_begin(&torn).is_none(), "{payload} bit {bit}");
            }
        }
    }
}
