//! The Rust compiler for targets other than the host: is its standard library there, and how to get it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::debian;
use crate::project::Project;
use crate::setup::Setup;
use crate::shell::{Cmd, Failure};

/// Browsers.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Microcontrollers: Cortex-M4, Cortex-M0 (no compare-and-swap), RISC-V.
pub(crate) const EMBEDDED: &[&str] = &["thumbv7em-none-eabihf", "thumbv6m-none-eabi", "riscv32imac-unknown-none-elf"];

/// Without network rustup answers at once; a connection that hangs is given up after this.
const RUSTUP_LIMIT: Duration = Duration::from_secs(240);

/// Are all of these targets there, from whichever compiler?
pub(crate) fn present(project: &Project, targets: &[&str]) -> bool {
    targets.iter().all(|target| usual_has(project, target) || debian::has(project, target))
}

/// Gets the standard libraries of `targets`: from rustup, or built from Debian's source where rustup can add nothing.
pub(crate) fn add(setup: &Setup, targets: &[&str]) -> Result<(), Failure> {
    let project = setup.project;
    let missing: Vec<&str> = targets.iter().copied().filter(|target| !present(project, &[target])).collect();
    let refusal = match rustup(setup, &missing) {
        Ok(()) if missing.iter().all(|target| usual_has(project, target)) => return Ok(()),
        Ok(()) => Failure::new("rustup added the targets, but the compiler on PATH does not have them"),
        Err(failure) => failure,
    };
    if !debian::possible() {
        return Err(refusal.hint(format!(
            "install the Rust targets by hand (`rustup target add {}`), then run this again",
            missing.join(" ")
        )));
    }
    println!("  rustup can't add them here; building them from the source that Debian packages");
    debian::add(setup, &missing)
}

/// A cargo or wasm-pack command that can compile for `target`.
pub(crate) fn cmd(project: &Project, program: &str, target: &str) -> Result<Cmd, Failure> {
    let cmd = project.cmd(program);
    if usual_has(project, target) {
        Ok(cmd)
    } else if debian::has(project, target) {
        Ok(debian::compiling(project, cmd))
    } else {
        Err(Failure::new(format!("the Rust compiler has no standard library for {target}")).hint("cargo xtask setup"))
    }
}

fn rustup(setup: &Setup, targets: &[&str]) -> Result<(), Failure> {
    let project = setup.project;
    if project.program(&["rustup"]).is_none() {
        return Err(Failure::new("there is no rustup on PATH"));
    }
    setup.consent.ask("add Rust targets to rustup's toolchain")?;
    let add = project.cmd("rustup").args("target add").env("RUSTUP_MAX_RETRIES", "1");
    targets.iter().fold(add, Cmd::arg).quiet(&project.log("rustup"), RUSTUP_LIMIT)
}

/// Has the compiler that cargo usually takes this target?
fn usual_has(project: &Project, target: &str) -> bool {
    let folder = project.cmd("rustc").args("--print target-libdir --target").arg(target).read();
    folder.is_some_and(|folder| has_library(Path::new(&folder)))
}

/// Is there a compiled `core` in this folder?
pub(crate) fn has_library(folder: &Path) -> bool {
    let Ok(files) = fs::read_dir(folder) else { return false };
    files.flatten().any(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    })
}
