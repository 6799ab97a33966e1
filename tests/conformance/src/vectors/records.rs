//! Records of a file, read without the code under test and in a form free of the zlib implementation.

use crate::sha::{hex, sha256};
use flate2::read::ZlibDecoder;
use serde_json::Value;
use std::io::Read;

const MAGIC: &[u8] = b"MRAIL\x03\0\0";

/// One record, as far as implementations must agree on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Described {
    /// An anchor or a delta: its fields, its JSON and the SHA-256 of its decompressed body.
    State(u8, String, Value, String),
    /// Anything else: its length and SHA-256.
    Bytes(u8, usize, String),
}

/// The whole records of a file and how many bytes follow them.
///
/// # Errors
/// It is no map, or an anchor in it cannot be read.
pub fn describe(file: &[u8]) -> Result<(Vec<Described>, usize), String> {
    let (records, tail) = parse(file)?;
    let described = records.into_iter().map(|(kind, payload)| match kind {
        2 | 4 => state(kind, payload),
        _ => Ok(Described::Bytes(kind, payload.len(), sha256(payload))),
    });
    Ok((described.collect::<Result<_, _>>()?, tail))
}

type Payloads<'a> = Vec<(u8, &'a [u8])>;

fn parse(file: &[u8]) -> Result<(Payloads<'_>, usize), String> {
    let mut rest = file.strip_prefix(MAGIC).ok_or("no map")?;
    let mut records = Vec::new();
    while let Some(([kind, length @ ..], behind)) = rest.split_first_chunk::<5>() {
        let Some((payload, behind)) = behind.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        records.push((*kind, payload));
        rest = behind;
    }
    Ok((records, rest.len()))
}

fn state(kind: u8, payload: &[u8]) -> Result<Described, String> {
    let head = if kind == 2 { 16 } else { 24 };
    let (fields, rest) = payload.split_at_checked(head).ok_or("an anchor without its fields")?;
    let (length, rest) = rest.split_first_chunk().ok_or("an anchor without its JSON's length")?;
    let (json, body) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("an anchor's JSON is cut")?;
    let json: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    if json.get("z").and_then(Value::as_u64).unwrap_or(0) == 0 {
        content.extend(body);
    } else {
        ZlibDecoder::new(body).read_to_end(&mut content).map_err(|error| error.to_string())?;
    }
    Ok(Described::State(kind, hex(fields), json, sha256(&content)))
}

/// What is wrong with a record: `want` is `[kind, fields, json, sha]` or `[kind, length, sha]`.
#[must_use]
pub fn described_differs(got: Option<&Described>, want: &Value) -> Option<String> {
    let value = match got {
        None => Value::Null,
        Some(Described::State(kind, fields, json, sha)) => serde_json::json!([kind, fields, json, sha]),
        Some(Described::Bytes(kind, length, sha)) => serde_json::json!([kind, length, sha]),
    };
    (value != *want).then(|| format!("got {value}, want {want}"))
}

/// The tokens of the runs of a file in order; None for a track.
///
/// # Errors
/// It is no map, or a session's tokens are not there.
pub fn sessions(file: &[u8]) -> Result<Vec<Option<Vec<u32>>>, String> {
    let session = |payload: &[u8]| -> Option<Vec<u32>> {
        let (words, _) = payload.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word)).skip(1);
        let count = words.next()? as usize;
        let tokens: Vec<u32> = words.skip(1).take(count).collect();
        (tokens.len() == count).then_some(tokens)
    };
    let (records, _) = parse(file)?;
    records
        .into_iter()
        .filter_map(|(kind, payload)| match kind {
            1 => Some(session(payload).map(Some).ok_or_else(|| "a session without its tokens".to_owned())),
            5 => Some(Ok(None)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::sample_map;
    use serde_json::json;

    #[test]
    fn every_part_of_a_record_counts() {
        let (records, _) = describe(&sample_map("dup_anchor.mrail").unwrap()).unwrap();
        let state = records.iter().find(|record| matches!(record, Described::State(..))).unwrap();
        let Described::State(kind, fields, meta, sha) = state else { unreachable!() };
        assert_eq!(described_differs(Some(state), &json!([kind, fields, meta, sha])), None);
        let mut other = meta.clone();
        other["chain"] = json!(7);
        for wrong in [
            json!([4, fields, meta, sha]),
            json!([kind, "00", meta, sha]),
            json!([kind, fields, other, sha]),
            json!([kind, fields, meta, "00"]),
            json!([kind, 5, "00"]),
            json!(null),
        ] {
            assert!(described_differs(Some(state), &wrong).is_some(), "{wrong}");
        }
        assert!(described_differs(None, &json!([1, 5, "00"])).is_some());
    }

    #[test]
    fn a_changed_body_is_seen_and_another_packing_of_it_is_not() {
        let file = |body: &[u8], level| {
            let mut packed = Vec::new();
            let level = flate2::Compression::new(level);
            flate2::read::ZlibEncoder::new(body, level).read_to_end(&mut packed).unwrap();
            let json = br#"{"z":1}"#;
            let payload = [&[0; 16][..], &(json.len() as u32).to_le_bytes(), json, &packed].concat();
            describe(&[MAGIC, &[2], &(payload.len() as u32).to_le_bytes(), &payload].concat()).unwrap()
        };
        assert_eq!(file(&[7; 1000], 1), file(&[7; 1000], 9));
        assert_ne!(file(&[7; 1000], 1), file(&[7; 1001], 1));
    }

    #[test]
    fn tails_are_counted() {
        let bytes = sample_map("mixed.mrail").unwrap();
        let (records, tail) = describe(&bytes).unwrap();
        let (fewer, cut) = describe(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!((tail, fewer.len()), (0, records.len() - 1));
        assert!(cut > 0);
    }
}
