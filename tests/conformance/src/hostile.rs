//! Files that want to do harm, each named after what is wrong with it.
//!
//! They lie in tests/fuzz/corpus/open, as seeds of the fuzz target and for the readers of other targets; this module says
//! what is in them, and a test that they are that.

use flate2::Compression;
use flate2::read::ZlibEncoder;
use mrail::PrefixHash;
use std::io::{self, Read};

/// A record.
#[must_use]
pub fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind][..], &(payload.len() as u32).to_le_bytes(), payload].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn session(tokens: &[u32], gen_start: u32) -> Vec<u8> {
    record(1, &[words(&[0, tokens.len() as u32, gen_start]), words(tokens)].concat())
}

/// A session whose count is a lie.
fn session_of(count: u32) -> Vec<u8> {
    record(1, &words(&[0, count, 1, 7, 8]))
}

fn track(context: &[u32], source: &[u8], count: u32, ops: &[u8]) -> Vec<u8> {
    track_of(context.len() as u32, PrefixHash::of(context).0, source, count, ops)
}

fn track_of(context_len: u32, hash: [u8; 8], source: &[u8], count: u32, ops: &[u8]) -> Vec<u8> {
    let source_len = (source.len() as u16).to_le_bytes();
    let parts = [&context_len.to_le_bytes()[..], &hash, &source_len, source, &count.to_le_bytes(), ops];
    record(5, &parts.concat())
}

fn uses(hash: [u8; 8], hits: u32) -> Vec<u8> {
    record(3, &[&hash[..], &hits.to_le_bytes()].concat())
}

fn anchor(hash: [u8; 8], parent: Option<[u8; 8]>, json: &str, body: &[u8]) -> Vec<u8> {
    anchor_of(hash, parent, json.len() as u32, json.as_bytes(), body)
}

fn anchor_of(hash: [u8; 8], parent: Option<[u8; 8]>, json_len: u32, json: &[u8], body: &[u8]) -> Vec<u8> {
    let parent_bytes = parent.as_ref().map_or(&[][..], |parent| parent);
    let parts = [&words(&[0, 1]), &hash[..], parent_bytes, &json_len.to_le_bytes(), json, body];
    record(if parent.is_some() { 4 } else { 2 }, &parts.concat())
}

fn zlib(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    ZlibEncoder::new(content, Compression::best()).read_to_end(&mut packed)?;
    Ok(packed)
}

const A: [u8; 8] = *b"anchor-A";
const B: [u8; 8] = *b"anchor-B";

/// Two layers with four rows of two bytes.
fn state(chain: u32) -> String {
    meta("uint8", "[1,4,2]", "{},{}", chain)
}

fn meta(dtype: &str, shape: &str, scalars: &str, chain: u32) -> String {
    format!("{{\"arrays\":[[\"_root_keys\",\"{dtype}\",{shape}]],\"scalars\":[{scalars}],\"z\":1,\"chain\":{chain}}}")
}

/// Every hostile file, by name.
///
/// # Errors
/// Compression fails, which it does not.
pub fn hostile() -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = no_maps();
    let map = |records: &[&[u8]]| [b"MRAIL\x03\0\0", &*records.concat()].concat();
    for (name, records) in [sessions(), uses_and_kinds(), tracks(), tails(), anchors()?, deltas()?].concat() {
        files.push((name, map(&[&records])));
    }
    Ok(files)
}

