//! `Keeper`: the sandbox itself. Its files are a `LocalBackend`, its commands run in the engine of `processes`.
//!
//! Invariant: the directory of a command is resolved like any other path, and after `stop` every call answers `Gone`.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{sync::watch, time::Instant};
use workden_core::{
    Backend, BackendExt, EntryKind, Error, ErrorKind, Resolved, Result, Symlink, VirtualPath, forward_backend,
    sandbox::{
        ExecuteRequest, Executed, FileEvents, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed,
        PortStream, Process, Sandbox, SpawnRequest, Usage, WatchRequest,
    },
};
use workden_files::LocalBackend;

use crate::{
    config::KeeperConfig,
    ports::{self, HeldStream},
    processes::{CommandSpec, Engine, gone, starting},
    watching,
};

/// A sandbox in this process.
#[derive(Debug)]
pub struct Keeper {
    config: Arc<KeeperConfig>,
    files: LocalBackend,
    engine: Engine,
    directory: VirtualPath,
    began: Instant,
    activity: Arc<CallActivity>,
    stopped: watch::Sender<bool>,
}

/// The calls in progress, and the time of the last one.
#[derive(Debug)]
struct CallActivity {
    now: AtomicUsize,
    last: Mutex<Instant>,
}

/// A call in progress.
struct ActiveCall(Arc<CallActivity>);

