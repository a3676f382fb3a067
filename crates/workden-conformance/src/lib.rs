//! The behaviour every workden backend and sandbox must show, as public functions.
//!
//! Each check is a sentence about a [`Backend`](workden_core::Backend) that starts out empty. A check either holds or
//! returns a [`Failure`] that describes the difference. [`all`] runs every check on a fresh backend and reports all
//! failures at once; [`checks`] lists them, for callers who want one test per check.
//!
//! Sandboxes also run commands: [`all_sandbox`] checks that part; see [`sandbox`].
//!
//! The suite does not cover features of only some backends: symbolic links, modes, special files, mounts. It needs no
//! particular runtime: any executor can poll it.
//!
//! ```
//! use std::sync::Arc;
//! use workden_core::SteppingClock;
//! use workden_files::StateBackend;
//!
//! futures_executor::block_on(workden_conformance::all(async || {
//!     StateBackend::new(Arc::new(SteppingClock::default()))
//! }));
//! ```
//!
//! If `/` of a backend is not empty, [`PrefixBackend`] shows one of its directories as `/`.
//!
//! A backend on disk gets a new directory for each call of the factory; the parent directory belongs to the caller's
//! test, which removes it after `all` has returned.

#![forbid(unsafe_code)]

mod check;
mod suite;
mod typed;
mod verdict;

pub mod changing;
pub mod concurrency;
pub mod confusions;
pub mod copying;
pub mod directories;
pub mod editing;
pub mod entries;
pub mod globbing;
pub mod grep_bounds;
pub mod grep_patterns;
pub mod grep_places;
pub mod hashlines;
pub mod ignoring;
pub mod odd_names;
pub mod reading;
pub mod removing;
pub mod renaming;
pub mod sandbox;
pub mod streaming;
pub mod text_windows;
pub mod views;
pub mod visibility;
pub mod writing;

pub use check::{Check, CheckFuture};
pub use sandbox::{SandboxCheck, SandboxReport, all_sandbox, python_checks, report_sandbox, sandbox_checks};
pub use suite::{Report, all, checks, report};
pub use verdict::{Failure, Outcome};
pub use workden_core::PrefixBackend;
