//! The `mrail` command line: looks into `.mrail` maps, asks them, verifies, merges and repairs them.
//!
//! Everything about the format is the library's; here are files, arguments, and what people and scripts read.

mod args;
mod commands;
mod context;
mod error;
mod files;
mod output;
mod progress;
mod summary;

use args::{Cli, Command};
use clap::Parser;
use error::{Exit, Failure};
use output::{BAD, Out};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Cli { json, command } = Cli::parse();
    let mut out = Out::new(json);
    let ended = run(&command, &mut out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match ended {
        Ok(exit) => exit.into(),
        Err(Failure::Unread) => Exit::Done.into(),
        Err(Failure::Said { exit, text }) => {
            // What was printed before belongs above the error. Neither stream can report its own failure.
            let _ = out.flush();
            output::complain("error", BAD, &text);
            exit.into()
        }
    }
}

fn run(command: &Command, out: &mut Out) -> error::Result<Exit> {
    match command {
        Command::Info(args) => commands::info::run(args, out),
        Command::Verify(args) => commands::verify::run(args, out),
        Command::Locate(args) => commands::locate::run(args, out),
        Command::Answer(args) => commands::answer::run(args, out),
        Command::Tree(args) => commands::tree::run(args, out),
        Command::Tracks(args) => commands::tracks::run(args, out),
        Command::Dump(args) => commands::dump::run(args, out),
        Command::Merge(args) => commands::merge::run(args, out),
        Command::Repair(args) => commands::repair::run(args, out),
        Command::Size(args) => commands::size::run(args, out),
        Command::Index(args) => commands::index::run(args, out),
    }
}
