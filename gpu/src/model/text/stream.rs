//! Text as its tokens come.

use super::{Special, TextError, Tokenizer};

/// Text of tokens one after the other. A token may end inside a character; what is there of it waits for the rest.
///
/// All pieces together are what [`Tokenizer::decode`] makes of all tokens.
#[derive(Clone, Debug)]
pub struct Stream {
    special: Special,
    /// The beginning of a character, at most three bytes.
    begun: Vec<u8>,
}

impl Stream {
    /// A stream in which special tokens are written out or leave no trace.
    pub fn new(special: Special) -> Self {
        Self { special, begun: Vec::new() }
    }

    /// The text that a token completes. A token that the vocabulary does not have changes nothing.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> Result<String, TextError> {
        self.begun.extend(tokenizer.shown(id, self.special)?);
        Ok(self.take())
    }

    /// What is left at the end: a replacement character, if a character was begun.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.begun).into_owned()
    }

    /// Takes all but the beginning of a character. What can be no character, whatever follows, is replaced.
    fn take(&mut self) -> String {
        let mut text = String::new();
        let mut done = 0;
        for chunk in self.begun.utf8_chunks() {
            text.push_str(chunk.valid());
            done += chunk.valid().len();
            let bad = chunk.invalid();
            // Nothing is wrong with it yet: it ends where the bytes do.
            let begins = std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
            if bad.is_empty() || begins && done + bad.len() == self.begun.len() {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            done += bad.len();
        }
        self.begun.drain(..done);
        text
    }
}
