//! `cargo +nightly fuzz run hashline --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::hashline(data));
