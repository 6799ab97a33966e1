//! The steps of `cargo xtask test`, in the order in which they run: what tells most in the shortest time first.

mod browsers;
mod devices;

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::project::Project;
use crate::rust::{self, EMBEDDED, WASM};
use crate::setup::Need;
use crate::shell::{Cmd, Failure};
use browsers::{
    gpu_chromium, gpu_firefox, model_chromium, model_e2e, model_firefox, npm_package, wasm_chromium, wasm_firefox,
    wasm_size, web_check, web_e2e, web_unit,
};
use devices::{gpu, gpu_long, real_model, swiftshader};

/// Crates that are workspaces of their own, since they need other targets or toolchains.
const OWN_WORKSPACES: &[&str] = &["tests/no_std", "tests/fuzz", "examples/firmware"];

/// The sets of core's features that leave something out.
const FEATURE_SETS: &[&str] = &["", "heapless", "flash", "heapless,flash", "alloc"];

const BUILD_LIMIT: Duration = Duration::from_secs(600);

/// What core offers beside its default features.
const CORE_FEATURES: &str = "--features mrail/heapless,mrail/flash";

/// The seed that every run repeats; the second one is new each time.
const FIXED_SEED: u32 = 1;

/// How a step ended that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// Something that only some machines have is not here.
    NotHere(&'static str),
}

/// A step under way.
pub(crate) struct Run<'a> {
    pub(crate) project: &'a Project,
    /// Also what is too long for every run.
    pub(crate) full: bool,
}

/// One step.
pub(crate) struct Step {
    /// What it is called on the command line and in the summary.
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) needs: &'static [Need],
    /// Only with `--full`.
    pub(crate) only_full: bool,
    pub(crate) run: fn(&Run) -> Result<Outcome, Failure>,
}

impl Step {
    const fn new(name: &'static str, what: &'static str, run: fn(&Run) -> Result<Outcome, Failure>) -> Self {
        Self { name, what, needs: &[], only_full: false, run }
    }

    const fn needs(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }

    const fn only_full(mut self) -> Self {
        self.only_full = true;
        self
    }
}

/// What it takes to build the npm package.
const PACKAGE: &[Need] = Need::DEMO;
const PACKAGE_AND_CHROMIUM: &[Need] =
    &[Need::Wasm, Need::NodeModules, Need::WasmPack, Need::WasmBindgen, Need::Chromium];
const WASM_IN_CHROMIUM: &[Need] = &[Need::Wasm, Need::WasmPack, Need::WasmBindgen, Need::Chromium];
const WASM_IN_FIREFOX: &[Need] = &[Need::Wasm, Need::WasmPack, Need::WasmBindgen, Need::Firefox, Need::GeckoDriver];
/// Chromium brings software to compute with; Firefox takes the system's.
const GPU_IN_FIREFOX: &[Need] =
    &[Need::Wasm, Need::WasmPack, Need::WasmBindgen, Need::Firefox, Need::GeckoDriver, Need::Vulkan];

const MODEL_AND_BROWSERS: &[Need] = &[
    Need::Wasm,
    Need::NodeModules,
    Need::Reference,
    Need::Model,
    Need::WasmPack,
    Need::WasmBindgen,
    Need::Chromium,
    Need::Firefox,
    Need::GeckoDriver,
];
/// pip, which brings the model, is in the reference's virtual environment.
const REAL_MODEL: &[Need] = &[Need::Vulkan, Need::Reference, Need::Model];

