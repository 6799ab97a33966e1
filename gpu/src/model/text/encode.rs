//! Text to tokens and back.

use super::TextError;
use super::added::Added;
use super::bytes::Alphabet;
use super::read::{Described, Kind, Named};
use super::split::Split;
use crate::model::gguf::Header;
use std::cell::Cell;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::NFC;
use tokenizers::{Model, NormalizedString, OffsetType, SplitDelimiterBehavior};

/// What to do with special tokens, which steer the model and are no text of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Encoding, a special token's name in the text becomes that token; decoding, the token becomes its name. For text that a
    /// template rendered.
    Named,
    /// Encoding, such a name is text like any other; decoding, the token leaves no trace. For what people write and read.
    Ignored,
}

/// The tokenizer that a file describes.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    bpe: BPE,
    splits: Vec<Split>,
    normalise: Option<NFC>,
    added: Added,
    alphabet: Alphabet,
    /// Which bytes the vocabulary has no token for.
    lacking: [bool; 256],
    /// Where each token's bytes end in those of all.
    ends: Vec<u32>,
    bytes: Vec<u8>,
    special: Vec<bool>,
    named: Named,
}

impl Tokenizer {
    /// Builds the tokenizer that a header describes.
    pub fn from_header(header: &Header) -> Result<Self, TextError> {
        let Described { rules, tokens, merges, named } = Described::read(header)?;
        let splits = rules.splits()?;
        let alphabet = Alphabet::new();
        let vocabulary: Vocab = (0..)
            .zip(&tokens)
            .filter(|(_, (token, kind))| matches!(kind, Kind::Normal | Kind::UserDefined) && !token.is_empty())
            .map(|(id, (token, _))| ((*token).to_owned(), id))
            .collect();
        let lacks = |byte| !vocabulary.contains_key(&*alphabet.letter(byte as u8).encode_utf8(&mut [0; 4]));
        let lacking = std::array::from_fn(lacks);
        let merges = merges.into_iter().map(|(left, right)| (left.to_owned(), right.to_owned())).collect();
        // Its cache would outlive it.
        let bpe =
            BPE::builder().cache_capacity(0).ignore_merges(rules.whole_words).vocab_and_merges(vocabulary, merges);
        let bpe = bpe.build().map_err(TextError::engine)?;
        let added = Added::new(&tokens)?;

        let mut ends = Vec::with_capacity(tokens.len());
        let mut bytes = Vec::new();
        for (token, kind) in &tokens {
            match kind {
                Kind::Normal => bytes.extend(alphabet.bytes_of(token)),
                Kind::Control | Kind::Unknown | Kind::UserDefined => bytes.extend(token.as_bytes()),
                Kind::Unused => {}
            }
            // A header is shorter than 2^32 bytes.
            ends.push(bytes.len() as u32);
        }
        let special = tokens.iter().map(|(_, kind)| matches!(kind, Kind::Control | Kind::Unknown)).collect();
        let normalise = rules.composes.then_some(NFC);
        Ok(Self { bpe, splits, normalise, added, alphabet, lacking, ends, bytes, special, named })
    }

    /// The tokens of a text. No first token is written before them: [`Self::adds_bos`].
    ///
    /// The tokens stand for the text, in composed form where the model wants that, and for nothing else: if the vocabulary has
    /// no token for a byte, that is an error, where other implementations leave the byte out.
    pub fn encode(&self, text: &str, special: Special) -> Result<Vec<u32>, TextError> {
        let added = match special {
            Special::Named => &self.added.all,
            Special::Ignored => &self.added.text,
        };
        let mut pieces = added.extract_and_normalize(self.normalise.as_ref(), text);
        for split in &self.splits {
            let cut = |_, piece: NormalizedString| piece.split(split, SplitDelimiterBehavior::Isolated);
            pieces.split(cut).map_err(TextError::engine)?;
        }
        let lacking = Cell::new(None);
        let encoded = pieces.tokenize(|piece| {
            let bytes = piece.get().as_bytes();
            if let Some(byte) = bytes.iter().find(|byte| self.lacking[usize::from(**byte)]) {
                lacking.set(Some(*byte));
                return Err("a byte without a token".into());
            }
            let letters: String = bytes.iter().map(|byte| self.alphabet.letter(*byte)).collect();
            self.bpe.tokenize(&letters)
        });
        if let Some(byte) = lacking.take() {
            return Err(TextError::Byte { byte });
        }
        encoded.map_err(TextError::engine)?;
        let encoding = pieces.into_encoding(None, 0, OffsetType::None).map_err(TextError::engine)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Whether the vocabulary has no tokens for a character, so that a text with it cannot be encoded.
    pub fn lacks(&self, character: char) -> bool {
        character.encode_utf8(&mut [0; 4]).bytes().any(|byte| self.lacking[usize::from(byte)])
    }

    /// The text of tokens. What is no UTF-8 in it becomes replacement characters.
    pub fn decode(&self, ids: &[u32], special: Special) -> Result<String, TextError> {
        let mut bytes = Vec::new();
        for id in ids {
            bytes.extend(self.shown(*id, special)?);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The bytes that a token stands for: of a special token its name, of one that fills a gap none.
    pub fn bytes(&self, id: u32) -> Result<&[u8], TextError> {
        let unknown = TextError::Id { id: id.into(), vocabulary: self.vocabulary(), key: None };
        let end = *self.ends.get(id as usize).ok_or(unknown)?;
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        Ok(&self.bytes[start as usize..end as usize])
    }

    /// The bytes that a reader sees of a token.
    pub(super) fn shown(&self, id: u32, special: Special) -> Result<&[u8], TextError> {
        let bytes = self.bytes(id)?;
        Ok(if special == Special::Ignored && self.is_special(id) { &[] } else { bytes })
    }

    /// Whether a token steers the model and is no text.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).is_some_and(|special| *special)
    }

    /// How many tokens there are; ids are below it.
    pub fn vocabulary(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The token that a text begins with.
    pub fn bos(&self) -> Option<u32> {
        self.named.bos
    }

    /// Whether a text that no template rendered begins with [`Self::bos`].
    pub fn adds_bos(&self) -> bool {
        self.named.adds_bos
    }

    /// The token that a text ends with.
    pub fn eos(&self) -> Option<u32> {
        self.named.eos
    }

    /// The token that a turn of a conversation ends with, where it is another one.
    pub fn eot(&self) -> Option<u32> {
        self.named.eot
    }

    /// All tokens after which the model has said what it had to say, sorted.
    pub fn stops(&self) -> &[u32] {
        &self.named.stops
    }
}