type Named = Vec<(&'static str, Vec<u8>)>;

fn no_maps() -> Named {
    vec![
        ("no-bytes", vec![]),
        ("magic-cut", b"MRAIL\x03\0".to_vec()),
        ("magic-of-version-4", b"MRAIL\x04\0\0".to_vec()),
        ("magic-in-lower-case", b"mrail\x03\0\0".to_vec()),
        ("html-page", b"<!doctype html><title>404 Not Found</title>".to_vec()),
        ("magic-alone", b"MRAIL\x03\0\0".to_vec()),
    ]
}

/// Good records before and behind, so that one sees whether they are still found.
fn between(bad: &[u8]) -> Vec<u8> {
    [&session(&[1, 2, 3], 1), bad, &session(&[4, 5, 6], 2)].concat()
}

fn sessions() -> Named {
    let same: Vec<Vec<u8>> = (0..60).map(|run| session(&[&[9; 40][..], &[run % 3]].concat(), 40)).collect();
    vec![
        ("session-empty-payload", between(&record(1, &[]))),
        ("session-payload-of-11-bytes", between(&record(1, &[0; 11]))),
        ("session-count-max", between(&session_of(u32::MAX))),
        ("session-count-max-less-1", between(&session_of(u32::MAX - 1))),
        ("session-count-2-to-30", between(&session_of(1 << 30))),
        ("session-count-one-too-many", between(&session_of(3))),
        ("session-count-one-too-few", between(&session_of(1))),
        ("session-count-0-with-tokens", between(&session_of(0))),
        ("session-half-a-token", between(&record(1, &[words(&[0, 1, 0]), vec![7, 7]].concat()))),
        ("session-without-tokens", between(&session(&[], 0))),
        ("session-answer-past-its-end", between(&session(&[7, 8], u32::MAX))),
        ("session-of-largest-tokens", between(&session(&[u32::MAX; 9], 4))),
        ("sessions-all-alike", same.concat()),
    ]
}

fn uses_and_kinds() -> Named {
    vec![
        ("use-of-11-bytes", between(&record(3, &[1; 11]))),
        ("use-of-13-bytes", between(&record(3, &[1; 13]))),
        ("use-sum-past-32-bits", between(&[uses(A, u32::MAX), uses(A, u32::MAX), uses(A, 2)].concat())),
        ("unknown-kinds-in-a-row", between(&[record(6, b"x"), record(255, &[]), record(99, &[0; 30])].concat())),
        ("kind-0-in-the-middle", between(&record(0, &[1, 2, 3]))),
        ("zeroed-stretch-in-the-middle", between(&[0; 64])),
        ("length-max", between(&[1, 255, 255, 255, 255])),
        ("length-one-too-many", [&[1, 21, 0, 0, 0][..], &session(&[7, 8], 1)[5..], &session(&[4, 5, 6], 2)].concat()),
        ("length-one-too-few", [&[1, 19, 0, 0, 0][..], &session(&[7, 8], 1)[5..], &session(&[4, 5, 6], 2)].concat()),
    ]
}

fn tracks() -> Named {
    let context = [10, 11, 12, 13];
    let one = |ops: &[u8]| between(&track(&context, b"s", 1, ops));
    let descending = |len: u32| track_of(1000 - len, A, b"", 0, &[]);
    vec![
        ("track-empty-payload", between(&record(5, &[]))),
        ("track-payload-of-17-bytes", between(&record(5, &[0; 17]))),
        ("track-ops-max", between(&track(&context, b"s", u32::MAX, &[]))),
        ("track-ops-one-too-many", between(&track(&context, b"s", 2, &[0, 1, 0, 7, 0, 0, 0]))),
        ("track-ops-one-too-few", between(&track(&context, b"s", 0, &[0, 1, 0, 7, 0, 0, 0]))),
        ("track-literal-max", one(&[0, 255, 255, 7, 0, 0, 0])),
        ("track-literal-of-0", one(&[0, 0, 0])),
        ("track-operation-7", one(&[7, 0, 0])),
        ("track-copy-past-its-context", one(&[1, 3, 0, 0, 0, 2, 0])),
        ("track-copy-from-max", one(&[1, 255, 255, 255, 255, 255, 255])),
        ("track-source-not-utf-8", between(&track(&context, b"a\xFF", 0, &[]))),
        ("track-source-max", between(&record(5, &[&[0; 12][..], &[255, 255], b"abc", &[0; 4]].concat()))),
        ("track-of-no-context", between(&track(&[], b"", 1, &[0, 1, 0, 7, 0, 0, 0]))),
        ("track-of-no-answer", between(&track(&context, b"", 0, &[]))),
        ("track-context-of-4-billion", between(&track_of(u32::MAX, A, b"", 1, &[1, 0, 0, 0, 0, 255, 255]))),
        ("tracks-of-descending-contexts", (0..80).flat_map(descending).collect()),
    ]
}

fn tails() -> Named {
    let good = session(&[1, 2, 3], 1);
    let behind = |tail: &[u8]| [&good, tail].concat();
    let cut = |record: &[u8], len: usize| behind(record.get(..len).unwrap_or(record));
    let hidden = {
        // The first length claims more than there is: the records behind it are good.
        let mut bytes = [session(&[1, 2, 3], 1), session(&[4, 5, 6], 1)].concat();
        bytes.splice(1..5, 9999_u32.to_le_bytes());
        bytes
    };
    vec![
        ("tail-of-one-byte", cut(&good, 1)),
        ("tail-header-without-payload", cut(&good, 5)),
        ("tail-session-cut", cut(&good, 22)),
        ("tail-session-cut-in-its-counts", cut(&good, 11)),
        ("tail-track-cut", cut(&track(&[10, 11, 12, 13], b"source", 1, &[1, 0, 0, 0, 0, 4, 0]), 30)),
        ("tail-use-cut", cut(&uses(A, 1), 9)),
        ("tail-anchor-cut-in-its-json", cut(&anchor(A, None, &state(0), &[0; 9]), 60)),
        ("tail-of-zeros", behind(&[0; 100])),
        ("tail-of-ff", behind(&[255; 100])),
        ("tail-of-unknown-kind-cut", behind(&[77, 9, 0, 0, 0, 1])),
        ("tail-hides-good-records", hidden),
        ("tail-use-of-other-length", behind(&[3, 200, 0, 0, 0, 1])),
    ]
}

fn anchors() -> io::Result<Named> {
    let rows = zlib(&[5; 16])?;
    let of = |json: &str, body: &[u8]| between(&anchor(A, None, json, body));
    let shaped = |dtype: &str, shape: &str| of(&meta(dtype, shape, "{},{}", 0), &rows);
    let json_of = |len: u32| between(&anchor_of(A, None, len, state(0).as_bytes(), &rows));
    let mut checksum = rows.clone();
    if let Some(last) = checksum.last_mut() {
        *last ^= 1;
    }
    let bomb = meta("uint8", "[1,1000,1000]", "{}", 0);
    Ok(vec![
        ("anchor-empty-payload", between(&record(2, &[]))),
        ("anchor-payload-of-19-bytes", between(&record(2, &[0; 19]))),
        ("anchor-json-length-max", json_of(u32::MAX)),
        ("anchor-json-length-0", json_of(0)),
        ("anchor-json-one-too-long", json_of(state(0).len() as u32 + 1)),
        ("anchor-json-not-utf-8", between(&anchor_of(A, None, 2, b"{\xFF", &rows))),
        ("anchor-json-of-text", of("hello", &rows)),
        ("anchor-json-without-arrays", of("{\"scalars\":[{}],\"z\":1,\"chain\":0}", &rows)),
        ("anchor-json-nested-deeply", of(&"[".repeat(5000), &rows)),
        ("anchor-json-of-many-layers", of(&meta("uint8", "[]", &["0"; 3000].join(","), 0), &zlib(&[7; 3000])?)),
        ("anchor-dimensions-overflow", shaped("float64", "[4294967296,4294967296,2]")),
        ("anchor-dimension-of-terabytes", shaped("float64", "[1099511627776]")),
        ("anchor-dimension-negative", shaped("float64", "[-1]")),
        ("anchor-dimension-0", of(&meta("float64", "[18446744073709551615,0]", "{},{}", 0), &zlib(&[])?)),
        ("anchor-of-unknown-type", shaped("object", "[1]")),
        ("anchor-body-cut", of(&state(0), &rows[..rows.len() - 3])),
        ("anchor-body-checksum-wrong", of(&state(0), &checksum)),
        ("anchor-body-too-short", of(&state(0), &zlib(&[5; 15])?)),
        ("anchor-body-too-long", of(&state(0), &zlib(&[5; 17])?)),
        ("anchor-body-goes-on", of(&state(0), &[&rows[..], b"more"].concat())),
        ("anchor-body-empty", of(&state(0), &[])),
        ("anchor-body-packed-a-thousandfold", of(&bomb, &zlib(&vec![0; 1_000_000])?)),
        ("anchor-twice", between(&[anchor(A, None, &state(0), &rows), anchor(A, None, "{}", &[])].concat())),
    ])
}

fn deltas() -> io::Result<Named> {
    let whole = anchor(A, None, &state(0), &zlib(&[5; 16])?);
    // A row mask and one row, for each of two layers.
    let rows = zlib(&[0b0100_0000, 8, 9, 0b0100_0000, 8, 9])?;
    let on_a = |json: &str, body: &[u8]| [&whole[..], &anchor(B, Some(A), json, body)].concat();
    let link = |at: u8, parent: [u8; 8]| anchor([at; 8], Some(parent), &state(u32::from(at)), &rows);
    let chain: Vec<u8> = (1..9).flat_map(|at| link(at, if at == 1 { A } else { [at - 1; 8] })).collect();
    let mut good = [&whole[..], &chain].concat();
    good.truncate(whole.len() + chain.len() / 8 * 7);
    Ok(vec![
        ("delta-empty-payload", between(&record(4, &[]))),
        ("delta-payload-of-27-bytes", between(&record(4, &[0; 27]))),
        ("delta-without-its-parent", between(&anchor(B, Some(A), &state(1), &rows))),
        ("delta-of-itself", between(&anchor(A, Some(A), &state(1), &rows))),
        ("delta-of-each-other", [anchor(A, Some(B), &state(1), &rows), anchor(B, Some(A), &state(2), &rows)].concat()),
        ("delta-chain-of-7-is-good", good),
        ("delta-chain-of-8", [&whole[..], &chain].concat()),
        ("delta-counts-another-chain", on_a(&state(3), &rows)),
        ("delta-of-another-shape", on_a(&meta("uint8", "[1,8,1]", "{},{}", 1), &rows)),
        ("delta-of-another-type", on_a(&meta("int8", "[1,4,2]", "{},{}", 1), &rows)),
        ("delta-of-more-layers", on_a(&meta("uint8", "[1,4,2]", "{},{},{}", 1), &rows)),
        ("delta-mask-past-its-rows", on_a(&state(1), &zlib(&[0b0100_1000, 8, 9, 0b0100_0000, 8, 9])?)),
        ("delta-rows-missing", on_a(&state(1), &zlib(&[0b1111_0000, 8, 9])?)),
        ("delta-rows-left-over", on_a(&state(1), &zlib(&[0, 0, 1, 2, 3])?)),
        ("delta-body-cut", on_a(&state(1), &rows[..rows.len() - 2])),
    ])
}
