//! The checks. One walk reads every record; one hashes every prefix of every run, where something rests on a hash; one
//! rebuilds every anchored state.
//!
//! Tokens of sessions carry no checksum, so that they are what the model said cannot be told from a file; nor can anything
//! that rests on the hash of a prefix whose tokens are not in the map.

use super::report::Report;
use crate::error::Result;
use crate::files;
use crate::output::count;
use crate::progress::Progress;
use crate::summary::tail_text;
use mrail::anchor::{Anchor, AnchorError, MAX_CHAIN, restore};
use mrail::map::Run;
use mrail::record::{ANCHOR, DELTA, Malformed, Record, Records, SESSION, TRACK, USE, kind_name};
use mrail::run::Session;
use mrail::tail::Tail;
use mrail::track::Track;
use mrail::usage::Use;
use mrail::{Map, PrefixHash};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Where a prefix is in the map: the first `len` tokens of a run.
#[derive(Clone, Copy)]
struct Place {
    run: usize,
    len: usize,
}

/// Hashes that something rests on, and where their tokens are.
type Wanted = HashMap<PrefixHash, Option<Place>>;

/// Records that the first walk leaves for later.
#[derive(Default)]
struct Later<'a> {
    anchors: Vec<(usize, u8, Anchor<'a>)>,
    uses: Vec<(usize, PrefixHash)>,
    tracks: Vec<(usize, usize, Track<'a>)>,
    wanted: Wanted,
    runs: usize,
    tokens: usize,
}

/// Checks a map, whose bytes were read from `path`.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Result<Report> {
    let map = files::open(path, bytes)?;
    let mut records = Records::new(bytes).map_err(|error| files::no_map(path, error))?;
    let mut report = Report::default();
    let mut later = Later::default();
    let mut progress = Progress::new("reading records", bytes.len());
    for record in records.by_ref() {
        progress.at(record.offset);
        if let Err(error) = read(&record, &mut later, &mut report) {
            report.fault(record.kind, record.offset, kind_name(record.kind), error.to_string());
        }
    }
    drop(progress);
    let tail = Tail::of(records.rest());
    if let Some(text) = tail_text(tail) {
        report.faults.add(records.position(), "tail", text);
        report.torn = matches!(tail, Tail::Torn { .. });
    }
    if !later.wanted.is_empty() {
        find_prefixes(&map, &mut later);
    }
    check_tracks(&map, bytes.len(), &mut later, &mut report);
    check_anchors(&map, bytes.len(), &later, &mut report);
    check_uses(&later, &mut report);
    report.in_order();
    Ok(report)
}

/// The first walk: what a record says by itself.
fn read<'a>(record: &Record<'a>, later: &mut Later<'a>, report: &mut Report) -> std::result::Result<(), Malformed> {
    let offset = record.offset;
    match record.kind {
        SESSION => {
            let session = Session::parse(record.payload)?;
            report.good(SESSION);
            let (len, start) = (session.tokens.len(), session.gen_start);
            if start as usize > len {
                let text = format!("its answer starts at {start}, behind its {len} tokens: it answers nothing");
                report.notes.add(offset, format!("run {}", later.runs), text);
            }
            later.runs += 1;
            later.tokens += len;
        }
        TRACK => {
            let track = Track::parse(record.payload)?;
            later.wanted.insert(track.context_hash, None);
            later.tracks.push((later.runs, offset, track));
            later.runs += 1;
        }
        USE => {
            let hash = Use::parse(record.payload)?.hash;
            later.wanted.insert(hash, None);
            later.uses.push((offset, hash));
        }
        ANCHOR | DELTA => {
            let anchor = Anchor::parse(record.kind, record.payload)?;
            later.wanted.insert(anchor.hash, None);
            later.anchors.push((offset, record.kind, anchor));
        }
        kind => {
            let what = format!("kind {kind}");
            report.unverifiable(kind, offset, what, "a kind that this program does not know");
        }
    }
    Ok(())
}

