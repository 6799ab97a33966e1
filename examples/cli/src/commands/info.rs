//! `mrail info`: the reference's line, then the fuller picture.

use crate::args;
use crate::error::{Exit, Failure, Result};
use crate::files;
use crate::output::{BAD, Cell, ODD, Out, Table, complain, count};
use crate::summary::{Summary, tail_text};
use mrail::record::{MAGIC, is_known, kind_name};
use mrail::tail::Tail;
use std::io::Write;

pub(crate) fn run(args: &args::Info, out: &mut Out) -> Result<Exit> {
    let mut worst = Exit::Done;
    let mut printed = false;
    for path in &args.maps {
        // One bad file is no reason to be silent about the others.
        match files::read(path).and_then(|bytes| Summary::of(path, &bytes)) {
            Ok(summary) if out.json() => out.value(&summary.to_json())?,
            Ok(summary) => {
                if printed {
                    writeln!(out)?;
                }
                printed = true;
                print(&summary, out)?;
            }
            Err(Failure::Said { exit, text }) => {
                out.flush()?;
                complain("error", BAD, &text);
                worst = worst.max(exit);
            }
            Err(unread) => return Err(unread),
        }
    }
    Ok(worst)
}

fn print(summary: &Summary, out: &mut Out) -> Result<()> {
    writeln!(out, "{}\n", summary.line())?;
    let share = |bytes: u64| format!("{:>5.1}%", bytes as f64 * 100.0 / summary.bytes.max(1) as f64);
    let mut table = Table::new(&["kind", "records", "bytes", "share"]);
    for (&kind, &(records, bytes)) in &summary.kinds {
        let name = if is_known(kind) { kind_name(kind).to_owned() } else { format!("unknown ({kind})") };
        table.row([name.into(), records.into(), bytes.into(), share(bytes).into()]);
    }
    let magic = MAGIC.len() as u64;
    table.row(["magic".into(), Cell::Number(0), magic.into(), share(magic).into()]);
    if !summary.tail.is_empty() {
        let len = summary.tail.len() as u64;
        table.row(["tail".into(), Cell::Number(0), Cell::Doubt(len), share(len).into()]);
    }
    out.table(&table)?;
    writeln!(out)?;
    if summary.sessions > 0 {
        let Summary { sessions, prompt_tokens, answer_tokens, .. } = *summary;
        let text = format!(
            "{prompt} given, {answer} answered",
            prompt = count(prompt_tokens, "token"),
            answer = count(answer_tokens, "token")
        );
        out.field("sessions", format!("{}: {text}", count(sessions, "run")))?;
    }
    if summary.tracks > 0 {
        let Summary { tracks, track_context_tokens, track_answer_tokens, .. } = *summary;
        let context = count(track_context_tokens, "token");
        let answer = count(track_answer_tokens, "token");
        out.field("tracks", format!("{}: {context} of context elsewhere, {answer} answered", count(tracks, "run")))?;
    }
    if summary.anchors() > 0 {
        out.field("anchors", format!("{} full, {} delta", summary.anchors_full, summary.anchors_delta))?;
    }
    if summary.used_prefixes > 0 {
        let prefixes = match summary.used_prefixes {
            1 => "1 prefix".to_owned(),
            many => format!("{} prefixes", crate::output::grouped(many)),
        };
        out.field("uses", format!("{} of {prefixes}", count(summary.uses, "use")))?;
    }
    if let Some(tail) = tail_text(summary.tail) {
        let style = if matches!(summary.tail, Tail::Damaged { .. }) { BAD } else { ODD };
        out.field("tail", format!("{style}offset {}: {tail}{style:#}", summary.valid_len))?;
    }
    print_problems(summary, out)
}

/// Problems listed for people; scripts get those that the library keeps.
const SHOWN: usize = 10;

fn print_problems(summary: &Summary, out: &mut Out) -> Result<()> {
    for problem in summary.problems.iter().take(SHOWN) {
        out.field("problem", format!("{BAD}{problem}{BAD:#}"))?;
    }
    let more = summary.problem_count.saturating_sub(SHOWN as u64);
    if more > 0 {
        out.field("problem", format!("{BAD}and {more} more; `mrail verify` lists them{BAD:#}"))?;
    }
    if summary.problem_count == 0 && summary.tail.is_empty() {
        out.field("problems", "none met; `mrail verify` looks closer")?;
    }
    Ok(())
}
