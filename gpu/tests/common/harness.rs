//! Tests on a device, written once: natively they are ordinary tests, in a browser those of wasm-bindgen.
//!
//! A test without a device fails. Each test has a device of its own, opened with WebGPU's default limits, so that what passes
//! here runs anywhere. Natively `MRAIL_ADAPTER` chooses among several devices by a part of the name.

use mrail_gpu::device::{Gpu, Limit, Options};

/// What a test may return.
pub trait Outcome {
    /// Panics where the test failed.
    fn check(self);
}

impl Outcome for () {
    fn check(self) {}
}

impl<E: std::fmt::Display> Outcome for Result<(), E> {
    fn check(self) {
        if let Err(error) = self {
            panic!("{error}");
        }
    }
}

/// How the tests open their devices.
pub fn options() -> Options {
    let name = if cfg!(target_arch = "wasm32") { None } else { std::env::var("MRAIL_ADAPTER").ok() };
    Options { name, limits: Limit::Default, ..Options::default() }
}

/// A device.
///
/// # Panics
///
/// Where there is none: a test that needs one has failed.
pub async fn open() -> Gpu {
    match Gpu::request(&options()).await {
        Ok(gpu) => gpu,
        Err(error) => panic!("{error}"),
    }
}

/// Into the browser's console, or onto the terminal, also from tests that pass.
pub fn report(text: &str) {
    #[cfg(target_arch = "wasm32")]
    wasm_bindgen_test::console_log!("{text}");
    #[cfg(not(target_arch = "wasm32"))]
    {
        use std::io::Write;
        // Unlike `println`, it is not kept back.
        writeln!(std::io::stderr(), "{text}").ok();
    }
}

/// Makes tests of asynchronous functions that take a device, or nothing.
///
/// ```ignore
/// device_tests! {
///     async fn a_device_computes(gpu: &Gpu) -> Result<(), DeviceError> { ... }
///     async fn there_is_none() { ... }
/// }
/// ```
#[macro_export]
macro_rules! device_tests {
    ($($(#[$meta:meta])* async fn $name:ident($($gpu:ident: &Gpu)?) $(-> $result:ty)? $body:block)+) => {$(
        $(#[$meta])*
        #[cfg_attr(not(target_arch = "wasm32"), test)]
        #[cfg(not(target_arch = "wasm32"))]
        fn $name() {
            pollster::block_on($crate::device_tests!(@run $($gpu)?, ($($result)?), $body));
        }

        $(#[$meta])*
        #[cfg(target_arch = "wasm32")]
        #[wasm_bindgen_test::wasm_bindgen_test]
        async fn $name() {
            $crate::device_tests!(@run $($gpu)?, ($($result)?), $body).await;
        }
    )+};
    (@run , ($($result:ty)?), $body:block) => {
        async { $crate::common::harness::Outcome::check($crate::device_tests!(@of ($($result)?), $body).await) }
    };
    (@run $gpu:ident, ($($result:ty)?), $body:block) => {
        async {
            let opened = $crate::common::harness::open().await;
            let $gpu = &opened;
            $crate::common::harness::Outcome::check($crate::device_tests!(@of ($($result)?), $body).await);
        }
    };
    (@of (), $body:block) => { async { $body } };
    (@of ($result:ty), $body:block) => {
        async {
            let result: $result = async { $body }.await;
            result
        }
    };
}

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
