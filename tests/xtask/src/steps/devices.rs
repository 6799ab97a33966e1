//! What computes on a device, and the model of the tests.

use super::{Outcome, Run, cargo, tests_passed};
use crate::shell::{Cmd, Failure};
use crate::{model, setup};

pub(super) fn gpu(run: &Run) -> Result<Outcome, Failure> {
    gpu_native(run, "test -p mrail-gpu")
}

pub(super) fn gpu_long(run: &Run) -> Result<Outcome, Failure> {
    gpu_native(run, "test -p mrail-gpu --test exact -- --ignored")
}

pub(super) fn real_model(run: &Run) -> Result<Outcome, Failure> {
    let tests = cargo(run, "test -p mrail-gpu --lib --test smollm2 --test decoding")
        .env("MRAIL_MODEL", model::path(run.project));
    // All of it takes long, so it is optimised, and tells how far it is.
    let tests = if run.full {
        tests.env("MRAIL_FULL", "1").args("--release -- --ignored --nocapture")
    } else {
        tests.args("-- --ignored")
    };
    tests_passed(on_vulkan(run, tests))
}

/// Chromium brings a second software device, whose compiler shares nothing with Mesa's.
pub(super) fn swiftshader(run: &Run) -> Result<Outcome, Failure> {
    let Some(driver) = setup::swiftshader(run.project) else {
        return Ok(Outcome::NotHere("this Chromium has no SwiftShader for Vulkan beside it"));
    };
    let tests = cargo(run, "test -p mrail-gpu --test smollm2").args(if run.full { "--release" } else { "" });
    let tests = tests.args("-- --ignored --nocapture --test-threads 1").args(if run.full { "in_f" } else { "in_f32" });
    let tests = tests.env("MRAIL_MODEL", model::path(run.project)).env("MRAIL_ADAPTER", "SwiftShader");
    // Loaders older and newer than 2022 ask for different names.
    tests_passed(on_vulkan(run, tests.env("VK_ICD_FILENAMES", &driver).env("VK_DRIVER_FILES", &driver)))
}

fn gpu_native(run: &Run, args: &str) -> Result<Outcome, Failure> {
    tests_passed(on_vulkan(run, cargo(run, args)))
}

/// Mesa complains at each device where there is no such folder.
fn on_vulkan(run: &Run, tests: Cmd) -> Cmd {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(_) => tests,
        None => tests.env("XDG_RUNTIME_DIR", &run.project.target),
    }
}