impl Drop for ActiveCall {
    fn drop(&mut self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Keeper {
    /// Creates a keeper with this configuration.
    ///
    /// # Errors
    ///
    /// Fails when the files cannot be opened, or the directory of commands is not among them.
    pub fn new(config: KeeperConfig) -> Result<Self> {
        let below = config.directory.strip_prefix(&config.files_root).ok().and_then(|below| below.to_str());
        let below = below.ok_or_else(|| {
            Error::new(ErrorKind::InvalidPath, "invalid working directory: it is outside of the files of the sandbox")
        })?;
        let directory = VirtualPath::parse(&format!("/{below}"))?;
        let files = open_files(&config.files_root)?;
        let config = Arc::new(config);
        let began = Instant::now();
        Ok(Self {
            engine: Engine::new(Arc::clone(&config))?,
            config,
            files,
            directory,
            began,
            activity: Arc::new(CallActivity { now: AtomicUsize::new(0), last: Mutex::new(began) }),
            stopped: watch::Sender::new(false),
        })
    }

    /// Waits until the sandbox is stopped.
    pub async fn stopped(&self) {
        let _ = self.stopped.subscribe().wait_for(|&stopped| stopped).await;
    }

    /// Reaps children that have ended. For a process that has only those of commands.
    pub fn reap(&self) {
        self.engine.reap();
    }

    /// Returns how long there were neither calls nor running commands.
    #[must_use]
    pub fn idle(&self) -> Duration {
        if self.engine.running_trees() > 0 {
            *self.activity.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        self.since_last_call()
    }

    /// Returns how long there were no calls.
    fn since_last_call(&self) -> Duration {
        match self.activity.now.load(Ordering::Relaxed) {
            0 => self.activity.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed(),
            _ => Duration::ZERO,
        }
    }

    fn check_running(&self) -> Result<()> {
        if *self.stopped.borrow() { Err(gone()) } else { Ok(()) }
    }

    fn call(&self) -> Result<ActiveCall> {
        self.check_running()?;
        self.activity.now.fetch_add(1, Ordering::Relaxed);
        Ok(ActiveCall(Arc::clone(&self.activity)))
    }

    /// Resolves the directory of a command to a path of this process.
    async fn place(&self, directory: Option<&VirtualPath>) -> Result<Option<PathBuf>> {
        let Some(directory) = directory else { return Ok(None) };
        let cannot = |kind: ErrorKind, why: &str| {
            Error::new(kind, format!("cannot run a command in `{directory}`: {why}"))
                .hint("name a directory that exists; without one, commands start in the working directory")
        };
        let resolved = self.files.resolve(directory, Symlink::Follow).await?;
        let entry = self.files.stat(&resolved).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => cannot(ErrorKind::NotFound, "directory not found"),
            _ => error,
        })?;
        match entry.kind {
            EntryKind::Directory => Ok(Some(self.config.files_root.join(resolved.real.relative()))),
            _ => Err(cannot(ErrorKind::NotDirectory, "not a directory")),
        }
    }
}

/// Opens the files, without /proc, /sys and /dev: this process would read its own.
fn open_files(root: &Path) -> Result<LocalBackend> {
    let places = ["/proc", "/sys", "/dev"].into_iter().filter(|_| root == Path::new("/"));
    let places = places.map(VirtualPath::parse).collect::<Result<Vec<_>>>()?;
    LocalBackend::options().without(places).open(root)
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Sandbox for Keeper {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let _call = self.call()?;
        // The default directory is not checked: a command that cannot enter it reports that.
        let named = request.directory.as_ref().filter(|directory| **directory != self.directory);
        let directory = self.place(named).await?;
        let spec = CommandSpec {
            command: &request.command,
            directory: directory.as_deref(),
            environment: &request.environment,
        };
        self.engine.execute(request, spec).await
    }

    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        let _call = self.call()?;
        let directory = self.place(request.directory.as_ref()).await?;
        let spec = CommandSpec {
            command: &request.command,
            directory: directory.as_deref(),
            environment: &request.environment,
        };
        self.engine.spawn(spec, request.streams).await
    }

    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        let _call = self.call()?;
        let directory = self.place(request.directory.as_ref()).await?;
        let spec = CommandSpec {
            command: &request.command,
            directory: directory.as_deref(),
            environment: &request.environment,
        };
        self.engine.start_job(spec).await
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        let _call = self.call()?;
        Ok(self.engine.jobs())
    }

    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        let _call = self.call()?;
        self.engine.read_job(id, read).await
    }

    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        let _call = self.call()?;
        self.engine.kill_job(id).await
    }

    async fn connect_port(&self, port: u16) -> Result<PortStream> {
        let call = self.call()?;
        let stream = ports::connect(port, &self.config.isolation, self.engine.reaper_pids()).await?;
        Ok(Box::pin(HeldStream::new(stream, call)))
    }

    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents> {
        let _call = self.call()?;
        watching::watch(&self.config.files_root, at, request, self.stopped.subscribe()).await
    }

    async fn usage(&self) -> Result<Usage> {
        // Asking for usage does not count as use.
        self.check_running()?;
        let used = self.config.watch.as_ref().map(|watch| watch.used()).unwrap_or_default();
        Ok(Usage::default()
            .memory(used.memory)
            .memory_peak(used.memory_peak)
            .cpu(used.cpu)
            .processes(used.processes)
            .age(self.began.elapsed())
            .idle(self.since_last_call())
            .jobs(self.engine.running_jobs() as u64)
            .commands(self.engine.running_commands()))
    }

    async fn isolation(&self) -> Result<Isolation> {
        // Every new connection asks for it, and those of reapers only look whether the sandbox is idle.
        self.check_running()?;
        Ok(self.config.isolation.clone())
    }

    async fn directory(&self) -> Result<VirtualPath> {
        self.check_running()?;
        Ok(self.directory.clone())
    }

    async fn stop(&self) -> Result<()> {
        self.engine.stop().await;
        self.stopped.send_replace(true);
        Ok(())
    }
}

/// Counts a call as long as it runs, and hands it on to the files.
macro_rules! counted {
    ($this:ident, $method:ident($($argument:expr),*)) => {{
        let _call = $this.call()?;
        $this.files.$method($($argument),*).await
    }};
}

/// Like `counted`, and returns when commands can execute the files that were written.
macro_rules! settled {
    ($this:ident, $method:ident($($argument:expr),*)) => {{
        let answer = counted!($this, $method($($argument),*));
        starting::finish().await;
        answer
    }};
}

forward_backend! {
    impl[] for Keeper;
    looks: counted, changes: settled, host_files: own
}
