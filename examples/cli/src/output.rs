//! What people and scripts read: standard output, tables, lists of tokens.

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde_json::Value;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

/// Headings and verdicts.
pub(crate) const STRONG: Style = Style::new().bold();
/// Labels, and numbers that say nothing.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// All is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Worth a look.
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
/// Wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Standard output. Styles are stripped where they are not wanted.
pub(crate) struct Out {
    stream: BufWriter<AutoStream<Stdout>>,
    json: bool,
    width: Option<usize>,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Out {
    pub(crate) fn new(json: bool) -> Self {
        let stdout = io::stdout();
        let width = stdout.is_terminal().then(terminal_width);
        Self { stream: BufWriter::with_capacity(1 << 16, AutoStream::auto(stdout)), json, width }
    }

    /// Whether JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Whether a person reads along.
    pub(crate) fn is_terminal(&self) -> bool {
        self.width.is_some()
    }

    /// A value as one line.
    pub(crate) fn value(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self, "{value}")
    }

    /// `label    text`, the text broken into lines on a terminal.
    pub(crate) fn field(&mut self, label: &str, text: impl fmt::Display) -> io::Result<()> {
        write!(self, "  {FAINT}{label:<LABEL$}{FAINT:#}")?;
        self.wrapped(&text.to_string(), 2 + LABEL)
    }

    /// Text whose first line has been begun, `indent` columns wide. Elsewhere than on a terminal it stays one line.
    pub(crate) fn wrapped(&mut self, text: &str, indent: usize) -> io::Result<()> {
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(20));
        let mut column = 0;
        for word in text.split(' ') {
            // Styles take no room.
            let len = anstream::adapter::strip_str(word).map(|part| part.chars().count()).sum::<usize>();
            if column > 0 && column + 1 + len > room {
                write!(self, "\n{:indent$}", "")?;
                column = 0;
            }
            let space = if column > 0 { " " } else { "" };
            write!(self, "{space}{word}")?;
            column += len + space.len();
        }
        writeln!(self)
    }

    /// A field with tokens; with `cut`, no more of them than fit into its line.
    pub(crate) fn tokens(
        &mut self,
        label: &str,
        tokens: impl ExactSizeIterator<Item = u32>,
        cut: bool,
    ) -> io::Result<()> {
        let Some(width) = self.width.filter(|_| cut) else {
            return self.field(label, joined(tokens));
        };
        let room = width.saturating_sub(2 + LABEL + " ... 1,000,000 more".len());
        let (mut text, mut left) = (String::new(), tokens.len());
        for token in tokens {
            let word = token.to_string();
            if text.len() + word.len() > room {
                break;
            }
            text.push_str(&word);
            text.push(' ');
            left -= 1;
        }
        if left > 0 {
            text = format!("{text}... {} more", grouped(left as u64));
        }
        self.field(label, text.trim_end())
    }

    /// A table of what its rows say.
    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        table.write(self)
    }
}

/// Width of a field's label.
const LABEL: usize = 10;

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

/// Tokens as a JSON array. As JSON values millions of them would take gigabytes.
pub(crate) fn array(tokens: &[u32]) -> String {
    let mut text = String::from("[");
    for (index, token) in tokens.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        text.push_str(&token.to_string());
    }
    text.push(']');
    text
}

/// Tokens as they can be given to `--tokens`.
pub(crate) fn joined(tokens: impl Iterator<Item = u32>) -> String {
    let mut text = String::new();
    for token in tokens {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&token.to_string());
    }
    text
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "1 token", "2 tokens", "0 tokens".
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Text out of a file, with nothing in it that a terminal would obey.
pub(crate) fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => safe.push(c),
            c => safe.extend(c.escape_debug()),
        }
    }
    safe
}

/// One line on stderr: `error: ...`.
pub(crate) fn complain(word: &str, style: Style, text: &str) {
    // There is nowhere to report that stderr is gone.
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {text}");
}

/// Rows of cells in columns as wide as their widest cell. The first column and texts stand left, numbers right.
#[derive(Default)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A cell of a [`Table`].
pub(crate) enum Cell {
    Text(String),
    Number(u64),
    /// A number that should be 0.
    Fault(u64),
    /// A number that would better be 0.
    Doubt(u64),
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(0) | Self::Fault(0) | Self::Doubt(0) => "-".into(),
            Self::Number(number) | Self::Fault(number) | Self::Doubt(number) => grouped(*number),
        }
    }

    fn style(&self) -> Style {
        match self {
            Self::Number(0) | Self::Fault(0) | Self::Doubt(0) => FAINT,
            Self::Text(_) | Self::Number(_) => Style::new(),
            Self::Fault(_) => BAD,
            Self::Doubt(_) => ODD,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let head = self.head.get(column).map_or(0, |head| head.len());
                cells.map(|cell| cell.text().chars().count()).fold(head, usize::max)
            })
            .collect();
        let is_left = |column| self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Text(_))));
        let mut line = |cells: &mut dyn Iterator<Item = (String, Style)>| {
            for (column, ((text, style), width)) in cells.zip(&widths).enumerate() {
                let pad = width - text.chars().count().min(*width);
                let (before, after) = if is_left(column) { (0, pad) } else { (pad, 0) };
                // No blanks at the end of a line.
                let after = if column + 1 == widths.len() { 0 } else { after };
                write!(out, "  {:before$}{style}{text}{style:#}{:after$}", "", "")?;
            }
            writeln!(out)
        };
        line(&mut self.head.iter().map(|head| ((*head).to_owned(), FAINT)))?;
        self.rows.iter().try_for_each(|row| line(&mut row.iter().map(|cell| (cell.text(), cell.style()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_json() {
        for tokens in [&[][..], &[7], &[1, 2, u32::MAX]] {
            assert_eq!(serde_json::from_str::<Vec<u32>>(&array(tokens)).unwrap(), tokens);
        }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts: Vec<String> = [0, 999, 1000, 123_456, 1_234_567, u64::MAX].map(grouped).into();
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "1,234,567", "18,446,744,073,709,551,615"]);
        assert_eq!(count(1, "token"), "1 token");
        assert_eq!(count(2000, "token"), "2,000 tokens");
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(harmless("a\u{1b}[31m \"b\" \u{202e}ä\n"), "a\\u{1b}[31m \"b\" \\u{202e}ä\\n");
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["kind", "bytes", "note"]);
        table.row([Cell::from("session"), Cell::from(1234_usize), Cell::from("x")]);
        table.row([Cell::from("ä"), Cell::from(0_usize), Cell::from("")]);
        let mut text = Vec::new();
        table.write(&mut text).unwrap();
        let plain = anstream::adapter::strip_bytes(&text).into_vec();
        let expected = "  kind     bytes  note\n  session  1,234  x\n  ä            -  \n";
        assert_eq!(String::from_utf8(plain).unwrap(), expected);
    }
}
