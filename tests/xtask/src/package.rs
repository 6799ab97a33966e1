//! The npm package as its users get it: its size, and the packed package in a throw-away project.

use std::fs;
use std::path::{Path, PathBuf};

use crate::build;
use crate::project::Project;
use crate::shell::Failure;

/// Bytes that the optimised .wasm may have.
const BUDGET: u64 = 250 * 1024;

/// The .wasm is within its budget.
pub(crate) fn size(project: &Project) -> Result<(), Failure> {
    let folder = build::package(project)?;
    let wasm = file_ending(&folder, "_bg.wasm")?;
    let size = fs::metadata(&wasm).map_err(Failure::doing(format!("reading {}", wasm.display())))?.len();
    let line = format!("{size} bytes of {BUDGET} ({:.0} KB of {} KB)", size as f64 / 1024.0, BUDGET / 1024);
    println!("{}: {line}", wasm.strip_prefix(&project.root).unwrap_or(&wasm).display());
    if size <= BUDGET { Ok(()) } else { Err(Failure::new(format!("the .wasm is over its budget: {line}"))) }
}

/// Packs the package, installs the archive elsewhere, compiles a program against its types and runs another.
pub(crate) fn packed(project: &Project) -> Result<(), Failure> {
    let folder = build::package(project)?;
    let away = project.target.join("package-test");
    make_empty(&away).map_err(Failure::doing("making the throw-away project"))?;
    project.cmd("npm").args("pack --silent --pack-destination").arg(&away).dir(&folder).stream()?;
    let archive = file_ending(&away, ".tgz")?;
    for name in ["check.mjs", "sample.ts", "tsconfig.json"] {
        let from = project.path("tests/xtask/package").join(name);
        fs::copy(&from, away.join(name)).map_err(Failure::doing(format!("copying {}", from.display())))?;
    }
    fs::write(away.join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")
        .map_err(Failure::doing("writing package.json"))?;
    let npm = project.cmd("npm").args("install --no-audit --no-fund --offline").arg(&archive);
    npm.dir(&away).stream()?;
    project.cmd("tsc").arg("--project").arg(&away).dir(&away).stream()?;
    project.cmd("node").arg("check.mjs").arg(project.path("tests/data/maps/coding.mrail")).dir(&away).stream()
}

fn make_empty(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// The one file of a folder whose name ends so.
fn file_ending(folder: &Path, ending: &str) -> Result<PathBuf, Failure> {
    let files = fs::read_dir(folder).map_err(Failure::doing(format!("reading {}", folder.display())))?;
    let found: Vec<PathBuf> =
        files.flatten().map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(Failure::new(format!("{} holds {} files *{ending}, not one", folder.display(), found.len()))),
    }
}
