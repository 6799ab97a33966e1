//! What runs in browsers, and the packages that are made for them.

use super::{Outcome, Run, passed, tests_passed};
use crate::rust::{self, WASM};
use crate::shell::{Cmd, Failure};
use crate::{build, model, package, setup};
use std::path::PathBuf;

/// The arguments for a browser, and its driver.
const IN_CHROMIUM: (&str, &str) = ("--chrome --chromedriver", "chromedriver");
const IN_FIREFOX: (&str, &str) = ("--firefox --geckodriver", "geckodriver");

/// The first program of one of these names.
fn found(run: &Run, names: &[&str]) -> Result<PathBuf, Failure> {
    let missing = || Failure::new(format!("{} is not there", names.join(" or "))).hint("cargo xtask setup");
    run.project.program(names).ok_or_else(missing)
}

/// `wasm-pack test` of a crate in one browser.
fn wasm_test(run: &Run, (args, driver): (&str, &str), of: &str) -> Result<Cmd, Failure> {
    let found = found(run, &[driver])?;
    let pack = rust::cmd(run.project, "wasm-pack", WASM)?.args("test --mode no-install --release --headless");
    Ok(pack.args(args).arg(found).arg(of).env("WASM_BINDGEN_TEST_TIMEOUT", "300"))
}

pub(super) fn wasm_chromium(run: &Run) -> Result<Outcome, Failure> {
    tests_passed(wasm_test(run, IN_CHROMIUM, "wasm")?)
}

pub(super) fn wasm_firefox(run: &Run) -> Result<Outcome, Failure> {
    tests_passed(wasm_test(run, IN_FIREFOX, "wasm")?)
}

fn gpu_test(run: &Run, browser: (&str, &str), of: &str) -> Result<Outcome, Failure> {
    // Each of many test programs would be optimised as a whole; the tests themselves are hardly faster for it.
    let pack = wasm_test(run, browser, of)?.env("CARGO_PROFILE_RELEASE_LTO", "off");
    let pack = pack.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    // Which device it was is told by a test that passes.
    tests_passed(pack.args(if run.full { "-- --nocapture --include-ignored" } else { "-- --nocapture" }))
}

pub(super) fn gpu_chromium(run: &Run) -> Result<Outcome, Failure> {
    gpu_test(run, IN_CHROMIUM, "gpu")
}

pub(super) fn gpu_firefox(run: &Run) -> Result<Outcome, Failure> {
    gpu_test(run, IN_FIREFOX, "gpu")
}

pub(super) fn model_chromium(run: &Run) -> Result<Outcome, Failure> {
    gpu_test(run, IN_CHROMIUM, "gpu/wasm")
}

pub(super) fn model_firefox(run: &Run) -> Result<Outcome, Failure> {
    gpu_test(run, IN_FIREFOX, "gpu/wasm")
}

pub(super) fn wasm_size(run: &Run) -> Result<Outcome, Failure> {
    passed(package::size(run.project))
}

pub(super) fn npm_package(run: &Run) -> Result<Outcome, Failure> {
    passed(package::packed(run.project))
}

fn npm(run: &Run, args: &str) -> Cmd {
    run.project.cmd("npm").args(args).dir(&run.project.path("web"))
}

pub(super) fn web_check(run: &Run) -> Result<Outcome, Failure> {
    passed(npm(run, "run check").stream())
}

pub(super) fn web_unit(run: &Run) -> Result<Outcome, Failure> {
    build::package(run.project)?;
    passed(npm(run, "test").stream())
}

pub(super) fn web_e2e(run: &Run) -> Result<Outcome, Failure> {
    passed(in_chromium(run, "run e2e")?.stream())
}

pub(super) fn model_e2e(run: &Run) -> Result<Outcome, Failure> {
    let tests = in_chromium(run, "run e2e:model")?.env("MRAIL_MODEL", model::path(run.project));
    let tests = tests.env("MRAIL_FIREFOX", found(run, &["firefox", "firefox-esr"])?);
    passed(tests.env("MRAIL_GECKODRIVER", found(run, &["geckodriver"])?).stream())
}

/// Tests of the built web app, for which they need a browser.
fn in_chromium(run: &Run, tests: &str) -> Result<Cmd, Failure> {
    build::web_app(run.project)?;
    let chromium = setup::chromium(run.project);
    let chromium = chromium.ok_or_else(|| Failure::new("Chromium is not there").hint("cargo xtask setup"))?;
    Ok(npm(run, tests).env("MRAIL_CHROMIUM", chromium))
}
