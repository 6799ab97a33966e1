//! `mrail size`: what a program without an allocator needs for a map.

use crate::args;
use crate::error::{Exit, Result};
use crate::files;
use crate::output::{Cell, Out, Table, count, grouped};
use mrail::fixed::{Sizes, hint};
use serde_json::json;
use std::io::Write;

pub(crate) fn run(args: &args::Size, out: &mut Out) -> Result<Exit> {
    let bytes = files::read(&args.map)?;
    let map = files::open(&args.map, &bytes)?;
    let sizes = Sizes::of(&map);
    let tables = sizes.bytes();
    let hint = hint::build(&bytes).map_err(|error| super::index::too_long(&args.map, &error))?.len();
    if out.json() {
        out.value(&json!({
            "path": args.map.display().to_string(),
            "bytes": bytes.len(),
            "runs": sizes.runs,
            "tracks": sizes.tracks,
            "anchors": sizes.anchors,
            "uses": sizes.uses,
            "type": sizes.to_string(),
            "ram_bytes": tables,
            "hint_bytes": hint,
        }))?;
        return Ok(Exit::Done);
    }
    writeln!(out, "type Tables = mrail::fixed::{sizes};\n")?;
    let mut table = Table::new(&["table", "size", "bytes"]);
    let Sizes { runs, tracks, anchors, uses } = sizes;
    for (name, size, each) in [("runs", runs, 12), ("tracks", tracks, 16), ("anchors", anchors, 16), ("uses", uses, 16)]
    {
        table.row([name.into(), size.into(), Cell::Number(size as u64 * each)]);
    }
    out.table(&table)?;
    writeln!(out)?;
    out.field("RAM", format!("{} for the tables, {} of length fields among them", count(tables, "byte"), 20))?;
    let flash = count(hint as u64, "byte");
    out.field("or", format!("no tables and {flash} more in flash, with a hint: `mrail index MAP -o MAP.idx`"))?;
    out.field("flash", format!("{} for the map", grouped(bytes.len() as u64)))?;
    Ok(Exit::Done)
}
