//! Pre-tokenizers: how a text is cut before pairs are merged, none of which reaches over a cut.
//!
//! The published patterns end in `\s+(?!\S)|\s+`: white space before a word leaves its last character to the word. Looking
//! ahead takes an engine that goes back, whose time on a long run of spaces nobody bounds. So the patterns here end in `\s+`, and
//! what it finds before more text is cut by a character afterwards, which comes to the same.

use super::TextError;
use regex::Regex;
use tokenizers::Offsets;
use tokenizers::pattern::Pattern;

/// The pre-tokenizers that are known, by their names in GGUF.
pub const PRE_TOKENIZERS: &[&str] = &["smollm", "gpt-2", "default", "qwen2", "llama-bpe"];

/// Words, numbers and the rest, each with a space before it; endings of English contractions.
const GPT2: Stage = Stage::words(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+", Spaces::All);
const SMOLLM: &[Stage] = &[Stage::plain(r"\p{N}"), GPT2];
const DEFAULT: &[Stage] =
    &[Stage::plain(r"[\p{P}\$\+<=>\^~\|]+"), GPT2, Stage::plain(r"\p{N}+"), Stage::plain(r"[0-9][0-9][0-9]")];
/// Digits one by one.
const QWEN2: &[Stage] = &[Stage::words(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
    Spaces::WithinLines,
)];
/// Up to three digits together.
const LLAMA: &[Stage] = &[Stage::words(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
    Spaces::WithinLines,
)];

/// A pattern, and what it does about white space.
#[derive(Clone, Copy, Debug)]
struct Stage {
    pattern: &'static str,
    spaces: Spaces,
}

impl Stage {
    const fn plain(pattern: &'static str) -> Self {
        Self { pattern, spaces: Spaces::Kept }
    }

    const fn words(pattern: &'static str, spaces: Spaces) -> Self {
        Self { pattern, spaces }
    }
}

/// Which runs of white space leave their last character to the text behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spaces {
    /// None.
    Kept,
    /// All.
    All,
    /// Those that are not cut behind a line's end.
    WithinLines,
}

/// What a pre-tokenizer and all that goes with it are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    stages: &'static [Stage],
    /// Whether text is brought into Unicode's composed form first.
    pub(super) composes: bool,
    /// Whether a piece that is a token is taken as it is, whatever its merges would give.
    pub(super) whole_words: bool,
    /// Whether a text begins with the first token if the file does not say.
    pub(super) adds_bos: bool,
}

impl Rules {
    pub(super) fn named(name: &str) -> Option<Self> {
        let plain = |stages| Self { stages, composes: false, whole_words: false, adds_bos: false };
        Some(match name {
            "smollm" => plain(SMOLLM),
            "gpt-2" => plain(const { &[GPT2] }),
            "default" => plain(DEFAULT),
            "qwen2" => Self { composes: true, ..plain(QWEN2) },
            "llama-bpe" => Self { whole_words: true, adds_bos: true, ..plain(LLAMA) },
            _ => return None,
        })
    }

    pub(super) fn splits(&self) -> Result<Vec<Split>, TextError> {
        let split = |stage: &Stage| {
            let regex = Regex::new(stage.pattern).map_err(TextError::engine)?;
            Ok(Split { regex, spaces: stage.spaces })
        };
        self.stages.iter().map(split).collect()
    }
}

/// A pattern that cuts a text: around what it finds.
#[derive(Clone, Debug)]
pub(super) struct Split {
    regex: Regex,
    spaces: Spaces,
}

impl Split {
    /// Where what was found ends, if it leaves its last character to what is behind it.
    fn end(&self, found: &str, is_last: bool) -> usize {
        let whole = found.len();
        if self.spaces == Spaces::Kept || is_last || !found.chars().all(char::is_whitespace) {
            return whole;
        }
        match found.char_indices().next_back() {
            None | Some((0, _)) => whole,
            Some((_, '\r' | '\n')) if self.spaces == Spaces::WithinLines => whole,
            Some((last, _)) => last,
        }
    }
}

impl Pattern for &Split {
    fn find_matches(&self, text: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(found) = self.regex.find_at(text, at).filter(|found| !found.is_empty()) {
            if found.start() > at {
                parts.push(((at, found.start()), false));
            }
            at = found.start() + self.end(found.as_str(), found.end() == text.len());
            parts.push(((found.start(), at), true));
        }
        if at < text.len() || text.is_empty() {
            parts.push(((at, text.len()), false));
        }
        Ok(parts)
    }
}
