//! The open map.

use crate::args::{bytes, count, list, optional, options, text, tokens, word};
use crate::{Error, Plain};
use js_sys::{Int32Array, Uint8Array, Uint32Array};
use mrail::PrefixHash;
use mrail::anchor::Anchor;
use mrail::map::append::Append;
use mrail::map::locate::End;
use mrail::map::{Map, Run};
use mrail::record::{ANCHOR, DELTA, Record, kind_name};
use mrail::run::Session;
use mrail::tail::Tail;
use wasm_bindgen::prelude::*;

/// Most tokens that one call decodes. A few bytes of a track stand for 65535 tokens, so a small hostile map can declare an
/// answer that no memory holds.
const MAX_ANSWER: usize = 1 << 24;
/// Most tokens of one track's answer that go onto the rail, unless told otherwise.
const LEARN_LIMIT: usize = 1 << 16;
/// Tokens that a copy in a track must have, unless told otherwise (FORMAT.md, "Track").
const MIN_COPY: usize = 4;

/// An open map; `MrailMap` of `types.d.ts`.
#[wasm_bindgen(skip_typescript)]
#[derive(Debug)]
pub struct MrailMap {
    map: Map<'static>,
    /// Bytes that it was opened from.
    given: usize,
    trusted: bool,
}

/// Opening and making maps.
#[wasm_bindgen]
impl MrailMap {
    /// Opens a map from its bytes, which are copied.
    #[wasm_bindgen(skip_typescript)]
    pub fn open(map: &JsValue, how: &JsValue) -> Result<MrailMap, Error> {
        let options = options(how)?;
        let trusted = !options.draft_only;
        let own = bytes("bytes", map)?;
        let given = own.len();
        Ok(Self { map: Map::open(own, options)?, given, trusted })
    }

    /// A new map.
    #[wasm_bindgen(skip_typescript)]
    pub fn create() -> MrailMap {
        let map = Map::create();
        Self { given: map.valid_len(), map, trusted: true }
    }

    /// One map from several.
    #[wasm_bindgen(skip_typescript)]
    pub fn merge(maps: &JsValue) -> Result<Vec<u8>, Error> {
        let maps = list("maps", maps, bytes)?;
        let maps: Vec<&[u8]> = maps.iter().map(Vec::as_slice).collect();
        let (merged, _) = mrail::merge::merge(&maps)?;
        Ok(merged)
    }
}

/// Looking.
#[wasm_bindgen]
impl MrailMap {
    /// What the map holds. O(records + runs).
    #[wasm_bindgen(skip_typescript)]
    pub fn info(&self) -> Plain {
        let Self { map, given, .. } = self;
        let info = Plain::new();
        info.set_byte_length(*given);
        info.set_valid_length(map.end());
        info.set_tail(match map.tail() {
            Tail::None => "none",
            Tail::Torn { .. } => "torn",
            Tail::Damaged { .. } => "damaged",
        });
        let (mut sessions, mut foreign, mut tokens, mut answered) = (0, 0, 0u64, 0u64);
        for (run, what) in self.runs_from(0) {
            foreign += usize::from(map.is_foreign(run));
            if let Run::Session(session) = what {
                sessions += 1;
                tokens += session.tokens.len() as u64;
                answered += session.answer().len() as u64;
            }
        }
        info.set_runs(map.len());
        info.set_foreign_runs(foreign);
        info.set_sessions(sessions);
        info.set_tracks(map.len() - sessions);
        info.set_token_count(tokens as f64);
        info.set_answer_tokens(answered as f64);
        let (deltas, whole) = map.anchors().fold((0, 0), |(deltas, whole), anchor| match anchor.parent {
            Some(_) => (deltas + 1, whole),
            None => (deltas, whole + 1),
        });
        info.set_anchors(whole);
        info.set_anchor_deltas(deltas);
        info.set_use_hashes(map.all_uses().len());
        info.set_uses(map.all_uses().fold(0, |sum: u64, (_, uses)| sum.saturating_add(uses)) as f64);
        info.set_kinds(self.kinds());
        info.set_problems(map.problem_count());
        info
    }

    fn kinds(&self) -> Vec<Plain> {
        let mut kinds = [(0usize, 0usize); 256];
        for record in self.map.records() {
            let (records, bytes) = &mut kinds[usize::from(record.kind)];
            *records += 1;
            *bytes += byte_len(&record);
        }
        let kinds = (0u8..=255).zip(kinds).filter(|(_, (records, _))| *records > 0);
        let kinds = kinds.map(|(kind, (records, bytes))| {
            let of_kind = Plain::new();
            of_kind.set_kind(kind);
            of_kind.set_name(kind_name(kind));
            of_kind.set_records(records);
            of_kind.set_byte_count(bytes);
            of_kind
        });
        kinds.collect()
    }

    /// A page of runs.
    #[wasm_bindgen(skip_typescript)]
    pub fn runs(&self, start: &JsValue, many: &JsValue) -> Result<Vec<Plain>, Error> {
        let (start, many) = (count("start", start)?, count("count", many)?);
        Ok(self.runs_from(start).take(many).map(|(run, what)| self.run_info(run, what)).collect())
    }

