//! The operations of the kit's protocol.

use crate::base64::floats;
use crate::host::Hosted;
use crate::protocol::{Request, needed};
use crate::{anchors, stats};
use mrail::chain::chain_from;
use mrail::copy::{CopyOp, encode_copy};
use mrail::draft::{Borders, Planes, RailOptions, SimHash};
use mrail::map::Run;
use mrail::track::Op;
use mrail::{Map, Options, PrefixHash};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;

/// Planes of the reference, for hidden states of this many values: numpy's generator is not rebuilt here.
const REFERENCE_DIM: usize = 1536;
static REFERENCE_PLANES: &[u8] = include_bytes!("../../data/vectors/planes_24x1536.f32");

/// Answers requests over maps that it holds open by name.
pub struct Driver {
    maps: HashMap<String, Hosted>,
    planes: Result<Planes, String>,
}

impl Default for Driver {
    fn default() -> Self {
        let (words, _) = REFERENCE_PLANES.as_chunks::<4>();
        let values = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let planes = Planes::new(REFERENCE_DIM, values).map_err(|error| error.to_string());
        Self { maps: HashMap::new(), planes }
    }
}

type Answer = Result<Value, String>;

impl Driver {
    /// Answers one request, a JSON object, with one line: another, without its end of line.
    pub fn answer(&mut self, line: &[u8]) -> String {
        let answer = match serde_json::from_slice::<Request<'_>>(line) {
            // An anchor's JSON goes through as it is written, so it is put in as text.
            Ok(request) if request.op == "get_layers" => self.get_layers(request),
            Ok(request) => self.run(request).map(|answer| answer.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match answer {
            Ok(fields) if fields == "{}" => "{\"ok\":true}".to_owned(),
            Ok(mut fields) => {
                fields.insert_str(1, "\"ok\":true,");
                fields
            }
            Err(error) => json!({ "ok": false, "error": error }).to_string(),
        }
    }

    /// The same with a value for a line.
    pub fn ask(&mut self, request: &Value) -> Value {
        serde_json::from_str(&self.answer(request.to_string().as_bytes())).unwrap_or_default()
    }

    fn run(&mut self, request: Request<'_>) -> Answer {
        match &*request.op {
            "open" => self.open(&request),
            "close" => {
                self.maps.remove(&*request.m);
                Ok(json!({}))
            }
            "chain" => chain(request),
            "encode_copy" => encode(request),
            "state_hash" => {
                let hash = self.state(&needed(request.hidden, "hidden")?)?;
                Ok(json!({ "hash": [hash.full(), hash.coarse()] }))
            }
            "locate" => locate(self.map(&request)?, request),
            "exact" => exact(self.map(&request)?, request),
            "tree" => self.tree(request),
            "add_state" => self.add_state(&request),
            "add_session" | "add_track" | "bump" | "add_anchor" => append(self.hosted(&request)?, request),
            "track" => track(self.map(&request)?, &request),
            "stats" => Ok(stats::stats(self.map(&request)?)),
            op => Err(format!("unknown operation {op:?}")),
        }
    }

    fn hosted(&mut self, request: &Request<'_>) -> Result<&mut Hosted, String> {
        self.maps.get_mut(&*request.m).ok_or_else(|| format!("no map {:?} is open", request.m))
    }

    fn map(&mut self, request: &Request<'_>) -> Result<&mut Map<'static>, String> {
        self.hosted(request).map(|hosted| &mut hosted.map)
    }

    fn state(&self, text: &str) -> Result<SimHash, String> {
        let planes = self.planes.as_ref().map_err(Clone::clone)?;
        planes.hash(&floats(text)?).map_err(|error| error.to_string())
    }

    fn open(&mut self, request: &Request<'_>) -> Answer {
        // Its lock is given back first: it may be the same file.
        self.maps.remove(&*request.m);
        let defaults = RailOptions::default();
        let stride = request.stride.map_or(Some(NonZeroUsize::MIN), NonZeroUsize::new);
        let options = Options {
            stride: stride.ok_or("a stride of 0")?,
            limit: request.limit,
            rail: RailOptions {
                nmax: request.nmax.unwrap_or(defaults.nmax),
                prompts: request.rail_prompts.unwrap_or(defaults.prompts),
                borders: Borders::Cross,
            },
            ..Options::reference()
        };
        let path = needed(request.path.as_deref(), "path")?;
        let hosted = Hosted::open(Path::new(path), options, &request.extra)?;
        let runs = hosted.map.len();
        self.maps.insert(request.m.to_string(), hosted);
        Ok(json!({ "runs": runs }))
    }

    fn tree(&mut self, request: Request<'_>) -> Answer {
        let state = request.state.as_deref().map(|state| self.state(state)).transpose()?;
        let rail = self.map(&request)?.rail();
        let context = needed(request.ctx, "ctx")?.0;
        let budget = needed(request.budget, "budget")?;
        let tree = match state {
            Some(state) => rail.tree_with_state(&context, budget, state),
            None => rail.tree(&context, budget),
        };
        Ok(json!({ "tree": tree.iter().collect::<Vec<_>>() }))
    }

    fn add_state(&mut self, request: &Request<'_>) -> Answer {
        let hidden = needed(request.hidden.as_deref(), "hidden")?;
        // The reference ignores a state that is not finite.
        if floats(hidden)?.iter().all(|value| value.is_finite()) {
            let state = self.state(hidden)?;
            let index = needed(request.index, "index")?;
            self.map(request)?.rail().add_state(index, state);
        }
        Ok(json!({}))
    }

    fn get_layers(&mut self, request: Request<'_>) -> Result<String, String> {
        let map = self.map(&request)?;
        let hash = needed(request.hash, "hash")?.0;
        let restored = map.restore(hash).map_err(|error| error.to_string())?;
        Ok(format!("{{\"meta\":{},\"sha\":{}}}", anchors::meta(&restored)?, anchors::hashes(&restored.snapshot)))
    }
}

fn chain(request: Request<'_>) -> Answer {
    let start = request.h0.map_or(PrefixHash::EMPTY, |hash| hash.0);
    let hashes = chain_from(start, &needed(request.tokens, "tokens")?.0);
    Ok(json!({ "hashes": hashes.iter().map(ToString::to_string).collect::<Vec<_>>() }))
}

fn encode(request: Request<'_>) -> Answer {
    let answer = needed(request.ans, "ans")?.0;
    let context = needed(request.ctx, "ctx")?.0;
    let ops = encode_copy(&answer, &context, request.min_copy.unwrap_or(4)).map_err(|error| error.to_string())?;
    let op = |op: &CopyOp| match *op {
        CopyOp::Lit { start, len } => json!([0, answer.get(start..start + len)]),
        CopyOp::Copy { position, len } => json!([1, [position, len]]),
    };
    Ok(json!({ "ops": ops.iter().map(op).collect::<Vec<_>>() }))
}

fn locate(map: &Map<'_>, request: Request<'_>) -> Answer {
    let located = map.locate(&needed(request.ctx, "ctx")?.0);
    Ok(json!({
        "lcp": located.lcp,
        "sid": located.run.map_or(json!(-1), |run| json!(run)),
        "anchor": located.anchor.map(|(hash, _)| hash.to_string()),
        "P": located.anchor.map_or(0, |(_, position)| position),
    }))
}

fn exact(map: &Map<'_>, request: Request<'_>) -> Answer {
    let context = needed(request.ctx, "ctx")?.0;
    let answer = map.answer(&context, needed(request.max_new, "max_new")?, &request.stop.0);
    // The reference knows no empty answer.
    let tokens = answer.map(|answer| answer.tokens).filter(|tokens| !tokens.is_empty());
    Ok(json!({ "answer": tokens }))
}

fn track(map: &Map<'_>, request: &Request<'_>) -> Answer {
    let sid = needed(request.sid, "sid")? as usize;
    let Some(Run::Track(track)) = map.run(sid) else {
        return Err(format!("run {sid} is no track"));
    };
    let op = |op: Op<'_>| match op {
        Op::Lit(tokens) => json!([0, tokens.iter().collect::<Vec<_>>()]),
        Op::Copy { position, len } => json!([1, [position, len]]),
    };
    Ok(json!({
        "ctx_len": track.context_len,
        "h_ctx": track.context_hash.to_string(),
        "src": track.source,
        "ops": track.ops().map(op).collect::<Vec<_>>(),
    }))
}

/// The operations that write a record.
fn append(hosted: &mut Hosted, request: Request<'_>) -> Answer {
    let map = &hosted.map;
    let prepared = match &*request.op {
        "add_session" => {
            let tokens = needed(request.tokens, "tokens")?.0;
            map.prepare_session(&tokens, needed(request.gen_start, "gen")?)
        }
        "add_track" => {
            let context = needed(request.ctx, "ctx")?.0;
            let answer = needed(request.answer, "answer")?.0;
            map.prepare_track(&context, &answer, &request.src.unwrap_or_default(), request.min_copy.unwrap_or(4))
        }
        "bump" => map.prepare_use(needed(request.hash, "hash")?.0, request.hits.unwrap_or(1)),
        _ => {
            let state = anchors::snapshot(&needed(request.layers, "layers")?, request.scalars.as_deref())?;
            let (sid, position) = (needed(request.sid, "sid")?, needed(request.position, "P")?);
            let parent = request.parent.map(|hash| hash.0);
            map.prepare_anchor(sid, position, needed(request.hash, "hash")?.0, &state, parent)
        }
    };
    let append = prepared.map_err(|error| error.to_string())?;
    Ok(match hosted.write(&append)? {
        Some(run) => json!({ "sid": run }),
        None => json!({ "bytes": append.bytes().len().saturating_sub(5) }),
    })
}
