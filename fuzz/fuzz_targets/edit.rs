//! `cargo +nightly fuzz run edit --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::edit(data));
