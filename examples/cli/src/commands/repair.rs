//! `mrail repair`: the good records of a torn or damaged map, with the old file kept beside it.

use crate::args;
use crate::error::{Exit, Result};
use crate::files::{self, Locked};
use crate::output::{GOOD, ODD, Out, count, grouped};
use mrail::repair::{Repaired, repair};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn run(args: &args::Repair, out: &mut Out) -> Result<Exit> {
    let mut locked = if args.dry_run { None } else { Some(Locked::new(&args.map)?) };
    let bytes = match &mut locked {
        Some(locked) => locked.read()?,
        None => files::read(&args.map)?,
    };
    let repaired = repair(&bytes).map_err(|error| files::no_map(&args.map, error))?;
    let backup = match &locked {
        Some(locked) if !repaired.unchanged() => locked.replace(&repaired.bytes, true)?,
        _ => None,
    };
    if out.json() {
        out.value(&to_json(&args.map, &bytes, &repaired, backup.as_deref()))?;
    } else {
        print(&args.map, &bytes, &repaired, backup.as_deref(), out)?;
    }
    Ok(if args.dry_run && !repaired.unchanged() { Exit::Damaged } else { Exit::Done })
}

fn to_json(path: &Path, before: &[u8], repaired: &Repaired, backup: Option<&Path>) -> Value {
    let cut: Vec<Value> = repaired.cut.iter().map(|cut| json!({ "offset": cut.start, "bytes": cut.len() })).collect();
    json!({
        "path": path.display().to_string(),
        "damaged": !repaired.unchanged(),
        "written": backup.is_some(),
        "backup": backup.map(|backup| backup.display().to_string()),
        "bytes_before": before.len(),
        "bytes_after": repaired.bytes.len(),
        "kept": repaired.kept,
        "recovered": repaired.recovered,
        "cut": cut,
    })
}

/// Stretches listed for people.
const SHOWN: usize = 10;

fn print(path: &Path, before: &[u8], repaired: &Repaired, backup: Option<&Path>, out: &mut Out) -> Result<()> {
    let kept = count(repaired.kept as u64, "record");
    if repaired.unchanged() {
        out.field("map", path.display())?;
        out.field("good", format!("{GOOD}nothing to repair{GOOD:#}: {kept}, nothing written"))?;
        return Ok(());
    }
    out.field("map", path.display())?;
    let recovered = match repaired.recovered {
        0 => String::new(),
        recovered => format!(", {} of them hidden by the damage", count(recovered as u64, "record")),
    };
    out.field("kept", format!("{kept}{recovered}"))?;
    for cut in repaired.cut.iter().take(SHOWN) {
        out.field("cut", format!("{ODD}{} at offset {}{ODD:#}", count(cut.len() as u64, "byte"), cut.start))?;
    }
    if repaired.cut.len() > SHOWN {
        out.field("cut", format!("{ODD}and {} more stretches{ODD:#}", repaired.cut.len() - SHOWN))?;
    }
    let sizes =
        format!("{} before, {} after", count(before.len() as u64, "byte"), grouped(repaired.bytes.len() as u64));
    out.field("size", sizes)?;
    match backup {
        Some(backup) => out.field("backup", format!("{GOOD}{}{GOOD:#}", backup.display()))?,
        None => out.field("written", "nothing (--dry-run)")?,
    }
    Ok(())
}
