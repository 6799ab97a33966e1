//! `mrail dump`: every record of a map, one after the other.

use crate::args;
use crate::commands::tracks::{ops_json, print_ops};
use crate::context::no_run;
use crate::error::{Exit, Result};
use crate::files;
use crate::output::{BAD, FAINT, ODD, Out, STRONG, count, harmless};
use crate::progress::Progress;
use crate::summary::{tail_json, tail_text};
use mrail::anchor::Anchor;
use mrail::record::{ANCHOR, DELTA, HEADER_LEN, Malformed, Record, Records, SESSION, TRACK, USE, kind_name};
use mrail::run::Session;
use mrail::tail::Tail;
use mrail::track::Track;
use mrail::usage::Use;
use serde_json::{Value, json};
use std::io::Write;

pub(crate) fn run(args: &args::Dump, out: &mut Out) -> Result<Exit> {
    let bytes = files::read(&args.map)?;
    let mut records = Records::new(&bytes).map_err(|error| files::no_map(&args.map, error))?;
    let mut progress = Progress::beside_output("writing records", bytes.len());
    let full = args.full || args.run.is_some();
    let mut runs = 0;
    for record in records.by_ref() {
        progress.at(record.offset);
        let content = Content::of(&record);
        let run = content.is_run().then(|| {
            runs += 1;
            runs - 1
        });
        if args.run.is_some() && run != args.run {
            continue;
        }
        if out.json() {
            out.value(&to_json(&record, run, &content))?;
        } else {
            print(&record, run, &content, !full, out)?;
        }
        if args.run.is_some() {
            return Ok(Exit::Done);
        }
    }
    if let Some(run) = args.run {
        return Err(no_run(run, runs));
    }
    let tail = Tail::of(records.rest());
    match tail_text(tail) {
        None => {}
        Some(_) if out.json() => out.value(&json!({ "tail": tail_json(tail, records.position() as u64) }))?,
        Some(text) => writeln!(out, "{STRONG}tail{STRONG:#}  offset {}: {ODD}{text}{ODD:#}", records.position())?,
    }
    Ok(Exit::Done)
}

/// What a record says.
enum Content<'a> {
    Session(Session<'a>),
    Track(Track<'a>),
    Use(Use),
    Anchor(Anchor<'a>),
    Unknown,
    Bad(Malformed),
}

impl<'a> Content<'a> {
    fn of(record: &Record<'a>) -> Self {
        let read = match record.kind {
            SESSION => Session::parse(record.payload).map(Self::Session),
            TRACK => Track::parse(record.payload).map(Self::Track),
            USE => Use::parse(record.payload).map(Self::Use),
            ANCHOR | DELTA => Anchor::parse(record.kind, record.payload).map(Self::Anchor),
            _ => Ok(Self::Unknown),
        };
        read.unwrap_or_else(Self::Bad)
    }

    fn is_run(&self) -> bool {
        matches!(self, Self::Session(_) | Self::Track(_))
    }
}

fn to_json(record: &Record<'_>, run: Option<usize>, content: &Content<'_>) -> Value {
    let mut value = json!({
        "offset": record.offset,
        "bytes": HEADER_LEN + record.payload.len(),
        "code": record.kind,
        "kind": kind_name(record.kind),
    });
    let more = match content {
        Content::Session(session) => json!({
            "run": run,
            "sid": session.sid,
            "gen_start": session.gen_start,
            "tokens": session.tokens.iter().collect::<Vec<u32>>(),
        }),
        Content::Track(track) => json!({
            "run": run,
            "context_len": track.context_len,
            "context_hash": track.context_hash.to_string(),
            "answer_len": track.answer_len,
            "source": track.source,
            "ops": ops_json(track),
        }),
        Content::Use(Use { hash, hits }) => json!({ "hash": hash.to_string(), "hits": hits }),
        Content::Anchor(anchor) => json!({
            "sid": anchor.sid,
            "position": anchor.position,
            "hash": anchor.hash.to_string(),
            "parent": anchor.parent.map(|parent| parent.to_string()),
            // Null where it is none; `verify` says why.
            "json": serde_json::from_slice::<Value>(anchor.json).unwrap_or_default(),
            "body_bytes": anchor.body.len(),
        }),
        Content::Unknown => json!({ "payload": hex(record.payload) }),
        Content::Bad(error) => json!({ "error": error.to_string(), "payload": hex(record.payload) }),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).map_or('?', |digit| char::from(*digit));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn print(record: &Record<'_>, run: Option<usize>, content: &Content<'_>, cut: bool, out: &mut Out) -> Result<()> {
    let name = match run {
        Some(run) => format!("run {run}: {}", kind_name(record.kind)),
        None if matches!(content, Content::Unknown) => format!("unknown kind {}", record.kind),
        None => kind_name(record.kind).to_owned(),
    };
    let bytes = count((HEADER_LEN + record.payload.len()) as u64, "byte");
    writeln!(out, "{STRONG}{name}{STRONG:#}  {FAINT}offset {}, {bytes}{FAINT:#}", record.offset)?;
    match content {
        Content::Session(session) => {
            out.field("sid", session.sid)?;
            let (context, answer) = (session.context(), session.answer());
            let start = u64::from(session.gen_start);
            out.field("tokens", format!("{} given, {} answered from {start} on", context.len(), answer.len()))?;
            out.tokens("context", context.iter(), cut)?;
            out.tokens("answer", answer.iter(), cut)?;
        }
        Content::Track(track) => {
            let context = count(u64::from(track.context_len), "token");
            out.field("source", format!("\"{}\"", harmless(track.source)))?;
            out.field("context", format!("{context}, hash {}", track.context_hash))?;
            out.field("answer", count(track.answer_len, "token"))?;
            print_ops(track, cut, out)?;
        }
        Content::Use(Use { hash, hits }) => {
            out.field("prefix", format!("{hash}, {}", count(u64::from(*hits), "hit")))?;
        }
        Content::Anchor(anchor) => print_anchor(anchor, out)?,
        Content::Unknown if cut && out.is_terminal() => {}
        Content::Unknown => out.field("payload", hex(record.payload))?,
        Content::Bad(error) => out.field("problem", format!("{BAD}{error}{BAD:#}"))?,
    }
    Ok(())
}

fn print_anchor(anchor: &Anchor<'_>, out: &mut Out) -> Result<()> {
    out.field("sid", anchor.sid)?;
    out.field("prefix", format!("{}, {}", anchor.hash, count(u64::from(anchor.position), "token")))?;
    if let Some(parent) = anchor.parent {
        out.field("parent", parent)?;
    }
    match anchor.meta() {
        Err(error) => out.field("problem", format!("{BAD}{error}{BAD:#}"))?,
        Ok(meta) => {
            let arrays: Vec<String> =
                meta.arrays.iter().map(|array| format!("{} {array}", harmless(&array.name))).collect();
            out.field("layers", meta.scalars.len())?;
            out.field("arrays", arrays.join(", "))?;
            let packing = if meta.compressed { "compressed" } else { "as they are" };
            out.field("body", format!("{}, {packing}", count(anchor.body.len() as u64, "byte")))?;
        }
    }
    Ok(())
}
