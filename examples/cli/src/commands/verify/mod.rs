//! `mrail verify`: every record, every hash, and what cannot be told.

mod check;
mod report;

use crate::args;
use crate::error::{Exit, Result};
use crate::files;
use crate::output::{BAD, Cell, GOOD, ODD, Out, STRONG, Table, count};
use report::{Finding, Findings, Report};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &args::Verify, out: &mut Out) -> Result<Exit> {
    let bytes = files::read(&args.map)?;
    let report = check::check(&args.map, &bytes)?;
    if out.json() {
        out.value(&to_json(&args.map, bytes.len(), &report))?;
    } else {
        print(&args.map, bytes.len(), &report, out)?;
    }
    Ok(if report.faults.total == 0 { Exit::Done } else { Exit::Damaged })
}

fn to_json(path: &Path, bytes: usize, report: &Report) -> Value {
    let tallies: Vec<Value> = report
        .tallies()
        .map(|(kind, tally)| {
            json!({
                "kind": kind,
                "records": tally.records(),
                "good": tally.good,
                "faulty": tally.faulty,
                "unverifiable": tally.unverifiable,
            })
        })
        .collect();
    let list = |findings: &Findings| -> Vec<Value> {
        let value = |Finding { offset, what, text }: &Finding| json!({ "offset": offset, "what": what, "text": text });
        findings.kept.iter().map(value).collect()
    };
    json!({
        "path": path.display().to_string(),
        "bytes": bytes,
        "records": report.tallies().map(|(_, tally)| tally.records()).sum::<u64>(),
        "good": report.faults.total == 0,
        "torn": report.torn,
        "kinds": tallies,
        "fault_count": report.faults.total,
        "faults": list(&report.faults),
        "unverifiable_count": report.unverifiable.total,
        "unverifiable": list(&report.unverifiable),
        "note_count": report.notes.total,
        "notes": list(&report.notes),
    })
}

fn print(path: &Path, bytes: usize, report: &Report, out: &mut Out) -> Result<()> {
    let records = report.tallies().map(|(_, tally)| tally.records()).sum();
    writeln!(out, "{}: {}, {}\n", path.display(), count(records, "record"), count(bytes as u64, "byte"))?;
    if records > 0 {
        let mut table = Table::new(&["kind", "records", "good", "faulty", "unverifiable"]);
        for (kind, tally) in report.tallies() {
            table.row([
                kind.into(),
                tally.records().into(),
                tally.good.into(),
                Cell::Fault(tally.faulty),
                Cell::Doubt(tally.unverifiable),
            ]);
        }
        out.table(&table)?;
        writeln!(out)?;
    }
    print_findings("faults", &report.faults, out)?;
    print_findings("cannot be verified", &report.unverifiable, out)?;
    print_findings("notes", &report.notes, out)?;
    let doubts = match report.unverifiable.total {
        0 => String::new(),
        doubts => format!("; {ODD}{} cannot be verified{ODD:#}", count(doubts, "record")),
    };
    let verdict = match report.faults.total {
        0 => format!("{GOOD}good{GOOD:#}: every record reads, every hash that can be checked is right"),
        1 if report.torn => format!("{ODD}torn{ODD:#}: every whole record reads; `mrail repair` cuts the tail"),
        faults => format!("{BAD}damaged{BAD:#}: {}", count(faults, "fault")),
    };
    out.wrapped(&format!("{verdict}{doubts}"), 0)?;
    Ok(())
}

/// Findings of one sort listed for people.
const SHOWN: usize = 20;

fn print_findings(head: &str, findings: &Findings, out: &mut Out) -> Result<()> {
    if findings.total == 0 {
        return Ok(());
    }
    writeln!(out, "{STRONG}{head}{STRONG:#}")?;
    for Finding { offset, what, text } in findings.kept.iter().take(SHOWN) {
        let place = format!("  offset {offset}, {what}: ");
        write!(out, "{place}")?;
        out.wrapped(text, place.chars().count().min(24))?;
    }
    let more = findings.total.saturating_sub(SHOWN as u64);
    if more > 0 {
        writeln!(out, "  and {} more", crate::output::grouped(more))?;
    }
    writeln!(out)?;
    Ok(())
}
