//! What people and scripts read.

use crate::error::Result;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use mrail_gpu::decode::{Origin, Source, Token};
use mrail_gpu::model::text::{Special, Stream, Tokenizer};
use std::fmt;
use std::io::{self, IsTerminal, Write};

/// What is beside the answer.
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();
const ODD: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Where a token comes from, in colour.
pub(crate) fn style(origin: Origin) -> Style {
    match origin {
        Origin::Map => AnsiColor::Green.on_default(),
        Origin::Draft(Source::Own) => AnsiColor::Cyan.on_default(),
        Origin::Draft(Source::Conversation) => AnsiColor::Blue.on_default(),
        Origin::Draft(Source::Foreign) => AnsiColor::Magenta.on_default(),
        Origin::Model => Style::new(),
    }
}

/// `error: ` or `warning: ` and a line, on stderr.
pub(crate) fn error(text: &str) {
    let _ = writeln!(anstream::stderr(), "{BAD}error{BAD:#}: {text}");
}

pub(crate) fn warn(text: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{ODD}warning{ODD:#}: {text}");
}

/// A line of what it took, on stderr: it is no part of the answer.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{FAINT}{text}{FAINT:#}");
}

/// An answer on its way to standard output.
pub(crate) struct Speech<'t> {
    tokenizer: &'t Tokenizer,
    stream: Stream,
    out: Box<dyn Write>,
    colours: bool,
    /// Whether control characters are left out.
    shown: bool,
    style: Style,
    /// Whether the last character was a line's end.
    at_start: bool,
}

impl<'t> Speech<'t> {
    pub(crate) fn new(tokenizer: &'t Tokenizer) -> Self {
        let out = io::stdout();
        let (shown, colours) = (out.is_terminal(), AutoStream::choice(&out) != ColorChoice::Never);
        // Without colours the text goes out as it is: stripping them would strip what the model says, too.
        let out: Box<dyn Write> = if colours { Box::new(AutoStream::auto(out)) } else { Box::new(out) };
        let stream = Stream::new(Special::Ignored);
        Self { tokenizer, stream, out, colours, shown, style: Style::new(), at_start: true }
    }

    /// Says tokens, each in the colour of its origin. Half a character waits for the rest.
    pub(crate) fn say(&mut self, tokens: &[Token]) -> Result<()> {
        for token in tokens {
            // A vocabulary may be larger than its tokenizer's; such a token says nothing.
            let text = self.stream.push(self.tokenizer, token.id).unwrap_or_default();
            self.piece(style(token.origin), &text)?;
        }
        self.out.flush()?;
        Ok(())
    }

    fn piece(&mut self, style: Style, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let text = if self.colours || self.shown { harmless(text) } else { text.to_owned() };
        if self.colours && style != self.style {
            write!(self.out, "{:#}{style}", self.style)?;
            self.style = style;
        }
        write!(self.out, "{text}")?;
        self.at_start = text.ends_with('\n');
        Ok(())
    }

    /// Ends the answer, and its line.
    pub(crate) fn finish(mut self) -> Result<()> {
        let rest = std::mem::replace(&mut self.stream, Stream::new(Special::Ignored)).finish();
        self.piece(self.style, &rest)?;
        if self.colours {
            write!(self.out, "{:#}", self.style)?;
        }
        if !self.at_start {
            writeln!(self.out)?;
        }
        self.out.flush()?;
        Ok(())
    }
}

/// Text whose control characters do nothing to a terminal.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |character: char| {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            char::REPLACEMENT_CHARACTER
        } else {
            character
        }
    };
    text.chars().map(shown).collect()
}

pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// `1 token`, `2 tokens`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Bytes in the largest unit of which there is one.
pub(crate) fn bytes(bytes: u64) -> String {
    let unit = [(30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(shift, _)| bytes >> shift > 0);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(shift, unit)| format!("{:.1} {unit}", bytes as f64 / f64::from(1 << shift)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_fit_to_be_read() {
        assert_eq!(count(1, "token"), "1 token");
        assert_eq!(count(2, "token"), "2 tokens");
        assert_eq!([bytes(5), bytes(2048), bytes(3 << 19)], ["5 B", "2.0 KiB", "1.5 MiB"]);
        assert_eq!(harmless("a\u{1b}[31m\tb\n"), "a\u{fffd}[31m\tb\n");
    }
}
