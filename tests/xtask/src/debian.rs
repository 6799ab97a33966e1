//! Debian: system packages, and a Rust compiler for other targets where rustup has no network.
//!
//! Debian's security suite holds a recent compiler with the source of its standard library (`rustc-web`,
//! `rust-web-src`). That source is compiled for the other targets into a sysroot of the project's own, below its target
//! folder: the host's libraries are links into the system, so nothing is written to the system beside the packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::project::Project;
use crate::rust::{self, WASM};
use crate::setup::Setup;
use crate::shell::{Cmd, Failure};

/// `rust-lld`, which links for the other targets, is a link to lld-22's program.
const PACKAGES: &[&str] = &["rustc-web", "rust-web-src", "cargo-web", "rust-web-llvm", "lld-22"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const NEEDED: &[&str] = &[RUSTC, CARGO, "/usr/bin/rust-lld", "/usr/lib/rustlib/src/rust/library/Cargo.toml"];

const HOUR: Duration = Duration::from_secs(3600);

/// Is this a system with Debian's packages?
pub(crate) fn possible() -> bool {
    Path::new("/usr/bin/apt-get").exists()
}

/// Installs system packages.
pub(crate) fn apt(setup: &Setup, packages: &[&str]) -> Result<(), Failure> {
    let names = packages.join(" ");
    let by_hand = format!("as root: apt-get update && apt-get install {names}");
    setup.consent.ask(&format!("install the system packages {names}")).map_err(|no| no.hint(by_hand.clone()))?;
    let project = setup.project;
    let root = project.cmd("id").arg("-u").read().as_deref() == Some("0");
    let apt = |args: &str, log: &str| {
        let get = if root { project.cmd("apt-get") } else { project.cmd("sudo").arg("apt-get") };
        get.args(args).env("DEBIAN_FRONTEND", "noninteractive").quiet(&project.log(log), HOUR)
    };
    if setup.first_apt() {
        apt("update", "apt-update").map_err(|failure| failure.hint(by_hand.clone()))?;
    }
    // What another program needs is never removed for this.
    let install = format!("install -y --no-install-recommends --no-remove {names}");
    apt(&install, "apt-install").map_err(|failure| failure.hint(by_hand))
}

/// Installs QEMU. Its tools, `qemu-utils`, refuse an older QEMU beside them: where they came from backports and QEMU does not, they
/// go back to the release's version together with it.
pub(crate) fn qemu(setup: &Setup, packages: &[&str]) -> Result<(), Failure> {
    let newer = match apt(setup, packages) {
        Ok(()) => return Ok(()),
        Err(failure) => failure,
    };
    let policy = setup.project.cmd("apt-cache").args("policy qemu-system-common").read().unwrap_or_default();
    let release = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
    let Some(release) = release.filter(|_| Path::new("/usr/bin/qemu-img").exists()) else { return Err(newer) };
    let tools = format!("qemu-utils={release}");
    println!("  qemu-utils is newer than the release's QEMU, which it breaks: trying with {tools}");
    apt(setup, &[packages, &["--allow-downgrades", &tools]].concat())
}

/// Was `target` built here, with the compiler that is installed now?
pub(crate) fn has(project: &Project, target: &str) -> bool {
    let built_with = fs::read_to_string(library(project, target).join("compiler"));
    let library = rust::has_library(&library(project, target));
    library && built_with.is_ok_and(|version| Some(version) == compiler_version(project))
}

/// Makes cargo, or what calls it, compile with Debian's compiler and the project's sysroot.
pub(crate) fn compiling(project: &Project, cmd: Cmd) -> Cmd {
    let bin = sysroot(project).join("bin");
    cmd.env("RUSTC", bin.join("rustc")).env("PATH", project.joined_path(&[bin]))
}

/// Compiles the standard library for `targets`.
pub(crate) fn add(setup: &Setup, targets: &[&str]) -> Result<(), Failure> {
    let project = setup.project;
    if !NEEDED.iter().all(|file| Path::new(file).exists()) {
        apt(setup, PACKAGES)?;
    }
    make_sysroot(&sysroot(project)).map_err(Failure::doing("making a Rust sysroot in the target folder"))?;
    let (wasm, embedded): (Vec<&str>, Vec<&str>) = targets.iter().partition(|target| **target == WASM);
    // `test` is what test programs are linked with; microcontrollers have no `std` at all.
    build(project, &wasm, "-Zbuild-std=std,panic_abort,test", "std-wasm")?;
    build(project, &embedded, "-Zbuild-std=core,alloc", "std-embedded")
}

/// Builds an empty crate for `targets` with its own standard library, and keeps only the library.
fn build(project: &Project, targets: &[&str], std: &str, log: &str) -> Result<(), Failure> {
    if targets.is_empty() {
        return Ok(());
    }
    let seed = sysroot(project).join("seed");
    let out = seed.join("target");
    let cargo = compiling(project, project.cmd_at(Path::new(CARGO)).dir(&seed));
    let cargo = cargo.args("build --release").arg(std).env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &out);
    let cargo = targets.iter().fold(cargo, |cargo, target| cargo.arg("--target").arg(target));
    cargo.quiet(&project.log(log), HOUR)?;
    for target in targets {
        keep(project, target, &out.join(target).join("release").join("deps"))
            .map_err(Failure::doing(format!("copying the standard library for {target}")))?;
    }
    // Half a gigabyte that nobody asks for again.
    fs::remove_dir_all(&out).map_err(Failure::doing(format!("removing {}", out.display())))
}