/// All steps.
pub(crate) const STEPS: &[Step] = &[
    Step::new("fmt", "all Rust is formatted", fmt),
    Step::new("clippy", "clippy has nothing to say about the workspace", clippy),
    Step::new("rust", "the workspace's tests, with the command line's", native),
    Step::new("gpu", "the tests of what computes on a GPU, natively", gpu).needs(&[Need::Vulkan]),
    Step::new("model", "SmolLM2 chooses what exact arithmetic does, whatever is drafted", real_model).needs(REAL_MODEL),
    Step::new("swiftshader", "SmolLM2 beside exact arithmetic on Chromium's software device", swiftshader).needs(&[
        Need::Vulkan,
        Need::Reference,
        Need::Model,
        Need::Chromium,
    ]),
    Step::new("vectors", "the reference's stored vectors as Rust tests, optimised", vectors),
    Step::new("doc", "the documentation of core and gpu builds without a warning", doc),
    Step::new("bench", "core's benchmarks compile; clippy has checked those of gpu", bench),
    Step::new("no-std", "core builds alone with each set of its features, for four targets", no_std)
        .needs(&[Need::Wasm, Need::Embedded]),
    Step::new("panic-never", "what answers from flash links only since nothing in it can panic", panic_never)
        .needs(&[Need::Embedded]),
    Step::new("firmware", "three microcontrollers answer in QEMU as a computer does, within their budgets", firmware)
        .needs(&[Need::Embedded, Need::Qemu]),
    Step::new("live", "random calls on the driver and on the Python reference agree", live).needs(&[Need::Reference]),
    Step::new("better", "what the reference gets wrong is right here", better).needs(&[Need::Reference]),
    Step::new("wasm-chromium", "the wasm tests in headless Chromium", wasm_chromium).needs(WASM_IN_CHROMIUM),
    Step::new("wasm-firefox", "the wasm tests in headless Firefox", wasm_firefox).needs(WASM_IN_FIREFOX),
    Step::new("gpu-chromium", "the tests of what computes on a GPU, in headless Chromium", gpu_chromium)
        .needs(WASM_IN_CHROMIUM),
    Step::new("gpu-firefox", "the tests of what computes on a GPU, in headless Firefox", gpu_firefox)
        .needs(GPU_IN_FIREFOX),
    Step::new("model-chromium", "the tests of the model for JavaScript, in headless Chromium", model_chromium)
        .needs(WASM_IN_CHROMIUM),
    Step::new("model-firefox", "the tests of the model for JavaScript, in headless Firefox", model_firefox)
        .needs(GPU_IN_FIREFOX),
    Step::new("wasm-size", "the optimised .wasm is within 250 KB", wasm_size).needs(PACKAGE),
    Step::new("npm-package", "the packed npm package works in another project", npm_package).needs(PACKAGE),
    Step::new("web-check", "the web app's types", web_check).needs(PACKAGE),
    Step::new("web-unit", "the web app's unit tests", web_unit).needs(PACKAGE),
    Step::new("web-e2e", "the built web app in Chromium, end to end", web_e2e).needs(PACKAGE_AND_CHROMIUM),
    Step::new(
        "model-e2e",
        "the built page that runs a model, in Chromium, with a small one and SmolLM2; what it keeps in Firefox, too",
        model_e2e,
    )
    .needs(MODEL_AND_BROWSERS),
    Step::new("properties", "core's properties with 4000 cases each", properties).only_full(),
    Step::new("gpu-long", "contexts of 100 000 tokens on a device", gpu_long).needs(&[Need::Vulkan]).only_full(),
    Step::new("fuzz", "each fuzz target for a minute", fuzz).needs(&[Need::CargoFuzz]).only_full(),
];

fn cargo(run: &Run, args: &str) -> Cmd {
    run.project.cmd("cargo").args(args)
}

fn passed(result: Result<(), Failure>) -> Result<Outcome, Failure> {
    result.map(|()| Outcome::Passed)
}

/// A test runner that ran nothing has ended well, too: that is no pass.
fn tests_passed(runner: Cmd) -> Result<Outcome, Failure> {
    match passing(&runner.stream_and_keep()?) {
        0 => Err(Failure::new("it ended without an error, and without having run one test")),
        _ => Ok(Outcome::Passed),
    }
}

/// Sum of the N in `test result: ok. N passed; ...`.
fn passing(output: &str) -> u32 {
    let results = output.lines().filter_map(|line| line.split_once("test result: ok. ")?.1.split_once(" passed"));
    results.filter_map(|(count, _)| count.parse::<u32>().ok()).sum()
}

fn fmt(run: &Run) -> Result<Outcome, Failure> {
    let hint = |failure: Failure| failure.hint("cargo fmt --all, also in each folder that is a workspace of its own");
    cargo(run, "fmt --all --check").stream().map_err(hint)?;
    for folder in OWN_WORKSPACES.iter().map(|folder| run.project.path(folder)) {
        if folder.join("Cargo.toml").exists() {
            cargo(run, "fmt --check").dir(&folder).stream().map_err(hint)?;
        }
    }
    Ok(Outcome::Passed)
}

fn clippy(run: &Run) -> Result<Outcome, Failure> {
    passed(cargo(run, "clippy --workspace --all-targets").args(CORE_FEATURES).args("-- -D warnings").stream())
}

fn native(run: &Run) -> Result<Outcome, Failure> {
    // Those two have steps of their own.
    let tests = cargo(run, "test --workspace --exclude mrail-conformance --exclude mrail-gpu");
    tests_passed(tests.args(CORE_FEATURES))
}

fn vectors(run: &Run) -> Result<Outcome, Failure> {
    tests_passed(cargo(run, "test --release -p mrail-conformance"))
}

fn doc(run: &Run) -> Result<Outcome, Failure> {
    passed(
        cargo(run, "doc --no-deps -p mrail -p mrail-gpu")
            .args(CORE_FEATURES)
            .env("RUSTDOCFLAGS", "-D warnings")
            .stream(),
    )
}

fn bench(run: &Run) -> Result<Outcome, Failure> {
    passed(cargo(run, "bench --no-run -p mrail").stream())
}

fn no_std(run: &Run) -> Result<Outcome, Failure> {
    let build = |target: &str, features: &str| {
        let cargo = rust::cmd(run.project, "cargo", target)?.arg("build").arg(format!("--features={features}"));
        cargo.arg("--target").arg(target).dir(&run.project.path("tests/no_std")).stream()
    };
    let targets = [WASM].into_iter().chain(EMBEDDED.iter().copied());
    let all = targets.flat_map(|target| FEATURE_SETS.iter().map(move |features| (target, features)));
    let results: Vec<_> = all.map(|(target, features)| build(target, features)).collect();
    passed(results.into_iter().collect())
}

