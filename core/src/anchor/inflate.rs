//! Decompression that costs no more memory than what the stream really delivers.

use super::error::AnchorError;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// A deflate stream grows by this at most: 258 bytes for a length and a distance of one bit each.
const MAX_RATIO: usize = 1032;
/// Room to start with; it doubles as the stream delivers.
const FIRST_ROOM: usize = 4096;

/// Decompresses a whole zlib stream that must be all of `packed`. The result has at most `at_most` bytes; a stream too
/// short for `at_least` is refused unread. A longer result than `at_least` is the caller's to judge.
pub(super) fn inflate(packed: &[u8], at_least: usize, at_most: usize) -> Result<Vec<u8>, AnchorError> {
    if at_least > packed.len().saturating_mul(MAX_RATIO) {
        return Err(AnchorError::Unpackable { declared: at_least, packed: packed.len() });
    }
    let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = Box::<DecompressorOxide>::default();
    let mut out = vec![0; packed.len().saturating_mul(4).max(FIRST_ROOM).min(at_most)];
    let (mut read, mut written) = (0, 0);
    loop {
        let rest = packed.get(read..).unwrap_or_default();
        let (status, taken, given) = decompress(&mut state, rest, &mut out, written, flags);
        read += taken;
        written += given;
        let fault = match status {
            TINFLStatus::Done if read == packed.len() => {
                out.truncate(written);
                return Ok(out);
            }
            TINFLStatus::HasMoreOutput if out.len() == at_most => {
                return Err(AnchorError::BodyTooLong { declared: at_most });
            }
            TINFLStatus::HasMoreOutput => {
                let room = out.len().saturating_mul(2).min(at_most);
                out.resize(room, 0);
                continue;
            }
            TINFLStatus::Done => "has ended, and the body goes on",
            TINFLStatus::FailedCannotMakeProgress => "is cut off",
            TINFLStatus::Adler32Mismatch => "has a wrong checksum",
            _ => "is damaged",
        };
        return Err(AnchorError::Zlib { offset: read, fault });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec_zlib;
    use proptest::prelude::*;

    fn fault(result: Result<Vec<u8>, AnchorError>) -> &'static str {
        match result {
            Err(AnchorError::Zlib { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn streams_of_every_size_fit_exactly() {
        for len in [0, 1, 2, 100, 4095, 4096, 4097, 70_000, 3_000_000] {
            let bytes: Vec<u8> = (0..len).map(|at: u32| (at / 700) as u8).collect();
            let packed = compress_to_vec_zlib(&bytes, 1);
            assert_eq!(inflate(&packed, bytes.len(), bytes.len()).as_ref(), Ok(&bytes));
            assert_eq!(inflate(&packed, 0, usize::MAX).as_ref(), Ok(&bytes));
            if let Some(less) = bytes.len().checked_sub(1) {
                assert_eq!(inflate(&packed, 0, less), Err(AnchorError::BodyTooLong { declared: less }));
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_stream_is_told() {
        let packed = compress_to_vec_zlib(b"a state of a model, a state of a model", 1);
        for cut in 0..packed.len() {
            assert_eq!(fault(inflate(&packed[..cut], 0, 100)), "is cut off", "{cut}");
        }
        let longer = [&packed[..], b"x"].concat();
        assert_eq!(
            inflate(&longer, 0, 100),
            Err(AnchorError::Zlib { offset: packed.len(), fault: "has ended, and the body goes on" })
        );
        let mut checksum = packed.clone();
        *checksum.last_mut().unwrap() ^= 1;
        assert_eq!(fault(inflate(&checksum, 0, 100)), "has a wrong checksum");
        assert_eq!(fault(inflate(b"no zlib", 0, 100)), "is damaged");
    }

    // A bomb: the header asks for terabytes.
    #[test]
    fn a_declared_size_that_no_stream_could_hold_is_refused_unread() {
        let declared = 1 << 30;
        assert_eq!(inflate(&[0; 100], declared, declared), Err(AnchorError::Unpackable { declared, packed: 100 }));
        let zeros = compress_to_vec_zlib(&vec![0; 1 << 20], 9);
        assert!(inflate(&zeros, 1 << 20, 1 << 20).is_ok());
    }

    #[test]
    fn the_room_grows_with_what_is_delivered() {
        let packed = compress_to_vec_zlib(&[7; 100], 1);
        let out = inflate(&packed, 0, usize::MAX).unwrap();
        assert!(out.capacity() <= FIRST_ROOM);
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
            flip in any::<u8>(),
        ) {
            let _ = inflate(&bytes, 0, 1000);
            let mut packed = compress_to_vec_zlib(&bytes, 1);
            let at = at.index(packed.len());
            packed[at] ^= flip;
            // The checksum sees a change of the content; the header and the last bits before it may vary.
            if let Ok(out) = inflate(&packed, 0, 1000) {
                prop_assert_eq!(out, bytes);
            }
        }
    }
}
