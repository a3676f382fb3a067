//! A scripted launcher, and sandboxes that record what was done to them.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Semaphore;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, HostFiles, IfExists, Removal, Resolved,
    Result, Sandbox, Slice, Symlink, VirtualPath, Written,
    sandbox::{
        ExecuteRequest, Executed, FileEvents, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed,
        PortStream, Process, ProcessControl, Signal, SpawnRequest, Usage, WatchRequest, WindowSize,
    },
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

use crate::{ExistingSandbox, LaunchRequest, Launched, Launcher, SessionId};

/// What a scripted call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Does {
    #[default]
    Well,
    Fail,
    Panic,
    Hang,
    /// Waits until the test releases it.
    Wait,
}

/// The launcher of a test; clones share their state.
#[derive(Clone, Default)]
pub(super) struct Scripted(Arc<State>);

#[derive(Default)]
struct State {
    /// What the next creations do; all later ones succeed.
    script: Mutex<VecDeque<Does>>,
    orders: Mutex<Vec<LaunchRequest>>,
    sandboxes: Mutex<BTreeMap<String, Arc<Fake>>>,
    before: Mutex<Vec<ExistingSandbox>>,
    removed: Mutex<Vec<String>>,
    gate: Gate,
    made: AtomicUsize,
    assign_fails: AtomicBool,
    remove_fails: AtomicBool,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Gate {
    async fn pass(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

impl Does {
    async fn done(self, gate: &Gate) -> Result<()> {
        match self {
            Self::Well => Ok(()),
            Self::Fail => Err(Error::new(ErrorKind::Unsupported, "a scripted failure")),
            Self::Panic => panic!("a scripted panic"),
            Self::Hang => pending().await,
            Self::Wait => {
                gate.pass().await;
                Ok(())
            }
        }
    }
}

impl Scripted {
    pub(super) fn next(self, does: impl IntoIterator<Item = Does>) -> Self {
        self.0.script.lock().unwrap().extend(does);
        self
    }

    pub(super) fn let_go(&self, how_many: usize) {
        self.0.gate.0.add_permits(how_many);
    }

    pub(super) fn with_left_over(self, name: &str, session: Option<&str>, running: bool) -> Self {
        let session = session.map(|id| id.parse().unwrap());
        self.0.before.lock().unwrap().push(ExistingSandbox { name: name.to_owned(), session, running, age: None });
        self
    }

    pub(super) fn assigning_fails(&self) {
        self.0.assign_fails.store(true, SeqCst);
    }

    pub(super) fn removing_fails(&self, fails: bool) {
        self.0.remove_fails.store(fails, SeqCst);
    }

    /// How often `create` was called.
    pub(super) fn orders(&self) -> Vec<LaunchRequest> {
        self.0.orders.lock().unwrap().clone()
    }

    pub(super) fn sandbox(&self, name: &str) -> Arc<Fake> {
        Arc::clone(&self.0.sandboxes.lock().unwrap()[name])
    }

    /// The names of the sandboxes that were created and not stopped.
    pub(super) fn running(&self) -> Vec<String> {
        let all = self.0.sandboxes.lock().unwrap();
        all.iter().filter(|(_, fake)| fake.stopped.load(SeqCst) == 0).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn removed(&self) -> Vec<String> {
        self.0.removed.lock().unwrap().clone()
    }

    fn placed(&self, name: String) -> Launched {
        let fake = Arc::new(Fake::default());
        self.0.sandboxes.lock().unwrap().insert(name.clone(), Arc::clone(&fake));
        Launched { sandbox: fake, name }
    }
}

#[async_trait]
impl Launcher for Scripted {
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        self.0.orders.lock().unwrap().push(order.clone());
        let does = self.0.script.lock().unwrap().pop_front().unwrap_or_default();
        does.done(&self.0.gate).await?;
        let nth = self.0.made.fetch_add(1, SeqCst) + 1;
        let whose = order.session.as_ref().map_or("spare", SessionId::as_str);
        Ok(self.placed(format!("{whose}#{nth}")))
    }

    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched> {
        if self.0.assign_fails.load(SeqCst) {
            return Err(Error::new(ErrorKind::Io, "it cannot be assigned"));
        }
        let name = format!("{session}<{}", spare.name);
        let mut all = self.0.sandboxes.lock().unwrap();
        let fake = all.remove(&spare.name).unwrap();
        all.insert(name.clone(), fake);
        Ok(Launched { name, ..spare })
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        let mut found = self.0.before.lock().unwrap().clone();
        let removed = self.removed();
        for (name, fake) in self.0.sandboxes.lock().unwrap().iter().filter(|(name, _)| !removed.contains(name)) {
            let session = name.split(['#', '<']).next().and_then(|whose| whose.parse().ok());
            let session = session.filter(|whose: &SessionId| whose.as_str() != "spare");
            found.push(ExistingSandbox {
                name: name.clone(),
                session,
                running: fake.stopped.load(SeqCst) == 0,
                age: None,
            });
        }
        Ok(found)
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        if found.name.contains("broken") {
            return Err(Error::new(ErrorKind::Gone, "the sandbox does not answer"));
        }
        let there = self.0.sandboxes.lock().unwrap().get(&found.name).cloned();
        match there {
            Some(sandbox) => Ok(Launched { sandbox, name: found.name.clone() }),
            None => Ok(self.placed(found.name.clone())),
        }
    }

    async fn remove(&self, name: &str) -> Result<()> {
        if self.0.remove_fails.load(SeqCst) {
            return Err(Error::new(ErrorKind::Unreachable, "a scripted failure to remove"));
        }
        if let Some(fake) = self.0.sandboxes.lock().unwrap().get(name) {
            fake.stopped.fetch_max(1, SeqCst);
        }
        self.0.removed.lock().unwrap().push(name.to_owned());
        Ok(())
    }
}

/// A sandbox of a test.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) dead: AtomicBool,
    pub(super) silent: AtomicBool,
    pub(super) jobs: AtomicU64,
    /// Seconds since the last use, by the sandbox's own clock.
    pub(super) idle: AtomicU64,
    pub(super) asked: AtomicUsize,
    pub(super) stopped: AtomicUsize,
    pub(super) stops: Mutex<Does>,
    gate: Gate,
}

impl Fake {
    pub(super) fn let_go(&self) {
        self.gate.0.add_permits(1);
    }

    fn alive<T>(&self, answer: T) -> Result<T> {
        if self.dead.load(SeqCst) || self.stopped.load(SeqCst) > 0 {
            return Err(Error::new(ErrorKind::Gone, "the sandbox is gone"));
        }
        Ok(answer)
    }
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

fn no<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "not in this test"))
}

