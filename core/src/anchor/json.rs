//! The little of JSON that `serde_json`'s value tree would lose: where values lie, and how their numbers are written.
//!
//! A scanner checks the grammar and hands out values as text, so that an integer of any size, `1.0` and `-0.0` stay
//! what they are; [`compact`] brings a text into the form that Python's `json.dumps` writes with compact separators.
//! Strict JSON only: Python's `NaN` and `Infinity` are none. No recursion, and no allocation but the output.

use super::error::AnchorError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::str::{Chars, FromStr};

/// Values inside values, at most; `serde_json`'s own limit is the same.
const MAX_NESTING: u32 = 127;

/// Reads a text value by value.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Where the next value or mark starts.
    pub(super) fn offset(&mut self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at = self.text.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.at
    }

    pub(super) fn expected(&self, expected: &'static str) -> AnchorError {
        AnchorError::Json { offset: self.at, expected }
    }

    /// Takes a mark behind white space, if it stands there.
    pub(super) fn eat(&mut self, mark: u8) -> bool {
        self.offset();
        self.take(|byte| byte == mark).is_some()
    }

    pub(super) fn expect(&mut self, mark: u8, expected: &'static str) -> Result<(), AnchorError> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// The text has to end here.
    pub(super) fn end(&mut self) -> Result<(), AnchorError> {
        if self.offset() == self.text.len() { Ok(()) } else { Err(self.expected("its end")) }
    }

    /// A key and the colon behind it; the key as it is written, quotes included.
    pub(super) fn key(&mut self) -> Result<&'a str, AnchorError> {
        let start = self.offset();
        self.expect(b'"', "a key")?;
        self.string()?;
        let key = self.since(start);
        self.expect(b':', "\":\"")?;
        Ok(key)
    }

    /// One value, whatever it is, as it is written.
    pub(super) fn value(&mut self) -> Result<&'a str, AnchorError> {
        let start = self.offset();
        let mut nesting = Nesting::default();
        loop {
            self.offset();
            match self.take(|_| true) {
                Some(mark @ (b'{' | b'[')) => {
                    let object = mark == b'{';
                    nesting.enter(object).ok_or_else(|| self.expected("less nesting"))?;
                    // Behind "[" comes "]" two codes later, and so it is with braces.
                    if !self.eat(mark + 2) {
                        if object {
                            self.key()?;
                        }
                        continue;
                    }
                    nesting.leave();
                }
                Some(b'"') => self.string()?,
                Some(b'-') => self.number()?,
                Some(digit) if digit.is_ascii_digit() => {
                    self.at -= 1;
                    self.number()?;
                }
                Some(b't') => self.word("rue")?,
                Some(b'f') => self.word("alse")?,
                Some(b'n') => self.word("ull")?,
                other => {
                    self.at -= usize::from(other.is_some());
                    return Err(self.expected("a value"));
                }
            }
            // A value has ended, and with it perhaps those around it.
            while let Some(object) = nesting.innermost() {
                if self.eat(b',') {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                let (close, expected) = if object { (b'}', "\",\" or \"}\"") } else { (b']', "\",\" or \"]\"") };
                self.expect(close, expected)?;
                nesting.leave();
            }
            if nesting.innermost().is_none() {
                return Ok(self.since(start));
            }
        }
    }

    /// A list, element by element.
    pub(super) fn list(
        &mut self,
        expected: &'static str,
        mut element: impl FnMut(&mut Self) -> Result<(), AnchorError>,
    ) -> Result<(), AnchorError> {
        self.expect(b'[', expected)?;
        let mut more = !self.eat(b']');
        while more {
            element(self)?;
            more = self.eat(b',');
            if !more {
                self.expect(b']', "\",\" or \"]\"")?;
            }
        }
        Ok(())
    }

    /// A string that is text.
    pub(super) fn text(&mut self) -> Result<String, AnchorError> {
        let start = self.offset();
        self.expect(b'"', "a text")?;
        self.string()?;
        unescape(self.since(start)).ok_or_else(|| self.expected("whole characters"))
    }

    /// An integer of the wanted width.
    pub(super) fn integer<T: FromStr>(&mut self) -> Result<T, AnchorError> {
        self.value()?.parse().map_err(|_| self.expected("an integer"))
    }

    /// The rest of a string whose opening quote was taken.
    fn string(&mut self) -> Result<(), AnchorError> {
        loop {
            match self.take(|_| true) {
                Some(b'"') => return Ok(()),
                Some(b'\\') => match self.take(|byte| b"\"\\/bfnrtu".contains(&byte)) {
                    Some(b'u') => {
                        for _ in 0..4 {
                            self.take(|byte| byte.is_ascii_hexdigit()).ok_or_else(|| self.expected("four digits"))?;
                        }
                    }
                    Some(_) => {}
                    None => return Err(self.expected("an escape")),
                },
                Some(0x20..) => {}
                _ => return Err(self.expected("the rest of a text")),
            }
        }
    }

    /// The rest of a number whose sign was taken.
    fn number(&mut self) -> Result<(), AnchorError> {
        if self.take(|byte| byte == b'0').is_none() {
            self.digits()?;
        }
        if self.take(|byte| byte == b'.').is_some() {
            self.digits()?;
        }
        if self.take(|byte| matches!(byte, b'e' | b'E')).is_some() {
            self.take(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), AnchorError> {
        self.take(|byte| byte.is_ascii_digit()).ok_or_else(|| self.expected("a digit"))?;
        while self.take(|byte| byte.is_ascii_digit()).is_some() {}
        Ok(())
    }

    fn word(&mut self, rest: &'static str) -> Result<(), AnchorError> {
        for expected in rest.bytes() {
            self.take(|byte| byte == expected).ok_or_else(|| self.expected("a value"))?;
        }
        Ok(())
    }

    fn take(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied().filter(|&byte| wanted(byte))?;
        self.at += 1;
        Some(byte)
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}

/// Which of the values around the current one are objects: a bit each, the innermost lowest.
#[derive(Default)]
struct Nesting {
    objects: u128,
    depth: u32,
}

impl Nesting {
    fn enter(&mut self, object: bool) -> Option<()> {
        (self.depth < MAX_NESTING).then(|| {
            self.objects = self.objects << 1 | u128::from(object);
            self.depth += 1;
        })
    }

    fn leave(&mut self) {
        self.objects >>= 1;
        self.depth -= 1;
    }

    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.objects & 1 == 1)
    }
}

