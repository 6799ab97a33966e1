//! Tracks: runs whose long context lives elsewhere.
//!
//! ```text
//! payload   ctx_len:u32 ctx_hash:[u8;8] src_len:u16 src:utf-8 n_ops:u32 ops
//! op LIT    0:u8 count:u16 tokens:u32[count]
//! op COPY   1:u8 pos:u32 len:u16             tokens pos..pos+len of the context
//! ```
//!
//! A track's answer is coded against its context ([`crate::copy`]), so whoever has the context can decode it. That it is
//! the right context rests on its length and 64-bit hash alone: the tokens are not in the map.

use crate::chain::PrefixHash;
use crate::record::{Fields, Malformed};
use crate::tokens::Tokens;
#[cfg(feature = "alloc")]
use crate::{record::TRACK, tokens::write_tokens};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// One step of a coded answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op<'a> {
    /// These tokens.
    Lit(Tokens<'a>),
    /// `len` tokens of the context from `position` on.
    Copy {
        /// First position copied.
        position: u32,
        /// Tokens copied.
        len: u16,
    },
}

/// The content of a TRACK record, its operations checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track<'a> {
    /// Tokens in the context.
    pub context_len: u32,
    /// Hash of the whole context.
    pub context_hash: PrefixHash,
    /// Where the context lives, as written by whoever added the track.
    pub source: &'a str,
    /// Tokens in the answer.
    pub answer_len: u64,
    payload: &'a [u8],
    ops: &'a [u8],
}

impl<'a> Track<'a> {
    /// Reads a payload and checks every operation, copies against the context's length too. O(operations).
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let context_len = fields.u32("the length of the context")?;
        let context_hash = PrefixHash(fields.array("the hash of the context")?);
        let source_len = fields.u16("the length of the source")?;
        let source_at = fields.position();
        let source = core::str::from_utf8(fields.bytes("the source", u64::from(source_len))?)
            .map_err(|error| Malformed::Text { field: "the source", at: source_at + error.valid_up_to() })?;
        let count = fields.u32("the number of operations")?;
        let ops = fields.rest();
        let mut answer_len = 0_u64;
        // Each operation takes bytes, so a count that lies is found at the end of the payload, not by counting to 2^32.
        for _ in 0..count {
            match read_op(&mut fields)? {
                Op::Lit(tokens) => answer_len = answer_len.saturating_add(tokens.len() as u64),
                Op::Copy { position, len } if u64::from(position) + u64::from(len) > u64::from(context_len) => {
                    return Err(Malformed::CopyPastContext { position, len, context: context_len });
                }
                Op::Copy { len, .. } => answer_len = answer_len.saturating_add(u64::from(len)),
            }
        }
        fields.end()?;
        Ok(Self { context_len, context_hash, source, answer_len, payload, ops })
    }

    /// The record's payload, as it was read.
    #[cfg(feature = "alloc")]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The operations in order.
    pub fn ops(&self) -> impl Iterator<Item = Op<'a>> + use<'a> {
        let mut fields = Fields::new(self.ops);
        core::iter::from_fn(move || read_op(&mut fields).ok())
    }

    /// The answer, decoded against `context`, which the caller has found to be this track's by its length and hash. Copies
    /// past the end of a shorter one give what is there.
    pub fn decode<'c>(&self, context: &'c [u32]) -> Decoded<'a, 'c> {
        Decoded { ops: Fields::new(self.ops), context, literal: Tokens::default(), copied: &[] }
    }

    /// How many tokens of the answer, decoded against `before`, `behind` begins with.
    #[cfg(any(feature = "alloc", feature = "heapless"))]
    pub(crate) fn shared(&self, before: &[u32], mut behind: &[u32]) -> usize {
        let mut shared = 0_usize;
        for op in self.ops() {
            let (len, common) = match op {
                Op::Lit(tokens) => (tokens.len(), tokens.common_prefix(behind)),
                Op::Copy { position, len } => {
                    let from = before.get(position as usize..).unwrap_or_default();
                    let copied = from.get(..usize::from(len)).unwrap_or(from);
                    (copied.len(), common_prefix(copied, behind))
                }
            };
            shared = shared.saturating_add(common);
            behind = behind.get(common..).unwrap_or_default();
            if common < len || behind.is_empty() {
                break;
            }
        }
        shared
    }
}

