//! `SessionManager`: creates, reuses and ends sessions by id.

use std::{
    fmt,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{broadcast, watch},
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result, sandbox::Usage};

use crate::{
    Adopt, AdoptReport, Ended, Launcher, Pruned, Pruning, Session, SessionEvent, SessionEventKind, SessionFiles,
    SessionId, SessionInfo, SessionManagerBuilder, SessionRecord, SessionStore, ShutdownReport, adoption, ending,
    listing,
    live::{End, Live},
    reaper, recording, shutdown, starting,
    table::{Gone, Installed, Phase, Shared, Slot, Tenure},
};
use workden_sandboxes::runtimes::RuntimeConfig;

/// Manages sessions by id: creates each once, however many callers ask for it, and ends it when it is idle.
///
/// Dropping it creates no new sessions and waits for nothing. Sandboxes that end with their owner end then; those with
/// a lease live on until it expires, and can be adopted.
pub struct SessionManager {
    shared: Arc<Shared>,
}

/// Options of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionOptions {
    /// Its runtime; by default the manager's.
    pub runtime: Option<RuntimeConfig>,
    /// How long it may be idle; by default as the manager says. For an existing session, sets a new limit.
    pub idle: Option<Duration>,
    /// Its record, where records are in a directory; an existing session must fit it.
    pub record: Option<SessionRecord>,
}

/// The next step for a caller that asks for a session.
enum Next {
    Await(watch::Receiver<Option<Result<Arc<Live>>>>),
    Check(Arc<Live>),
    AwaitEnd(Gone),
}

impl SessionManager {
    /// Returns a builder of a manager for the sandboxes of this launcher.
    pub fn builder(factory: impl Launcher) -> SessionManagerBuilder {
        SessionManagerBuilder::new(Arc::new(factory))
    }

    pub(super) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn share(&self) -> std::sync::Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// Returns the session of this id. Creates it if it does not exist, or if its sandbox is dead.
    ///
    /// # Behavior
    ///
    /// - However many callers ask at a time, one sandbox is created. All get the same result, also a failure; a later
    ///   caller tries again. The creation continues when the first caller goes away.
    /// - A caller waits only for the session that it asks for.
    /// - A session that is being ended is waited for, and then created again.
    ///
    /// # Errors
    ///
    /// What the launcher reports; `Conflict` when the session has a different runtime or does not fit the record, `Busy` when the limit of
    /// sessions is reached, `TimedOut` when it does not start in time, `Gone` after a shutdown, or when it was released
    /// while it started.
    pub async fn get_or_create(&self, id: &SessionId, runtime: Option<RuntimeConfig>) -> Result<Session> {
        self.get_or_create_with(id, SessionOptions { runtime, ..SessionOptions::default() }).await
    }

    /// Does the same with options.
    ///
    /// # Errors
    ///
    /// As [`get_or_create`](Self::get_or_create).
    pub async fn get_or_create_with(&self, id: &SessionId, wanted: SessionOptions) -> Result<Session> {
        loop {
            match self.next(id, &wanted)? {
                Next::Await(mut outcome) => {
                    let told = outcome.wait_for(Option::is_some).await;
                    let live = match told.ok().and_then(|told| told.clone()) {
                        Some(told) => told?,
                        None => return Err(Error::new(ErrorKind::Gone, format!("starting the session `{id}` failed"))),
                    };
                    check_record(&live, &wanted)?;
                    // It may have ended meanwhile.
                    if live.touch(wanted.idle).is_ok() {
                        return Ok(Session::new(live));
                    }
                }
                Next::Check(live) => {
                    check_record(&live, &wanted)?;
                    if self.is_alive(&live).await
                        && live.touch(wanted.idle).is_ok()
                        && recording::record_due(&live).await
                    {
                        self.shared.listeners.tell(Some(id), SessionEventKind::Reused);
                        return Ok(Session::new(live));
                    }
                    if let Some(tenure) = self.shared.take_over(&live, |live| live.end(End::Dead)) {
                        tokio::spawn(ending::end(tenure, live, End::Dead));
                    }
                }
                // The caller that ended the previous session gets its error.
                Next::AwaitEnd(gone) => drop(gone.wait().await),
            }
        }
    }

