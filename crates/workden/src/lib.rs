//! A place for an AI agent to work: files, and commands in a sandbox, under a policy that holds.
//!
//! [`Workspace`] is what a program builds and an agent works in. This crate puts the others together
//! and decides nothing itself: files come from `workden-files`, decisions from `workden-policy`, and
//! what both agree on from `workden-core`.
//!
//! ```
//! use workden::{Approvals, Preset, Workspace};
//!
//! # let project = tempfile::tempdir().unwrap();
//! let workspace = Workspace::builder()
//!     .root(project.path())
//!     .preset(Preset::Default)
//!     .approvals(Approvals::approve_all())
//!     .build_blocking()?;
//!
//! workspace.write("notes.md", "remember the milk\n")?; // asked about, and approved
//! assert!(workspace.exists("notes.md"));
//! let refused = workspace.write(".env", "KEY=1").unwrap_err(); // denied, and nobody is asked
//! assert!(refused.to_string().contains("Protect sensitive files"));
//! # Ok::<(), workden::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod blocking;
mod builder;
mod config;
mod denied_files;
#[cfg(doctest)]
mod doctests;
mod fixed_names;
mod judging;
mod masks;
mod read_only;
mod running;
mod stack;
mod toolset;
mod workspace;

pub use builder::WorkspaceBuilder;
#[cfg(feature = "schema")]
pub use config::config_schema;
pub use config::{ApprovalMode, ApprovalsConfig, Config, LimitsConfig, MountConfig};
pub use denied_files::{DeniedFiles, denied_files};
pub use fixed_names::FixedNames;
pub use masks::{MOST_MASKS, masks};
pub use workden_core as core;
pub use workden_core::{Backend, BackendExt, Error, ErrorKind, Refusal, Result, Verdict, VirtualPath};
pub use workden_files as files;
pub use workden_policy as policy;
pub use workden_policy::{
    Action, Derive, Operation, PathScope, Policy, Preset, Ruleset,
    approvals::{Approvals, Decision, Scope},
};
pub use workden_tools as tools;
pub use workspace::{Commands, Files, Workspace};
