//! Tokens that are searched for in a text before it is cut.

use super::TextError;
use super::read::Kind;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::NFC;
use tokenizers::{AddedToken, AddedVocabulary};

/// Where to look for tokens: for all of them, or only for those that are text.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) all: AddedVocabulary,
    pub(super) text: AddedVocabulary,
}

impl Added {
    pub(super) fn new(tokens: &[(&str, Kind)]) -> Result<Self, TextError> {
        let is_added = |kind| matches!(kind, Kind::Control | Kind::Unknown | Kind::UserDefined);
        Ok(Self { all: find(tokens, is_added)?, text: find(tokens, |kind| kind == Kind::UserDefined)? })
    }
}

fn find(tokens: &[(&str, Kind)], which: impl Fn(Kind) -> bool) -> Result<AddedVocabulary, TextError> {
    let chosen: Vec<(u32, &str)> = (0..)
        .zip(tokens)
        .filter(|(_, (token, kind))| which(*kind) && !token.is_empty())
        .map(|(id, (token, _))| (id, *token))
        .collect();
    // A model of these alone tells their numbers; in the one that encodes they are not all.
    let ids = chosen.iter().map(|(id, token)| ((*token).to_owned(), *id));
    let model = BPE::builder().vocab_and_merges(ids.collect::<Vocabulary>(), Vec::new()).cache_capacity(0).build();
    let model = model.map_err(TextError::engine)?;
    let mut added = AddedVocabulary::new();
    let tokens = chosen.iter().map(|(_, token)| AddedToken::from(*token, true).normalized(false));
    added.add_tokens(tokens, &model, None::<&NFC>).map_err(TextError::engine)?;
    Ok(added)
}

type Vocabulary = tokenizers::models::bpe::Vocab;
