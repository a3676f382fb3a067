//! The tools as a model uses them, over files in memory and in a real directory.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends")]

mod commands;
mod console;
mod desk;
mod filesystem;
mod media;
mod offers;
mod pdf_text;
mod staleness;
