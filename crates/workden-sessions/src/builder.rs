//! Builds a session manager.

use std::{path::PathBuf, sync::Arc, time::Duration};

use workden_core::Result;

use crate::{
    Adopt, Launcher, SessionManager, SessionStore, recording,
    settings::{IdleClock, Settings},
    spares,
    table::Shared,
    workspaces::Workspaces,
};
use workden_sandboxes::runtimes::RuntimeConfig;

/// Builds a [`SessionManager`].
#[must_use = "nothing happens before `start`"]
pub struct SessionManagerBuilder {
    factory: Arc<dyn Launcher>,
    settings: Settings,
    adopt: Option<Adopt>,
}

impl SessionManagerBuilder {
    pub(super) fn new(factory: Arc<dyn Launcher>) -> Self {
        Self { factory, settings: Settings::default(), adopt: None }
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

    /// Keeps the records of sessions in a directory or a cluster, so that another process finds a session by its id. By
    /// default the records are in memory, and the sessions belong to this manager.
    pub fn store(mut self, store: impl SessionStore) -> Self {
        self.settings.store = Some(Arc::new(store));
        self
    }

    /// Creates this many sandboxes in advance. They serve sessions that have the default runtime and whose files are
    /// not kept, because a sandbox's mounts are fixed when it is created. Managers that keep their records in a cluster
    /// share them: there are this many in all.
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
    /// When the search for sandboxes of an earlier manager fails, and `Unsupported` for spare sandboxes with records in
    /// a directory.
    pub async fn start(self) -> Result<SessionManager> {
        let mut wants_spares = self.settings.spares > 0 && self.settings.workspaces.is_none();
        let store = self.settings.store.clone();
        if let Some(store) = store.as_ref().filter(|_| wants_spares) {
            store.keep_spares(self.settings.spares)?;
            wants_spares = false;
        }
        let manager = SessionManager::new(Shared::new(self.factory, self.settings));
        if let Some(adopt) = self.adopt {
            manager.adopt_or_remove(adopt).await?;
        }
        if store.is_some() {
            tokio::spawn(recording::run(manager.share()));
        }
        // Only after the adoption, which would take a new spare sandbox for a left-over.
        if wants_spares {
            tokio::spawn(spares::keep_filled(manager.share()));
        }
        Ok(manager)
    }
}