fn panic_never(run: &Run) -> Result<Outcome, Failure> {
    let build = |target: &str, profile: &str| {
        let cargo = rust::cmd(run.project, "cargo", target)?.args("build --package panic-never --profile");
        Ok(cargo.arg(profile).arg("--target").arg(target).dir(&run.project.path("tests/no_std")))
    };
    let log = run.project.log("panic");
    for target in EMBEDDED {
        for profile in ["small", "release"] {
            build(target, profile)?.stream()?;
            // The proof must fail where something does panic.
            let control = build(target, profile)?.args("--features panic").quiet(&log, BUILD_LIMIT);
            let said = fs::read_to_string(&log).unwrap_or_default();
            if control.is_ok() || !said.contains("undefined symbol: something_may_panic") {
                return Err(Failure::new(format!("for {target}, what panics links, too, or fails for another reason"))
                    .hint(format!("see {}", log.display())));
            }
        }
    }
    println!("with a panic in it, it does not link");
    Ok(Outcome::Passed)
}

fn firmware(run: &Run) -> Result<Outcome, Failure> {
    let folder = run.project.path("examples/firmware");
    tests_passed(cargo(run, "test --package mrail-firmware-host").dir(&folder))?;
    for target in EMBEDDED {
        let host = rust::cmd(run.project, "cargo", target)?.args("run --quiet --release -- --target").arg(target);
        host.dir(&folder).stream()?;
    }
    Ok(Outcome::Passed)
}

/// Compiles the driver; returns a command that runs one of the kit's scripts with it.
fn kit(run: &Run, script: &str) -> Result<Cmd, Failure> {
    cargo(run, "build --release -p mrail-conformance --bin mrail-driver").stream()?;
    let driver = run.project.target.join("release").join(format!("mrail-driver{}", std::env::consts::EXE_SUFFIX));
    // The script hands the driver to a shell.
    let driver = format!("\"{}\"", driver.display());
    let python = run.project.cmd_at(&run.project.python()).env("PYTHONUNBUFFERED", "1");
    Ok(python.arg(run.project.path("tests/conformance/kit").join(script)).arg(driver))
}

fn live(run: &Run) -> Result<Outcome, Failure> {
    // The reference takes a third of a second a round.
    let rounds = if run.full { 600 } else { 80 };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(2, |since| since.subsec_micros());
    for (seed, kind) in [(FIXED_SEED, "the fixed seed"), (now, "a new seed: give it again to repeat a difference")] {
        println!("seed {seed}, {rounds} rounds ({kind})");
        kit(run, "fuzz.py")?.arg(seed.to_string()).arg(rounds.to_string()).stream()?;
    }
    Ok(Outcome::Passed)
}

fn better(run: &Run) -> Result<Outcome, Failure> {
    // The script ends well whatever it found; its last line counts.
    let text = kit(run, "better.py")?.stream_and_keep()?;
    let line = text.lines().last().unwrap_or_default();
    if all_of(line) {
        return Ok(Outcome::Passed);
    }
    Err(Failure::new(format!("better.py ends with `{line}`, not with all of them")))
}

/// `16 of 16`, and not of none.
fn all_of(line: &str) -> bool {
    let count = |text: &str| text.trim().parse::<u32>().ok();
    line.split_once(" of ").is_some_and(|(good, all)| count(good).is_some_and(|n| n > 0) && count(good) == count(all))
}

fn properties(run: &Run) -> Result<Outcome, Failure> {
    tests_passed(cargo(run, "test --release -p mrail").env("PROPTEST_CASES", "4000"))
}

fn fuzz(run: &Run) -> Result<Outcome, Failure> {
    // The sanitizers that cargo-fuzz compiles with are only in nightly compilers.
    let nightly = |args: &str| cargo(run, args).env("RUSTUP_TOOLCHAIN", "nightly").dir(&run.project.path("tests/fuzz"));
    if nightly("--version").read().is_none_or(|version| !version.contains("nightly")) {
        return Ok(Outcome::NotHere("there is no nightly toolchain"));
    }
    let targets = nightly("fuzz list --fuzz-dir .").read();
    let targets = targets.filter(|targets| !targets.is_empty());
    let targets = targets.ok_or_else(|| Failure::new("`cargo fuzz list` names no target in tests/fuzz"))?;
    for target in targets.lines() {
        nightly("fuzz run --fuzz-dir .").arg(target).args("-- -max_total_time=60").stream()?;
    }
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::{all_of, passing};

    #[test]
    fn tests_are_counted_over_all_their_programs() {
        let line = |count| format!("running {count} tests\n\ntest result: ok. {count} passed; 0 failed; 0 ignored\n");
        assert_eq!(passing(&[line(3), line(0), line(39)].concat()), 42);
        assert_eq!(passing(&line(0)), 0);
        assert_eq!(passing("no tests to run!\n"), 0);
    }

    #[test]
    fn only_all_of_some_is_good() {
        assert!(all_of("16 of 16") && all_of("1 of 1"));
        assert!(!all_of("15 of 16") && !all_of("0 of 0") && !all_of("") && !all_of("all of all"));
    }
}