/// A text that the scanner has accepted, in Python's compact form: no white space, ASCII only, the same escapes.
/// Numbers stay as they are written unless `number` writes them anew.
pub(super) fn compact(text: &str, number: impl Fn(&str, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => {
                let mut inside = Scanner { text: rest, at: 1 };
                // The scanner has accepted this text before.
                let _ = inside.string();
                let string = inside.since(0);
                push_escaped_again(string, &mut out);
                string.len()
            }
            '-' | '0'..='9' => {
                let end = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                number(rest.get(..end).unwrap_or_default(), &mut out);
                end
            }
            ' ' | '\t' | '\n' | '\r' => 1,
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    out
}

/// Writes a string anew that is quoted and escaped already.
fn push_escaped_again(string: &str, out: &mut String) {
    let mut rest = inside(string);
    out.push('"');
    while let Some(one) = unescape_one(&mut rest) {
        match one {
            Ok(c) => push_escaped(c, out),
            // Half of a pair stays as it is, alone or not.
            Err(unit) => push_unit(u32::from(unit), out),
        }
    }
    out.push('"');
}

/// The text that a quoted string stands for. Nothing where it has half of a surrogate pair.
pub(super) fn unescape(string: &str) -> Option<String> {
    let mut rest = inside(string);
    let mut units = Vec::new();
    while let Some(one) = unescape_one(&mut rest) {
        match one {
            Ok(c) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            Err(unit) => units.push(unit),
        }
    }
    String::from_utf16(&units).ok()
}

fn inside(string: &str) -> Chars<'_> {
    string.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(string).chars()
}

/// The next character inside a string that the scanner has accepted, or half of an escaped pair.
fn unescape_one(rest: &mut Chars<'_>) -> Option<Result<char, u16>> {
    let c = rest.next()?;
    if c != '\\' {
        return Some(Ok(c));
    }
    Some(Ok(match rest.next()? {
        'u' => {
            let (digits, behind) = rest.as_str().split_at_checked(4)?;
            *rest = behind.chars();
            let unit = u16::from_str_radix(digits, 16).ok()?;
            return Some(char::from_u32(u32::from(unit)).ok_or(unit));
        }
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        itself => itself,
    }))
}

/// Writes a text as a JSON string, as Python does: ASCII only.
pub(super) fn push_string(text: &str, out: &mut String) {
    out.push('"');
    text.chars().for_each(|c| push_escaped(c, out));
    out.push('"');
}

