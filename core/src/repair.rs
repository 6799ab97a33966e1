//! Finding the good records of a damaged file.
//!
//! A flipped length hides every record behind it: the file seems to end there, or is read out of step. Repair walks the
//! file, keeps each record that parses, and where one does not looks byte by byte for the next place at which a record
//! parses whole. What lies between is left out and reported; the host keeps the old file as a backup.
//!
//! A record found by looking counts only if its payload agrees with its length in every field, which random bytes do
//! about once in 2^32 places; a use count, whose payload has no inner count, must be followed by another record or the
//! end. What every reader meets in its walk and can read stays, whatever stands before it: nothing found by looking takes
//! its bytes, and looking that has taken too long goes on from there.

use crate::anchor::Anchor;
use crate::record::{ANCHOR, DELTA, MAGIC, NotAMap, Record, Records, SESSION, TRACK, USE, is_known, record_at};
use crate::run::Session;
use crate::tail::{self, Tail};
use crate::track::Track;
use crate::usage::Use;
use alloc::vec::Vec;
use core::ops::Range;

/// A repaired file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The whole file, made of good records alone.
    pub bytes: Vec<u8>,
    /// Records kept.
    pub kept: usize,
    /// Those of them that the damaged file hid.
    pub recovered: usize,
    /// Stretches of the damaged file that were left out.
    pub cut: Vec<Range<usize>>,
}

impl Repaired {
    /// Whether the file was good as it was.
    #[must_use]
    pub fn unchanged(&self) -> bool {
        self.cut.is_empty()
    }
}

/// Collects the good records of a file. Bytes without the magic are an error: they are no map, or not this version's.
///
/// Time is at most a fixed number of passes over the file; looking ends there, and what was not looked at is cut, except
/// for the records that could be read before.
pub fn repair(bytes: &[u8]) -> Result<Repaired, NotAMap> {
    let start = Records::new(bytes)?.position();
    let mut repaired = Repaired { bytes: MAGIC.to_vec(), kept: 0, recovered: 0, cut: Vec::new() };
    // Hostile files can nest headers so that each place costs a parse of all that follows.
    let mut budget = bytes.len().saturating_mul(PASSES).saturating_add(8 * FOLLOWING);
    let hidden_from = Records::new(bytes)?.fold(start, |_, record| record.end());
    // Where the last look past records of unknown kinds ended well.
    let (mut at, mut trusted) = (start, start);
    // Records of known kinds that every reader finds. They don't overlap, so reading them is one pass.
    let mut readable = Records::new(bytes)?.filter(|record| parses(record, &mut 0)).peekable();
    while at < bytes.len() {
        while readable.next_if(|record| record.offset <= at).is_some() {}
        let limit = readable.peek().map_or(bytes.len(), |record| record.offset);
        let whole = |from| record_at(bytes, from).filter(|record| record.end() <= limit);
        if let Some(record) = whole(at).filter(|record| is_good(bytes, record, &mut trusted, &mut budget)) {
            repaired.bytes.extend_from_slice(bytes.get(at..record.end()).unwrap_or_default());
            repaired.kept += 1;
            let hidden = at >= hidden_from || repaired.cut.last().is_some_and(|cut| cut.end == at);
            repaired.recovered += usize::from(hidden);
            at = record.end();
            continue;
        }
        let mut found = (at + 1..limit).map_while(|from| {
            budget = budget.checked_sub(1)?;
            Some((from, whole(from).is_some_and(|record| is_found(bytes, &record, &mut budget))))
        });
        let found = found.find_map(|(from, found)| found.then_some(from));
        let next = found.unwrap_or(limit);
        repaired.cut.push(at..next);
        at = next;
    }
    Ok(repaired)
}

/// How often a byte may be looked at, on average.
const PASSES: usize = 16;
/// What following a torn anchor's stream takes, in bytes looked at: it delivers 16 times as much in that time.
const FOLLOWING: usize = 4 * tail::PART;

