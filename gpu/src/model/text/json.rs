//! JSON as chat templates expect it, which is as Python writes it: a space behind commas and colons, nothing escaped but what
//! must be.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// Lists in lists, at most.
const MOST_NESTED: usize = 64;

/// The filter `tojson`.
#[allow(clippy::needless_pass_by_value, reason = "filters take their options so")]
pub(super) fn filter(state: &State<'_, '_>, value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent = options.get::<Option<usize>>("indent")?;
    // Python's default, and all that templates ask for.
    let _ = options.get::<Option<bool>>("ensure_ascii")?;
    options.assert_all_used()?;
    let mut writer = Writer { state, indent: indent.map(|indent| indent.min(16)), text: String::new() };
    writer.write(value, 0)?;
    Ok(writer.text)
}

struct Writer<'a, 'b, 'c> {
    state: &'a State<'b, 'c>,
    indent: Option<usize>,
    text: String,
}

impl Writer<'_, '_, '_> {
    fn write(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MOST_NESTED {
            return Err(Error::new(ErrorKind::BadSerialization, "lists lie too deep in each other"));
        }
        // A value that holds another one twice takes room twice here.
        let bytes = value.as_str().map_or(0, str::len) + depth * self.indent.unwrap_or(0);
        self.state.consume_fuel(1 + bytes as u64 / 64)?;
        match value.kind() {
            ValueKind::None | ValueKind::Undefined => self.text.push_str("null"),
            ValueKind::Bool | ValueKind::Number => self.text.push_str(&value.to_string().to_lowercase()),
            ValueKind::String => self.string(value.as_str().unwrap_or_default())?,
            ValueKind::Map => {
                self.text.push('{');
                let mut first = true;
                for key in value.try_iter()? {
                    self.next(&mut first, depth + 1);
                    self.string(&key.to_string())?;
                    self.text.push_str(": ");
                    self.write(&value.get_item(&key)?, depth + 1)?;
                }
                self.close(first, depth, '}');
            }
            ValueKind::Seq | ValueKind::Iterable => {
                self.text.push('[');
                let mut first = true;
                for element in value.try_iter()? {
                    self.next(&mut first, depth + 1);
                    self.write(&element, depth + 1)?;
                }
                self.close(first, depth, ']');
            }
            other => return Err(Error::new(ErrorKind::BadSerialization, format!("{other} has no form in JSON"))),
        }
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        let failed = |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
        self.text.push_str(&serde_json::to_string(text).map_err(failed)?);
        Ok(())
    }

    fn next(&mut self, first: &mut bool, depth: usize) {
        if !*first {
            self.text.push_str(if self.indent.is_some() { "," } else { ", " });
        }
        *first = false;
        self.line(depth);
    }

    fn close(&mut self, empty: bool, depth: usize, with: char) {
        if !empty {
            self.line(depth);
        }
        self.text.push(with);
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }
}
