//! What lies behind the last whole record, and whether it may be cut.
//!
//! A write that was interrupted leaves one torn record. It can be cut before the next append, and must be: bytes written
//! behind it would complete a record that nobody wrote. But a tail that is *not* plainly one torn record may be good
//! records behind a damaged length, and cutting those would lose them. So a tail counts as torn only if nothing in it
//! contradicts that (FORMAT.md, "Tail before an append"):
//!
//! * it is shorter than a header, or
//! * it is all zeros (a file system that had grown the file but not written it), or
//! * it starts with a header of a known kind whose length agrees with as much of the payload's own counts as is there.
//!
//! Without the feature `alloc` an anchor's stream cannot be followed: a torn anchor with its whole header counts as damage.

use crate::anchor::Anchor;
use crate::record::{ANCHOR, DELTA, Fields, Malformed, SESSION, TRACK, USE, header};
use crate::run::TOKENS_AT;
use crate::track;
#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec};
#[cfg(feature = "alloc")]
use miniz_oxide::inflate::TINFLStatus;
#[cfg(feature = "alloc")]
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// State of a file's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The file ends with a whole record.
    None,
    /// One torn record, `len` bytes of it. It is cut before an append.
    Torn {
        /// Bytes behind the last whole record.
        len: usize,
    },
    /// Anything else. Appending is refused until the file was repaired (`mrail::repair`).
    Damaged {
        /// Bytes behind the last whole record.
        len: usize,
    },
}

impl Tail {
    /// Looks at what stands behind the last whole record. O(1) for a torn session, O(tail) for a track; the compressed stream
    /// of an anchor is followed for 64 times the tail, or for 64 MiB.
    #[must_use]
    pub fn of(rest: &[u8]) -> Self {
        let len = rest.len();
        match header(rest) {
            None if len == 0 => Self::None,
            None => Self::Torn { len },
            Some((0, _, _)) if rest.iter().all(|&byte| byte == 0) => Self::Torn { len },
            Some((kind, length, part)) if is_torn(kind, u64::from(length), part) => Self::Torn { len },
            Some(_) => Self::Damaged { len },
        }
    }

    /// Bytes behind the last whole record.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Torn { len } | Self::Damaged { len } => len,
        }
    }

    /// Whether the file ends with a whole record.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Whether `part` may be the beginning of a payload of `length` bytes.
fn is_torn(kind: u8, length: u64, part: &[u8]) -> bool {
    let mut fields = Fields::new(part);
    match kind {
        SESSION => {
            let has_counts = length >= TOKENS_AT as u64 && length.is_multiple_of(4);
            let count = fields.bytes("the session id", 4).and_then(|_| fields.u32("the number of tokens"));
            has_counts && count.map_or(true, |count| TOKENS_AT as u64 + 4 * u64::from(count) == length)
        }
        USE => length == 12,
        TRACK => length >= 18 && !track::ends_within(part),
        ANCHOR | DELTA => is_torn_anchor(kind, length, part),
        _ => false,
    }
}

/// The same for an anchor: its JSON must be readable as far as it is whole, and its body must not end before the record.
fn is_torn_anchor(kind: u8, length: u64, part: &[u8]) -> bool {
    match Anchor::parse(kind, part) {
        // The JSON is cut off; its length, if it is there, must leave room for it.
        Err(Malformed::Short { needs, .. }) => needs <= length,
        Err(_) => false,
        #[cfg(not(feature = "alloc"))]
        Ok(_) => false,
        #[cfg(feature = "alloc")]
        Ok(anchor) => match anchor.meta() {
            Ok(meta) if meta.compressed => !stream_ends_within(anchor.body),
            // What is not compressed has a length that is known; but for a delta's, which depends on what changed.
            Ok(meta) => {
                let body = length.checked_sub((part.len() - anchor.body.len()) as u64);
                anchor.parent.is_none() && body.is_some() && meta.whole_len() == body
            }
            Err(_) => false,
        },
    }
}

/// A stream is followed for 64 times what there is of it, or of this.
#[cfg(feature = "alloc")]
pub(crate) const PART: usize = 1 << 20;

