//! Settings of a session manager.

use std::{path::PathBuf, sync::Arc, time::Duration};

use workden_core::Result;

use crate::{Adopt, DirectoryStore, Launcher, SessionManager, spares, table::Shared, workspaces::Workspaces};
use workden_sandboxes::runtimes::RuntimeConfig;

/// The default idle limit of a session.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a session may take to start: an image may have to be fetched.
const START: Duration = Duration::from_secs(600);
/// How long a session may take to end.
const STOP: Duration = Duration::from_secs(30);
/// How many events a listener may lag behind.
const EVENTS: usize = 256;
/// How long a sandbox may take to say that it is alive.
const ANSWER: Duration = Duration::from_secs(5);
/// How long such an answer counts.
const TRUST: Duration = Duration::from_secs(1);

/// The clock that says how long a session has been idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleClock {
    /// The manager's: sandboxes are used through their sessions.
    #[default]
    Manager,
    /// The sandbox's, in [`Usage::idle`](workden_core::sandbox::Usage::idle): it is also used past its session.
    Sandbox,
}

/// Settings that apply to all sessions of a manager.
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
    pub(super) answer_deadline: Duration,
    pub(super) trust: Duration,
    pub(super) idle_clock: IdleClock,
}

/// Builds a [`SessionManager`].
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
            answer_deadline: ANSWER,
            trust: TRUST,
            idle_clock: IdleClock::default(),
        };
        Self { factory, settings, adopt: None }
    }

    /// Sets the runtime of sessions that do not name one.
    pub fn default_runtime(mut self, runtime: RuntimeConfig) -> Self {
        self.settings.default_runtime = Some(runtime);
        self
    }

    /// Sets how long a session may be idle before it is ended, unless its options say otherwise; the default is an
    /// hour.
    pub fn idle(mut self, most: Duration) -> Self {
        self.settings.idle = most;
        self
    }

    /// Sets the maximum number of sessions. Sessions that are starting or ending count.
    pub fn max_sessions(mut self, most: usize) -> Self {
        self.settings.max_sessions = Some(most);
        self
    }

    /// Keeps the files of each session at `{root}/{id}/workspace` after the session ends. By default the files end with
    /// the session.
    pub fn workspace_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.settings.workspaces = Some(Workspaces::new(root.into()));
        self
    }

    /// Keeps the records of sessions in a directory, so that a later process finds a session by its id. By default the
    /// records are in memory, and the sessions belong to this manager.
    pub fn store(mut self, store: DirectoryStore) -> Self {
        self.settings.store = Some(store);
        self
    }

    /// Creates this many sandboxes in advance. They serve sessions that have the default runtime and whose files are
    /// not kept, because a sandbox's mounts are fixed when it is created.
    pub fn spares(mut self, ready: usize) -> Self {
        self.settings.spares = ready;
        self
    }

    /// Sets how long a session may take to start; the default is ten minutes, enough to fetch an image.
    pub fn start_deadline(mut self, most: Duration) -> Self {
        self.settings.start_deadline = most;
        self
    }

    /// Sets how long a session may take to stop, and its sandbox to be removed; the default is 30 seconds each.
    pub fn stop_deadline(mut self, most: Duration) -> Self {
        self.settings.stop_deadline = most;
        self
    }

    /// Sets how many events a listener may lag behind before it misses the oldest; the default is 256.
    pub fn events(mut self, capacity: usize) -> Self {
        self.settings.events = capacity;
        self
    }

    /// Sets how long a sandbox may take to say that it is alive; the default is five seconds. One that takes longer is
    /// replaced.
    pub fn answer_deadline(mut self, most: Duration) -> Self {
        self.settings.answer_deadline = most;
        self
    }

    /// Sets how long such an answer counts; the default is a second. With zero, every request for a session asks its
    /// sandbox.
    pub fn trust(mut self, time: Duration) -> Self {
        self.settings.trust = time;
        self
    }

    /// Sets the clock of idle sessions; the default is the manager's.
    pub fn idle_clock(mut self, clock: IdleClock) -> Self {
        self.settings.idle_clock = clock;
        self
    }

    /// Sets what `start` does with the launcher's sandboxes of an earlier manager. By default it leaves them alone, and
    /// you can call [`SessionManager::adopt_or_remove`] later.
    pub fn adopt(mut self, adopt: Adopt) -> Self {
        self.adopt = Some(adopt);
        self
    }

    /// Starts the manager in the current runtime.
    ///
    /// # Errors
    ///
    /// When the search for sandboxes of an earlier manager fails.
    pub async fn start(self) -> Result<SessionManager> {
        let wants_spares =
            self.settings.spares > 0 && self.settings.workspaces.is_none() && self.settings.store.is_none();
        let manager = SessionManager::new(Shared::new(self.factory, self.settings));
        if let Some(adopt) = self.adopt {
            manager.adopt_or_remove(adopt).await?;
        }
        // Only after the adoption, which would take a new spare sandbox for a left-over.
        if wants_spares {
            tokio::spawn(spares::keep_filled(manager.share()));
        }
        Ok(manager)
    }
}
