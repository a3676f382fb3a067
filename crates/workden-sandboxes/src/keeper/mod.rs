//! A keeper and the connection to it.
//!
//! Invariant: an owned keeper ends with this value. Dropping closes the stream, which ends the keeper however many
//! calls are running. A leased keeper ends when it is stopped, or when its lease ends.

mod child;
mod lease;
mod process;
mod program;

use std::{
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use child::KeeperChild;
pub(crate) use lease::{KeeperProcess, LeaseDirectory};
pub use program::{KEEPER_WORD, KeeperProgram};
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result, Sandbox, limits};
use workden_wire::{Launch, LaunchTarget, Lifetime, PROTOCOL, RemoteSandbox, TokenHash};

/// How long a keeper may take from its start to its first message.
const START_TIME: Duration = Duration::from_secs(20);
/// How long a keeper may take to stop its commands, which have [`limits::TERM_TIME`].
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));
/// How long a leased keeper may take to answer a client that attaches.
const ATTACH_TIME: Duration = Duration::from_secs(10);
/// How long a keeper may take to clean up after that.
const END_TIME: Duration = Duration::from_secs(5);

/// A keeper and the connection to it.
#[derive(Debug)]
pub(crate) struct KeeperConnection {
    pub(crate) remote: RemoteSandbox,
    held: Held,
}

/// What keeps a keeper alive.
#[derive(Debug)]
enum Held {
    /// This process: the keeper ends when the stream closes.
    Owned {
        /// A second handle to the connection's stream, to close it while others still hold the connection.
        stream: UnixStream,
        child: KeeperChild,
    },
    /// Its lease, in this directory: other processes may attach.
    Leased { directory: LeaseDirectory, process: Option<KeeperProcess> },
}

impl KeeperConnection {
    /// Starts a keeper on this target, and connects.
    pub(crate) async fn start(program: &KeeperProgram, target: LaunchTarget, log: Option<&Path>) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| no_stream(&error))?;
        let child = KeeperChild::start(program, theirs, log)?;
        let remote = connected(&ours, &child, target, Lifetime::Owned).await?;
        tracing::debug!(pid = child.id(), "keeper started");
        Ok(Self { remote, held: Held::Owned { stream: ours, child } })
    }

    /// Starts a keeper with a lease, in a new directory, on the planned target. It lives for the lease without a
    /// connection.
    pub(crate) async fn lease(
        program: KeeperProgram,
        plan: impl FnOnce() -> Result<LaunchTarget> + Send + 'static,
        log: Option<PathBuf>,
        (directory, ttl): (LeaseDirectory, Duration),
    ) -> Result<Self> {
        let place = directory.clone();
        // Reading files and starting a process block, and many sandboxes may start at once: keep that off the async
        // threads.
        let started = tokio::task::spawn_blocking(move || {
            let target = plan()?;
            let token = place.make()?;
            let started = Started::begin(&program, log.as_deref(), &place).inspect_err(|_| drop(place.remove()));
            Ok::<_, Error>((started?, target, token))
        });
        let broken = || Error::new(ErrorKind::Io, "starting the keeper was interrupted");
        let (Started { ours, child }, target, token) = started.await.map_err(|_| broken())??;
        let lifetime = Lifetime::Leased {
            ttl,
            socket: directory.socket(),
            token_sha256: TokenHash::of(&token).to_string(),
            directory: Some(directory.path().to_owned()),
        };
        match connected(&ours, &child, target, lifetime).await {
            Ok(remote) => {
                tracing::debug!(pid = child.id(), ttl = ttl.as_secs(), "keeper with a lease started");
                let process = directory.keeper();
                Ok(Self { remote, held: Held::Leased { directory, process } })
            }
            Err(error) => {
                let _ = directory.remove();
                Err(error)
            }
        }
    }

    /// Attaches to a leased keeper.
    pub(crate) async fn attach(directory: LeaseDirectory) -> Result<Self> {
        let token = directory.token()?;
        let connect = async {
            let stream = tokio::net::UnixStream::connect(directory.socket()).await.map_err(|_| no_listener())?;
            RemoteSandbox::connect(stream, Some(&token)).await
        };
        let remote = timeout(ATTACH_TIME, connect).await.unwrap_or_else(|_| Err(no_listener()))?;
        let process = directory.keeper();
        Ok(Self { remote, held: Held::Leased { directory, process } })
    }

    /// Ends the sandbox: stops its commands, closes the stream, then kills. Returns when the keeper has exited.
    pub(crate) async fn stop(&self) -> Result<()> {
        self.wake();
        // The keeper is closed whatever it answers.
        let _ = timeout(STOP_TIME, self.remote.stop()).await;
        self.close().await;
        Ok(())
    }

    /// Resumes a keeper that a command has stopped with a signal, which is possible on the host.
    fn wake(&self) {
        if let Held::Owned { child, .. } = &self.held {
            child.wake();
        }
    }

    /// Ends the sandbox at once: closes the stream, and kills a keeper that does not react. Returns when the keeper
    /// has exited.
    pub(crate) async fn close(&self) {
        tracing::debug!("stopping the keeper");
        match &self.held {
            Held::Owned { stream, child } => {
                end(stream);
                child.wake();
                if timeout(END_TIME, child.wait()).await.is_err() {
                    child.kill();
                    child.wait().await;
                }
            }
            Held::Leased { directory, process } => {
                if let Some(process) = process {
                    let patience = if self.remote.is_gone() { END_TIME } else { Duration::ZERO };
                    process.end(patience).await;
                }
                // Its supervisor has usually removed it.
                let _ = directory.remove();
            }
        }
    }
}

