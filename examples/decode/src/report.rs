//! What an answer took: as a line, and as JSON.

use crate::output::{FAINT, bytes, count, style};
use crate::session::{Answered, Session};
use mrail_gpu::decode::{End, Origin, Source, Stats};
use mrail_gpu::model::text::Special;
use serde_json::{Value, json};
use std::time::Duration;

/// Where the answer came from.
fn from(stats: &Stats, tokens: usize) -> &'static str {
    match stats.served {
        0 => "model",
        served if served == tokens => "map",
        _ => "map, then model",
    }
}

/// Tokens that the passes gave, those of each pass together.
fn per_pass(stats: &Stats) -> f64 {
    if stats.passes == 0 { 0.0 } else { 1.0 + stats.accepted.all() as f64 / stats.passes as f64 }
}

fn per_second(tokens: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { tokens as f64 / time.as_secs_f64() }
}

/// One line for people.
pub(crate) fn line(session: &Session, answered: &Answered) -> String {
    let Answered { outcome, read, said } = answered;
    let stats = &outcome.stats;
    let tokens = outcome.tokens.len();
    let mut parts = vec![count(tokens, "token")];
    if stats.served > 0 {
        let green = style(Origin::Map);
        let all = if stats.served == tokens { "all".to_owned() } else { stats.served.to_string() };
        parts.push(format!("{green}{all} from the map{green:#}{FAINT}"));
    }
    if stats.drafted > 0 {
        let of = [
            (Source::Own, stats.accepted.own, "own map"),
            (Source::Conversation, stats.accepted.conversation, "conversation"),
            (Source::Foreign, stats.accepted.foreign, "foreign map"),
        ];
        let told = of.into_iter().filter(|(_, right, _)| *right > 0).map(|(source, right, what)| {
            let colour = style(Origin::Draft(source));
            format!("{colour}{right} {what}{colour:#}{FAINT}")
        });
        let told = told.collect::<Vec<_>>().join(", ");
        let told = if told.is_empty() { told } else { format!(" ({told})") };
        parts.push(format!("{} of {} drafts right{told}", stats.accepted.all(), stats.drafted));
    }
    if stats.passes > 0 {
        parts.push(format!("{:.2} tokens a pass", per_pass(stats)));
    }
    if stats.restored + stats.kept > 0 {
        let (at, how) = if stats.restored > 0 { (stats.restored, "restored") } else { (stats.kept, "kept") };
        parts.push(format!("{at} {how}, {} read", stats.read));
    } else if stats.read > 0 {
        parts.push(format!("{} read in {:.1} s", stats.read, read.as_secs_f64()));
    }
    parts.push(if stats.evaluated == 0 {
        "nothing computed".to_owned()
    } else {
        let speed = per_second(tokens - stats.served, *said);
        format!("{speed:.1} tokens/s")
    });
    parts.push(session.model.adapter.clone());
    match outcome.end {
        End::Full => parts.push("the context is full".to_owned()),
        End::MaxNew => parts.push("cut at --max-new".to_owned()),
        End::Stop | End::Open => {}
    }
    parts.join(" · ")
}

/// One object for scripts.
pub(crate) fn value(session: &Session, answered: &Answered) -> Value {
    let Answered { outcome, read, said } = answered;
    let (stats, ids) = (&outcome.stats, outcome.ids());
    let text = session.model.tokenizer.decode(&ids, Special::Ignored).unwrap_or_default();
    let origin = |origin| match origin {
        Origin::Map => "map",
        Origin::Draft(Source::Own) => "own draft",
        Origin::Draft(Source::Conversation) => "conversation draft",
        Origin::Draft(Source::Foreign) => "foreign draft",
        Origin::Model => "model",
    };
    let end = match outcome.end {
        End::Stop => "stop",
        End::MaxNew => "max_new",
        End::Full => "full",
        End::Open => "open",
    };
    let faults: Vec<_> = stats.faults.iter().map(ToString::to_string).collect();
    let held = stats.context + ids.len();
    json!({
        "tokens": ids,
        "text": text,
        "from": from(stats, ids.len()),
        "end": end,
        "origins": outcome.tokens.iter().map(|token| origin(token.origin)).collect::<Vec<_>>(),
        "context": stats.context,
        "served": stats.served,
        "restored": stats.restored,
        "kept": stats.kept,
        "read": stats.read,
        "evaluated": stats.evaluated,
        "passes": stats.passes,
        "drafted": stats.drafted,
        "accepted": {
            "own": stats.accepted.own, "conversation": stats.accepted.conversation, "foreign": stats.accepted.foreign,
        },
        "accepted_a_pass": if stats.passes == 0 { 0.0 } else { stats.accepted.all() as f64 / stats.passes as f64 },
        "anchors": stats.anchors,
        "faults": faults,
        "written": stats.written,
        "seconds": { "load": session.model.load.as_secs_f64(), "read": read.as_secs_f64(), "said": said.as_secs_f64() },
        "tokens_a_second": per_second(ids.len() - stats.served, *said),
        "adapter": session.model.adapter,
        "state_bytes": session.model.state_bytes(held),
        "exact_until": session.model.exact_until,
    })
}

/// What the model and its memory are, as a line.
pub(crate) fn heading(session: &Session) -> String {
    let model = &session.model;
    let memory = model.exact_until.map_or("native attention".to_owned(), |exact| {
        format!("a state of {}, exact up to {exact} tokens", bytes(model.state_bytes(0)))
    });
    format!("{} · {memory} · {} · loaded in {:.1} s", model.name, model.adapter, model.load.as_secs_f64())
}
