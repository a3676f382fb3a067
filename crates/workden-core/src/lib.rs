//! The contract of workden: the interface of a store for an agent's files, and the rules for it.
//!
//! The crate has paths ([`VirtualPath`]), entries, errors, the [`Backend`] trait and its conveniences ([`BackendExt`]),
//! the wrapper that enforces rules ([`Guarded`]), and the requests and answers of both. It uses no I/O, no clock and no
//! environment: backends and the search engine are in `workden-files`.
//!
//! ```
//! # futures_executor::block_on(async {
//! use workden_core::{BackendExt, Expect, VirtualPath, text::Replacement};
//!
//! let files = workden_files::memory();
//! let path = VirtualPath::parse("notes/today.md")?;
//! files.write_path(&path, "- [ ] write the docs\n".into(), Expect::Absent).await?;
//! files.edit(&path, &[Replacement::once("[ ]", "[x]")]).await?;
//! assert_eq!(files.read_numbered(&path, 0, 10).await?.text, "     1\t- [x] write the docs");
//! # Ok::<(), workden_core::Error>(()) }).unwrap();
//! ```

#![forbid(unsafe_code)]

mod backend;
mod backend_ext;
mod clock;
mod entry;
mod error;
pub mod escape;
mod guard;
pub mod host_executed;
pub mod limits;
pub mod names;
mod nearest;
mod path;
mod prefix_backend;
mod refusal;
pub mod sandbox;
pub mod search;
mod setters;
mod size;
pub mod suffix;
pub mod text;
mod verdict;
mod visibility;

pub use backend::{
    Attributes, Backend, ByteRange, Changed, Content, ContentStream, Expect, FileId, FileIdentity, HostFiles, IfExists,
    Opened, Presence, Removal, Replaced, Resolved, Slice, Symlink, Written,
};
pub use backend_ext::{BackendExt, directory_entry};
pub use clock::{Clock, Deadline, SteppingClock};
pub use entry::{Entry, EntryKind, Link, NameForm, Timestamp, Version, VersionHasher};
pub use error::{Error, ErrorKind, Result};
pub use guard::{
    Access, Approval, ApprovalRequest, Approver, Audit, AuditEvent, AuditOutcome, Caller, CommandLine, Execution,
    ExecutionInput, Gate, Guarded, Op, OpenGate, TargetState,
};
pub use nearest::nearest;
pub use path::VirtualPath;
pub use prefix_backend::PrefixBackend;
pub use refusal::{Refusal, Spelling};
pub use sandbox::Sandbox;
pub use search::{Completeness, glob::RuleCase};
pub use size::{parse_size, show_size, type_size};
pub use verdict::{Judgement, Verdict};
pub use visibility::{CompiledVisibility, Layer, Rule, Rules, Sight, Visibility};

/// Names that the macros of this crate need; not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use async_trait::async_trait;
}
