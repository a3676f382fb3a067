//! What a manager of sessions is told before it begins.

use std::{path::PathBuf, sync::Arc, time::Duration};

use workden_core::Result;

use crate::{Adopt, DirectoryStore, Launcher, SessionManager, spares, table::Shared, workspaces::Workspaces};
use workden_sandboxes::runtimes::RuntimeConfig;

/// How long a session may be idle, when nothing is said.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a session may take to start: an image may have to be fetched.
const START: Duration = Duration::from_secs(600);
/// How long it may take to end.
const STOP: Duration = Duration::from_secs(30);
/// Events that a listener may be behind.
const EVENTS: usize = 256;

/// What holds for all sessions of a manager.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) default_runtime: Option<RuntimeConfig>,
    pub(super) idle: Duration,
    pub(super) max_sessions: Option<usize>,
    pub(super) workspaces: Option<Workspaces>,
    pub(super) store: Option<DirectoryStore>,
    pub(super) spares: usize,
    pub(super) start_deadline: Duration,
    pub(super) stop_deadline: Duration,
    pub(super) events: usize,
}

/// What a [`SessionManager`] is to do.
#[must_use = "nothing happens before `start`"]
pub struct SessionManagerBuilder {
    factory: Arc<dyn Launcher>,
    settings: Settings,
    adopt: Option<Adopt>,
}

impl SessionManagerBuilder {
    pub(super) fn new(factory: Arc<dyn Launcher>) -> Self {
        let settings = Settings {
            default_runtime: None,
            idle: IDLE,
            max_sessions: None,
            workspaces: None,
            store: None,
            spares: 0,
            start_deadline: START,
            stop_deadline: STOP,
            events: EVENTS,
        };
        Self { factory, settings, adopt: None }
    }

    /// What a session has installed when nobody says anything else.
    pub fn default_runtime(mut self, runtime: RuntimeConfig) -> Self {
        self.settings.default_runtime = Some(runtime);
        self
    }

    /// How long a session may be idle before it is ended, unless it is told something else; an hour.
    pub fn idle(mut self, most: Duration) -> Self {
        self.settings.idle = most;
        self
    }

    /// The most sessions at a time: those that start and those that end count.
    pub fn max_sessions(mut self, most: usize) -> Self {
        self.settings.max_sessions = Some(most);
        self
    }

    /// Keeps the files of each session at `{root}/{id}/workspace`, across its ends and new beginnings. Without
    /// it they end with the session.
    pub fn workspace_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.settings.workspaces = Some(Workspaces::new(root.into()));
        self
    }

    /// Keeps the records of sessions in a directory, for processes that come and go: a session that another process
    /// made is found again by its id. By default records are in memory, and sessions belong to this manager.
    pub fn store(mut self, store: DirectoryStore) -> Self {
        self.settings.store = Some(store);
        self
    }

    /// So many sandboxes are made before anybody asks for them. They are for sessions of the default runtime
    /// whose files nobody keeps: what is mounted into a sandbox is so when it is made.
    pub fn spares(mut self, ready: usize) -> Self {
        self.settings.spares = ready;
        self
    }

    /// How long a session may take to start; ten minutes, in which an image can be fetched.
    pub fn start_deadline(mut self, most: Duration) -> Self {
        self.settings.start_deadline = most;
        self
    }

    /// How long a session may take to stop, and its sandbox to be removed; 30 seconds each.
    pub fn stop_deadline(mut self, most: Duration) -> Self {
        self.settings.stop_deadline = most;
        self
    }

    /// How many events a listener may be behind before it misses the oldest; 256.
    pub fn events(mut self, capacity: usize) -> Self {
        self.settings.events = capacity;
        self
    }

    /// What is done at the start with the factory's sandboxes from before. Without it they are left alone, and
    /// [`SessionManager::adopt_or_remove`] does it later.
    pub fn adopt(mut self, adopt: Adopt) -> Self {
        self.adopt = Some(adopt);
        self
    }

    /// Begins, in the current runtime.
    ///
    /// # Errors
    ///
    /// When sandboxes from before are to be looked for, and that fails.
    pub async fn start(self) -> Result<SessionManager> {
        let wants_spares =
            self.settings.spares > 0 && self.settings.workspaces.is_none() && self.settings.store.is_none();
        let manager = SessionManager::new(Shared::new(self.factory, self.settings));
        if let Some(adopt) = self.adopt {
            manager.adopt_or_remove(adopt).await?;
        }
        // After that: a spare sandbox of now is not one from before.
        if wants_spares {
            tokio::spawn(spares::keep_filled(manager.share()));
        }
        Ok(manager)
    }
}
