//! `mrail answer`: the model's own answer to exactly one context.

use crate::args;
use crate::context::MOST_TOKENS;
use crate::error::{Exit, Result};
use crate::output::{ODD, Out, array, count};
use mrail::map::locate::{Answer, End};
use serde_json::json;
use std::io::Write;

pub(crate) fn run(args: &args::Answer, out: &mut Out) -> Result<Exit> {
    let map = args.opening.open()?;
    let context = args.context.resolve(&map)?;
    let Some(Answer { run, tokens, end }) = map.answer(&context, args.max_new.unwrap_or(MOST_TOKENS), &args.stop)
    else {
        return unknown(&context, map.locate(&context).lcp, out);
    };
    if out.json() {
        let end = match end {
            End::Stop => "stop",
            End::Run => "run",
            End::MaxNew => "max_new",
        };
        writeln!(out, r#"{{"known":true,"run":{run},"tokens":{},"end":"{end}"}}"#, array(&tokens))?;
        return Ok(Exit::Done);
    }
    let end = match end {
        End::Stop => "ends with a stop token",
        End::Run => "ends with its run: the model may have had more to say",
        End::MaxNew => "ends with --max-new",
    };
    out.field("run", run)?;
    out.field("answer", format!("{}, {end}", count(tokens.len() as u64, "token")))?;
    out.tokens("tokens", tokens.into_iter(), false)?;
    Ok(Exit::Done)
}

fn unknown(context: &[u32], lcp: usize, out: &mut Out) -> Result<Exit> {
    if out.json() {
        out.value(&json!({ "known": false, "lcp": lcp, "context": context.len() }))?;
        return Ok(Exit::Unknown);
    }
    let known = match lcp {
        0 => "it knows nothing of it".to_owned(),
        lcp if lcp == context.len() => "it knows all of it, but no run answers behind its last token".to_owned(),
        lcp => format!("it knows the first {}", count(lcp as u64, "token")),
    };
    out.field("answer", format!("{ODD}none{ODD:#}"))?;
    out.field("context", format!("{}; {known}", count(context.len() as u64, "token")))?;
    Ok(Exit::Unknown)
}
