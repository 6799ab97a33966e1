//! Token ids where they lie: little-endian `u32`s in a byte slice, at any alignment.

use core::cmp::Ordering;

/// A borrowed sequence of token ids.
///
/// The bytes are a whole number of little-endian `u32`s. Nothing is copied or cast, so offsets may be odd and the host's
/// byte order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens<'a> {
    words: &'a [[u8; 4]],
}

impl<'a> Tokens<'a> {
    /// Views `bytes` as tokens; `None` unless they are a whole number of them.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks();
        rest.is_empty().then_some(Self { words })
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.words.is_empty()
    }

    /// The token at `position`, if there is one.
    #[must_use]
    pub fn get(self, position: usize) -> Option<u32> {
        self.words.get(position).map(|word| u32::from_le_bytes(*word))
    }

    /// The tokens from `start` on; none where `start` lies past the end.
    #[must_use]
    pub fn from(self, start: usize) -> Self {
        Self { words: self.words.get(start..).unwrap_or_default() }
    }

    /// The first `count` tokens; all of them where there are fewer.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        Self { words: self.words.get(..count).unwrap_or(self.words) }
    }

    /// The tokens in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + Clone + 'a {
        self.words.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// How many leading tokens equal those of `context`. O(result).
    #[must_use]
    pub fn common_prefix(self, context: &[u32]) -> usize {
        // Machines with an allocator compare many tokens at a time; to small ones the code is not worth its size.
        let known = if cfg!(feature = "alloc") { self.equal_blocks(context) } else { 0 };
        let rest = self.from(known).iter().zip(context.get(known..).unwrap_or_default());
        known.saturating_add(rest.take_while(|(token, other)| token == *other).count())
    }

    /// How many leading tokens are equal in whole blocks, inside which there is no way out.
    fn equal_blocks(self, context: &[u32]) -> usize {
        const BLOCK: usize = 16;
        let equal = |(words, others): &(&[[u8; 4]; BLOCK], &[u32; BLOCK])| {
            let pairs = words.iter().zip(others.iter());
            pairs.fold(true, |equal, (word, other)| equal & (u32::from_le_bytes(*word) == *other))
        };
        let (blocks, others) = (self.words.as_chunks().0, context.as_chunks().0);
        blocks.iter().zip(others).take_while(equal).count().saturating_mul(BLOCK)
    }

    /// Whether `needle` stands in here. O(tokens + needle) by the failure function of Knuth, Morris and Pratt (1977).
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn contains(self, needle: &[u32]) -> bool {
        // For each prefix of the needle, the length of its longest proper prefix that is a suffix too.
        let mut borders = alloc::vec::Vec::with_capacity(needle.len());
        let step = |borders: &[usize], mut matched: usize, token: u32| {
            loop {
                if needle.get(matched) == Some(&token) {
                    return matched + 1;
                }
                match matched.checked_sub(1) {
                    Some(shorter) => matched = borders.get(shorter).copied().unwrap_or(0),
                    None => return 0,
                }
            }
        };
        for (at, &token) in needle.iter().enumerate() {
            let border = if at == 0 { 0 } else { step(&borders, borders.last().copied().unwrap_or(0), token) };
            borders.push(border);
        }
        let mut matched = 0;
        needle.is_empty()
            || self.iter().any(|token| {
                matched = step(&borders, matched, token);
                matched == needle.len()
            })
    }

    /// Lexicographic comparison with another sequence.
    #[must_use]
    pub fn compare(self, other: Tokens<'_>) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

/// Appends `tokens` as little-endian `u32`s.
#[cfg(feature = "alloc")]
pub(crate) fn write_tokens(out: &mut alloc::vec::Vec<u8>, tokens: &[u32]) {
    out.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    #[test]
    fn tokens_are_read_at_odd_offsets() {
        let bytes = [0xAA, 1, 0, 0, 0, 0, 1, 0, 0];
        let tokens = Tokens::new(&bytes[1..]).unwrap();
        assert_eq!(tokens.iter().collect::<Vec<_>>(), [1, 256]);
        assert_eq!((tokens.get(1), tokens.get(2)), (Some(256), None));
    }

    #[test]
    fn a_part_of_a_token_is_no_token() {
        assert_eq!(Tokens::new(&[1, 2, 3]), None);
        assert!(Tokens::new(&[]).unwrap().is_empty());
    }

    #[test]
    fn slices_past_the_end_are_empty_or_whole() {
        let tokens = Tokens::new(&[1, 0, 0, 0]).unwrap();
        assert!(tokens.from(2).is_empty());
        assert_eq!(tokens.first(9).len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn contains_equals_looking_at_every_place(
            tokens in proptest::collection::vec(0u32..3, 0..40),
            needle in proptest::collection::vec(0u32..3, 0..6),
        ) {
            let mut bytes = Vec::new();
            write_tokens(&mut bytes, &tokens);
            let found = needle.is_empty() || tokens.windows(needle.len()).any(|window| window == needle);
            proptest::prop_assert_eq!(Tokens::new(&bytes).unwrap().contains(&needle), found);
        }
    }

    #[test]
    fn a_needle_of_equal_tokens_takes_one_pass() {
        let bytes = [7, 0, 0, 0].repeat(1 << 20);
        let needle = [vec![7; 1 << 19], vec![8]].concat();
        assert!(!Tokens::new(&bytes).unwrap().contains(&needle));
    }

    #[test]
    fn common_prefix_stops_at_the_first_difference_and_at_either_end() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
        let tokens = Tokens::new(&bytes).unwrap();
        for (context, expected) in [(&[][..], 0), (&[9], 0), (&[1, 2], 2), (&[1, 9, 3], 1), (&[1, 2, 3, 4], 3)] {
            assert_eq!(tokens.common_prefix(context), expected, "{context:?}");
        }
    }

    #[test]
    fn common_prefix_of_any_length() {
        let context: Vec<u32> = (0..100).collect();
        let bytes: Vec<u8> = context.iter().flat_map(|token| token.to_le_bytes()).collect();
        for len in 0..=context.len() {
            let tokens = Tokens::new(&bytes).unwrap().first(len);
            assert_eq!(tokens.common_prefix(&context), len);
            let mut other = context.clone();
            other.iter_mut().skip(len).for_each(|token| *token += 1);
            assert_eq!(Tokens::new(&bytes).unwrap().common_prefix(&other), len);
        }
    }
}
