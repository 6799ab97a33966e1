//! Maps and contexts against a table of every prefix.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mrail_conformance::fuzz::locate(data));
