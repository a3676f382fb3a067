//! `cargo +nightly fuzz run shell --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::shell(data));
