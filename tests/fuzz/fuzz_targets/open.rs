//! Any bytes as a map.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mrail_conformance::fuzz::open(data));