fn keep(project: &Project, target: &str, built: &Path) -> std::io::Result<()> {
    let library = library(project, target);
    if library.exists() {
        fs::remove_dir_all(&library)?;
    }
    fs::create_dir_all(&library)?;
    for file in fs::read_dir(built)? {
        let path = file?.path();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let of_library = path.extension().is_some_and(|ending| ending == "rlib" || ending == "rmeta");
        if of_library && !name.starts_with("libseed-") {
            fs::copy(&path, library.join(name))?;
        }
    }
    // Written last: without it the library does not count.
    fs::write(library.join("compiler"), compiler_version(project).unwrap_or_default())
}

fn sysroot(project: &Project) -> PathBuf {
    project.target.join("rust-sysroot")
}

fn library(project: &Project, target: &str) -> PathBuf {
    sysroot(project).join("lib").join("rustlib").join(target).join("lib")
}

fn compiler_version(project: &Project) -> Option<String> {
    project.cmd_at(Path::new(RUSTC)).arg("--version").read()
}

/// A compiler that takes this sysroot, the libraries of the host, and an empty crate.
#[cfg(unix)]
fn make_sysroot(sysroot: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (bin, rustlib, seed) = (sysroot.join("bin"), sysroot.join("lib").join("rustlib"), sysroot.join("seed"));
    for folder in [&bin, &rustlib, &seed.join("src")] {
        fs::create_dir_all(folder)?;
    }
    for entry in fs::read_dir("/usr/lib/rustlib")? {
        let entry = entry?;
        let link = rustlib.join(entry.file_name());
        if link.symlink_metadata().is_err() {
            symlink(entry.path(), link)?;
        }
    }
    if bin.join("cargo").symlink_metadata().is_err() {
        symlink(CARGO, bin.join("cargo"))?;
    }
    let wrapper = format!("#!/bin/sh\nexec {RUSTC} --sysroot {} \"$@\"\n", quoted(sysroot));
    fs::write(bin.join("rustc"), wrapper)?;
    fs::set_permissions(bin.join("rustc"), fs::Permissions::from_mode(0o755))?;
    fs::write(seed.join("Cargo.toml"), "[package]\nname = \"seed\"\nedition = \"2024\"\n\n[workspace]\n")?;
    fs::write(seed.join("src").join("lib.rs"), "#![no_std]\n")
}

#[cfg(not(unix))]
fn make_sysroot(_: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("only on Debian"))
}

/// A path as one word of a shell script.
#[cfg(unix)]
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::quoted;
    use std::path::Path;

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
