//! `mrail merge`: several maps as one.

use crate::args;
use crate::error::{Exit, Failure, Result};
use crate::files::{self, Locked};
use crate::output::{Cell, ODD, Out, Table, complain};
use crate::progress::Progress;
use crate::summary::{Summary, tail_text};
use mrail::merge::{Merged, merge};
use mrail::record::is_known;
use mrail::tail::Tail;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &args::Merge, out: &mut Out) -> Result<Exit> {
    // Told before minutes of work, and again by whoever writes.
    let exists = args.out.symlink_metadata().is_ok();
    if exists && !args.force {
        return Err(files::exists(&args.out));
    }
    let mut old = if exists { Some(Locked::new(&args.out)?) } else { None };
    let (inputs, summaries) = read(args)?;
    // The old OUT may be one of the maps; what is replaced is what was there when all of them had been read.
    if let Some(old) = &mut old {
        old.read()?;
    }
    let borrowed: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let (bytes, merged) = merge(&borrowed).map_err(|error| {
        let path = args.maps.get(error.index).map_or(Path::new("?"), |path| path);
        Failure::of_file(Exit::Unreadable, path, error.error)
    })?;
    match old {
        Some(old) => old.replace(&bytes, false).map(drop)?,
        None => files::create(&args.out, &bytes)?,
    }
    let result = Summary::of(&args.out, &bytes)?;
    if out.json() {
        let maps: Vec<Value> = summaries.iter().map(Summary::to_json).collect();
        let Merged { runs, tracks, repeated, anchors, problems } = merged;
        out.value(&json!({
            "out": result.to_json(),
            "runs": runs,
            "tracks": tracks,
            "repeated": repeated,
            "anchors_left_out": anchors,
            "problems_left_out": problems,
            "maps": maps,
        }))?;
    } else {
        print(&merged, &result, &summaries, out)?;
    }
    Ok(Exit::Done)
}

/// Reads the maps, and says which ones are not whole.
fn read(args: &args::Merge) -> Result<(Vec<Vec<u8>>, Vec<Summary>)> {
    let mut progress = Progress::new("reading maps", args.maps.len());
    let (mut inputs, mut summaries) = (Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    for (index, path) in args.maps.iter().enumerate() {
        let bytes = files::read(path)?;
        let summary = Summary::of(path, &bytes)?;
        if summary.is_damaged() && !args.skip_damaged {
            return Err(damaged(&summary));
        }
        if let Tail::Torn { .. } = summary.tail
            && let Some(tail) = tail_text(summary.tail)
        {
            warnings.push(format!("{}: offset {}: left out {tail}", path.display(), summary.valid_len));
        }
        inputs.push(bytes);
        summaries.push(summary);
        progress.at(index + 1);
    }
    drop(progress);
    for warning in &warnings {
        complain("warning", ODD, warning);
    }
    Ok((inputs, summaries))
}

fn damaged(summary: &Summary) -> Failure {
    let what = match summary.problems.first() {
        Some(problem) => problem.to_string(),
        None => format!("offset {}: {}", summary.valid_len, tail_text(summary.tail).unwrap_or_default()),
    };
    let what = format!("{what}; nothing was written (--skip-damaged merges what can be read)");
    Failure::of_file(Exit::Damaged, &summary.path, what)
}

fn print(merged: &Merged, result: &Summary, maps: &[Summary], out: &mut Out) -> Result<()> {
    writeln!(
        out,
        "{}: {} runs (anchors are not copied: they belong to the exact model state)\n",
        result.path.display(),
        merged.runs
    )?;
    let mut table = Table::new(&["map", "runs", "tracks", "tokens", "anchors", "uses", "bytes"]);
    for map in maps.iter().chain([result]) {
        table.row([
            Cell::Text(map.path.display().to_string()),
            map.runs().into(),
            map.tracks.into(),
            map.tokens.into(),
            map.anchors().into(),
            map.uses.into(),
            map.bytes.into(),
        ]);
    }
    out.table(&table)?;
    writeln!(out)?;
    let left_out = [
        (merged.repeated, "repeated runs"),
        (merged.anchors, "anchors"),
        (merged.problems, "records that cannot be read"),
        (unknown_records(maps), "records of unknown kinds"),
    ];
    let left_out: Vec<String> =
        left_out.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")).collect();
    out.field("left out", if left_out.is_empty() { "nothing".to_owned() } else { left_out.join(", ") })?;
    Ok(())
}

fn unknown_records(maps: &[Summary]) -> usize {
    let kinds = maps.iter().flat_map(|map| &map.kinds);
    let unknown = kinds.filter(|(kind, _)| !is_known(**kind));
    unknown.map(|(_, (records, _))| *records as usize).sum()
}
