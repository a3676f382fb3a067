//! The exec part of the suite: the behaviour every workden sandbox must show besides that of a
//! backend.
//!
//! Each check is a sentence about a [`Sandbox`](workden_core::sandbox::Sandbox) that was just
//! made; [`all_sandbox`] runs every one of them on a fresh one and stops it afterwards. The files of
//! a sandbox are checked by [`all`](crate::all) with a [`PrefixBackend`](crate::PrefixBackend) of its directory.
//!
//! Commands need `sh` and what coreutils or busybox have, `setsid` and `/proc` included; those of
//! [`python_checks`] need `python3`. Processes that must be gone are looked for from inside, by another
//! command. Nothing here needs a runtime but what the sandbox itself needs.

mod calls;
mod check;
mod running;

pub mod directories;
pub mod environments;
pub mod executing;
pub mod inheritance;
pub mod job_output;
pub mod jobs;
pub mod orphans;
pub mod output_bounds;
pub mod servers;
pub mod shared_files;
pub mod signals;
pub mod stopping;
pub mod streams;
pub mod terminals;

pub use check::SandboxCheck;
pub use running::{SandboxReport, all_sandbox, python_checks, report_sandbox, sandbox_checks};