/// How many leading tokens are equal. Whole blocks are compared first, as memory is.
#[cfg(any(feature = "alloc", feature = "heapless"))]
fn common_prefix(a: &[u32], b: &[u32]) -> usize {
    const BLOCK: usize = 64;
    let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK)).take_while(|(a, b)| a == b).count();
    let known = blocks.saturating_mul(BLOCK).min(a.len()).min(b.len());
    let (a, b) = (a.get(known..).unwrap_or_default(), b.get(known..).unwrap_or_default());
    known.saturating_add(a.iter().zip(b).take_while(|(a, b)| a == b).count())
}

/// The tokens of a track's answer, in order.
#[derive(Clone, Debug)]
pub struct Decoded<'a, 'c> {
    ops: Fields<'a>,
    context: &'c [u32],
    /// What is left of the operation at hand.
    literal: Tokens<'a>,
    copied: &'c [u32],
}

impl Iterator for Decoded<'_, '_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(token) = self.literal.get(0) {
                self.literal = self.literal.from(1);
                return Some(token);
            }
            if let Some((&token, rest)) = self.copied.split_first() {
                self.copied = rest;
                return Some(token);
            }
            match read_op(&mut self.ops).ok()? {
                Op::Lit(tokens) => self.literal = tokens,
                Op::Copy { position, len } => {
                    let from = self.context.get(position as usize..).unwrap_or_default();
                    self.copied = from.get(..usize::from(len)).unwrap_or(from);
                }
            }
        }
    }
}

fn read_op<'a>(fields: &mut Fields<'a>) -> Result<Op<'a>, Malformed> {
    let at = fields.position();
    match fields.u8("an operation")? {
        0 => {
            let count = fields.u16("the length of a literal")?;
            let tokens = fields.bytes("the tokens of a literal", u64::from(count) * 4)?;
            Ok(Op::Lit(Tokens::new(tokens).unwrap_or_default()))
        }
        1 => {
            let position = fields.u32("the position of a copy")?;
            let len = fields.u16("the length of a copy")?;
            Ok(Op::Copy { position, len })
        }
        code => Err(Malformed::UnknownOp { code, at }),
    }
}

/// Whether a torn track's content ends inside `part`: then its declared length is wrong.
pub(crate) fn ends_within(part: &[u8]) -> bool {
    let mut fields = Fields::new(part);
    let mut walk = || -> Result<(), Malformed> {
        fields.bytes("the context", 12)?;
        let source_len = fields.u16("the length of the source")?;
        fields.bytes("the source", u64::from(source_len))?;
        for _ in 0..fields.u32("the number of operations")? {
            match read_op(&mut fields) {
                // An operation that no writer writes: the length was not the only thing that went wrong.
                Err(Malformed::UnknownOp { .. }) => return Ok(()),
                other => other?,
            };
        }
        Ok(())
    };
    walk().is_ok()
}

