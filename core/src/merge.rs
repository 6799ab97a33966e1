//! One map from several.

use crate::PrefixHash;
use crate::map::{Map, OpenError, Options, Run};
use crate::record::{MAGIC, TRACK, USE, write_record};
use crate::run::encode_session;
use crate::usage::Use;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use hashbrown::{HashMap, HashSet};

/// What became of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Runs in the new map.
    pub runs: usize,
    /// Tracks among them.
    pub tracks: usize,
    /// Runs left out since an equal one is there already.
    pub repeated: usize,
    /// Anchors left out: each belongs to one exact model state.
    pub anchors: usize,
    /// Records left out since they cannot be read.
    pub problems: usize,
}

/// A map that cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeError {
    /// Which one, in the order given.
    pub index: usize,
    /// What is wrong with it.
    pub error: OpenError,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "map {}: {}", self.index + 1, self.error)
    }
}

impl core::error::Error for MergeError {}

/// Writes the runs, tracks and use counts of several maps as one map.
///
/// Runs keep their order; of equal ones (same tokens and start of the answer, or the same track) the first stays, so
/// nothing that one of the maps answers is answered otherwise. Use counts of a hash are added up. Anchors are left out, and
/// so are torn tails and bad records. All maps' runs become own runs of the new map: merge maps of one model only.
///
/// O(N log R) time for N tokens in R runs; memory for the maps and the result.
pub fn merge(maps: &[&[u8]]) -> Result<(Vec<u8>, Merged), MergeError> {
    let mut out = MAGIC.to_vec();
    let mut merged = Merged::default();
    let (mut sessions, mut tracks) = (HashSet::new(), HashSet::new());
    let mut uses = Vec::<(PrefixHash, u64)>::new();
    let mut use_at = HashMap::new();
    for (index, bytes) in maps.iter().enumerate() {
        let map = Map::open(Cow::Borrowed(*bytes), Options::default()).map_err(|error| MergeError { index, error })?;
        merged.anchors += map.anchors().count();
        merged.problems += map.problem_count();
        for run in (0..map.len()).filter_map(|run| map.run(run)) {
            let record = match run {
                Run::Session(session) => {
                    let tokens: Vec<u32> = session.tokens.iter().collect();
                    let record = encode_session(merged.runs as u32, &tokens, session.gen_start);
                    sessions.insert((session.gen_start, tokens)).then_some(record)
                }
                Run::Track(track) => {
                    let payload = track.payload();
                    merged.tracks += usize::from(!tracks.contains(payload));
                    tracks.insert(payload.to_vec()).then(|| (TRACK, payload.to_vec()))
                }
            };
            match record {
                // It was a record's payload before, and so fits.
                Some((kind, payload)) => write_record(&mut out, kind, &payload),
                None => merged.repeated += 1,
            }
            merged.runs = sessions.len() + tracks.len();
        }
        for Use { hash, hits } in
            map.records().filter(|record| record.kind == USE).filter_map(|record| Use::parse(record.payload).ok())
        {
            let at = *use_at.entry(hash).or_insert(uses.len());
            match uses.get_mut(at) {
                Some((_, sum)) => *sum = sum.saturating_add(u64::from(hits)),
                None => uses.push((hash, u64::from(hits))),
            }
        }
    }
    for (hash, mut left) in uses {
        // A count past 32 bits takes several records.
        loop {
            let hits = u32::try_from(left).unwrap_or(u32::MAX);
            let (kind, payload) = Use { hash, hits }.encode();
            write_record(&mut out, kind, &payload);
            left -= u64::from(hits);
            if left == 0 {
                break;
            }
        }
    }
    Ok((out, merged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn map(runs: &[(&[u32], usize)], track: Option<&[u32]>, hits: &[u32]) -> Vec<u8> {
        let mut map = Map::create();
        for (tokens, gen_start) in runs {
            let append = map.prepare_session(tokens, *gen_start).unwrap();
            map.commit(&append).unwrap();
        }
        if let Some(context) = track {
            let append = map.prepare_track(context, &[7], "src", 4).unwrap();
            map.commit(&append).unwrap();
        }
        for hits in hits {
            let append = map.prepare_use(PrefixHash::of(&[1]), *hits).unwrap();
            map.commit(&append).unwrap();
        }
        map.bytes()
    }

    #[test]
    fn equal_runs_stay_once_and_the_rest_is_kept() {
        let a = map(&[(&[1, 2], 1), (&[3, 4], 1)], Some(&[1, 2, 3]), &[5, u32::MAX]);
        let b = map(&[(&[3, 4], 1), (&[3, 4], 2), (&[5], 0)], Some(&[1, 2, 3]), &[7]);
        let (bytes, merged) = merge(&[&a, &b]).unwrap();
        assert_eq!(merged, Merged { runs: 5, tracks: 1, repeated: 2, ..Merged::default() });
        let map = Map::open(bytes, Options::default()).unwrap();
        assert_eq!(map.len(), 5);
        assert_eq!(map.uses(PrefixHash::of(&[1])), 12 + u64::from(u32::MAX));
        assert_eq!(map.answer(&[3], 9, &[]).unwrap().tokens, [4]);
        assert_eq!(map.answer(&[1, 2, 3], 9, &[]).unwrap().tokens, [7]);
        let sids: Vec<_> = (0..5)
            .filter_map(|run| match map.run(run) {
                Some(Run::Session(session)) => Some(session.sid as usize == run),
                _ => None,
            })
            .collect();
        assert_eq!(sids, [true; 4]);
    }

    #[test]
    fn what_is_no_map_is_named_and_nothing_is_an_empty_map() {
        let error = merge(&[&MAGIC, b"hello"]).unwrap_err();
        assert_eq!(error.to_string(), "map 2: not a .mrail map: 5 bytes, and the magic alone has 8");
        assert_eq!(merge(&[]).unwrap(), (MAGIC.to_vec(), Merged::default()));
    }
}
