//! The tools as a model uses them, over files in memory and in a real directory.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod console;
mod desk;
mod filesystem;
mod offers;
mod staleness;
