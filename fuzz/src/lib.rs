//! Fuzz targets: each takes any bytes, and panics where workden breaks a promise.
//!
//! A target holds the engine to a slow second opinion where there is one (shared with the property
//! tests), to its invariants everywhere, and to a time that no small input may exceed. The driver
//! (`main.rs`) runs them on the stable compiler; `fuzz_targets/` hands the same functions to
//! cargo-fuzz.

#![forbid(unsafe_code)]

pub mod draw;
pub mod mutate;
#[path = "../../crates/workden-files/tests/properties/slow/mod.rs"]
mod slow;
#[expect(clippy::expect_used, reason = "a panic is how a target reports a broken promise")]
mod targets;

use std::time::{Duration, Instant};

pub use targets::{document, edit, glob, grep, hashline, path, shell, window};

/// A target by name, with inputs to start from.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Runs it on an input; panics when a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs that reach far.
    pub seeds: &'static [&'static [u8]],
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "path", run: path, seeds: targets::PATH_SEEDS },
    Target { name: "edit", run: edit, seeds: targets::EDIT_SEEDS },
    Target { name: "hashline", run: hashline, seeds: targets::HASHLINE_SEEDS },
    Target { name: "glob", run: glob, seeds: targets::GLOB_SEEDS },
    Target { name: "window", run: window, seeds: targets::WINDOW_SEEDS },
    Target { name: "document", run: document, seeds: targets::DOCUMENT_SEEDS },
    Target { name: "grep", run: grep, seeds: targets::GREP_SEEDS },
    Target { name: "shell", run: shell, seeds: targets::SHELL_SEEDS },
];

/// The longest time for one input; a build with checks has no tight limit, since the machine may be busy.
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

/// An error is a sentence, not a copy of the input.
fn assert_short(error: &workden_core::Error) {
    let text = error.to_string();
    assert!(text.len() < 5_000, "an error of {} bytes: {}...", text.len(), text.chars().take(200).collect::<String>());
}