/// Whether a record in its place is good. One of an unknown kind is, if the file goes on sensibly behind it.
fn is_good(bytes: &[u8], record: &Record<'_>, trusted: &mut usize, budget: &mut usize) -> bool {
    match record.kind {
        SESSION | USE | TRACK | ANCHOR | DELTA => parses(record, budget),
        _ if record.offset < *trusted => true,
        _ => {
            let stop = goes_on(bytes, record.end(), budget);
            *trusted = stop.unwrap_or(*trusted);
            stop.is_some()
        }
    }
}

/// Whether a record found out of step is one.
fn is_found(bytes: &[u8], record: &Record<'_>, budget: &mut usize) -> bool {
    parses(record, budget) && (record.kind != USE || goes_on(bytes, record.end(), budget).is_some())
}

/// Where, behind records of unknown kinds from `at` on, stands a record that parses, one that does not but has such a
/// neighbour, one torn record or the file's end; none if something else does.
fn goes_on(bytes: &[u8], mut at: usize, budget: &mut usize) -> Option<usize> {
    loop {
        let Some(next) = record_at(bytes, at) else {
            let rest = bytes.get(at..).unwrap_or_default();
            let follows = matches!(rest.first(), Some(&(ANCHOR | DELTA)));
            let cost = if follows { rest.len().saturating_mul(4).max(FOLLOWING) } else { rest.len() };
            *budget = budget.saturating_sub(cost);
            return (!matches!(Tail::of(rest), Tail::Damaged { .. })).then_some(at);
        };
        if is_known(next.kind) {
            // One bad record says nothing against those before it, where the file goes on behind it.
            let behind = next.end();
            let goes_on = parses(&next, budget)
                || behind == bytes.len()
                || record_at(bytes, behind).is_some_and(|behind| parses(&behind, budget));
            return goes_on.then_some(at);
        }
        *budget = budget.checked_sub(1)?;
        at = next.end();
    }
}