    fn next(&self, id: &SessionId, wanted: &SessionOptions) -> Result<Next> {
        let settings = &self.shared.settings;
        let mut table = self.shared.table();
        if table.closed {
            return Err(Error::new(
                ErrorKind::Gone,
                format!("cannot open the session `{id}`: the manager was shut down"),
            ));
        }
        if let Some(slot) = table.slots.get(id) {
            return match &slot.phase {
                Phase::Stopping | Phase::Starting { unwanted: Some(_), .. } => Ok(Next::AwaitEnd(slot.gone())),
                Phase::Starting { outcome, unwanted: None } => {
                    check_runtime(id, &slot.installed, wanted).map(|()| Next::Await(outcome.clone()))
                }
                Phase::Ready(live) => {
                    check_runtime(id, &slot.installed, wanted).map(|()| Next::Check(Arc::clone(live)))
                }
            };
        }
        if let Some(most) = settings.max_sessions.filter(|most| table.slots.len() >= *most) {
            let why = format!("cannot open the session `{id}`: the limit of {most} sessions is reached");
            return Err(Error::new(ErrorKind::Busy, why)
                .hint("release a session, wait until an idle one has ended, or raise `max_sessions`"));
        }
        let runtime = wanted.runtime.clone().or_else(|| settings.default_runtime.clone());
        let (slot, tell) = Slot::starting(Installed::Known(runtime.clone().map(Box::new)));
        let outcome = tell.subscribe();
        table.slots.insert(id.clone(), slot);
        drop(table);
        let idle = wanted.idle.unwrap_or(settings.idle);
        let (tenure, record) = (Tenure::new(&self.shared, id), wanted.record.clone());
        tokio::spawn(starting::start(tenure, starting::Wish { runtime, idle, record }, tell));
        Ok(Next::Await(outcome))
    }

    async fn is_alive(&self, live: &Arc<Live>) -> bool {
        if live.answered_within(self.shared.settings.trust) {
            return true;
        }
        let asked = timeout(self.shared.settings.answer_deadline, live.placed.sandbox.usage()).await;
        asked.is_ok_and(|answer| live.told(answer).is_ok())
    }

    /// Ends a session and what runs in it, and waits until it has ended. Files that are kept for it stay. Returns
    /// whether there was a session to end.
    ///
    /// # Errors
    ///
    /// The error of its end. If the launcher could not remove the sandbox, the session stays and can be released again.
    pub async fn release(&self, id: &SessionId) -> Result<bool> {
        let Some((gone, first)) = ending::order(&self.shared, id, End::Released) else {
            // Another process may have created it.
            return self.release_record(id, SessionFiles::Stay).await;
        };
        let ended = gone.wait().await;
        // Only the first caller has ended it.
        if first { ended.map(|()| true) } else { Ok(false) }
    }

    /// Does the same, and removes the files that are kept for it.
    ///
    /// # Errors
    ///
    /// As [`release`](Self::release), and when the files cannot be removed.
    pub async fn release_with_files(&self, id: &SessionId) -> Result<bool> {
        let released = self.release(id).await?;
        match &self.shared.settings.store {
            Some(_) => Ok(self.release_record(id, SessionFiles::Go).await? || released),
            None => Ok(self.purge(id).await? || released),
        }
    }

    async fn release_record(&self, id: &SessionId, files: SessionFiles) -> Result<bool> {
        let Some(store) = &self.shared.settings.store else { return Ok(false) };
        Ok(store.release(id, self.shared.factory.as_ref(), files).await? == Ended::Now)
    }

    /// Checks that the launcher can list its sandboxes: its daemon may not answer.
    ///
    /// # Errors
    ///
    /// What the launcher reports.
    pub async fn check(&self) -> Result<()> {
        self.shared.factory.find().await.map(drop)
    }

    /// Returns the usage of a session, even of another process; `None` when it does not run. Its idle time continues.
    ///
    /// # Errors
    ///
    /// When its sandbox cannot be reached; `Unsupported` without a store.
    pub async fn look(&self, id: &SessionId) -> Result<Option<Usage>> {
        match self.store()?.look(id, self.shared.factory.as_ref()).await? {
            Some(found) => found.sandbox.usage().await.map(Some),
            None => Ok(None),
        }
    }

    /// Ends a session of the store that has exited, cannot be used again, or has been idle for `most`. Its files stay.
    /// A session that a process creates, ends or uses at that moment is left alone.
    ///
    /// # Errors
    ///
    /// `TimedOut` when it does not answer, and what else fails: the session goes on then. `Unsupported` without a
    /// store.
    pub async fn prune(&self, id: &SessionId, most: Duration, doing: Pruning) -> Result<Pruned> {
        self.store()?.prune(id, self.shared.factory.as_ref(), most, doing).await
    }

    /// Removes sandboxes that do not run and that no record of the store names. Returns how many there were.
    ///
    /// # Errors
    ///
    /// What the launcher reports; `Unsupported` without a store.
    pub async fn prune_unknown(&self, doing: Pruning) -> Result<usize> {
        self.store()?.prune_unknown(self.shared.factory.as_ref(), doing).await
    }

    /// Lists the ids of all sessions of the store, of all processes.
    ///
    /// # Errors
    ///
    /// When the records cannot be read; `Unsupported` without a store.
    pub async fn list_stored(&self) -> Result<Vec<SessionId>> {
        self.store()?.list().await
    }

