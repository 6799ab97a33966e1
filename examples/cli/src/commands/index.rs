//! `mrail index`: the hint with which a map is searched without tables.

use crate::args;
use crate::error::{Exit, Failure, Result};
use crate::files::{self, Locked};
use crate::output::{GOOD, ODD, Out, complain, count};
use crate::summary::tail_text;
use mrail::fixed::hint::{Hint, HintError, build};
use mrail::fixed::{Lists, OpenError};
use serde_json::json;
use std::path::Path;

pub(crate) fn run(args: &args::Index, out: &mut Out) -> Result<Exit> {
    // A map is not replaced by its hint.
    let is_map =
        |path: &Path| path.canonicalize().is_ok_and(|path| args.map.canonicalize().is_ok_and(|map| map == path));
    if is_map(&args.out) {
        return Err(Failure::usage(format!("--out {}: the map itself", args.out.display())));
    }
    let exists = args.out.symlink_metadata().is_ok();
    if exists && !args.force {
        return Err(files::exists(&args.out));
    }
    let mut old = if exists { Some(Locked::new(&args.out)?) } else { None };
    let bytes = files::read(&args.map)?;
    let map = files::open(&args.map, &bytes)?;
    let written = build(&bytes).map_err(|error| too_long(&args.map, &error))?;
    let wrong = |error: HintError| Failure::of_file(Exit::Damaged, &args.map, error);
    let hint = Hint::read(&written).map_err(wrong)?;
    hint.check(&bytes).map_err(wrong)?;
    if let Some(tail) = tail_text(map.tail()) {
        complain("warning", ODD, &format!("{}: offset {}: left out {tail}", args.map.display(), map.valid_len()));
    }
    match &mut old {
        Some(old) => {
            old.read()?;
            old.replace(&written, false)?;
        }
        None => files::create(&args.out, &written)?,
    }
    let lists = [
        ("runs", hint.runs()),
        ("sessions", hint.sessions()),
        ("tracks", hint.tracks()),
        ("anchors", hint.anchors()),
        ("uses", hint.uses()),
    ];
    if out.json() {
        let mut value = json!({
            "map": args.map.display().to_string(),
            "out": args.out.display().to_string(),
            "bytes": written.len(),
            "covered_bytes": hint.covered(),
        });
        for (name, len) in lists {
            value[name] = len.into();
        }
        out.value(&value)?;
        return Ok(Exit::Done);
    }
    out.field("hint", format!("{GOOD}{}{GOOD:#}: {}", args.out.display(), count(written.len() as u64, "byte")))?;
    out.field("of", format!("{}: its first {}", args.map.display(), count(hint.covered() as u64, "byte")))?;
    let lists = lists.map(|(name, len)| format!("{} {name}", crate::output::grouped(len as u64)));
    out.field("lists", lists.join(", "))?;
    Ok(Exit::Done)
}

/// The failure of a map whose offsets need more than 32 bits.
pub(crate) fn too_long(path: &Path, error: &OpenError) -> Failure {
    Failure::of_file(Exit::Unreadable, path, error)
}
