//! Every length and count set to its extremes, one at a time.

use crate::peak::peak;
use crate::samples::{LARGE, SMALL, THOROUGH, read};
use mrail::record::{ANCHOR, DELTA, Record, Records, SESSION, TRACK, USE};
use mrail::{Map, Options};
use mrail_conformance::fuzz::{Effort, exercise};

/// Where a record's lengths and counts are in the file, with their widths.
fn fields(record: &Record<'_>) -> Vec<(usize, usize)> {
    let payload = record.offset + 5;
    let mut fields = vec![(record.offset + 1, 4)];
    match record.kind {
        SESSION => fields.extend([(payload, 4), (payload + 4, 4), (payload + 8, 4)]),
        USE => fields.push((payload + 8, 4)),
        ANCHOR => fields.extend([(payload + 4, 4), (payload + 16, 4)]),
        DELTA => fields.extend([(payload + 4, 4), (payload + 24, 4)]),
        TRACK => {
            fields.extend([(payload, 4), (payload + 12, 2)]);
            let number = |at: usize, width| {
                let mut bytes = [0; 4];
                bytes[..width].copy_from_slice(&record.payload[at..at + width]);
                u32::from_le_bytes(bytes) as usize
            };
            let mut at = 14 + number(12, 2);
            fields.push((payload + at, 4));
            at += 4;
            while at < record.payload.len() {
                let literal = record.payload[at] == 0;
                if literal {
                    fields.push((payload + at + 1, 2));
                    at += 3 + 4 * number(at + 1, 2);
                } else {
                    fields.extend([(payload + at + 1, 4), (payload + at + 5, 2)]);
                    at += 7;
                }
            }
        }
        _ => {}
    }
    fields
}

#[test]
fn every_length_and_count_at_its_extremes() {
    for name in SMALL.iter().chain(LARGE) {
        let small = SMALL.contains(name);
        let bytes = read(name);
        let fields: Vec<_> = Records::new(&bytes).unwrap().flat_map(|record| fields(&record)).collect();
        let most = if small { 60 * THOROUGH } else { 10 * THOROUGH };
        for &(at, width) in fields.iter().step_by(fields.len().div_ceil(most).max(1)) {
            let max = u32::MAX >> (32 - 8 * width);
            for value in [0, 1, max / 2, max / 2 + 1, max / 4, max - 1, max] {
                let mut changed = bytes.clone();
                changed[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                let effort = if small && width == 4 { Effort::All } else { Effort::Little };
                assert!(exercise(&changed, effort), "{name}: {width} bytes at {at} = {value}");
                let (_, bytes) = peak(|| Map::open(&changed, Options::default()).map(|map| map.len()));
                assert!(bytes <= changed.len() * 4 + 200_000, "{name}: {bytes} bytes for {} at {at}", changed.len());
            }
        }
    }
}
