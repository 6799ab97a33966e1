//! `mrail tracks`: the runs whose contexts live elsewhere.

use crate::args;
use crate::context::{MOST_TOKENS, given, no_run};
use crate::error::{Exit, Failure, Result};
use crate::output::{Cell, ODD, Out, Table, array, count, harmless, joined};
use mrail::Map;
use mrail::map::Run;
use mrail::map::locate::TrackError;
use mrail::track::{Op, Track};
use serde_json::{Value, json};
use std::io::Write;

pub(crate) fn run(args: &args::Tracks, out: &mut Out) -> Result<Exit> {
    let map = args.opening.open()?;
    let context = given(args.tokens.as_deref(), args.tokens_file.as_deref())?;
    match (args.run, context) {
        (None, _) => list(&map, out),
        (Some(run), None) => show(run, &track(&map, run)?, out),
        (Some(run), Some(context)) => decode(&map, run, &context, out),
    }
}

fn track<'m>(map: &'m Map<'_>, run: usize) -> Result<Track<'m>> {
    match map.run(run) {
        Some(Run::Track(track)) => Ok(track),
        Some(Run::Session(_)) => Err(Failure::usage(format!("--run {run}: a session, and no track"))),
        None => Err(no_run(run, map.len())),
    }
}

/// A track's numbers.
fn head(run: usize, track: &Track<'_>) -> Value {
    json!({
        "run": run,
        "context_len": track.context_len,
        "context_hash": track.context_hash.to_string(),
        "answer_len": track.answer_len,
        "ops": track.ops().count(),
        "source": track.source,
    })
}

fn list(map: &Map<'_>, out: &mut Out) -> Result<Exit> {
    let tracks = (0..map.len()).filter_map(|run| match map.run(run) {
        Some(Run::Track(track)) => Some((run, track)),
        _ => None,
    });
    if out.json() {
        for (run, track) in tracks {
            out.value(&head(run, &track))?;
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["run", "context", "hash", "answer", "ops", "source"]);
    let mut some = false;
    for (run, track) in tracks {
        some = true;
        table.row([
            Cell::Text(run.to_string()),
            u64::from(track.context_len).into(),
            track.context_hash.to_string().into(),
            track.answer_len.into(),
            track.ops().count().into(),
            harmless(track.source).into(),
        ]);
    }
    if some {
        out.table(&table)?;
    } else {
        writeln!(out, "  no tracks")?;
    }
    Ok(Exit::Done)
}

/// A track's operations as JSON.
pub(crate) fn ops_json(track: &Track<'_>) -> Vec<Value> {
    track
        .ops()
        .map(|op| match op {
            Op::Lit(tokens) => json!({ "lit": tokens.iter().collect::<Vec<u32>>() }),
            Op::Copy { position, len } => json!({ "copy": [position, len] }),
        })
        .collect()
}

/// A track's operations for people.
pub(crate) fn print_ops(track: &Track<'_>, cut: bool, out: &mut Out) -> Result<()> {
    for op in track.ops() {
        match op {
            Op::Lit(tokens) => out.tokens("literal", tokens.iter(), cut)?,
            Op::Copy { position, len } => {
                out.field("copy", format!("{} from {position} on", count(u64::from(len), "token")))?;
            }
        }
    }
    Ok(())
}

fn show(run: usize, track: &Track<'_>, out: &mut Out) -> Result<Exit> {
    if out.json() {
        let mut value = head(run, track);
        value["ops"] = ops_json(track).into();
        out.value(&value)?;
        return Ok(Exit::Done);
    }
    out.field("run", run)?;
    out.field("source", format!("\"{}\"", harmless(track.source)))?;
    out.field("context", format!("{}, hash {}", count(u64::from(track.context_len), "token"), track.context_hash))?;
    out.field("answer", format!("{}; --tokens-file with the context decodes it", count(track.answer_len, "token")))?;
    writeln!(out)?;
    print_ops(track, false, out)?;
    Ok(Exit::Done)
}

fn decode(map: &Map<'_>, run: usize, context: &[u32], out: &mut Out) -> Result<Exit> {
    // A run that is no track is a mistake of the command line, told before the context is hashed.
    track(map, run)?;
    let answer = match map.track_answer(run, context, MOST_TOKENS) {
        Ok(answer) => answer,
        Err(error @ TrackError::WrongContext { .. }) => {
            if out.json() {
                out.value(&json!({ "known": false, "run": run, "error": error.to_string() }))?;
            } else {
                out.field("answer", format!("{ODD}none{ODD:#}: {error}"))?;
            }
            return Ok(Exit::Unknown);
        }
        Err(error) => return Err(Failure::usage(format!("--run {run}: {error}"))),
    };
    if out.json() {
        writeln!(out, r#"{{"known":true,"run":{run},"tokens":{}}}"#, array(&answer))?;
    } else {
        out.field("run", run)?;
        out.field("answer", count(answer.len() as u64, "token"))?;
        out.field("tokens", joined(answer.into_iter()))?;
    }
    Ok(Exit::Done)
}
