//! A conversation as tokens that only grow.

use crate::error::{Exit, Failure, Result};
use crate::model::Loaded;
use mrail_gpu::model::text::{Message, Special};

/// What was said, and the tokens that the model has read and written.
///
/// A template renders the whole conversation anew for each turn, and encoding that may cut the answers into other tokens than the
/// model chose. So what was rendered before and the answer's own tokens stay, and only what is new is encoded; where a template
/// changes what it rendered before, all of it is.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Role and content.
    messages: Vec<(&'static str, String)>,
    tokens: Vec<u32>,
    /// The text of the tokens, special ones by name.
    text: String,
}

impl Conversation {
    /// Adds what is said to the model. Returns the context that asks it for an answer.
    pub(crate) fn ask(&mut self, model: &Loaded, said: String) -> Result<Vec<u32>> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(Exit::Usage, error);
        let chat = model.chat.as_ref().map_err(|error| failed(&format!("{error}; --complete needs no template")))?;
        self.messages.push(("user", said));
        let messages: Vec<_> = self.messages.iter().map(|(role, content)| Message { role, content }).collect();
        let text = chat.render(&messages, true).map_err(|error| failed(&error))?;
        let (mut tokens, new) = match text.strip_prefix(&self.text) {
            Some(new) => (self.tokens.clone(), new),
            None => (Vec::new(), &*text),
        };
        tokens.extend(model.tokenizer.encode(new, Special::Named).map_err(|error| failed(&error))?);
        self.text = text;
        Ok(tokens)
    }

    /// Adds what the model answered to its context.
    pub(crate) fn answered(&mut self, model: &Loaded, context: Vec<u32>, answer: &[u32]) {
        let text = |special| model.tokenizer.decode(answer, special).unwrap_or_default();
        self.messages.push(("assistant", text(Special::Ignored)));
        self.text.push_str(&text(Special::Named));
        self.tokens = context;
        self.tokens.extend(answer);
    }
}
