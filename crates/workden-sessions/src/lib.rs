//! Sessions: named sandboxes that are created once, reused, and ended when they are idle.
//!
//! A [`Launcher`] creates, finds and removes the sandboxes; a [`SessionManager`] decides when a session starts and when
//! it ends.
//!
//! Invariant: an id has one slot in the table, and a slot has one owner at a time: the task that starts the session, or
//! the one that ends it. No lock is held while a task waits for a sandbox or a launcher.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::{KeeperProgram, LinuxLauncher, LinuxSandbox};
//! use workden_sessions::{Adopt, SessionManager};
//!
//! let template = LinuxSandbox::builder().keeper(KeeperProgram::at("/usr/bin/workden"));
//! let sessions = SessionManager::builder(LinuxLauncher::new(template, "/run/user/1000/workden"))
//!     .workspace_root("/srv/sessions")
//!     .max_sessions(100)
//!     .adopt(Adopt::Running)
//!     .start()
//!     .await?;
//! let session = sessions.get_or_create(&"user-42".parse()?, None).await?;
//! session.execute(&ExecuteRequest::shell("echo hello > greeting")).await?;
//! sessions.shutdown(std::time::Duration::from_secs(10)).await;
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]

mod adoption;
mod builder;
mod creation;
mod ending;
mod events;
mod isolated;
mod listing;
mod live;
mod manager;
mod reaper;
mod recording;
mod removal;
mod session;
mod settings;
mod shutdown;
mod spares;
mod starting;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod workspaces;

/// Files and locks in the directory of a user, which no other user may have written.
pub mod state_files {
    pub use crate::{
        removal::remove_tree,
        store::{
            directory::{check, is_mappable, prepare, read, unusable, write},
            locks::Lock,
        },
    };
}

pub use adoption::{Adopt, AdoptReport};
pub use builder::SessionManagerBuilder;
pub use events::{SessionEvent, SessionEventKind};
pub use listing::{SessionInfo, SessionState};
pub use manager::{SessionManager, SessionOptions};
pub use session::Session;
pub use settings::IdleClock;
pub use shutdown::ShutdownReport;
#[cfg(feature = "kubernetes")]
pub use store::{ClusterStore, PointerStore};
pub use store::{
    DirectoryStore, Ended, Leaving, Left, OpenRequest, OpenSession, Opened, Pruned, Pruning, SessionFiles,
    SessionRecord, SessionStore,
};
pub use workden_sandboxes::{ExistingSandbox, LaunchRequest, Launched, Launcher, SessionId};
pub use workspaces::Workspaces;
