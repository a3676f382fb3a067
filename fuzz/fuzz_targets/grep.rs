//! `cargo +nightly fuzz run grep --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::grep(data));
