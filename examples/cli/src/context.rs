//! Contexts: lists of token ids from the command line, a file, or a run of the map.

use crate::args::Context;
use crate::error::{Exit, Failure, Result};
use mrail::Map;
use mrail::map::Run;
use std::io::Read;
use std::path::Path;

/// Most tokens of one answer. A track of some bytes may copy its context thousands of times.
pub(crate) const MOST_TOKENS: usize = 1 << 26;

/// The tokens that `--tokens` or `--tokens-file` give, if one of them is there.
pub(crate) fn given(tokens: Option<&str>, file: Option<&Path>) -> Result<Option<Vec<u32>>> {
    if let Some(text) = tokens {
        return parse(text).map(Some).map_err(|what| Failure::usage(format!("--tokens: {what}")));
    }
    let Some(path) = file else { return Ok(None) };
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| Failure::of_file(Exit::Unreadable, path, format!("cannot be read: {error}")))?;
    parse(&text).map(Some).map_err(|what| Failure::of_file(Exit::Usage, path, what))
}

impl Context {
    /// The context in a map.
    pub(crate) fn resolve(&self, map: &Map<'_>) -> Result<Vec<u32>> {
        if let Some(tokens) = given(self.tokens.as_deref(), self.tokens_file.as_deref())? {
            return Ok(tokens);
        }
        // The grammar sees to it that a run is given then.
        let run = self.run.unwrap_or_default();
        let session = match map.run(run) {
            Some(Run::Session(session)) => session,
            Some(Run::Track(_)) => {
                return Err(Failure::usage(format!(
                    "--run {run}: a track, whose context is not in the map; give it with --tokens-file"
                )));
            }
            None => return Err(no_run(run, map.len())),
        };
        let len = session.tokens.len();
        match self.at {
            Some(at) if at > len => Err(Failure::usage(format!("--at {at}: run {run} has {len} tokens"))),
            Some(at) => Ok(session.tokens.first(at).iter().collect()),
            None => Ok(session.context().iter().collect()),
        }
    }
}

/// A run was asked for that a map does not have.
pub(crate) fn no_run(run: usize, runs: usize) -> Failure {
    Failure::usage(match runs {
        0 => format!("--run {run}: the map has no runs"),
        1 => format!("--run {run}: the map has one run, 0"),
        _ => format!("--run {run}: the map has runs 0 to {}", runs - 1),
    })
}

/// Reads a JSON array of ids, or ids with commas or white space between.
fn parse(text: &str) -> std::result::Result<Vec<u32>, String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('[') {
        return serde_json::from_str(text).map_err(|error| format!("not a JSON array of token ids: {error}"));
    }
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    words
        .enumerate()
        .map(|(index, word)| {
            word.parse().map_err(|_| {
                let shown: String = word.chars().take(20).collect();
                format!("\"{}\", at place {index}, is no token id (0 to {})", shown.escape_debug(), u32::MAX)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_people_write_them() {
        for text in ["1,2,3", "1 2\n3\n", " 1, 2,\t3,", "[1, 2, 3]", "\u{feff}[1,2,3]\n"] {
            assert_eq!(parse(text), Ok(vec![1, 2, 3]), "{text:?}");
        }
        assert_eq!(parse(" \n"), Ok(vec![]));
        assert_eq!(parse("[]"), Ok(vec![]));
        assert_eq!(parse("4294967295"), Ok(vec![u32::MAX]));
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_place() {
        assert_eq!(parse("1,x").unwrap_err(), "\"x\", at place 1, is no token id (0 to 4294967295)");
        for text in ["-1", "4294967296", "1.5", "[1, -2]", "[1", "{}", "1;2"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
