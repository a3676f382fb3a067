//! `Engine`: starts commands, and tracks those that run.

use std::{
    ffi::{CStr, CString},
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use workden_core::{Error, ErrorKind, Result, limits, sandbox::Command};

use super::{
    failure::{broken, gone},
    mark::{self, CommandMark, FoundBy},
    prepare,
    reapers::{ReaperStart, Reapers},
    records::JobRecords,
    shell, starting,
    tree::{EndMode, ProcessTree},
};
use crate::{config::KeeperConfig, reaper::Terminal};

/// Starts commands, and tracks those that run.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(super) config: Arc<KeeperConfig>,
    directory: CString,
    pub(super) null: OwnedFd,
    found_by: FoundBy,
    reapers: Arc<Reapers>,
    running: Mutex<RunningTrees>,
    records: Mutex<JobRecords>,
}

/// The running process trees.
#[derive(Debug, Default)]
struct RunningTrees {
    trees: Vec<Weak<ProcessTree>>,
    /// No command can be started any more.
    stopped: bool,
}

/// A command to start, without its streams.
pub(crate) struct CommandSpec<'a> {
    pub(crate) command: &'a Command,
    /// Its directory, as this process sees it; the default one unless named.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) environment: &'a std::collections::BTreeMap<String, String>,
}

impl Engine {
    pub(crate) fn new(config: Arc<KeeperConfig>) -> Result<Self> {
        let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|why| broken("open the null device", why))?;
        // Chosen now, not by the first command.
        let (shell, _) = shell::shell();
        tracing::debug!(shell = shell.name(), "shell chosen");
        Ok(Self {
            directory: c_path(&config.directory)?,
            null,
            found_by: FoundBy::kernel(),
            reapers: Arc::new(Reapers::new(Arc::clone(&config))),
            running: Mutex::default(),
            records: Mutex::new(JobRecords::default()),
            config,
        })
    }

    /// Starts a command with these streams.
    pub(super) async fn start(
        &self,
        spec: &CommandSpec<'_>,
        streams: [BorrowedFd<'_>; 3],
        terminal: Terminal,
    ) -> Result<Arc<ProcessTree>> {
        let mut environment = prepare::merged(&self.config.environment, spec.environment);
        if terminal == Terminal::Controlling {
            environment.entry("TERM").or_insert("xterm-256color");
        }
        let mark = match self.found_by {
            FoundBy::Descent => None,
            FoundBy::Mark => Some(CommandMark::random()?),
        };
        if let Some(mark) = &mark {
            environment.insert(mark::NAME, mark.value());
        }
        let program = prepare::program(spec.command, &environment)?;
        let named = spec.directory.map(c_path).transpose()?;
        let directory: &CStr = named.as_deref().unwrap_or(&self.directory);
        let starting = starting::begin().await;
        let mut running = self.running();
        running.may_start()?;
        let started = self.reapers.start(ReaperStart { program, directory, streams, terminal, mark: mark.as_ref() });
        let (link, reaper) = started.map_err(|why| broken("start a process", why))?;
        let tree = ProcessTree::follow(link, reaper, mark, Arc::clone(&self.reapers), starting)
            .map_err(|error| broken("watch a socket", Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        tracing::debug!(reaper = reaper.as_raw_pid(), "command started");
        running.trees.push(Arc::downgrade(&tree));
        Ok(tree)
    }

    /// Returns how many trees have a running process.
    pub(crate) fn running_trees(&self) -> usize {
        self.running().alive().len()
    }

    /// Returns the reapers of the running trees: all processes of the sandbox descend from them.
    pub(crate) fn reaper_pids(&self) -> Vec<i32> {
        self.running().alive().iter().map(|tree| tree.reaper_pid()).collect()
    }

    /// Ends all trees, for good. Returns when none is left.
    pub(crate) async fn stop(&self) {
        let trees = {
            let mut running = self.running();
            running.stopped = true;
            running.alive()
        };
        for tree in &trees {
            tree.start_end(EndMode::Immediate);
        }
        for tree in trees {
            tree.end(EndMode::Immediate).await;
        }
        self.reapers.sweep().await;
    }

    /// Reaps children that have ended, in a process that has only those of commands.
    pub(crate) fn reap(&self) {
        self.reapers.reap_all();
    }

    fn running(&self) -> MutexGuard<'_, RunningTrees> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn records(&self) -> MutexGuard<'_, JobRecords> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for tree in self.running().alive() {
            tree.start_end(EndMode::Immediate);
        }
    }
}

impl RunningTrees {
    fn alive(&mut self) -> Vec<Arc<ProcessTree>> {
        let alive: Vec<Arc<ProcessTree>> =
            self.trees.iter().filter_map(Weak::upgrade).filter(|tree| !tree.state().gone).collect();
        self.trees = alive.iter().map(Arc::downgrade).collect();
        alive
    }

    fn may_start(&mut self) -> Result<()> {
        if self.stopped {
            return Err(gone());
        }
        match self.alive().len() {
            running if running >= limits::RUNNING_COMMANDS => Err(Error::new(
                ErrorKind::Busy,
                format!("cannot start another command: {running} are running, background processes included"),
            )
            .hint("wait for commands to end, or kill background jobs")),
            _ => Ok(()),
        }
    }
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidPath, "invalid directory: its name contains a NUL byte"))
}