    fn store(&self) -> Result<&dyn SessionStore> {
        self.shared.settings.store.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "the records of these sessions are in memory")
                .hint("keep them in a directory: `.store(DirectoryStore::at(..))`")
        })
    }

    /// Ends the sessions that have been idle for longer than their limit, or than `most`. Returns how many.
    ///
    /// A session is in use while a call is in progress, a process runs whose output is read, a background job runs, or
    /// another process has opened it.
    pub async fn cleanup_idle(&self, most: Option<Duration>) -> usize {
        reaper::reap(&self.shared, |_| most, most).await
    }

    /// Does the same with a limit for each session; `None` is the session's own.
    pub async fn cleanup_idle_by(&self, most: impl Fn(&SessionId) -> Option<Duration> + Send) -> usize {
        reaper::reap(&self.shared, most, None).await
    }

    /// Ends idle sessions at this interval until [`stop_reaper`](Self::stop_reaper). A second call sets a new interval.
    pub fn start_reaper(&self, interval: Duration) {
        let task = tokio::spawn(reaper::run(self.share(), interval));
        let mut reaper = self.shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = reaper.replace(task.abort_handle()) {
            before.abort();
        }
    }

    /// Stops ending idle sessions. Sessions that are being ended still end.
    pub fn stop_reaper(&self) {
        let mut reaper = self.shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = reaper.take() {
            task.abort();
        }
    }

    /// Ends all sessions and spare sandboxes concurrently, and waits until the deadline. No session is created after
    /// it. What takes longer continues to end. A session of the store that another process uses goes on.
    pub async fn shutdown(&self, deadline: Duration) -> ShutdownReport {
        self.stop_reaper();
        shutdown::end_all(&self.shared, deadline).await
    }

    /// Lists the sessions by id.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        listing::sessions(&self.shared)
    }

    /// Does the same with the usage of each session; one that does not answer within `deadline` is listed without.
    pub async fn sessions_with_usage(&self, deadline: Duration) -> Vec<SessionInfo> {
        listing::with_usage(&self.shared, deadline).await
    }

    /// Subscribes to the events of sessions. A slow receiver misses the oldest events, and delays no other.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<SessionEvent> {
        self.shared.listeners.subscribe()
    }

    /// Removes the files that are kept for a session that does not run. Returns whether there were any.
    ///
    /// # Errors
    ///
    /// `Busy` when the session runs, `Unsupported` when no files are kept.
    pub async fn purge(&self, id: &SessionId) -> Result<bool> {
        let Some(workspaces) = self.shared.settings.workspaces.clone() else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the files of sessions are not kept: `workspace_root` is not set",
            ));
        };
        let tenure = {
            let mut table = self.shared.table();
            if table.slots.contains_key(id) {
                return Err(Error::new(ErrorKind::Busy, format!("the files of the session `{id}` are in use"))
                    .hint("release it first"));
            }
            // Keeps callers from starting a session on files that are being removed.
            table.slots.insert(id.clone(), Slot::stopping());
            Tenure::new(&self.shared, id)
        };
        // In a task that outlives the caller: the session can start only after all files are removed.
        let purging = tokio::task::spawn_blocking(move || {
            let purged = workspaces.purge(tenure.id());
            tenure.give_up(Ok(()));
            purged
        });
        purging.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "removing the files failed unexpectedly")))
    }

    /// Looks for sandboxes of an earlier manager. Running sessions are adopted or removed, as `adopt` says; the rest is
    /// removed: dead sandboxes, spare ones, and those whose session is unknown. With a store, other processes may use
    /// them: the report lists the sessions of the store, which are opened when they are asked for.
    ///
    /// # Errors
    ///
    /// When the launcher cannot list them; `Unsupported` for [`Adopt::Nothing`] with a store. Errors of single sandboxes
    /// are in the report.
    pub async fn adopt_or_remove(&self, adopt: Adopt) -> Result<AdoptReport> {
        adoption::adopt_or_remove(&self.shared, adopt).await
    }
}

impl Drop for SessionManager {
    fn drop(&mut self) {
        self.stop_reaper();
        // A session that is starting ends once it has started, and no spare sandbox is created.
        self.shared.table().closed = true;
        self.shared.spare_wanted.notify_one();
    }
}

impl fmt::Debug for SessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionManager").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

fn check_record(live: &Live, wanted: &SessionOptions) -> Result<()> {
    match (&live.record, &wanted.record) {
        (Some(open), Some(wanted)) => open.record().map_or(Ok(()), |record| record.fits(&live.id, wanted)),
        _ => Ok(()),
    }
}

fn check_runtime(id: &SessionId, installed: &Installed, wanted: &SessionOptions) -> Result<()> {
    let (Installed::Known(has), Some(wants)) = (installed, &wanted.runtime) else { return Ok(()) };
    if has.as_deref() == Some(wants) {
        return Ok(());
    }
    let has_name = has.as_ref().map_or("none", |has| has.name.as_str());
    let (wants, what) = match has {
        Some(has) if has.name == wants.name => (&wants.name, "a different runtime of that name"),
        _ => (&wants.name, "a different runtime"),
    };
    let why = format!("the session `{id}` has the runtime `{has_name}`, and `{wants}` is {what}");
    Err(Error::new(ErrorKind::Conflict, why).hint("ask for it without a runtime, release it first, or use another id"))
}
