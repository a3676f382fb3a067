//! Workspaces for AI agents: files, and commands in a sandbox, under an enforced policy.
//!
//! A program builds a [`Workspace`], and an agent works in it. One builder combines directories, policy, approvals, and
//! the sandbox of its commands. Protection is built in: files that the policy denies are masked in the sandbox, and
//! files that git and other programs would execute outside of it cannot be changed.
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
//! let refused = workspace.write(".env", "KEY=1").unwrap_err(); // denied without a question
//! assert!(refused.to_string().contains("Protect sensitive files"));
//! # Ok::<(), workden::Error>(())
//! ```

#![forbid(unsafe_code)]

mod assembly;
pub mod blocking;
mod builder;
mod config;
mod denied_files;
mod directories;
#[cfg(doctest)]
mod doctests;
#[cfg(any(feature = "daytona", feature = "kubernetes"))]
mod elsewhere;
#[cfg(feature = "linux")]
mod init;
mod judging;
mod layers;
mod masks;
#[cfg(feature = "linux")]
mod packages;
mod protected_names;
mod read_only;
mod running;
mod sandbox;
mod sandbox_masks;
mod stack;
mod toolset;
mod user_sessions;
mod workspace;

pub use builder::WorkspaceBuilder;
#[cfg(feature = "schema")]
pub use config::config_schema;
pub use config::{ApprovalMode, ApprovalsConfig, Config, LimitsConfig, MountConfig, SetupConfig};
pub use denied_files::{DeniedFiles, denied_files};
#[cfg(feature = "linux")]
pub use init::init;
pub use masks::{MOST_MASKS, masks};
#[cfg(feature = "linux")]
pub use packages::{
    Cleared, KeptSandbox, Packages, PackagesInUse, ProjectPath, ProjectToolchains, SetupRun, SetupStart, SetupState,
};
pub use protected_names::ProtectedNames;
pub use stack::{Commands, Files};
pub use user_sessions::{
    ClusterSpec, DaytonaSpec, SessionKind, SessionManagers, SessionPlace, SessionSpec, UserSessions, runtime_named,
};
pub use workden_core as core;
pub use workden_core::sandbox::{Level, MountAccess, Network};
pub use workden_core::{Backend, BackendExt, Error, ErrorKind, Refusal, Result, Sandbox, Verdict, VirtualPath};
pub use workden_files as files;
pub use workden_policy as policy;
pub use workden_policy::{
    Action, Derive, Operation, PathScope, Policy, Preset, Ruleset,
    approvals::{Approvals, Decision, Scope},
};
pub use workden_sandboxes as sandboxes;
pub use workden_sandboxes::{GitFiles, HostEnvironment, KeeperProgram, LazySandbox, SandboxOptions, SessionId};
pub use workden_sessions as sessions;
pub use workden_sessions::{Session, SessionManager};
pub use workden_tools as tools;
pub use workden_wire::RemoteSandbox;
pub use workspace::Workspace;