/// The second walk: hashes every prefix of every session.
fn find_prefixes(map: &Map<'_>, later: &mut Later<'_>) {
    let mut progress = Progress::new("hashing prefixes", later.tokens);
    let mut done = 0;
    for run in 0..map.len() {
        let Some(Run::Session(session)) = map.run(run) else { continue };
        find_chain(PrefixHash::EMPTY, session.tokens.iter(), Place { run, len: 0 }, &mut later.wanted);
        done += session.tokens.len();
        progress.at(done);
    }
}

/// Notes each wanted prefix that `tokens` go through behind `start`, which is at `place`.
fn find_chain(start: PrefixHash, tokens: impl Iterator<Item = u32>, place: Place, wanted: &mut Wanted) {
    let mut found = |hash, place: Place| {
        if let Some(known) = wanted.get_mut(&hash) {
            known.get_or_insert(place);
        }
    };
    found(start, place);
    tokens.zip(place.len + 1..).fold(start, |hash, (token, len)| {
        let hash = hash.then(token);
        found(hash, Place { len, ..place });
        hash
    });
}

/// Tokens of tracks' answers that are hashed for each byte of a map, and in any map. A byte of a track may copy thousands.
const HASHED: u64 = 4;
const HASHED_ALWAYS: u64 = 1 << 20;

/// A track's operations were checked when it was read; its context may be the beginning of a session.
fn check_tracks(map: &Map<'_>, bytes: usize, later: &mut Later<'_>, report: &mut Report) {
    let mut left = (bytes as u64).saturating_mul(HASHED).saturating_add(HASHED_ALWAYS);
    for (run, offset, track) in &later.tracks {
        let what = format!("run {run}");
        let expected = track.context_len as usize;
        match later.wanted.get(&track.context_hash).copied().flatten() {
            Some(Place { len, .. }) if len == expected => {
                report.good(TRACK);
            }
            Some(Place { run: other, len }) => {
                let text =
                    format!("its context has {expected} tokens, but its hash is of the first {len} of run {other}");
                report.fault(TRACK, *offset, what, text);
                continue;
            }
            None => {
                let text = format!("its context of {} is not in the map, only its hash", tokens(expected));
                report.unverifiable(TRACK, *offset, what, text);
                continue;
            }
        }
        // Prefixes may end inside its answer too.
        let place = later.wanted.get(&track.context_hash).copied().flatten();
        let Some(Run::Session(session)) = place.and_then(|place| map.run(place.run)) else { continue };
        let cost = track.answer_len.saturating_add(expected as u64 / 8);
        let Some(rest) = left.checked_sub(cost) else {
            let text = format!(
                "its answer of {} was not hashed: prefixes in it are not found",
                count(track.answer_len, "token")
            );
            report.notes.add(*offset, what, text);
            continue;
        };
        left = rest;
        let context: Vec<u32> = session.tokens.first(expected).iter().collect();
        find_chain(track.context_hash, track.decode(&context), Place { run: *run, len: expected }, &mut later.wanted);
    }
}

/// Bytes of states that are rebuilt for each byte of a map, and in any map. Some bytes may be changes to a huge state, and
/// thousands may be to one.
const REBUILT: u64 = 1 << 10;
const REBUILT_ALWAYS: u64 = 1 << 32;

/// How large a state is by one of its records.
#[derive(Clone, Copy, Default)]
struct Claim {
    /// As the JSON says.
    declared: u64,
    /// What the body can hold at most.
    held: u64,
    /// Bytes of JSON.
    json: u64,
}