fn parses(record: &Record<'_>, budget: &mut usize) -> bool {
    match record.kind {
        SESSION => Session::parse(record.payload).is_ok(),
        USE => Use::parse(record.payload).is_ok(),
        TRACK => {
            *budget = budget.saturating_sub(record.payload.len());
            Track::parse(record.payload).is_ok()
        }
        ANCHOR | DELTA => Anchor::parse(record.kind, record.payload).is_ok_and(|anchor| {
            *budget = budget.saturating_sub(anchor.json.len());
            anchor.meta().is_ok()
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Map, Options};
    use alloc::vec;

    fn map() -> Map<'static> {
        let mut map = Map::create();
        for run in 0..6u32 {
            let append = map.prepare_session(&[run, run + 1, run + 2], 1).unwrap();
            map.commit(&append).unwrap();
            let append = map.prepare_use(crate::PrefixHash::of(&[run]), 1).unwrap();
            map.commit(&append).unwrap();
        }
        let append = map.prepare_track(&[1, 2, 3, 4, 5], &[2, 3, 4, 5, 9], "s", 4).unwrap();
        map.commit(&append).unwrap();
        map
    }

    #[test]
    fn a_good_file_stays_as_it_is() {
        let bytes = map().bytes();
        let repaired = repair(&bytes).unwrap();
        assert!(repaired.unchanged());
        assert_eq!((repaired.bytes, repaired.kept, repaired.recovered), (bytes, 13, 0));
    }

    #[test]
    fn a_torn_tail_is_cut() {
        let bytes = map().bytes();
        let repaired = repair(&bytes[..bytes.len() - 3]).unwrap();
        assert_eq!((repaired.kept, repaired.cut.len()), (12, 1));
    }

    #[test]
    fn one_damaged_header_costs_one_record() {
        let map = map();
        let bytes = map.bytes();
        let headers: Vec<usize> = map.records().flat_map(|record| record.offset..record.offset + 5).collect();
        for at in headers {
            for bit in [1, 4, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= bit;
                let repaired = repair(&damaged).unwrap();
                assert!(repaired.kept >= 12, "byte {at} ^ {bit}: {repaired:?}");
                let reopened = Map::open(&repaired.bytes, Options::default()).unwrap();
                assert!(reopened.prepare_session(&[1], 1).is_ok());
                assert_eq!(reopened.problem_count(), 0);
            }
        }
    }

    #[test]
    fn records_of_unknown_kinds_are_kept_in_a_row_and_before_a_torn_tail() {
        let unknown: &[u8] = &[200, 1, 0, 0, 0, 7, 201, 0, 0, 0, 0, 99, 2, 0, 0, 0, 1, 1];
        let known = map().bytes()[MAGIC.len()..].to_vec();
        let bytes = [&MAGIC, unknown, &known, unknown].concat();
        assert_eq!(repair(&bytes).map(|repaired| (repaired.kept, repaired.cut)), Ok((19, vec![])));
        let torn = [&bytes[..], &[SESSION, 16, 0, 0, 0, 1]].concat();
        assert_eq!(
            repair(&torn).map(|repaired| (repaired.kept, repaired.cut)),
            Ok((19, core::iter::once(bytes.len()..torn.len()).collect()))
        );
        let damaged = [&MAGIC, unknown, &[250, 9, 0, 0, 0], &known].concat();
        assert_eq!(repair(&damaged).map(|repaired| repaired.kept), Ok(13));
    }

    #[test]
    fn many_records_of_unknown_kinds_do_not_take_forever() {
        let bytes = [&MAGIC[..], &[200, 0, 0, 0, 0].repeat(200_000)].concat();
        assert_eq!(repair(&bytes).map(|repaired| repaired.kept), Ok(200_000));
    }

    #[test]
    fn no_map_is_no_repair() {
        assert_eq!(repair(b"<html>hello").unwrap_err(), NotAMap::WrongMagic { found: *b"<html>he" });
    }

    #[test]
    fn nested_headers_do_not_take_forever() {
        let mut bytes = MAGIC.to_vec();
        while bytes.len() < 300_000 {
            bytes.extend([5, 0, 0, 4, 0]);
        }
        assert_eq!(repair(&bytes).unwrap().kept, 0);
    }

    fn kept(bytes: &[u8]) -> Vec<u8> {
        let repaired = repair(bytes).unwrap();
        assert_eq!(repair(&repaired.bytes).map(|again| again.unchanged()), Ok(true));
        repaired.bytes[MAGIC.len()..].to_vec()
    }

    // Looking through the bad record takes all the time there is.
    #[test]
    fn what_could_be_read_behind_nested_headers_stays() {
        let mut nested = Vec::new();
        while nested.len() < 300_000 {
            nested.extend([5]);
            nested.extend((300_000 - nested.len() as u32).to_le_bytes());
        }
        let good = &map().bytes()[MAGIC.len()..];
        let bad = [&[TRACK][..], &(nested.len() as u32).to_le_bytes(), &nested].concat();
        assert_eq!(kept(&[&MAGIC, &bad[..], good].concat()), good);
    }

    // The bad record is the header of a session that would hold the good ones as its tokens.
    #[test]
    fn nothing_found_takes_the_bytes_of_what_could_be_read() {
        let good = &map().bytes()[MAGIC.len()..];
        let filling = 3 - good.len() % 4;
        let unknown = [&[200, filling as u8, 0, 0, 0], &[7; 3][..filling]].concat();
        let good = [good, &unknown].concat();
        let tokens = good.len() as u32 / 4;
        let fields = [12 + 4 * tokens, 0, tokens, 1].map(u32::to_le_bytes);
        let swallowing = [&[SESSION], fields.as_flattened()].concat();
        assert!(Session::parse(&[&swallowing[5..], &good].concat()).is_ok());
        let bad = [&[USE, 17, 0, 0, 0], &swallowing[..]].concat();
        assert_eq!(kept(&[&MAGIC, &bad[..], &good].concat()), good);
    }

    #[test]
    fn a_bad_record_does_not_cost_its_neighbour_of_an_unknown_kind() {
        let good = &map().bytes()[MAGIC.len()..];
        let unknown = &[200, 1, 0, 0, 0, 7];
        let bad = &[SESSION, 1, 0, 0, 0, 9];
        assert_eq!(kept(&[&MAGIC, &unknown[..], bad, good].concat()), [&unknown[..], good].concat());
        assert_eq!(kept(&[&MAGIC, good, unknown, bad].concat()), [good, unknown].concat());
    }
}
