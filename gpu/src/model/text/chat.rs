//! A conversation as the text that a model was trained on.

use super::TextError;
use super::json;
use super::read::{ends, text};
use crate::model::gguf::{Header, clip};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::collections::BTreeMap;
use std::fmt;

/// Most bytes of a template. Long ones have some ten thousand.
pub const MOST_TEMPLATE: u64 = 1 << 18;

/// What a template may use: steps, and one more for every 64 bytes that it puts together. A long conversation takes a few
/// thousand; this many are at most 128 MiB.
const FUEL: u64 = 1 << 21;
const KEY: &str = "tokenizer.chat_template";
const NAME: &str = "chat";

/// A message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Who says it: `system`, `user` or `assistant`, or what else the template knows.
    pub role: &'a str,
    /// What is said.
    pub content: &'a str,
}

/// A model's chat template.
///
/// It sees `messages`, `add_generation_prompt`, `bos_token` and `eos_token`, and `tools` and `documents`, which are none. Blocks are
/// trimmed as the template's authors expect, and `raise_exception`, `tojson` and Python's methods of texts and maps work. There is
/// no clock: a template that calls `strftime_now` fails, unless it asks first whether that is defined.
///
/// What a template may do is bounded in steps and bytes, with a gap: minijinja 3.1 does not count the elements of lists that are
/// added to each other by `+`, nor those of lists in lists that are shown. A template that doubles a list some dozens of times,
/// which no honest one does, takes all time or memory.
#[derive(Clone)]
pub struct Chat {
    environment: Environment<'static>,
    ends: [Option<String>; 2],
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").field("ends", &self.ends).finish_non_exhaustive()
    }
}

impl Chat {
    /// The template of a header. That its model has none is an error: nobody knows how to talk with it.
    pub fn from_header(header: &Header) -> Result<Self, TextError> {
        let template = text(header, KEY)?.ok_or(TextError::Missing { key: KEY })?;
        let (what, found, most) = ("bytes of chat template", template.len() as u64, MOST_TEMPLATE);
        if found > most {
            return Err(TextError::Large { what, found, most });
        }
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(failed)?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(128);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise);
        environment.add_filter("tojson", json::filter);
        environment.add_template_owned(NAME, template.to_owned()).map_err(failed)?;
        Ok(Self { environment, ends: ends(header)? })
    }

    /// The text of a conversation; `answer` asks for one, and the text ends where the model is to go on.
    ///
    /// It goes to [`super::Tokenizer::encode`] with [`super::Special::Named`], as it is: templates write the first token
    /// themselves. Names of special tokens in a message become such tokens, too.
    pub fn render(&self, messages: &[Message<'_>], answer: bool) -> Result<String, TextError> {
        let message = |message: &Message<'_>| {
            let parts = [("content", message.content), ("role", message.role)];
            Value::from(BTreeMap::from(parts.map(|(key, value)| (key, Value::from(value)))))
        };
        let [bos, eos] = &self.ends;
        let mut context = BTreeMap::from([
            ("messages", Value::from(messages.iter().map(message).collect::<Vec<_>>())),
            ("add_generation_prompt", Value::from(answer)),
            ("tools", Value::from(())),
            ("documents", Value::from(())),
        ]);
        context.extend(bos.as_deref().map(|bos| ("bos_token", Value::from(bos))));
        context.extend(eos.as_deref().map(|eos| ("eos_token", Value::from(eos))));
        self.environment.get_template(NAME).and_then(|template| template.render(Value::from(context))).map_err(failed)
    }
}

/// What a template says when it refuses messages.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

fn raise(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "refused").with_source(Raised(message)))
}

#[allow(clippy::needless_pass_by_value, reason = "it is called by map_err")]
fn failed(error: Error) -> TextError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(this) = cause {
        if let Some(Raised(message)) = this.downcast_ref() {
            return TextError::Raised { message: clip(message) };
        }
        if this.downcast_ref().is_some_and(|error: &Error| error.kind() == ErrorKind::OutOfFuel) {
            return TextError::Endless;
        }
        cause = this.source();
    }
    TextError::Template { why: clip(&error.to_string()) }
}