fn push_escaped(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        ' '..='~' => out.push(c),
        other => other.encode_utf16(&mut [0; 2]).iter().for_each(|&unit| push_unit(u32::from(unit), out)),
    }
}

fn push_unit(unit: u32, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\u{unit:04x}");
}

/// Writes a number as Python would: floats in the form of its `repr`, integers verbatim.
pub(super) fn push_python_number(number: &str, out: &mut String) {
    match number.parse::<f64>() {
        Ok(value) if number.contains(['.', 'e', 'E']) => out.push_str(&python_repr(value)),
        _ => out.push_str(number),
    }
}

/// Rust's shortest form is Python's but for the exponent, which has a sign and two digits there.
fn python_repr(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;
    use serde_json::Value;

    fn whole(text: &str) -> Result<&str, AnchorError> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end().map(|()| value)
    }

    fn verbatim(text: &str) -> String {
        compact(text, |number, out| out.push_str(number))
    }

    #[test]
    fn values_are_handed_out_as_written() {
        for text in
            ["0", "-0", "-0.0", "1e5", "1E+05", "123456789012345678901234567890", "true", "false", "null", "\"\""]
        {
            assert_eq!(whole(text), Ok(text));
        }
        assert_eq!(whole(" [ 1 , {\"a\" : []} ]\n"), Ok("[ 1 , {\"a\" : []} ]"));
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_goes_wrong() {
        for (text, offset) in [
            ("", 0),
            ("nul", 3),
            ("NaN", 0),
            ("-Infinity", 1),
            ("01", 1),
            ("1.", 2),
            (".5", 0),
            ("+1", 0),
            ("1e", 2),
            ("[1,]", 3),
            ("[1", 2),
            ("{\"a\"}", 4),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("[1}", 2),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 5),
            ("\"a\nb\"", 3),
            ("\"a", 2),
            ("1 2", 2),
        ] {
            let Err(AnchorError::Json { offset: found, .. }) = whole(text) else { panic!("{text} was accepted") };
            assert_eq!(found, offset, "{text}");
        }
    }

    #[test]
    fn nesting_ends_where_serde_json_ends_it() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        for depth in [1, 126, 127, 128, 129, 100_000] {
            let text = nested(depth);
            assert_eq!(whole(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{depth}");
        }
        let objects = "{\"a\":[".repeat(63) + "1" + &"]}".repeat(63);
        assert_eq!(whole(&objects), Ok(&objects[..]));
    }

    // Golden texts of Python's json.dumps(x, separators=(",", ":")).
    #[test]
    fn compact_texts_are_pythons() {
        let text = " { \"k\" : \"a\\/b\\\"\\\\\u{7f}\\n\\t\\u0001\\u0041\\u00E4ä😀\\uD83D\\uDE00\\ud800 ,:\" , \"l\":[ 1 , -0.0 ] }";
        let golden = r#"{"k":"a/b\"\\\u007f\n\t\u0001A\u00e4\u00e4\ud83d\ude00\ud83d\ude00\ud800 ,:","l":[1,-0.0]}"#;
        assert_eq!(verbatim(text), golden);
        assert_eq!(verbatim(golden), golden);
    }

    #[test]
    fn floats_are_pythons() {
        for (value, golden) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.1, "0.1"),
        ] {
            assert_eq!(python_repr(value), golden);
        }
    }

    proptest! {
        #[test]
        fn texts_close_to_json_get_serde_jsons_verdict(text in "[\\[\\]{}\",:0-9eE.+\\-truefalsn \\\\u]{0,24}") {
            let parsed = serde_json::from_str::<Value>(&text);
            // Lone halves of pairs and numbers past f64 are JSON that serde_json does not take.
            let beyond = parsed.as_ref().is_err_and(|error| {
                let error = error.to_string();
                error.contains("surrogate") || error.contains("hex escape") || error.contains("out of range")
            });
            prop_assert!(whole(&text).is_ok() == parsed.is_ok() || beyond, "{text}: {parsed:?}");
        }

        #[test]
        fn compact_texts_mean_the_same(strings in prop::collection::vec(any::<String>(), 0..5)) {
            let value = Value::from(strings);
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            let text = verbatim(&spaced);
            prop_assert!(text.is_ascii());
            prop_assert_eq!(whole(&text), Ok(&text[..]));
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }

        // serde_json reads a float a bit off now and then; what is written is exact.
        #[test]
        fn floats_are_written_exactly(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let mut text = String::new();
            push_python_number(&Value::from(number).to_string(), &mut text);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }
}
