//! Fuzz targets: each takes any bytes, and panics if workden breaks a promise.
//!
//! A target compares the engine with a slow reference implementation if there is one (shared with the property tests),
//! checks its invariants, and limits the time for a small input. The driver (`main.rs`) runs the targets on the stable
//! compiler; `fuzz_targets/` passes the same functions to cargo-fuzz.

#![forbid(unsafe_code)]

pub mod draw;
pub mod mutate;
#[path = "../../crates/workden-files/tests/properties/slow/mod.rs"]
mod slow;
#[expect(clippy::expect_used, reason = "a panic is how a target reports a broken promise")]
mod targets;

use std::time::{Duration, Instant};

pub use targets::{
    client::client, document::document, edit::edit, glob::glob, grep::grep, hashline::hashline, path::path,
    shell::shell, window::window,
};

/// A target by name, with inputs to start from.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Runs it on an input; panics when a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs that reach deep into the code.
    pub seeds: &'static [&'static [u8]],
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "path", run: path, seeds: targets::path::SEEDS },
    Target { name: "edit", run: edit, seeds: targets::edit::SEEDS },
    Target { name: "hashline", run: hashline, seeds: targets::hashline::SEEDS },
    Target { name: "glob", run: glob, seeds: targets::glob::SEEDS },
    Target { name: "window", run: window, seeds: targets::window::SEEDS },
    Target { name: "document", run: document, seeds: targets::document::SEEDS },
    Target { name: "grep", run: grep, seeds: targets::grep::SEEDS },
    Target { name: "shell", run: shell, seeds: targets::shell::SEEDS },
    Target { name: "client", run: client, seeds: targets::client::SEEDS },
];

/// The time limit of one input; a debug build has no tight limit, since the machine may be busy.
const MOST_TIME: Duration = if cfg!(debug_assertions) { Duration::from_secs(60) } else { Duration::from_secs(1) };

/// Runs a target's body, and again if it was slow: a busy machine is slow once, a bad input always.
fn in_time(body: impl Fn()) {
    let timed = || {
        let started = Instant::now();
        body();
        started.elapsed()
    };
    if timed() > MOST_TIME {
        let again = timed();
        assert!(again <= MOST_TIME, "took {again:?}, twice");
    }
}

/// Checks that an error is a sentence, not a copy of the input.
fn assert_short(error: &workden_core::Error) {
    let text = error.to_string();
    assert!(text.len() < 5_000, "an error of {} bytes: {}...", text.len(), text.chars().take(200).collect::<String>());
}
