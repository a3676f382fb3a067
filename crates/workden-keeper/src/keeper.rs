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
    Backend, ByteRange, Changed, Content, Entry, EntryKind, Error, ErrorKind, Expect, FileIdentity, IfExists, Opened,
    Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written,
    sandbox::{
        ExecuteRequest, Executed, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed, Process, Sandbox,
        SpawnRequest, Usage,
    },
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};
use workden_files::LocalBackend;

use crate::{
    config::KeeperConfig,
    processes::{CommandSpec, Engine, gone},
};

/// A sandbox in this process.
#[derive(Debug)]
pub struct Keeper {
    config: Arc<KeeperConfig>,
    files: LocalBackend,
    engine: Engine,
    directory: VirtualPath,
    began: Instant,
    activity: CallActivity,
    stopped: watch::Sender<bool>,
}

/// The calls in progress, and the time of the last one.
#[derive(Debug)]
struct CallActivity {
    now: AtomicUsize,
    last: Mutex<Instant>,
}

/// A call in progress.
struct ActiveCall<'a>(&'a CallActivity);

impl Drop for ActiveCall<'_> {
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
            activity: CallActivity { now: AtomicUsize::new(0), last: Mutex::new(began) },
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

    fn call(&self) -> Result<ActiveCall<'_>> {
        if *self.stopped.borrow() {
            return Err(gone());
        }
        self.activity.now.fetch_add(1, Ordering::Relaxed);
        Ok(ActiveCall(&self.activity))
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

    async fn usage(&self) -> Result<Usage> {
        // Asking for usage does not count as use.
        if *self.stopped.borrow() {
            return Err(gone());
        }
        let used = self.config.watch.as_ref().map(|watch| watch.used()).unwrap_or_default();
        Ok(Usage {
            memory: used.memory,
            memory_peak: used.memory_peak,
            cpu: used.cpu,
            processes: used.processes,
            age: self.began.elapsed(),
            idle: self.since_last_call(),
            jobs: self.engine.running_jobs() as u64,
        })
    }

    async fn isolation(&self) -> Result<Isolation> {
        let _call = self.call()?;
        Ok(self.config.isolation.clone())
    }

    async fn directory(&self) -> Result<VirtualPath> {
        let _call = self.call()?;
        Ok(self.directory.clone())
    }

    async fn stop(&self) -> Result<()> {
        self.engine.stop().await;
        self.stopped.send_replace(true);
        Ok(())
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Keeper {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        let _call = self.call()?;
        self.files.resolve(path, symlink).await
    }
    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        let _call = self.call()?;
        self.files.stat(at).await
    }
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        let _call = self.call()?;
        self.files.list(at, request).await
    }
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let _call = self.call()?;
        self.files.read(at, range).await
    }
    async fn open(&self, at: &Resolved, most: u64) -> Result<Opened> {
        let _call = self.call()?;
        self.files.open(at, most).await
    }
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        let _call = self.call()?;
        self.files.read_text(at, window).await
    }
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let _call = self.call()?;
        self.files.write(at, content, expect).await
    }
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let _call = self.call()?;
        self.files.change(at, change, expect, most).await
    }
    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        let _call = self.call()?;
        self.files.make_dir(at).await
    }
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        let _call = self.call()?;
        self.files.remove(at, what).await
    }
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        let _call = self.call()?;
        self.files.rename(from, to, if_exists).await
    }
    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let _call = self.call()?;
        self.files.copy(from, to, if_exists).await
    }
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        let _call = self.call()?;
        self.files.glob(at, request).await
    }
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        let _call = self.call()?;
        self.files.grep(at, request).await
    }
    async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        let _call = self.call()?;
        self.files.other_names(files).await
    }
    async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        let _call = self.call()?;
        self.files.identify(at).await
    }
    async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        let _call = self.call()?;
        self.files.origins().await
    }
    async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        let _call = self.call()?;
        self.files.names_of(files).await
    }
}
