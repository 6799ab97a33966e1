//! Sessions: runs whose tokens are in the map.
//!
//! ```text
//! payload   sid:u32 n:u32 gen_start:u32 tokens:u32[n]
//! ```
//!
//! `tokens[..gen_start]` is what the model was given and `tokens[gen_start..]` what it answered greedily. The stored sid
//! is informational. `gen_start` may lie past the end; such a run answers nothing.

use crate::record::{Fields, Malformed};
use crate::tokens::Tokens;
#[cfg(feature = "alloc")]
use crate::{record::SESSION, tokens::write_tokens};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// Bytes before the tokens.
pub(crate) const TOKENS_AT: usize = 12;

/// The content of a SESSION record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session<'a> {
    /// Number that the writer gave it; readers number runs by order of loading.
    pub sid: u32,
    /// Where the answer starts.
    pub gen_start: u32,
    /// Context and answer.
    pub tokens: Tokens<'a>,
}

impl<'a> Session<'a> {
    /// Reads a payload. O(1): the tokens stay where they are.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let sid = fields.u32("the session id")?;
        let count = fields.u32("the number of tokens")?;
        let gen_start = fields.u32("the start of the answer")?;
        let tokens = fields.bytes("the tokens", u64::from(count) * 4)?;
        fields.end()?;
        Ok(Self { sid, gen_start, tokens: Tokens::new(tokens).unwrap_or_default() })
    }

    /// What the model was given.
    #[must_use]
    pub fn context(&self) -> Tokens<'a> {
        self.tokens.first(self.gen_start as usize)
    }

    /// What the model answered.
    #[must_use]
    pub fn answer(&self) -> Tokens<'a> {
        self.tokens.from(self.gen_start as usize)
    }
}

/// The payload of a SESSION record. The caller has checked that the number of tokens fits.
#[cfg(feature = "alloc")]
pub(crate) fn encode_session(sid: u32, tokens: &[u32], gen_start: u32) -> (u8, Vec<u8>) {
    let mut payload = Vec::with_capacity(TOKENS_AT + tokens.len() * 4);
    write_tokens(&mut payload, &[sid, tokens.len() as u32, gen_start]);
    write_tokens(&mut payload, tokens);
    (SESSION, payload)
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    #[test]
    fn a_session_round_trips() {
        let (kind, payload) = encode_session(7, &[1, 2, u32::MAX], 2);
        let session = Session::parse(&payload).unwrap();
        assert_eq!((kind, session.sid, session.gen_start), (SESSION, 7, 2));
        assert_eq!(session.context().iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(session.answer().iter().collect::<Vec<_>>(), [u32::MAX]);
    }

    #[test]
    fn an_answer_may_start_past_the_end() {
        let (_, payload) = encode_session(0, &[1], 9);
        let session = Session::parse(&payload).unwrap();
        assert_eq!((session.context().len(), session.answer().len()), (1, 0));
    }

    #[test]
    fn a_count_that_disagrees_with_the_length_is_refused() {
        let (_, payload) = encode_session(0, &[1, 2], 1);
        for cut in 0..payload.len() {
            assert!(matches!(Session::parse(&payload[..cut]), Err(Malformed::Short { .. })), "{cut}");
        }
        let mut long = payload.clone();
        long.push(0);
        assert_eq!(Session::parse(&long), Err(Malformed::Long { needs: 20, len: 21 }));
        let mut huge = payload;
        huge[4..8].fill(0xFF);
        let error = Malformed::Short { field: "the tokens", needs: 12 + 4 * u64::from(u32::MAX), len: 20 };
        assert_eq!(Session::parse(&huge), Err(error));
    }
}
