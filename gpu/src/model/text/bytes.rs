//! Bytes as characters: byte-level BPE writes each byte as one character that can be seen, so that any text is one of letters.
//!
//! A byte that is a visible character of Latin-1 stands for itself; the 68 others follow one after the other from U+0100 on.

/// First character of those that do not stand for themselves.
const OTHERS: u32 = 0x100;

const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// Both ways.
#[derive(Clone, Debug)]
pub(in crate::model) struct Alphabet {
    letters: [char; 256],
    /// Bytes of the characters from [`OTHERS`] on.
    others: Vec<u8>,
}

impl Alphabet {
    pub(in crate::model) fn new() -> Self {
        let others: Vec<u8> = (0..=255).filter(|byte| !stands_for_itself(*byte)).collect();
        let mut letters = std::array::from_fn(|byte| char::from(byte as u8));
        for (letter, byte) in (OTHERS..).zip(&others) {
            letters[usize::from(*byte)] = char::from_u32(letter).unwrap_or_default();
        }
        Self { letters, others }
    }

    /// The character that a byte is written as.
    pub(in crate::model) fn letter(&self, byte: u8) -> char {
        self.letters[usize::from(byte)]
    }

    /// The byte that a character stands for.
    pub(super) fn byte(&self, letter: char) -> Option<u8> {
        match u8::try_from(letter) {
            Ok(byte) => stands_for_itself(byte).then_some(byte),
            Err(_) => self.others.get((letter as u32 - OTHERS) as usize).copied(),
        }
    }

    /// The bytes that a token of such characters stands for. One with any other character in it stands for its own UTF-8.
    pub(super) fn bytes_of(&self, token: &str) -> Vec<u8> {
        let bytes: Option<Vec<u8>> = token.chars().map(|letter| self.byte(letter)).collect();
        bytes.unwrap_or_else(|| token.as_bytes().to_vec())
    }
}
