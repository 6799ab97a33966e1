//! Command-line tools written in Rust: pinned versions, installed below the project's target folder.

use std::time::Duration;

use crate::project::Project;
use crate::setup::Setup;
use crate::shell::Failure;

/// A crate with programs, at one version.
pub(crate) struct Tool {
    /// Name of the crate.
    name: &'static str,
    /// Its program that tells the version.
    program: &'static str,
    version: Version,
    /// With the dependencies that its authors tested, where they publish their lock file.
    locked: bool,
}

enum Version {
    Pinned(&'static str),
    /// Equal to this crate's in Cargo.lock: the two talk a private language.
    OfCrate(&'static str),
}

pub(crate) const WASM_PACK: Tool =
    Tool { name: "wasm-pack", program: "wasm-pack", version: Version::Pinned("0.15.1"), locked: true };
pub(crate) const WASM_BINDGEN: Tool = Tool {
    name: "wasm-bindgen-cli",
    program: "wasm-bindgen",
    version: Version::OfCrate("wasm-bindgen"),
    locked: false,
};
pub(crate) const GECKODRIVER: Tool =
    Tool { name: "geckodriver", program: "geckodriver", version: Version::Pinned("0.37.1"), locked: true };
pub(crate) const CARGO_FUZZ: Tool =
    Tool { name: "cargo-fuzz", program: "cargo-fuzz", version: Version::Pinned("0.13.2"), locked: true };

/// Is it on the path, in this version?
pub(crate) fn present(project: &Project, tool: &Tool) -> bool {
    let printed = project.cmd(tool.program).arg("--version").read();
    printed.as_deref().and_then(version_of).is_some_and(|found| version(project, tool).is_ok_and(|want| want == found))
}

/// Compiles and installs it.
pub(crate) fn install(setup: &Setup, tool: &Tool) -> Result<(), Failure> {
    let project = setup.project;
    let version = version(project, tool)?;
    // Half the time of a release build, and no slower where it matters: these wait for browsers and files.
    let cargo = project.cmd("cargo").args("install --debug --force --root").arg(project.tools());
    let cargo = cargo.arg("--target-dir").arg(build_folder(project)).arg(tool.name).arg("--version").arg(version);
    let cargo = if tool.locked { cargo.arg("--locked") } else { cargo };
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").quiet(&project.log(tool.name), Duration::from_secs(3600))
}

/// What the tools were compiled in is of no use afterwards.
pub(crate) fn tidy(project: &Project) {
    // If it can't be removed, nothing is lost but room.
    std::fs::remove_dir_all(build_folder(project)).ok();
}

/// Shared between the tools, but not with another set-up at the same time, which would remove it.
fn build_folder(project: &Project) -> std::path::PathBuf {
    project.tools().join(format!("build-{}", std::process::id()))
}

fn version(project: &Project, tool: &Tool) -> Result<String, Failure> {
    match tool.version {
        Version::Pinned(version) => Ok(version.to_string()),
        Version::OfCrate(name) => {
            let version = locked_version(&project.read("Cargo.lock")?, name);
            version.ok_or_else(|| Failure::new(format!("{name} is not in Cargo.lock")))
        }
    }
}

/// The second word of the first line: `geckodriver 0.37.1 (2f5b 2026-01-01)`.
fn version_of(printed: &str) -> Option<String> {
    printed.lines().next()?.split_whitespace().nth(1).map(String::from)
}

/// The version of a crate in a Cargo.lock.
pub(crate) fn locked_version(lock: &str, name: &str) -> Option<String> {
    let line = format!("name = \"{name}\"");
    let package = lock.split("[[package]]").find(|package| package.lines().any(|other| other == line))?;
    let version = package.lines().find_map(|line| line.strip_prefix("version = \""))?;
    Some(version.trim_end_matches('"').to_string())
}

#[cfg(test)]
mod tests {
    use super::{locked_version, version_of};

    const LOCK: &str = "version = 4\n\n\
        [[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"0.2.99\"\ndependencies = [\n \"wasm-bindgen\",\n]\n\n\
        [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"registry\"\n";

    #[test]
    fn the_version_is_that_of_the_crate_itself() {
        assert_eq!(locked_version(LOCK, "wasm-bindgen"), Some("0.2.130".into()));
        assert_eq!(locked_version(LOCK, "wasm-bindgen-macro"), Some("0.2.99".into()));
        assert_eq!(locked_version(LOCK, "wasm"), None);
        assert_eq!(locked_version("", "wasm-bindgen"), None);
    }

    #[test]
    fn the_project_locks_wasm_bindgen() {
        let lock = include_str!("../../../Cargo.lock");
        assert!(locked_version(lock, "wasm-bindgen").is_some_and(|version| version.starts_with("0.2.")));
    }

    #[test]
    fn programs_tell_their_version_in_the_second_word() {
        assert_eq!(version_of("geckodriver 0.37.1 (abc 2026-01-01)\n\nThe source"), Some("0.37.1".into()));
        assert_eq!(version_of("wasm-bindgen 0.2.130"), Some("0.2.130".into()));
        assert_eq!(version_of(""), None);
    }
}
