//! What a layer remembers besides its arrays.

use super::error::AnchorError;
use super::json::{Scanner, compact, push_python_number};
use alloc::borrow::ToOwned;
use alloc::string::String;
use serde_json::{Map, Value};

/// One layer's JSON: an object by the format, though the reference writes any value that its caller hands over, and any
/// is kept.
///
/// It is held as text, in Python's compact form, so that integers of any size and floats stay exactly what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalars(String);

impl Scalars {
    /// Takes a JSON value. Numbers are kept as they are written; white space goes, and characters beyond ASCII are
    /// escaped.
    pub fn parse(text: &str) -> Result<Self, AnchorError> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(Self::accepted(value))
    }

    /// A text that the scanner has accepted.
    pub(super) fn accepted(value: &str) -> Self {
        Self(compact(value, |number, out| out.push_str(number)))
    }

    /// The JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value. This loses what `serde_json` does not hold: integers past 64 bits become floats, or an error where a
    /// float cannot hold them either, and floats may be off by their last bit.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

/// No scalars: `{}`.
impl Default for Scalars {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

/// Floats are written as Python writes them.
impl From<&Value> for Scalars {
    fn from(value: &Value) -> Self {
        use alloc::string::ToString;
        Self(compact(&value.to_string(), push_python_number))
    }
}

impl From<Map<String, Value>> for Scalars {
    fn from(map: Map<String, Value>) -> Self {
        Self::from(&Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_keeps_numbers_and_values_are_written_as_python_does() {
        let exact = "{\"big\":123456789012345678901234567890,\"zero\":-0.0,\"f\":1e+16,\"u\":\"\\u00e4\"}";
        assert_eq!(Scalars::parse(exact).unwrap().as_str(), exact);
        assert_eq!(Scalars::parse("{ \"u\" : \"ä\" }").unwrap().as_str(), "{\"u\":\"\\u00e4\"}");
        let value = json!({"pos": 8.0, "step": 32, "tiny": 1e-7, "big": 1e16, "on": true, "none": null, "u": "ä", "l": [1, {}]});
        let text = Scalars::from(&value);
        assert_eq!(
            text.as_str(),
            r#"{"pos":8.0,"step":32,"tiny":1e-07,"big":1e+16,"on":true,"none":null,"u":"\u00e4","l":[1,{}]}"#
        );
        assert_eq!(text.to_value().unwrap(), value);
    }

    #[test]
    fn pythons_nan_is_refused() {
        assert_eq!(Scalars::parse("{\"a\":NaN}"), Err(AnchorError::Json { offset: 5, expected: "a value" }));
    }
}
