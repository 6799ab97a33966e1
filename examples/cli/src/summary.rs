//! What a map holds, in numbers.

use crate::files;
use crate::output::count;
use mrail::anchor::Anchor;
use mrail::map::{Problem, Run};
use mrail::record::{HEADER_LEN, kind_name};
use mrail::tail::Tail;
use serde_json::{Map as Object, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A map's numbers.
pub(crate) struct Summary {
    pub(crate) path: PathBuf,
    /// Bytes of the file, whatever they are.
    pub(crate) bytes: u64,
    /// Records of each kind, and their bytes with headers.
    pub(crate) kinds: BTreeMap<u8, (u64, u64)>,
    pub(crate) sessions: u64,
    pub(crate) tracks: u64,
    /// Tokens of all sessions, and those that the model was given and answered.
    pub(crate) tokens: u64,
    pub(crate) prompt_tokens: u64,
    pub(crate) answer_tokens: u64,
    /// Tokens of all tracks' contexts, which are not in the map, and answers.
    pub(crate) track_context_tokens: u64,
    pub(crate) track_answer_tokens: u64,
    pub(crate) anchors_full: u64,
    pub(crate) anchors_delta: u64,
    /// Hits of all prefixes, and how many there are.
    pub(crate) uses: u64,
    pub(crate) used_prefixes: u64,
    pub(crate) valid_len: u64,
    pub(crate) tail: Tail,
    pub(crate) problems: Vec<Problem>,
    pub(crate) problem_count: u64,
}

impl Summary {
    /// Counts a map. Its bytes were read from `path`.
    pub(crate) fn of(path: &Path, bytes: &[u8]) -> crate::error::Result<Self> {
        let map = files::open(path, bytes)?;
        let mut kinds = BTreeMap::<u8, (u64, u64)>::new();
        for record in map.records() {
            let (records, bytes) = kinds.entry(record.kind).or_default();
            *records += 1;
            *bytes += (HEADER_LEN + record.payload.len()) as u64;
        }
        let is_delta = |anchor: &Anchor<'_>| anchor.parent.is_some();
        let anchors_delta = map.anchors().filter(is_delta).count() as u64;
        let mut summary = Self {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
            kinds,
            sessions: 0,
            tracks: 0,
            tokens: 0,
            prompt_tokens: 0,
            answer_tokens: 0,
            track_context_tokens: 0,
            track_answer_tokens: 0,
            anchors_full: map.anchors().count() as u64 - anchors_delta,
            anchors_delta,
            uses: map.all_uses().fold(0, |sum, (_, hits)| sum.saturating_add(hits)),
            used_prefixes: map.all_uses().len() as u64,
            valid_len: map.valid_len() as u64,
            tail: map.tail(),
            problems: map.problems().to_vec(),
            problem_count: map.problem_count() as u64,
        };
        for run in (0..map.len()).filter_map(|run| map.run(run)) {
            match run {
                Run::Session(session) => {
                    summary.sessions += 1;
                    summary.tokens += session.tokens.len() as u64;
                    summary.prompt_tokens += session.context().len() as u64;
                    summary.answer_tokens += session.answer().len() as u64;
                }
                Run::Track(track) => {
                    summary.tracks += 1;
                    summary.track_context_tokens += u64::from(track.context_len);
                    summary.track_answer_tokens += track.answer_len;
                }
            }
        }
        Ok(summary)
    }

    pub(crate) fn runs(&self) -> u64 {
        self.sessions + self.tracks
    }

    pub(crate) fn anchors(&self) -> u64 {
        self.anchors_full + self.anchors_delta
    }

    /// Whether records may be missing: some that cannot be read, or hidden ones.
    pub(crate) fn is_damaged(&self) -> bool {
        self.problem_count > 0 || matches!(self.tail, Tail::Damaged { .. })
    }

    /// The line that the reference prints.
    pub(crate) fn line(&self) -> String {
        let Self { tokens, anchors_full, anchors_delta, uses, .. } = self;
        format!(
            "{}: {} runs, {tokens} tokens, {} anchors ({anchors_full} full, {anchors_delta} delta), {uses} uses, {:.2} MB",
            self.path.display(),
            self.runs(),
            self.anchors(),
            self.bytes as f64 / 1e6
        )
    }

    pub(crate) fn to_json(&self) -> Value {
        let kinds: Object<String, Value> = self
            .kinds
            .iter()
            .map(|(kind, (records, bytes))| {
                (kind.to_string(), json!({ "name": kind_name(*kind), "records": records, "bytes": bytes }))
            })
            .collect();
        let problems: Vec<Value> = self.problems.iter().map(problem_json).collect();
        json!({
            "path": self.path.display().to_string(),
            "bytes": self.bytes,
            "records": self.kinds.values().map(|(records, _)| records).sum::<u64>(),
            "kinds": kinds,
            "runs": self.runs(),
            "sessions": self.sessions,
            "tracks": self.tracks,
            "tokens": self.tokens,
            "prompt_tokens": self.prompt_tokens,
            "answer_tokens": self.answer_tokens,
            "track_context_tokens": self.track_context_tokens,
            "track_answer_tokens": self.track_answer_tokens,
            "anchors_full": self.anchors_full,
            "anchors_delta": self.anchors_delta,
            "uses": self.uses,
            "used_prefixes": self.used_prefixes,
            "valid_bytes": self.valid_len,
            "tail": tail_json(self.tail, self.valid_len),
            "problem_count": self.problem_count,
            "problems": problems,
        })
    }
}

fn problem_json(problem: &Problem) -> Value {
    let Problem { offset, kind, error, .. } = problem;
    json!({ "offset": offset, "kind": kind_name(*kind), "error": error.to_string() })
}

/// What stands behind the last whole record; null where nothing does.
pub(crate) fn tail_json(tail: Tail, offset: u64) -> Value {
    match tail {
        Tail::None => Value::Null,
        Tail::Torn { len } => json!({ "state": "torn", "offset": offset, "bytes": len }),
        Tail::Damaged { len } => json!({ "state": "damaged", "offset": offset, "bytes": len }),
    }
}

/// The same for people; nothing where nothing does.
pub(crate) fn tail_text(tail: Tail) -> Option<String> {
    match tail {
        Tail::None => None,
        Tail::Torn { len } => {
            Some(format!("{} of one torn record: a write was interrupted", count(len as u64, "byte")))
        }
        Tail::Damaged { len } => Some(format!(
            "{} that are no record, and not plainly a torn one: good records may hide there; `mrail repair` looks",
            count(len as u64, "byte")
        )),
    }
}
