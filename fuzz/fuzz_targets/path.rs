//! `cargo +nightly fuzz run path --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::path(data));