    /// One run.
    #[wasm_bindgen(skip_typescript)]
    pub fn run(&self, run: &JsValue) -> Result<Option<Plain>, Error> {
        let run = count("run", run)?;
        Ok(self.map.run(run).map(|what| self.run_info(run, what)))
    }

    fn runs_from(&self, start: usize) -> impl Iterator<Item = (usize, Run<'_>)> {
        (start..self.map.len()).filter_map(|run| Some((run, self.map.run(run)?)))
    }

    fn run_info(&self, run: usize, what: Run<'_>) -> Plain {
        let info = Plain::new();
        info.set_run(run);
        info.set_foreign(!self.trusted || self.map.is_foreign(run));
        info.set_offset(self.map.run_offset(run).unwrap_or_default());
        let counted = self.map.all_uses().len() > 0;
        match what {
            Run::Session(session) => {
                info.set_run_kind("session");
                info.set_context_length(session.context().len());
                info.set_answer_length(session.answer().len() as f64);
                info.set_source("");
                // One hash a token, so only where some use was counted.
                let hash = || session.context().iter().fold(PrefixHash::EMPTY, PrefixHash::then);
                info.set_uses(if counted { self.map.uses(hash()) as f64 } else { 0.0 });
            }
            Run::Track(track) => {
                info.set_run_kind("track");
                info.set_context_length(track.context_len as usize);
                info.set_answer_length(track.answer_len as f64);
                info.set_source(track.source);
                info.set_uses(self.map.uses(track.context_hash) as f64);
            }
        }
        info
    }

    /// A session's tokens.
    #[wasm_bindgen(js_name = runTokens, skip_typescript)]
    pub fn run_tokens(&self, run: &JsValue) -> Result<Option<Plain>, Error> {
        let Some(Run::Session(session)) = self.map.run(count("run", run)?) else { return Ok(None) };
        let found = Plain::new();
        let tokens: Vec<u32> = session.tokens.iter().collect();
        found.set_tokens(Uint32Array::from(&tokens[..]));
        found.set_gen_start(session.context().len());
        Ok(Some(found))
    }

    /// A page of records.
    #[wasm_bindgen(skip_typescript)]
    pub fn records(&self, start: &JsValue, many: &JsValue) -> Result<Vec<Plain>, Error> {
        let (start, many) = (count("start", start)?, count("count", many)?);
        Ok(self.map.records().skip(start).take(many).map(|record| self.record_info(&record)).collect())
    }

    fn record_info(&self, record: &Record<'_>) -> Plain {
        let info = Plain::new();
        info.set_offset(record.offset);
        info.set_byte_length(byte_len(record));
        info.set_kind(record.kind);
        info.set_name(kind_name(record.kind));
        let own = self.map.problems().iter().filter(|problem| problem.foreign.is_none());
        if let Some(problem) = own.clone().find(|problem| problem.offset == record.offset) {
            info.set_problem(&problem.error.to_string());
        }
        info
    }

    /// A page of anchored states, in the order of the file.
    #[wasm_bindgen(skip_typescript)]
    pub fn anchors(&self, start: &JsValue, many: &JsValue) -> Result<Vec<Plain>, Error> {
        let (start, many) = (count("start", start)?, count("count", many)?);
        let anchors = self.map.records().filter(|record| matches!(record.kind, ANCHOR | DELTA));
        let anchors = anchors.filter_map(|record| {
            let anchor = Anchor::parse(record.kind, record.payload).ok()?;
            // Of several records of a hash the first counts.
            (self.map.anchor_offset(anchor.hash) == Some(record.offset)).then_some((record, anchor))
        });
        let infos = anchors.skip(start).take(many).map(|(record, anchor)| {
            let info = Plain::new();
            info.set_hash(&anchor.hash.to_string());
            info.set_position(anchor.position as usize);
            if let Some(parent) = anchor.parent {
                info.set_parent(&parent.to_string());
            }
            info.set_byte_length(byte_len(&record));
            info.set_offset(record.offset);
            info
        });
        Ok(infos.collect())
    }

    /// The first session from `start` on that contains some tokens. O(tokens).
    #[wasm_bindgen(js_name = findTokens, skip_typescript)]
    pub fn find_tokens(&self, needle: &JsValue, start: &JsValue) -> Result<Option<usize>, Error> {
        let (needle, start) = (tokens("needle", needle)?, count("start", start)?);
        let found = self.runs_from(start).find(|(_, what)| match what {
            Run::Session(Session { tokens, .. }) => tokens.contains(&needle),
            Run::Track(_) => false,
        });
        Ok(found.map(|(run, _)| run))
    }
}

fn byte_len(record: &Record<'_>) -> usize {
    record.end() - record.offset
}

