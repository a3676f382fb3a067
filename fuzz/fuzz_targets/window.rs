//! `cargo +nightly fuzz run window --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workden_fuzz::window(data));
