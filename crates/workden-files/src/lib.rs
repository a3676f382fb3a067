//! The backends that store files: [`StateBackend`] in memory, [`LocalBackend`] in a host directory, and
//! [`CompositeBackend`], a mount table over any backends; with one search engine for all of them. [`toolkit`] has the
//! parts for your own backend.
//!
//! Only this crate opens the host paths of a workspace: [`open_mounts`] opens what is mounted, once, and `LocalBackend`
//! opens nothing outside its root: not through `..`, not through links, not when directories are swapped during a
//! call.
//!
//! ```
//! # futures_executor::block_on(async {
//! use workden_files::{CompositeBackend, LocalBackend, memory};
//! use workden_core::{BackendExt, Expect, VirtualPath, search::GrepRequest};
//!
//! let project = tempfile::tempdir().unwrap();
//! let files = CompositeBackend::builder()
//!     .mount("/project", LocalBackend::open(project.path())?)?
//!     .mount("/scratch", memory())?
//!     .build();
//! let notes = VirtualPath::parse("/scratch/notes.md")?;
//! files.write_path(&notes, "look into the parser\n".into(), Expect::Absent).await?;
//! let found = files.grep_path(&VirtualPath::root(), &GrepRequest::literal("parser")).await?;
//! assert_eq!(found.files[0].path, notes);
//! # Ok::<(), workden_core::Error>(()) }).unwrap();
//! ```

#![forbid(unsafe_code)]

mod blocking;
mod composite;
#[cfg(unix)]
mod local;
#[cfg(unix)]
mod open_mounts;
mod search;
mod state;
mod system_clock;
pub mod toolkit;

pub use blocking::may_block;
pub use composite::{CompositeBackend, CompositeBuilder};
#[cfg(unix)]
pub use local::{BoundFiles, Durability, LocalBackend, LocalOptions, PathOpening, disk_usage};
#[cfg(unix)]
pub use open_mounts::{Looked, OpenMount, open_mounts, shown_at};
pub use state::{StateBackend, StateDocument};
pub use system_clock::{SystemClock, memory};
