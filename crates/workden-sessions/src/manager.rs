//! `SessionManager`: sessions by their ids.

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
    Adopt, AdoptReport, DirectoryStore, Ended, Launcher, Pruned, Pruning, Session, SessionEvent, SessionEventKind,
    SessionFiles, SessionId, SessionInfo, SessionManagerBuilder, SessionRecord, ShutdownReport, adoption, ending,
    listing,
    live::{End, Live},
    reaper, starting,
    table::{Gone, Installed, Phase, Shared, Slot, Tenure},
};
use workden_sandboxes::runtimes::RuntimeConfig;

/// A session that has answered within this time is not asked whether it is alive.
const TRUSTED: Duration = Duration::from_secs(1);
/// How long it has to answer when it is asked.
pub(super) const ALIVE: Duration = Duration::from_secs(5);

/// Sessions by their ids: made once, however many ask for one at a time, and ended when nobody uses them.
///
/// Dropping it makes no new sessions and waits for nothing. Sandboxes that end with their owner end then;
/// those with a lease of their own live on until that is over, and can be adopted.
pub struct SessionManager {
    shared: Arc<Shared>,
}

/// What somebody wants of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionOptions {
    /// What it has installed: the manager's default unless named.
    pub runtime: Option<RuntimeConfig>,
    /// How long it may be idle: as the manager says unless named. Of a session that is there it changes that.
    pub idle: Option<Duration>,
    /// What it is made of, where records are in a directory: a session that exists must fit it.
    pub record: Option<SessionRecord>,
}

/// What is to be done about a session that somebody asks for.
enum Next {
    Await(watch::Receiver<Option<Result<Arc<Live>>>>),
    Check(Arc<Live>),
    AwaitEnd(Gone),
}

impl SessionManager {
    /// A manager of the sandboxes that this factory makes.
    pub fn builder(factory: impl Launcher) -> SessionManagerBuilder {
        SessionManagerBuilder::new(Arc::new(factory))
    }

    pub(super) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn share(&self) -> std::sync::Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// The session of this id, made now if there is none or if its sandbox is dead.
    ///
    /// # Behavior
    ///
    /// - However many ask at a time, one sandbox is made. All are told the same, also when it fails; who asks
    ///   after that tries again. It is made also when whoever asked first goes away.
    /// - Nobody waits for a session of another id.
    /// - A session that is being ended is waited for, and then made anew.
    ///
    /// # Errors
    ///
    /// What the factory says; `Conflict` when the session has another runtime than the one that is named,
    /// `Busy` when there are as many as there may be, `TimedOut` when it does not start in time, `Gone` after a
    /// shutdown, or when it was released while it started.
    pub async fn get_or_create(&self, id: &SessionId, runtime: Option<RuntimeConfig>) -> Result<Session> {
        self.get_or_create_with(id, SessionOptions { runtime, ..SessionOptions::default() }).await
    }

