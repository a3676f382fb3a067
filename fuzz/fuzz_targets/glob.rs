//! `cargo +nightly fuzz run glob --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::glob(data));