#[async_trait]
impl Sandbox for Fake {
    /// Ends when the test releases it.
    async fn execute(&self, _: &ExecuteRequest) -> Result<Executed> {
        self.gate.pass().await;
        no()
    }
    async fn spawn(&self, _: &SpawnRequest) -> Result<Process> {
        Ok(Process::new(7, Box::pin(Silent), Box::new(Silent)))
    }
    async fn start_job(&self, _: &JobRequest) -> Result<Job> {
        no()
    }
    async fn jobs(&self) -> Result<Vec<Job>> {
        self.alive(Vec::new())
    }
    async fn read_job(&self, _: &JobId, _: &JobRead) -> Result<JobOutput> {
        no()
    }
    async fn kill_job(&self, _: &JobId) -> Result<Killed> {
        no()
    }
    async fn connect_port(&self, _: u16) -> Result<PortStream> {
        no()
    }
    async fn watch(&self, _: &Resolved, _: &WatchRequest) -> Result<FileEvents> {
        no()
    }
    async fn usage(&self) -> Result<Usage> {
        self.asked.fetch_add(1, SeqCst);
        if self.silent.load(SeqCst) {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        let idle = Duration::from_secs(self.idle.load(SeqCst));
        self.alive(Usage::default().jobs(self.jobs.load(SeqCst)).idle(idle))
    }
    async fn isolation(&self) -> Result<Isolation> {
        no()
    }
    async fn directory(&self) -> Result<VirtualPath> {
        self.alive(VirtualPath::root())
    }
    async fn stop(&self) -> Result<()> {
        let does = *self.stops.lock().unwrap();
        does.done(&self.gate).await?;
        self.stopped.fetch_add(1, SeqCst);
        Ok(())
    }
}

/// A process without output.
struct Silent;

impl futures_core::Stream for Silent {
    type Item = Result<workden_core::sandbox::ProcessEvent>;

    fn poll_next(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

#[async_trait]
impl ProcessControl for Silent {
    async fn write(&self, _: Bytes) -> Result<()> {
        no()
    }
    async fn close_input(&self) -> Result<()> {
        no()
    }
    async fn signal(&self, _: Signal) -> Result<()> {
        no()
    }
    async fn resize(&self, _: WindowSize) -> Result<()> {
        no()
    }
}

#[async_trait]
impl Backend for Fake {
    async fn resolve(&self, _: &VirtualPath, _: Symlink) -> Result<Resolved> {
        no()
    }
    async fn stat(&self, _: &Resolved) -> Result<Entry> {
        no()
    }
    async fn list(&self, _: &Resolved, _: &ListRequest) -> Result<Listing> {
        no()
    }
    async fn read(&self, _: &Resolved, _: ByteRange) -> Result<Slice> {
        no()
    }
    async fn read_text(&self, _: &Resolved, _: TextWindow) -> Result<Excerpt> {
        no()
    }
    async fn write(&self, _: &Resolved, _: Content, _: Expect) -> Result<Written> {
        no()
    }
    async fn change(&self, _: &Resolved, _: &Change, _: Expect, _: u64) -> Result<Changed> {
        no()
    }
    async fn make_dir(&self, _: &Resolved) -> Result<()> {
        no()
    }
    async fn remove(&self, _: &Resolved, _: Removal) -> Result<()> {
        no()
    }
    async fn rename(&self, _: &Resolved, _: &Resolved, _: IfExists) -> Result<()> {
        no()
    }
    async fn copy(&self, _: &Resolved, _: &Resolved, _: IfExists) -> Result<Written> {
        no()
    }
    async fn glob(&self, _: &Resolved, _: &GlobRequest) -> Result<Globbed> {
        no()
    }
    async fn grep(&self, _: &Resolved, _: &GrepRequest) -> Result<Grepped> {
        no()
    }
    fn host_files(&self) -> Option<&dyn HostFiles> {
        None
    }
}