    /// The same, with all that can be said about it.
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
                        None => return Err(Error::new(ErrorKind::Gone, format!("the start of `{id}` was given up"))),
                    };
                    // It may have been ended since.
                    if live.touch(wanted.idle).is_ok() {
                        return Ok(Session::new(live));
                    }
                }
                Next::Check(live) => {
                    if self.is_alive(&live).await && live.touch(wanted.idle).is_ok() {
                        self.shared.listeners.tell(Some(id), SessionEventKind::Reused);
                        return Ok(Session::new(live));
                    }
                    if let Some(tenure) = self.shared.take_over(&live, |live| live.end(End::Dead)) {
                        tokio::spawn(ending::end(tenure, live, End::Dead));
                    }
                }
                // How the one before ended is told to whoever ended it.
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
                format!("cannot open the session `{id}`: all sessions were ended"),
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
            let why = format!("cannot open the session `{id}`: there are {most} already, and there may be no more");
            return Err(Error::new(ErrorKind::Busy, why)
                .hint("release one, wait until an idle one has ended, or allow more with `max_sessions`"));
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
        if live.answered_within(TRUSTED) {
            return true;
        }
        let asked = timeout(ALIVE, live.placed.sandbox.usage()).await;
        asked.is_ok_and(|answer| live.told(answer).is_ok())
    }

    /// Ends a session, and waits until it is gone: what runs in it is stopped. Files that are kept for it stay.
    /// Whether there was one to end.
    ///
    /// # Errors
    ///
    /// What went wrong while it was ended. It is forgotten all the same; what may be left of it is found by
    /// [`adopt_or_remove`](Self::adopt_or_remove).
    pub async fn release(&self, id: &SessionId) -> Result<bool> {
        let Some((gone, first)) = ending::order(&self.shared, id, End::Released) else {
            // Another process may have made it.
            return self.release_record(id, SessionFiles::Stay).await;
        };
        let ended = gone.wait().await;
        // Who comes second has ended nothing.
        if first { ended.map(|()| true) } else { Ok(false) }
    }

    /// The same, and removes the files that are kept for it.
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

    /// Checks that the launcher can look for its sandboxes: a daemon may not answer.
    ///
    /// # Errors
    ///
    /// What the launcher says.
    pub async fn check(&self) -> Result<()> {
        self.shared.factory.find().await.map(drop)
    }

    /// What a session uses that another process may have made: `None` when it does not run. Asking is no use of it.
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

    /// Ends a session of the store that has ended by itself, cannot be used again, or was not used for `most`. Its
    /// files stay. One that a process makes, ends or uses at that moment is left alone.
    ///
    /// # Errors
    ///
    /// `TimedOut` when it does not answer, and what else went wrong: it goes on then. `Unsupported` without a store.
    pub async fn prune(&self, id: &SessionId, most: Duration, doing: Pruning) -> Result<Pruned> {
        self.store()?.prune(id, self.shared.factory.as_ref(), most, doing).await
    }

    /// Removes sandboxes that do not run and that no record of the store names. Returns how many there were.
    ///
    /// # Errors
    ///
    /// What the launcher says; `Unsupported` without a store.
    pub async fn prune_unknown(&self, doing: Pruning) -> Result<usize> {
        self.store()?.prune_unknown(self.shared.factory.as_ref(), doing).await
    }

    fn store(&self) -> Result<&DirectoryStore> {
        self.shared.settings.store.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "the records of these sessions are in memory")
                .hint("name a directory for them with `.store(DirectoryStore::at(..))`")
        })
    }

    /// Ends the sessions that nobody has used for as long as they may be idle, or for `most`. How many.
    ///
    /// One in which a call is under way, a process runs that somebody reads, or a background job, is in use.
    pub async fn cleanup_idle(&self, most: Option<Duration>) -> usize {
        reaper::reap(&self.shared, most).await
    }

    /// Ends idle sessions by itself, every so often, until told to stop. Told again, it goes by the new interval.
    pub fn start_reaper(&self, interval: Duration) {
        let task = tokio::spawn(reaper::run(self.share(), interval));
        let mut reaper = self.shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = reaper.replace(task.abort_handle()) {
            before.abort();
        }
    }

    /// Ends no idle sessions by itself any more. What is being ended is ended.
    pub fn stop_reaper(&self) {
        let mut reaper = self.shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = reaper.take() {
            task.abort();
        }
    }

    /// Ends all sessions and spare sandboxes, all at a time, and waits for that, but not longer than this. No
    /// session is made after it. What takes longer goes on ending.
    pub async fn shutdown(&self, deadline: Duration) -> ShutdownReport {
        self.stop_reaper();
        ending::shutdown(&self.shared, deadline).await
    }

    /// The sessions there are, by id.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        listing::sessions(&self.shared)
    }

    /// The same with what each of them uses, asked of all at a time; who does not say so within this time is
    /// listed without.
    pub async fn sessions_with_usage(&self, deadline: Duration) -> Vec<SessionInfo> {
        listing::with_usage(&self.shared, deadline).await
    }

    /// What happens to sessions from now on. Who is too slow misses the oldest events, and holds up nobody.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<SessionEvent> {
        self.shared.listeners.subscribe()
    }

    /// Removes the files that are kept for a session that is not there. Whether there were any.
    ///
    /// # Errors
    ///
    /// `Busy` when the session is there, `Unsupported` when no files are kept.
    pub async fn purge(&self, id: &SessionId) -> Result<bool> {
        let Some(workspaces) = self.shared.settings.workspaces.clone() else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "no files of sessions are kept here: there is no `workspace_root`",
            ));
        };
        let tenure = {
            let mut table = self.shared.table();
            if table.slots.contains_key(id) {
                return Err(Error::new(ErrorKind::Busy, format!("the files of the session `{id}` are in use"))
                    .hint("release it first"));
            }
            // Nobody starts a session on files that are going.
            table.slots.insert(id.clone(), Slot::stopping());
            Tenure::new(&self.shared, id)
        };
        // In a task of its own: the files go, whoever waits for that, and only then can the session be there.
        let purging = tokio::task::spawn_blocking(move || {
            let purged = workspaces.purge(tenure.id());
            tenure.give_up(Ok(()));
            purged
        });
        purging.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "the removal of the files broke off")))
    }

    /// Looks for sandboxes that the factory has from before. Sessions that still run are adopted, or not, as
    /// told; all else is removed: dead ones, spare ones, and those that nobody can tell whose they are.
    ///
    /// # Errors
    ///
    /// When the factory cannot look for them. What goes wrong with one of them is in the report.
    pub async fn adopt_or_remove(&self, adopt: Adopt) -> Result<AdoptReport> {
        adoption::adopt_or_remove(&self.shared, adopt).await
    }
}

impl Drop for SessionManager {
    fn drop(&mut self) {
        self.stop_reaper();
        // What still starts ends when it has, and no spare one is made.
        self.shared.table().closed = true;
        self.shared.spare_wanted.notify_one();
    }
}

impl fmt::Debug for SessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionManager").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

fn check_runtime(id: &SessionId, installed: &Installed, wanted: &SessionOptions) -> Result<()> {
    let (Installed::Known(has), Some(wants)) = (installed, &wanted.runtime) else { return Ok(()) };
    if has.as_deref() == Some(wants) {
        return Ok(());
    }
    let has_name = has.as_ref().map_or("none", |has| has.name.as_str());
    let (wants, what) = match has {
        Some(has) if has.name == wants.name => (&wants.name, "another one of that name"),
        _ => (&wants.name, "another one"),
    };
    let why = format!("the session `{id}` has the runtime `{has_name}`, and `{wants}` is {what}");
    Err(Error::new(ErrorKind::Conflict, why).hint("ask for it without a runtime, release it first, or use another id"))
}