impl Claim {
    fn of(anchor: Anchor<'_>) -> Self {
        const DEFLATE: u64 = 1032;
        let declared = anchor.meta().ok().map(|meta| {
            let layer =
                meta.arrays.iter().map(|array| array.byte_len().unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
            layer.saturating_mul(meta.scalars.len() as u64)
        });
        let held = (anchor.body.len() as u64).saturating_mul(DEFLATE);
        Self { declared: declared.unwrap_or(0), held, json: anchor.json.len() as u64 }
    }
}

/// Bytes that are handled to rebuild a state: those of each state on the way, and of the JSON, which takes longer. The last
/// of `claims` is a whole state's; the others carry over what they don't change.
fn cost(claims: &[Claim]) -> u64 {
    const JSON: u64 = 16;
    let step = |(state, sum): (u64, u64), claim: &Claim| {
        let state = claim.declared.min(claim.held.saturating_add(state));
        (state, sum.saturating_add(state).saturating_add(claim.json.saturating_mul(JSON)))
    };
    claims.iter().rev().fold((0, 0), step).1
}

/// Rebuilds every state, and compares its prefix with the runs'.
fn check_anchors(map: &Map<'_>, bytes: usize, later: &Later<'_>, report: &mut Report) {
    let mut progress = Progress::new("restoring anchors", later.anchors.len());
    let mut seen = HashSet::new();
    let mut left = (bytes as u64).saturating_mul(REBUILT).saturating_add(REBUILT_ALWAYS);
    let mut known = HashMap::new();
    for (done, (offset, kind, anchor)) in later.anchors.iter().enumerate() {
        progress.at(done);
        let what = format!("anchor {}", anchor.hash);
        if !seen.insert(anchor.hash) {
            report.notes.add(
                *offset,
                what.clone(),
                "an earlier record has its prefix, and counts: this one is never read",
            );
        }
        let parents = std::iter::successors(anchor.parent, |hash| map.anchor(*hash)?.parent).take(MAX_CHAIN as usize);
        let parents = parents.map(|hash| *known.entry(hash).or_insert_with(|| map.anchor(hash).map(Claim::of)));
        let mut claims: Vec<Claim> = std::iter::once(Claim::of(*anchor)).chain(parents.flatten()).collect();
        // A chain that is too long, or a circle, is refused before anything is read.
        if claims.len() > MAX_CHAIN as usize {
            claims.clear();
        }
        let Some(rest) = left.checked_sub(cost(&claims)) else {
            report.unverifiable(
                *kind,
                *offset,
                what,
                "it was not rebuilt: all states together are too large for this map",
            );
            continue;
        };
        left = rest;
        let find = |hash| if hash == anchor.hash { Some(*anchor) } else { map.anchor(hash) };
        if let Err(error) = restore(anchor.hash, find) {
            report.fault(*kind, *offset, what, without_repetition(&error, anchor.hash));
            continue;
        }
        let expected = anchor.position as usize;
        match later.wanted.get(&anchor.hash).copied().flatten() {
            Some(Place { len, .. }) if len == expected => report.good(*kind),
            Some(Place { run, len }) => {
                let text =
                    format!("its position is {expected}, but its hash is of the first {len} tokens of run {run}");
                report.fault(*kind, *offset, what, text);
            }
            None => {
                let text = format!("it restores, but no run has its prefix of {}", tokens(expected));
                report.unverifiable(*kind, *offset, what, text);
            }
        }
    }
}

/// A use count is known if something in the map has its prefix.
fn check_uses(later: &Later<'_>, report: &mut Report) {
    let tracks = later.tracks.iter().map(|(_, _, track)| track.context_hash);
    let named: HashSet<PrefixHash> = tracks.chain(later.anchors.iter().map(|(_, _, anchor)| anchor.hash)).collect();
    for (offset, hash) in &later.uses {
        if later.wanted.get(hash).copied().flatten().is_some() || named.contains(hash) {
            report.good(USE);
        } else {
            report.unverifiable(USE, *offset, format!("use of {hash}"), "no run, track or anchor has this prefix");
        }
    }
}

/// What is wrong with an anchor, without its own hash in front.
fn without_repetition(error: &AnchorError, hash: PrefixHash) -> String {
    match error {
        AnchorError::Link { anchor, error } if *anchor == hash => error.to_string(),
        error => error.to_string(),
    }
}

fn tokens(number: usize) -> String {
    count(number as u64, "token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_costs_what_it_holds_and_not_what_it_claims() {
        let whole = Claim { declared: 1000, held: 5000, json: 0 };
        let lies = Claim { declared: u64::MAX, held: 5000, json: 0 };
        let delta = Claim { declared: 1000, held: 10, json: 2 };
        assert_eq!((cost(&[]), cost(&[whole]), cost(&[lies])), (0, 1000, 5000));
        assert_eq!(cost(&[delta, delta, whole]), 3000 + 64);
        assert_eq!(cost(&[lies, Claim { declared: 30, ..whole }]), 30 + 5030);
        assert_eq!(cost(&[delta]), 10 + 32, "its parent is missing");
    }
}
