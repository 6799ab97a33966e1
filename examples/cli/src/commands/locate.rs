//! `mrail locate`: how much of a context a map knows.

use crate::args;
use crate::error::{Exit, Result};
use crate::output::{GOOD, ODD, Out, count};
use mrail::PrefixHash;
use mrail::map::locate::Located;
use serde_json::json;

pub(crate) fn run(args: &args::Locate, out: &mut Out) -> Result<Exit> {
    let map = args.opening.open()?;
    let context = args.context.resolve(&map)?;
    let located = map.locate(&context);
    let Located { lcp, shared, run, anchor } = located;
    let exit = if lcp == 0 && run.is_none() { Exit::Unknown } else { Exit::Done };
    if out.json() {
        let anchor = anchor.map(|(hash, position)| json!({ "hash": hash.to_string(), "position": position }));
        out.value(&json!({
            "context": context.len(),
            "hash": PrefixHash::of(&context).to_string(),
            "lcp": lcp,
            "shared": shared,
            "run": run,
            "anchor": anchor,
        }))?;
        return Ok(exit);
    }
    let len = context.len() as u64;
    out.field("context", format!("{}, hash {}", count(len, "token"), PrefixHash::of(&context)))?;
    match lcp {
        0 => out.field("known", format!("{ODD}nothing{ODD:#}"))?,
        lcp if lcp == context.len() => out.field("known", format!("{GOOD}all of it{GOOD:#}"))?,
        lcp => out.field("known", format!("{ODD}the first {}{ODD:#}", count(lcp as u64, "token")))?,
    }
    if shared > lcp {
        out.field("shared", format!("{} with some run; the stride indexes fewer", count(shared as u64, "token")))?;
    }
    match run {
        Some(run) => out.field("answer", format!("{GOOD}run {run}{GOOD:#}"))?,
        None => out.field("answer", "none")?,
    }
    match anchor {
        Some((hash, position)) => {
            out.field("anchor", format!("{hash}, behind {}", count(position as u64, "token")))?;
        }
        None => out.field("anchor", "none")?,
    }
    Ok(exit)
}
