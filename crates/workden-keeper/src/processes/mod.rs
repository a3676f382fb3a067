//! Processes: starting them, what they print, how they end, and that nothing of them remains.
//!
//! Invariant: every command has a minder, and whoever stops waiting for one ends its whole tree.

mod capture;
mod execute;
pub(crate) mod failure;
mod jobs;
pub(crate) mod limits_hit;
mod log;
mod minders;
mod output;
mod pipes;
pub(crate) mod prepare;
mod records;
mod spawn;
mod tree;

use std::{
    ffi::{CStr, CString},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use workden_core::{
    Error, ErrorKind, Result, limits,
    sandbox::{Command, Executed, LimitHit},
};

pub(crate) use self::tree::End;
use self::{
    minders::{Minders, Start},
    records::Records,
    tree::Tree,
};
use crate::{
    minder::{Tells, Terminal},
    setting::Setting,
};

/// Starts processes, and knows those that there are.
#[derive(Debug)]
pub(crate) struct Engine {
    setting: Arc<Setting>,
    directory: CString,
    null: OwnedFd,
    minders: Arc<Minders>,
    running: Mutex<Running>,
    records: Mutex<Records>,
}

/// The trees that there are.
#[derive(Debug, Default)]
struct Running {
    trees: Vec<Weak<Tree>>,
    /// Nothing is started any more.
    stopped: bool,
}

/// What to start, but for its streams.
pub(crate) struct Wanted<'a> {
    pub(crate) command: &'a Command,
    /// Where, as this process sees it; the usual directory unless named.
    pub(crate) directory: Option<&'a Path>,
    pub(crate) environment: &'a std::collections::BTreeMap<String, String>,
}

impl Engine {
    pub(crate) fn new(setting: Arc<Setting>) -> Result<Self> {
        let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|why| broken("open the null device", why))?;
        Ok(Self {
            directory: c_path(&setting.directory)?,
            null,
            minders: Arc::new(Minders::new(Arc::clone(&setting))),
            running: Mutex::default(),
            records: Mutex::new(Records::default()),
            setting,
        })
    }

    /// Starts a command with these streams.
    fn start(
        &self,
        wanted: &Wanted<'_>,
        streams: [BorrowedFd<'_>; 3],
        terminal: Terminal,
        tells: Tells,
    ) -> Result<Arc<Tree>> {
        let mut environment = prepare::merged(&self.setting.environment, wanted.environment);
        if terminal == Terminal::Controlling {
            environment.entry("TERM").or_insert("xterm-256color");
        }
        let program = prepare::program(wanted.command, &environment)?;
        let named = wanted.directory.map(c_path).transpose()?;
        let directory: &CStr = named.as_deref().unwrap_or(&self.directory);
        let mut running = self.running();
        running.may_start()?;
        let started = self.minders.start(Start { program, directory, streams, terminal, tells });
        let (link, minder) = started.map_err(|why| broken("make a process", why))?;
        let tree = Tree::follow(link, minder, Arc::clone(&self.minders))
            .map_err(|error| broken("watch a socket", Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        running.trees.push(Arc::downgrade(&tree));
        Ok(tree)
    }

    /// How many commands run, or something that they started.
    pub(crate) fn running_trees(&self) -> usize {
        self.running().alive().len()
    }

    /// Ends everything, for good. Returns when nothing is left.
    pub(crate) async fn stop(&self) {
        let trees = {
            let mut running = self.running();
            running.stopped = true;
            running.alive()
        };
        for tree in &trees {
            tree.begin_end(End::AtOnce);
        }
        for tree in trees {
            tree.end(End::AtOnce).await;
        }
        self.minders.sweep(None).await;
    }

    /// Reaps what has ended, where all children are commands'.
    pub(crate) fn reap(&self) {
        self.minders.reap_all();
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for tree in self.running().alive() {
            tree.begin_end(End::AtOnce);
        }
    }
}

impl Running {
    fn alive(&mut self) -> Vec<Arc<Tree>> {
        let alive: Vec<Arc<Tree>> =
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
                format!(
                    "cannot start another command: {running} run already, what they left in the background included"
                ),
            )
            .hint("wait for some, or kill background jobs")),
            _ => Ok(()),
        }
    }
}

/// The sandbox is no more.
pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox has been stopped").hint("create another one")
}

/// What the keeper itself needed for a command could not be had.
fn broken(what: &str, why: Errno) -> Error {
    let kind = match why {
        Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => ErrorKind::Busy,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the keeper cannot {what}: {}", failure::words(why)))
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidPath, "the directory of a command has a NUL byte in its name"))
}