/// The payload of a TRACK record. The caller has checked that the source fits.
#[cfg(feature = "alloc")]
pub(crate) fn encode_track(
    context_len: u32,
    context_hash: PrefixHash,
    source: &str,
    answer: &[u32],
    ops: &[crate::copy::CopyOp],
) -> (u8, Vec<u8>) {
    let mut payload = Vec::new();
    payload.extend(context_len.to_le_bytes());
    payload.extend(context_hash.0);
    payload.extend((source.len() as u16).to_le_bytes());
    payload.extend(source.bytes());
    let pieces = || ops.iter().flat_map(crate::copy::CopyOp::pieces);
    payload.extend((pieces().count() as u32).to_le_bytes());
    for piece in pieces() {
        match piece {
            crate::copy::CopyOp::Lit { start, len } => {
                payload.push(0);
                payload.extend((len as u16).to_le_bytes());
                write_tokens(&mut payload, answer.get(start..start + len).unwrap_or_default());
            }
            crate::copy::CopyOp::Copy { position, len } => {
                payload.push(1);
                payload.extend((position as u32).to_le_bytes());
                payload.extend((len as u16).to_le_bytes());
            }
        }
    }
    (TRACK, payload)
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::copy::encode_copy;

    fn payload(context: &[u32], answer: &[u32], source: &str) -> Vec<u8> {
        let ops = encode_copy(answer, context, 4).unwrap();
        encode_track(context.len() as u32, PrefixHash::of(context), source, answer, &ops).1
    }

    #[test]
    fn a_track_round_trips() {
        let context: Vec<u32> = (0..100).collect();
        let answer = [7, 7, 50, 51, 52, 53, 54, 9];
        let bytes = payload(&context, &answer, "päge");
        let track = Track::parse(&bytes).unwrap();
        assert_eq!((track.context_len, track.source, track.answer_len), (100, "päge", 8));
        assert_eq!(track.ops().count(), 3);
        assert_eq!(track.decode(&context).collect::<Vec<_>>(), answer);
    }

    #[test]
    fn what_follows_the_context_is_compared_with_the_answer_up_to_the_first_difference() {
        let context: Vec<u32> = (0..300).collect();
        let answer: Vec<u32> = [7, 7].into_iter().chain(20..270).chain([9]).chain(100..164).collect();
        let bytes = payload(&context, &answer, "");
        let track = Track::parse(&bytes).unwrap();
        for len in 0..=answer.len() {
            let mut behind = answer[..len].to_vec();
            assert_eq!(track.shared(&context, &behind), len);
            behind.extend([5000; 100]);
            assert_eq!(track.shared(&context, &behind), len);
        }
        assert_eq!(
            track.shared(&context[..50], &answer),
            2 + 30,
            "copies past the end of a shorter one give what is there"
        );
    }

    #[test]
    fn what_is_longer_than_a_length_field_is_split() {
        let context: Vec<u32> = (0..70_000).collect();
        let literal: Vec<u32> = (100_000..170_000).collect();
        for answer in [context.clone(), literal] {
            let bytes = payload(&context, &answer, "");
            let track = Track::parse(&bytes).unwrap();
            assert_eq!(track.ops().count(), 2);
            assert!(track.decode(&context).eq(answer.iter().copied()));
        }
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = payload(&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 9], "s");
        for cut in 0..bytes.len() {
            assert!(matches!(Track::parse(&bytes[..cut]), Err(Malformed::Short { .. })), "{cut}");
            assert!(!ends_within(&bytes[..cut]), "{cut}");
        }
        assert!(ends_within(&bytes));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let head = |n_ops: u32| [&3u32.to_le_bytes()[..], &[0; 8], &[0, 0], &n_ops.to_le_bytes()].concat();
        let with = |n_ops, ops: &[u8]| Track::parse(&[head(n_ops), ops.to_vec()].concat()).map(|_| ());
        assert_eq!(with(1, &[7]), Err(Malformed::UnknownOp { code: 7, at: 18 }));
        assert_eq!(with(0, &[7]), Err(Malformed::Long { needs: 18, len: 19 }));
        let past = Malformed::CopyPastContext { position: 2, len: 2, context: 3 };
        assert_eq!(with(1, &[1, 2, 0, 0, 0, 2, 0]), Err(past));
        assert_eq!(with(u32::MAX, &[]), Err(Malformed::Short { field: "an operation", needs: 19, len: 18 }));
        let text = [&3u32.to_le_bytes()[..], &[0; 8], &[2, 0], b"a\xFF", &[0; 4]].concat();
        assert_eq!(Track::parse(&text).map(|_| ()), Err(Malformed::Text { field: "the source", at: 15 }));
        assert_eq!(with(0, &[]), Ok(()));
    }
}