/// A keeper process that waits for its configuration. It exits when the stream closes first.
struct Started {
    ours: UnixStream,
    child: KeeperChild,
}

impl Started {
    fn begin(program: &KeeperProgram, log: Option<&Path>, directory: &LeaseDirectory) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| no_stream(&error))?;
        let child = KeeperChild::start(program, theirs, log)?;
        // Before it receives its configuration: a keeper that cannot be found must not stay alive.
        directory.write_keeper(child.id())?;
        Ok(Self { ours, child })
    }
}

impl Drop for KeeperConnection {
    fn drop(&mut self) {
        match &self.held {
            Held::Owned { stream, child } => {
                end(stream);
                child.wake();
            }
            Held::Leased { .. } => {}
        }
    }
}

/// Configures a keeper that was just started, and connects; ends it on failure.
async fn connected(
    ours: &UnixStream,
    child: &KeeperChild,
    target: LaunchTarget,
    lifetime: Lifetime,
) -> Result<RemoteSandbox> {
    match timeout(START_TIME, connect(ours, target, lifetime)).await {
        Ok(Ok(remote)) => Ok(remote),
        Ok(Err(error)) => {
            end(ours);
            Err(told(error, child).await)
        }
        Err(_) => {
            child.kill();
            let seconds = START_TIME.as_secs();
            tracing::warn!(pid = child.id(), seconds, "keeper not ready in time");
            Err(Error::new(ErrorKind::TimedOut, format!("starting the keeper timed out after {seconds} s")))
        }
    }
}

fn no_listener() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox is gone: no process listens on its socket")
}

async fn connect(ours: &UnixStream, target: LaunchTarget, lifetime: Lifetime) -> Result<RemoteSandbox> {
    let stream = ours.try_clone().map_err(|error| no_stream(&error))?;
    stream.set_nonblocking(true).map_err(|error| no_stream(&error))?;
    let mut stream = tokio::net::UnixStream::from_std(stream).map_err(|error| no_stream(&error))?;
    let launch = Launch { protocol: PROTOCOL, target, lifetime };
    workden_wire::launch(&mut stream, &launch).await?;
    RemoteSandbox::connect(stream, None).await
}

/// Adds the exit status of a keeper that exited without a message.
async fn told(error: Error, child: &KeeperChild) -> Error {
    let ended = timeout(END_TIME, child.wait()).await;
    let Ok(status) = ended else {
        child.kill();
        return error;
    };
    match status {
        Some(status) if error.kind() == ErrorKind::Gone => {
            Error::new(ErrorKind::Gone, format!("the keeper ended before it was ready ({status})"))
                .hint("the keeper must be `workden` or `workden-keeper` of the same version")
        }
        _ => error,
    }
}

fn end(stream: &UnixStream) {
    // An error means that the keeper has closed the stream.
    let _ = stream.shutdown(Shutdown::Both);
}

fn no_stream(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot open a stream to the keeper: {}", error.kind()))
}
