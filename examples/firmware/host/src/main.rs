//! Builds the firmware for its three processors, runs it in QEMU, compares what it prints with what this computer answers,
//! and prints what it took. Fails where anything differs or a budget is exceeded.
//!
//! `--target TRIPLE` leaves the other processors out. What else stands on the command line is handed on to cargo:
//! `--profile fast`, `--no-default-features`.

use mrail_firmware_host::elf::Sizes;
use mrail_firmware_host::output::Output;
use mrail_firmware_host::{answers, drafts, grown, hash, of_track};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// (processor, board, target) as `.cargo/config.toml` knows them.
const BOARDS: &[(&str, &str, &str)] = &[
    ("Cortex-M4", "mps2-an386", "thumbv7em-none-eabihf"),
    ("Cortex-M0", "microbit", "thumbv6m-none-eabi"),
    ("RISC-V", "virt", "riscv32imac-unknown-none-elf"),
];

/// What a program must print.
type Expected = fn() -> Vec<String>;

/// Programs of `src/bin`.
const PROGRAMS: &[(&str, Expected)] = &[
    ("empty", || vec!["nothing".into()]),
    ("hint", answers),
    ("checked", || [vec!["open".into()], answers()].concat()),
    ("tables", || [vec!["open".into()], answers()].concat()),
    ("track", of_track),
    ("draft", drafts),
    ("append", grown),
    ("hash", hash),
];

/// Answering from a hint on a Cortex-M4: bytes of code and of memory, stack and statics together.
const BUDGET: (&str, &str, usize, usize) = ("Cortex-M4", "hint", 24 * 1024, 8 * 1024);

/// A program that runs longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let mut args: Vec<String> = env::args().skip(1).collect();
    let only = args.iter().position(|arg| arg == "--target").map(|at| {
        args.remove(at);
        if at < args.len() { args.remove(at) } else { String::new() }
    });
    match run(&args, only.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String], only: Option<&str>) -> Result<(), String> {
    let boards = || BOARDS.iter().filter(|board| only.is_none_or(|only| only == board.2));
    if boards().next().is_none() {
        return Err(format!("there is no board for {}", only.unwrap_or_default()));
    }
    println!("{:<10}{:<9}{:>6}{:>8}{:>7}   instructions", "", "", "code", "statics", "stack");
    for board in boards() {
        build(args, board.2)?;
        for (program, expected) in PROGRAMS {
            let about = |message| format!("{program} on {}: {message}", board.0);
            let output = ask(args, board.2, program).map_err(about)?;
            output.compare(&expected()).map_err(about)?;
            let file = built(args, board.2, program).map_err(about)?;
            let elf = fs::read(&file).map_err(|error| about(format!("{}: {error}", file.display())))?;
            let sizes = Sizes::of(&elf).ok_or_else(|| about(format!("{} is no ELF file", file.display())))?;
            println!("{}", row(board.0, program, sizes, &output));
            within_budget(board.0, program, sizes, &output)?;
        }
    }
    println!("\nAll answers, drafts and files are those of this computer.");
    Ok(())
}

/// Code is all that lies in flash but the map, its hint and the prompts.
fn row(board: &str, program: &str, sizes: Sizes, output: &Output) -> String {
    let mut measured = Vec::new();
    let open = output.mean("open");
    if open > 0 {
        measured.push(format!("{open} to open"));
    }
    if let Some(token) = output.sum("take").checked_div(output.sum("tokens")) {
        measured.push(format!("{} to find an answer, {token} a token of it", output.mean("find")));
    }
    let each = [
        ("grow", "a tree of 31"),
        ("append", "to append a run"),
        ("reopen", "to open the region"),
        ("token", "a hashed token"),
    ];
    for (name, what) in each {
        if output.sum(name) > 0 {
            measured.push(format!("{} {what}", output.mean(name)));
        }
    }
    let Sizes { code, statics } = sizes;
    let stack = output.sum("stack");
    format!("{board:<10}{program:<9}{code:>6}{statics:>8}{stack:>7}   {}", measured.join(", "))
}

fn within_budget(board: &str, program: &str, sizes: Sizes, output: &Output) -> Result<(), String> {
    let (of_board, of_program, code, ram) = BUDGET;
    if (board, program) != (of_board, of_program) {
        return Ok(());
    }
    let used = sizes.statics + usize::try_from(output.sum("stack")).unwrap_or(usize::MAX);
    println!("{:<10}budget: {} of {code} bytes of code, {used} of {ram} bytes of RAM", "", sizes.code);
    if sizes.code > code || used > ram {
        return Err(format!("{program} on {board} exceeds its budget"));
    }
    Ok(())
}

/// The workspace.
fn folder() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

fn profile(args: &[String]) -> &str {
    let after = args.iter().position(|arg| arg == "--profile").and_then(|at| args.get(at + 1));
    after.map_or("release", String::as_str)
}

/// A cargo command in the workspace, where the targets' runners are configured.
fn cargo(command: &str, args: &[String], target: &str) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(folder()).args([command, "--quiet", "--package", "mrail-firmware", "--target", target]);
    if !args.iter().any(|arg| arg == "--profile") {
        cargo.arg("--release");
    }
    cargo.args(args);
    cargo
}

fn build(args: &[String], target: &str) -> Result<(), String> {
    let status = cargo("build", args, target).status().map_err(|error| format!("cargo did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("building for {target} failed: {status}")) }
}

/// Where the program is: cargo put this one, too, below its target folder.
fn built(args: &[String], target: &str, program: &str) -> Result<PathBuf, String> {
    let this = env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let folder = this.ancestors().nth(2).ok_or("this program is in no target folder")?;
    Ok(folder.join(target).join(profile(args)).join(program))
}

/// Runs a program in QEMU.
fn ask(args: &[String], target: &str, program: &str) -> Result<Output, String> {
    let mut cargo = cargo("run", args, target);
    let child = cargo.args(["--bin", program]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("cargo did not start: {error}"))?;
    let mut pipe = child.stdout.take().ok_or("its output is not there")?;
    let reading = thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text)
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() < LIMIT => thread::sleep(Duration::from_millis(10)),
            None => {
                child.kill().map_err(|error| error.to_string())?;
                return Err(format!("it had not ended after {} s", LIMIT.as_secs()));
            }
        }
    };
    let text = reading.join().map_err(|_| "its output could not be read")?.map_err(|error| error.to_string())?;
    if status.success() { Ok(Output::of(&text)) } else { Err(format!("{status}, after printing\n{text}")) }
}