/// Asking.
#[wasm_bindgen]
impl MrailMap {
    /// Where a context is in the map.
    #[wasm_bindgen(skip_typescript)]
    pub fn locate(&self, context: &JsValue) -> Result<Plain, Error> {
        let found = self.map.locate(&tokens("context", context)?);
        let located = Plain::new();
        located.set_lcp(found.lcp);
        located.set_shared(found.shared);
        if let Some(run) = found.run {
            located.set_run(run);
        }
        if let Some((hash, position)) = found.anchor {
            let anchor = Plain::new();
            anchor.set_hash(&hash.to_string());
            anchor.set_position(position);
            located.set_anchor(&anchor);
        }
        Ok(located)
    }

    /// What the model answered to exactly this context.
    #[wasm_bindgen(js_name = exactAnswer, skip_typescript)]
    pub fn exact_answer(&self, context: &JsValue, max_new: &JsValue, stop: &JsValue) -> Result<Option<Plain>, Error> {
        let (context, stop) = (tokens("context", context)?, tokens("stop", stop)?);
        let max_new = count("maxNew", max_new)?.min(MAX_ANSWER);
        Ok(self.map.answer(&context, max_new, &stop).map(|found| {
            let answer = Plain::new();
            answer.set_tokens(Uint32Array::from(&found.tokens[..]));
            answer.set_end(match found.end {
                End::Stop => "stop",
                End::Run => "run",
                End::MaxNew => "maxNew",
            });
            answer.set_run(found.run);
            answer
        }))
    }

    /// A track's whole answer.
    #[wasm_bindgen(js_name = trackAnswer, skip_typescript)]
    pub fn track_answer(&self, run: &JsValue, context: &JsValue) -> Result<Vec<u32>, Error> {
        let (run, context) = (count("run", run)?, tokens("context", context)?);
        Ok(self.map.track_answer(run, &context, MAX_ANSWER)?)
    }

    /// Puts answers of tracks on the draft rail.
    #[wasm_bindgen(js_name = learnTracks, skip_typescript)]
    pub fn learn_tracks(&mut self, context: &JsValue, limit: &JsValue) -> Result<usize, Error> {
        let limit = optional("limit", limit, count)?.unwrap_or(LEARN_LIMIT).min(MAX_ANSWER);
        Ok(self.map.learn_tracks(&tokens("context", context)?, limit))
    }

    /// A draft.
    #[wasm_bindgen(js_name = draftTree, skip_typescript)]
    pub fn draft_tree(&mut self, context: &JsValue, budget: &JsValue) -> Result<Plain, Error> {
        let (context, budget) = (tokens("context", context)?, count("budget", budget)?);
        let drafted = self.map.rail().tree(&context, budget);
        let tree = Plain::new();
        tree.set_tokens(Uint32Array::from(drafted.tokens()));
        tree.set_parents(Int32Array::from(drafted.parents()));
        Ok(tree)
    }
}

/// Writing.
#[wasm_bindgen]
impl MrailMap {
    /// Adds a session.
    #[wasm_bindgen(js_name = appendSession, skip_typescript)]
    pub fn append_session(&mut self, run: &JsValue, gen_start: &JsValue) -> Result<Plain, Error> {
        let (run, gen_start) = (tokens("tokens", run)?, count("genStart", gen_start)?);
        self.writable()?;
        let append = self.map.prepare_session(&run, gen_start)?;
        self.written(&append)
    }

    /// Adds a track.
    #[wasm_bindgen(js_name = appendTrack, skip_typescript)]
    pub fn append_track(
        &mut self,
        context: &JsValue,
        answer: &JsValue,
        source: &JsValue,
        min_copy: &JsValue,
    ) -> Result<Plain, Error> {
        let (context, answer) = (tokens("context", context)?, tokens("answer", answer)?);
        let source = text("source", source)?;
        let min_copy = optional("minCopy", min_copy, count)?.unwrap_or(MIN_COPY);
        self.writable()?;
        let append = self.map.prepare_track(&context, &answer, &source, min_copy)?;
        self.written(&append)
    }

    /// Counts uses of a prefix.
    #[wasm_bindgen(js_name = appendUse, skip_typescript)]
    pub fn append_use(&mut self, context: &JsValue, hits: &JsValue) -> Result<Plain, Error> {
        let (context, hits) = (tokens("context", context)?, word("hits", hits)?);
        self.writable()?;
        let append = self.map.prepare_use(PrefixHash::of(&context), hits)?;
        self.written(&append)
    }

    /// A map of another model gets no runs of this one.
    fn writable(&self) -> Result<(), Error> {
        let refused = || Error::argument(&"this map was opened with trusted: false, so nothing is added to it");
        self.trusted.then_some(()).ok_or_else(refused)
    }

    fn written(&mut self, append: &Append) -> Result<Plain, Error> {
        let run = self.map.commit(append)?;
        let write = Plain::new();
        write.set_offset(append.offset());
        write.set_bytes(Uint8Array::from(append.bytes()));
        if let Some(run) = run {
            write.set_run(run);
        }
        Ok(write)
    }

    /// The file as it should be now.
    #[wasm_bindgen(skip_typescript)]
    pub fn bytes(&self) -> Vec<u8> {
        self.map.bytes()
    }
}

impl Default for MrailMap {
    fn default() -> Self {
        Self::create()
    }
}
