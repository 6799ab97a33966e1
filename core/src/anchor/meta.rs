//! The JSON of an anchor: what its arrays are, how many layers there are and what else they remember.

use super::error::AnchorError;
use super::json::{Scanner, push_string, unescape};
use super::spec::{Layout, is_default_row_field};
use super::{ArraySpec, Scalars};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// What an anchor's record says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The arrays of every layer, in the order of the body.
    pub arrays: Vec<ArraySpec>,
    /// What each layer remembers besides; as many as there are layers.
    pub scalars: Vec<Scalars>,
    /// Whether the body is a zlib stream.
    pub compressed: bool,
    /// Deltas between this state and a whole one, if the record tells.
    pub chain: Option<u32>,
    /// Whether the record names the arrays that are stored by rows.
    pub describes_rows: bool,
}

impl Meta {
    /// Reads the JSON. Keys that are not known are skipped; of a key that is there twice the last counts.
    pub(super) fn parse(json: &[u8]) -> Result<Self, AnchorError> {
        let text = core::str::from_utf8(json).map_err(|error| AnchorError::Utf8 { offset: error.valid_up_to() })?;
        let mut scanner = Scanner::new(text);
        let (mut arrays, mut scalars, mut rows) = (None, None, None);
        let (mut compressed, mut chain) = (false, None);
        scanner.expect(b'{', "\"{\"")?;
        let mut more = !scanner.eat(b'}');
        while more {
            let key = scanner.key()?;
            let offset = scanner.offset();
            let expected = |expected| move |_| AnchorError::Json { offset, expected };
            // A key that is no text has half of a surrogate pair: none of ours.
            match unescape(key).unwrap_or_default().as_str() {
                "arrays" => {
                    let listed = parse_arrays(scanner.value()?);
                    arrays = Some(listed.map_err(expected("a list of [name, type, [dimensions]]"))?);
                }
                "rows" => {
                    let listed = parse_names(scanner.value()?);
                    rows = Some(listed.map_err(expected("a list of names"))?);
                }
                "scalars" => scalars = Some(parse_scalars(&mut scanner)?),
                "z" => {
                    compressed = match scanner.value()? {
                        "1" | "true" => true,
                        "0" | "false" | "null" => false,
                        _ => return Err(AnchorError::Json { offset, expected: "0 or 1" }),
                    }
                }
                "chain" => {
                    let links = Scanner::new(scanner.value()?).integer();
                    chain = Some(links.map_err(expected("a number of deltas"))?);
                }
                _ => {
                    scanner.value()?;
                }
            }
            more = scanner.eat(b',');
            if !more {
                scanner.expect(b'}', "\",\" or \"}\"")?;
            }
        }
        scanner.end()?;
        let arrays = arrays.ok_or(AnchorError::MissingKey { key: "arrays" })?;
        let scalars = scalars.ok_or(AnchorError::MissingKey { key: "scalars" })?;
        let arrays = specs(arrays, rows.as_ref())?;
        Ok(Self { arrays, scalars, compressed, chain, describes_rows: rows.is_some() })
    }

    /// Bytes of a whole state, decompressed, if they can be counted.
    pub(crate) fn whole_len(&self) -> Option<u64> {
        Layout::of(&self.arrays, &self.scalars).ok().map(|layout| layout.len as u64)
    }
}

/// Name, type and dimensions of an array.
type Listed = (String, String, Vec<u64>);

fn parse_arrays(value: &str) -> Result<Vec<Listed>, AnchorError> {
    let mut arrays = Vec::new();
    Scanner::new(value).list("a list", |scanner| {
        scanner.expect(b'[', "\"[\"")?;
        let name = scanner.text()?;
        scanner.expect(b',', "\",\"")?;
        let dtype = scanner.text()?;
        scanner.expect(b',', "\",\"")?;
        let mut shape = Vec::new();
        scanner.list("a list", |scanner| {
            shape.push(scanner.integer()?);
            Ok(())
        })?;
        arrays.push((name, dtype, shape));
        scanner.expect(b']', "\"]\"")
    })?;
    Ok(arrays)
}

fn parse_names(value: &str) -> Result<BTreeSet<String>, AnchorError> {
    let mut names = BTreeSet::new();
    Scanner::new(value).list("a list", |scanner| {
        names.insert(scanner.text()?);
        Ok(())
    })?;
    Ok(names)
}

fn parse_scalars(scanner: &mut Scanner<'_>) -> Result<Vec<Scalars>, AnchorError> {
    let mut scalars = Vec::new();
    scanner.list("a list with a value a layer", |scanner| {
        scalars.push(Scalars::accepted(scanner.value()?));
        Ok(())
    })?;
    Ok(scalars)
}

