//! A keeper as a child process: it can be waited for and killed, and leaves no zombie, even when no caller waits and
//! the runtime has shut down.

use std::{
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::Signal;
use tokio::sync::watch;
use workden_core::{Error, ErrorKind, Result};

use super::{KeeperProgram, process::ProcessHandle, program::KEEPER_WORD};

/// The process of a keeper.
#[derive(Debug)]
pub(super) struct KeeperChild {
    handle: ProcessHandle,
    over: watch::Receiver<Option<ExitStatus>>,
    id: u32,
}

impl KeeperChild {
    /// Starts a keeper with this stream as standard input. It inherits no environment, and receives no signals from
    /// our terminal.
    pub(super) fn start(program: &KeeperProgram, stream: UnixStream, log: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(program.path());
        command.arg(KEEPER_WORD).env_clear().current_dir("/").process_group(0);
        command.stdin(OwnedFd::from(stream)).stdout(Stdio::null()).stderr(log_file(log)?);
        let child = command.spawn().map_err(|error| cannot_start(&error))?;
        let id = child.id();
        let mut unreaped = Unreaped(Some(child));
        let handle = ProcessHandle::open(id).map_err(|error| cannot_start(&error))?;
        let exited = handle.exited().map_err(|error| cannot_start(&error))?;
        let (tell, over) = watch::channel(None);
        tokio::spawn(async move {
            if exited.await.is_ok() {
                // The process has exited, so this does not block.
                tell.send_replace(unreaped.reap());
            }
        });
        Ok(Self { handle, over, id })
    }

    /// Returns the pid, valid until the process has exited.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the process exits.
    pub(super) async fn wait(&self) -> Option<ExitStatus> {
        let mut over = self.over.clone();
        let ended = over.wait_for(Option::is_some).await;
        ended.ok().and_then(|status| *status)
    }

    /// Resumes the process if a signal stopped it.
    pub(super) fn wake(&self) {
        self.handle.signal(Signal::CONT);
    }

    /// Kills the process.
    pub(super) fn kill(&self) {
        self.handle.signal(Signal::KILL);
    }
}

fn log_file(log: Option<&Path>) -> Result<Stdio> {
    let Some(log) = log else { return Ok(Stdio::null()) };
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(log)
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot open the keeper log: {}", error.kind())))?;
    Ok(file.into())
}

fn cannot_start(error: &std::io::Error) -> Error {
    let kind = if error.kind() == std::io::ErrorKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Io };
    Error::new(kind, format!("the keeper cannot be started: {}", error.kind()))
        .hint("the keeper must be an executable file: `workden` or `workden-keeper`")
}

/// A child that has not been reaped.
struct Unreaped(Option<Child>);

impl Unreaped {
    fn reap(&mut self) -> Option<ExitStatus> {
        self.0.take()?.wait().ok()
    }
}

impl Drop for Unreaped {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        if let Ok(None) = child.try_wait() {
            // The runtime shut down before the keeper exited. A thread is cheap; a zombie would stay.
            let reaper = std::thread::Builder::new().name("workden-reaper".to_owned()).stack_size(64 * 1024);
            let _ = reaper.spawn(move || child.wait());
        }
    }
}