/// Whether a zlib stream ends inside `part`, or is none, or delivers so much that nobody has followed it to the end: then
/// nothing says that the good records behind it are not there.
#[cfg(feature = "alloc")]
fn stream_ends_within(part: &[u8]) -> bool {
    const WINDOW: usize = 1 << 15;
    let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
    let mut state = Box::<DecompressorOxide>::default();
    let mut window = vec![0; WINDOW];
    let (mut read, mut at, mut delivered) = (0, 0, 0);
    while delivered <= part.len().max(PART).saturating_mul(64) {
        let rest = part.get(read..).unwrap_or_default();
        let (status, taken, given) = decompress(&mut state, rest, &mut window, at, flags);
        read += taken;
        delivered += given;
        at = (at + given) % WINDOW;
        match status {
            TINFLStatus::HasMoreOutput => {}
            TINFLStatus::NeedsMoreInput => return false,
            _ => return true,
        }
    }
    true
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::anchor::{self, ArraySpec, Dtype, Scalars, Snapshot};
    use crate::chain::PrefixHash;
    use crate::record::{HEADER_LEN, MAGIC};
    use crate::usage::Use;
    use crate::{run, track};
    use alloc::vec::Vec;

    fn record((kind, payload): (u8, Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::from([kind]);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    fn records() -> Vec<Vec<u8>> {
        let ops = crate::copy::encode_copy(&[1, 2, 9, 9], &[1, 2, 3], 2).unwrap();
        let array = ArraySpec::new("_root_keys", Dtype::UInt16, [1, 2, 3]);
        let layer = (Scalars::parse("{}").unwrap(), [&[7u8; 12][..]]);
        let state = Snapshot::from_layers(Vec::from([array]), [layer]).unwrap();
        let anchor = anchor::encode(0, 3, PrefixHash::of(&[1, 2, 3]), &state, None).unwrap();
        Vec::from([
            record((anchor.kind, anchor.payload)),
            record(run::encode_session(0, &[1, 2, 3], 1)),
            record(Use { hash: PrefixHash(MAGIC), hits: 3 }.encode()),
            record(track::encode_track(3, PrefixHash::of(&[1, 2, 3]), "src", &[1, 2, 9, 9], &ops)),
        ])
    }

    #[test]
    fn every_cut_of_one_record_is_torn() {
        for record in records() {
            for cut in 1..record.len() {
                assert_eq!(Tail::of(&record[..cut]), Tail::Torn { len: cut }, "{record:?}");
            }
        }
        assert_eq!(Tail::of(&[]), Tail::None);
    }

    #[test]
    fn a_raised_length_that_hides_good_records_is_damage() {
        for first in records() {
            for second in records() {
                for bit in 0..32 {
                    let mut bytes = first.clone();
                    let length = u32::from_le_bytes(*bytes[1..].first_chunk().unwrap()) | 1 << bit;
                    bytes[1..HEADER_LEN].copy_from_slice(&length.to_le_bytes());
                    if bytes == first {
                        continue;
                    }
                    bytes.extend(&second);
                    if (length as usize) < bytes.len() - HEADER_LEN {
                        continue;
                    }
                    assert_eq!(Tail::of(&bytes), Tail::Damaged { len: bytes.len() }, "bit {bit} of {first:?}");
                }
            }
        }
    }

    /// A record of a state of so many zeros.
    fn zeros(len: usize) -> Vec<u8> {
        let array = ArraySpec::new("a", Dtype::UInt8, [len as u64]);
        let state = Snapshot::from_layers(Vec::from([array]), [(Scalars::default(), [&vec![0; len][..]])]).unwrap();
        let anchor = anchor::encode(0, 3, PrefixHash::of(&[1, 2, 3]), &state, None).unwrap();
        record((anchor.kind, anchor.payload))
    }

    // A state of zeros takes a thousandth of its size, and so delivers more than 64 times the tail.
    #[test]
    fn a_raised_length_of_a_state_that_compresses_well_is_damage() {
        let whole = zeros(3_000_000);
        assert_eq!(Tail::of(&whole[..whole.len() - 1]), Tail::Torn { len: whole.len() - 1 });
        let mut bytes = [&whole[..], &record(run::encode_session(0, &[1, 2, 3], 1))].concat();
        bytes[4] = 1;
        assert_eq!(Tail::of(&bytes), Tail::Damaged { len: bytes.len() });
    }

    #[test]
    fn a_stream_that_nobody_followed_to_its_end_is_damage() {
        let whole = zeros(70 << 20);
        let cut = &whole[..whole.len() - 1];
        assert_eq!(Tail::of(cut), Tail::Damaged { len: cut.len() });
    }

    #[test]
    fn a_raised_length_of_a_state_that_is_not_compressed_is_damage() {
        let plain = |kind, parent: &[u8], json: &[u8], body: &[u8]| {
            let len = [json.len() as u8, 0, 0, 0];
            record((kind, [&[0; 8], &MAGIC[..], parent, &len, json, body].concat()))
        };
        let whole = plain(ANCHOR, &[], br#"{"arrays":[["a","uint8",[4]]],"scalars":[{}]}"#, &[7; 4]);
        for cut in 1..whole.len() {
            assert_eq!(Tail::of(&whole[..cut]), Tail::Torn { len: cut });
        }
        let delta = plain(DELTA, &MAGIC, br#"{"arrays":[["_root_keys","uint8",[1,1,1]]],"scalars":[{}]}"#, &[0x80, 7]);
        for mut bytes in [whole, delta] {
            bytes.extend(record(run::encode_session(0, &[1, 2, 3], 1)));
            bytes[2] = 1;
            assert_eq!(Tail::of(&bytes), Tail::Damaged { len: bytes.len() });
        }
    }

    #[test]
    fn zeros_are_torn_and_other_fill_is_damage() {
        assert_eq!(Tail::of(&[0; 40]), Tail::Torn { len: 40 });
        assert_eq!(Tail::of(&[0xFF; 40]), Tail::Damaged { len: 40 });
        assert_eq!(Tail::of(&[0, 0, 0, 0, 0, 1]), Tail::Damaged { len: 6 });
        assert_eq!(Tail::of(&[9, 9, 0, 0, 0, 1]), Tail::Damaged { len: 6 });
    }
}