fn specs(listed: Vec<Listed>, rows: Option<&BTreeSet<String>>) -> Result<Vec<ArraySpec>, AnchorError> {
    let mut arrays = Vec::with_capacity(listed.len());
    for (name, dtype, shape) in listed {
        let dtype = match dtype.parse() {
            Ok(dtype) => dtype,
            Err(error) => return Err(AnchorError::Dtype { array: name, error }),
        };
        let by_rows = rows.map_or_else(|| is_default_row_field(&name), |rows| rows.contains(&name));
        arrays.push(ArraySpec { name, dtype, shape, by_rows });
    }
    check_names(&arrays)?;
    Ok(arrays)
}

/// Arrays are found by name, so each has one of its own.
pub(super) fn check_names(arrays: &[ArraySpec]) -> Result<(), AnchorError> {
    let mut names = BTreeSet::new();
    match arrays.iter().find(|array| !names.insert(&array.name)) {
        Some(array) => Err(AnchorError::DuplicateArray { array: array.name.clone() }),
        None => Ok(()),
    }
}

/// The JSON of a new record, in the reference's key order. The arrays stored by rows are named where `describe_rows`
/// asks for it, and where they are not those that a reader takes without.
pub(super) fn write(arrays: &[ArraySpec], scalars: &[Scalars], chain: u32, describe_rows: bool) -> String {
    let mut json = String::from("{\"arrays\":[");
    for (index, array) in arrays.iter().enumerate() {
        json.push_str(if index == 0 { "[" } else { ",[" });
        push_string(&array.name, &mut json);
        // Writing to a String cannot fail.
        let _ = write!(json, ",\"{}\",[", array.dtype);
        for (index, dimension) in array.shape.iter().enumerate() {
            let _ = write!(json, "{}{dimension}", if index == 0 { "" } else { "," });
        }
        json.push_str("]]");
    }
    json.push_str("],\"scalars\":[");
    for (index, scalars) in scalars.iter().enumerate() {
        json.push_str(if index == 0 { "" } else { "," });
        json.push_str(scalars.as_str());
    }
    let _ = write!(json, "],\"z\":1,\"chain\":{chain}");
    if describe_rows || arrays.iter().any(|array| array.by_rows != is_default_row_field(&array.name)) {
        json.push_str(",\"rows\":[");
        for (index, array) in arrays.iter().filter(|array| array.by_rows).enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            push_string(&array.name, &mut json);
        }
        json.push(']');
    }
    json.push('}');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::Dtype;
    use alloc::string::ToString;

    fn error(json: &str) -> AnchorError {
        Meta::parse(json.as_bytes()).unwrap_err()
    }

    // As the reference writes it.
    const REFERENCE: &str = "{\"arrays\":[[\"_root_keys\",\"uint16\",[2,24,8]],[\"_scalar\",\"float32\",[]]],\
        \"scalars\":[{\"pos\":8.0,\"u\":\"\\u00e4\"},{}],\"z\":1,\"chain\":3}";

    #[test]
    fn the_references_json_is_read_and_written_byte_for_byte() {
        let meta = Meta::parse(REFERENCE.as_bytes()).unwrap();
        assert_eq!(
            meta.arrays,
            [
                ArraySpec::new("_root_keys", Dtype::UInt16, [2, 24, 8]).stored_by_rows(),
                ArraySpec { name: "_scalar".to_string(), dtype: Dtype::Float32, shape: Vec::new(), by_rows: false },
            ]
        );
        assert_eq!((meta.compressed, meta.chain, meta.describes_rows, meta.scalars.len()), (true, Some(3), false, 2));
        assert_eq!(write(&meta.arrays, &meta.scalars, 3, false), REFERENCE);
    }

    #[test]
    fn rows_are_named_when_asked_for_or_unlike_the_default() {
        let arrays = [ArraySpec::new("_root_keys", Dtype::UInt8, [1, 2, 3]), ArraySpec::new("ä", Dtype::Bool, [])];
        let named = |arrays: &[ArraySpec], describe| {
            let json = write(arrays, &[], 0, describe);
            assert_eq!(Meta::parse(json.as_bytes()).unwrap().arrays, arrays);
            json.split_once(",\"rows\":").map(|(_, rows)| rows.to_string())
        };
        assert_eq!(named(&arrays, false), None);
        assert_eq!(named(&arrays, true).as_deref(), Some("[\"_root_keys\"]}"));
        let [keys, other] = arrays;
        let both = [keys.clone(), other.clone().stored_by_rows()];
        assert_eq!(named(&both, false).as_deref(), Some("[\"_root_keys\",\"\\u00e4\"]}"));
        let neither = [ArraySpec { by_rows: false, ..keys }, other];
        assert_eq!(named(&neither, false).as_deref(), Some("[]}"));
    }

    #[test]
    fn old_and_strange_writers_are_understood() {
        let meta = Meta::parse(
            b" {\"x\": [1, {\"arrays\": 2}], \"arr\\u0061ys\" : [ [\"a\",\"bool\",[ 1 ]] ] , \"scalars\": [ { } , 7 ], \
              \"rows\": [\"b\", \"a\"], \"\\ud800\": 0 } ",
        )
        .unwrap();
        assert_eq!(meta.arrays, [ArraySpec::new("a", Dtype::Bool, [1]).stored_by_rows()]);
        assert_eq!(meta.scalars.iter().map(Scalars::as_str).collect::<Vec<_>>(), ["{}", "7"]);
        assert_eq!((meta.compressed, meta.chain, meta.describes_rows), (false, None, true));
        assert!(!Meta::parse(b"{\"arrays\":[],\"scalars\":[],\"z\":1,\"z\":0}").unwrap().compressed);
    }

    #[test]
    fn names_are_read_as_the_texts_they_stand_for() {
        let name = |written: &str| {
            let json = alloc::format!("{{\"arrays\":[[{written},\"bool\",[]]],\"scalars\":[]}}");
            Meta::parse(json.as_bytes()).map(|mut meta| meta.arrays.remove(0).name)
        };
        for written in [r#""\"\\\/\b\f\n\r\t""#, r#""\u00e4\ud83d\ude00\u0000""#, "\"\"", "\"ä😀\""] {
            assert_eq!(name(written), Ok(serde_json::from_str(written).unwrap()));
        }
        for half in [r#""\ud83d""#, r#""\ude00\ud83d""#, r#""\ud83dx""#] {
            assert!(serde_json::from_str::<String>(half).is_err() && name(half).is_err(), "{half}");
        }
    }

    #[test]
    fn lists_of_other_lengths_and_types_are_refused() {
        for wrong in
            ["[\"a\",\"bool\"]", "[\"a\",\"bool\",[],1]", "[1,\"bool\",[]]", "[\"a\",\"bool\",1]", "[]", "{}", "\"a\""]
        {
            let json = alloc::format!("{{\"arrays\":[{wrong}],\"scalars\":[]}}");
            let expected = "a list of [name, type, [dimensions]]";
            assert_eq!(error(&json), AnchorError::Json { offset: 10, expected }, "{wrong}");
        }
        let json = REFERENCE.replace("\"chain\":3", "\"rows\":[1]");
        assert!(matches!(error(&json), AnchorError::Json { expected: "a list of names", .. }));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(Meta::parse(b"{\"a\xff"), Err(AnchorError::Utf8 { offset: 3 }));
        assert_eq!(error("{}"), AnchorError::MissingKey { key: "arrays" });
        assert_eq!(error("{\"arrays\":[]}"), AnchorError::MissingKey { key: "scalars" });
        assert_eq!(error(""), AnchorError::Json { offset: 0, expected: "\"{\"" });
        assert_eq!(error("{\"arrays\":[],}"), AnchorError::Json { offset: 13, expected: "a key" });
        assert_eq!(error("{\"arrays\":[]} x"), AnchorError::Json { offset: 14, expected: "its end" });
        for shape in ["-1", "1.0", "[1]", "18446744073709551616", "null"] {
            let json = REFERENCE.replace("[2,24,8]", &alloc::format!("[{shape}]"));
            assert_eq!(
                error(&json),
                AnchorError::Json { offset: 10, expected: "a list of [name, type, [dimensions]]" }
            );
        }
        let dtype = error(&REFERENCE.replace("uint16", "<U2")).to_string();
        assert_eq!(dtype, "array \"_root_keys\": unknown element type \"<U2\"");
        assert_eq!(
            error(&REFERENCE.replace("_scalar", "_root_keys")),
            AnchorError::DuplicateArray { array: "_root_keys".to_string() }
        );
        for (from, to, expected) in [
            ("\"z\":1", "\"z\":2", "0 or 1"),
            ("\"chain\":3", "\"chain\":-1", "a number of deltas"),
            ("\"chain\":3", "\"chain\":4294967296", "a number of deltas"),
            ("\"chain\":3", "\"rows\":\"all\"", "a list of names"),
            ("\"scalars\":[", "\"scalars\":4294967296,\"x\":[", "a list with a value a layer"),
            ("{\"pos\":8.0", "{\"pos\":NaN", "a value"),
        ] {
            let json = REFERENCE.replace(from, to);
            let AnchorError::Json { expected: found, .. } = error(&json) else { panic!("{json}") };
            assert_eq!(found, expected);
        }
        let deep = "[".repeat(1_000_000);
        let json = REFERENCE.replace("8.0", &deep);
        assert!(matches!(error(&json), AnchorError::Json { expected: "less nesting", .. }));
    }
}
