//! The exec part of the suite: the behaviour that every workden sandbox must show besides that of a backend.
//!
//! Each check is a sentence about a new [`Sandbox`](workden_core::sandbox::Sandbox); [`all_sandbox`] runs every check
//! on a fresh sandbox and stops it afterwards. The files of a sandbox are checked by [`all`](crate::all) with a
//! [`PrefixBackend`](crate::PrefixBackend) of its directory.
//!
//! The checks need `sh`, the programs of coreutils or busybox, `setsid` and `/proc` in the sandbox; [`python_checks`]
//! need `python3`. Another command in the sandbox looks for processes that should have ended. The suite needs no
//! runtime besides the sandbox's.

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
pub mod ports;
pub mod servers;
pub mod shared_files;
pub mod signals;
pub mod stopping;
pub mod streams;
pub mod terminals;
pub mod watching;

pub use check::SandboxCheck;
pub use running::{SandboxReport, all_sandbox, python_checks, report_sandbox, sandbox_checks};
