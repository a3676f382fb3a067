//! `SessionStore`: the records of sessions that no process owns, so that any process finds a session by its id.
//!
//! Invariant: however many processes open a session at a time, it has one sandbox. Dropping an [`OpenSession`] ends
//! nothing.

#[cfg(feature = "kubernetes")]
mod cluster_store;
pub(crate) mod directory;
mod directory_store;
pub(crate) mod locks;
#[cfg(feature = "kubernetes")]
mod pointer_store;
mod pruning;
mod record;

use std::{fmt, time::Duration};

use async_trait::async_trait;
#[cfg(feature = "kubernetes")]
pub use cluster_store::ClusterStore;
pub use directory_store::DirectoryStore;
#[cfg(feature = "kubernetes")]
pub use pointer_store::PointerStore;
pub use record::SessionRecord;
use workden_core::{Error, ErrorKind, Result};

use crate::{Launched, Launcher, SessionId};

/// Keeps the records of sessions, and decides between the processes that share them.
#[async_trait]
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the session of this id, and creates it if it does not exist or if its sandbox has ended. However many
    /// processes ask at a time, one sandbox is created.
    ///
    /// # Errors
    ///
    /// `Conflict` when the session exists with other options, and what the launcher reports, which leaves no record of
    /// a new session behind.
    async fn open(&self, request: OpenRequest, launcher: &dyn Launcher) -> Result<(Launched, Box<dyn OpenSession>)>;

    /// Connects to a session without using it: its idle time continues. Returns `None` when it does not run.
    ///
    /// # Errors
    ///
    /// When it has a sandbox that cannot be reached.
    async fn look(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<Option<Launched>>;

    /// Ends a session for all processes, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// The error of its end; the record stays then.
    async fn release(&self, id: &SessionId, launcher: &dyn Launcher, files: SessionFiles) -> Result<Ended>;

    /// Removes the sandbox of a session that does not answer: the next use creates one again. Another process may have
    /// replaced it already.
    ///
    /// # Errors
    ///
    /// What the launcher reports.
    async fn remove_dead(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<()>;

    /// Ends a session that has exited, cannot be used again, or has been idle for `most`. Its files stay.
    ///
    /// # Errors
    ///
    /// `TimedOut` when it does not answer, and what else fails: the session goes on then.
    async fn prune(&self, id: &SessionId, launcher: &dyn Launcher, most: Duration, doing: Pruning) -> Result<Pruned>;

    /// Removes sandboxes that do not run and have no record. Returns how many there were.
    ///
    /// # Errors
    ///
    /// What the launcher reports.
    async fn prune_unknown(&self, launcher: &dyn Launcher, doing: Pruning) -> Result<usize>;

    /// Lists the ids of all sessions that have a record, in order.
    ///
    /// # Errors
    ///
    /// When the records cannot be read.
    async fn list(&self) -> Result<Vec<SessionId>>;

    /// Ends idle sessions that no manager of this process uses. Returns them, with the time that each was idle.
    ///
    /// # Errors
    ///
    /// When the records cannot be read. A session that cannot be ended is tried again next time.
    async fn reap(&self, _most: Option<Duration>) -> Result<Vec<(SessionId, Duration)>> {
        Ok(Vec::new())
    }

    /// Keeps this many sandboxes ready, for the next sessions of any process.
    ///
    /// # Errors
    ///
    /// `Unsupported` where sandboxes cannot be assigned to a session later.
    fn keep_spares(&self, _ready: usize) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "`spares` is not supported with records in a directory")
            .hint("leave one of them out: with records in memory, a manager has spare sandboxes of its own"))
    }
}

/// A session that this process uses, which others can see. Dropping it leaves the session as it is.
#[async_trait]
pub trait OpenSession: fmt::Debug + Send + Sync {
    /// Whether this process created it or found it.
    fn opened(&self) -> Opened;

    /// Returns its record, where records are in a directory.
    fn record(&self) -> Option<&SessionRecord> {
        None
    }

    /// Ends the session if no other process uses it.
    ///
    /// # Errors
    ///
    /// The error of its end.
    async fn leave(&self, launcher: &dyn Launcher, why: Leaving) -> Result<Left>;

    /// Returns the time since its use was last recorded, where that is necessary.
    fn recorded(&self) -> Option<Duration> {
        None
    }

    /// Records that it is in use, and how long it may be idle. Returns whether it still exists: another process may
    /// have ended it.
    ///
    /// # Errors
    ///
    /// When the record cannot be written.
    async fn record_use(&self, _idle: Duration) -> Result<bool> {
        Ok(true)
    }
}

/// The requirements of a session.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Its id.
    pub id: SessionId,
    /// Its record, if the caller has one.
    pub record: Option<SessionRecord>,
    /// How long it may be idle.
    pub idle: Duration,
}

/// Why a manager leaves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It has been idle.
    Idle,
    /// The manager shuts down.
    Shutdown,
}

/// What became of a session that a manager has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It has ended.
    Ended,
    /// It goes on, for other processes.
    GoesOn,
}

/// Whether a session existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It was created.
    New,
    /// It existed.
    Existing,
}

/// What happens to the files of a session that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionFiles {
    /// They stay.
    Stay,
    /// They are removed, if they are in the session directory; a directory that the caller named always stays.
    Go,
}

/// The outcome of ending a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has ended.
    Now,
    /// It did not exist.
    NotThere,
}

/// Whether to remove or only to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// End idle sessions.
    Remove,
    /// Change nothing.
    Look,
}

/// What happened to a session; with [`Pruning::Look`], what would happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// It goes on, or does not exist.
    Stays,
    /// It had already ended.
    HadEnded,
    /// Its record could not be understood, so that it could not be used again.
    Damaged,
    /// It was idle for this long.
    Idle(Duration),
}
