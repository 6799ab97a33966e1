//! A small language model beside its map, in the terminal: what it knows it says at once, what it guesses it verifies, and
//! what it computes it keeps.

mod args;
mod ask;
mod chat;
mod error;
mod files;
mod identity;
mod make;
mod model;
mod output;
mod progress;
mod report;
mod session;

use args::{Cli, Command};
use clap::Parser;
use error::{Failure, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) | Err(Failure::Unread) => ExitCode::SUCCESS,
        Err(Failure::Said { exit, text }) => {
            output::error(&text);
            exit.into()
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Some(Command::Make(make)) => make::run(&make),
        None => ask::run(&cli.ask),
    }
}
