//! Prompts as tokens.

use crate::Error;
use crate::args::{Properties, list, text, tokens, wrong};
use js_sys::{Array, Uint32Array};
use mrail_gpu::model::gguf::Header;
use mrail_gpu::model::text::{Chat, Message, Special, TextError, Tokenizer};
use wasm_bindgen::prelude::*;

/// A model's way with text.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) tokenizer: Tokenizer,
    /// Or why there is none: then only tokens and plain text are answered.
    chat: Result<Chat, TextError>,
}

impl Text {
    pub(crate) fn of(header: &Header) -> Result<Self, TextError> {
        Ok(Self { tokenizer: Tokenizer::from_header(header)?, chat: Chat::from_header(header) })
    }

    /// The tokens of `Prompt` of `types.d.ts`.
    pub(crate) fn prompt(&self, prompt: &JsValue, complete: bool) -> Result<Vec<u32>, Error> {
        if prompt.is_instance_of::<Uint32Array>() {
            return tokens("prompt", prompt);
        }
        if let Some(text) = prompt.as_string() {
            return if complete { self.plain(&text) } else { self.messages(&[("user".to_owned(), text)]) };
        }
        if !Array::is_array(prompt) {
            return Err(wrong("prompt", "a string, an array of messages or a Uint32Array", prompt));
        }
        let messages = list("prompt", prompt, |name, value| {
            let message = Properties::of(name, value)?;
            Ok((message.needed("role", text)?, message.needed("content", text)?))
        })?;
        self.messages(&messages)
    }

    /// Text to go on from, as it is.
    fn plain(&self, text: &str) -> Result<Vec<u32>, Error> {
        let first = self.tokenizer.bos().filter(|_| self.tokenizer.adds_bos());
        let rest = self.tokenizer.encode(text, Special::Ignored).map_err(|error| Error::from(&error))?;
        Ok(first.into_iter().chain(rest).collect())
    }

    fn messages(&self, messages: &[(String, String)]) -> Result<Vec<u32>, Error> {
        let chat = self.chat.as_ref().map_err(Error::from)?;
        let messages: Vec<_> = messages.iter().map(|(role, content)| Message { role, content }).collect();
        let said = chat.render(&messages, true).map_err(|error| Error::from(&error))?;
        self.tokenizer.encode(&said, Special::Named).map_err(|error| Error::from(&error))
    }
}
