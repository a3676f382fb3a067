//! A keeper, and the connection to it.
//!
//! Invariant: one that is owned ends with this value. Dropping closes the stream, which is all that a keeper
//! needs to hear, however many calls are still under way. One with a lease ends when it is told to, or when
//! its lease is over.

mod child;
mod lease;
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

/// How long a keeper has from its start to its first word.
const START_TIME: Duration = Duration::from_secs(20);
/// How long it has to stop its commands when it is asked to: they have [`limits::TERM_TIME`].
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));
/// How long one with a lease has to answer whoever comes back.
const ATTACH_TIME: Duration = Duration::from_secs(10);
/// How long it has to clean up after that.
const END_TIME: Duration = Duration::from_secs(5);

/// A keeper, and the connection to it.
#[derive(Debug)]
pub(crate) struct KeeperConnection {
    pub(crate) remote: RemoteSandbox,
    held: Held,
}

/// By what a keeper is held.
#[derive(Debug)]
enum Held {
    /// By us: it ends when we let go.
    Owned {
        /// The same stream as the connection's, for ending it whoever still holds that.
        stream: UnixStream,
        child: KeeperChild,
    },
    /// By its lease, in this directory: others may come back to it.
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

    /// Starts a keeper with a lease, in a directory that is made now, on the target that is planned. It lives for
    /// so long without anybody who is connected.
    pub(crate) async fn lease(
        program: KeeperProgram,
        plan: impl FnOnce() -> Result<LaunchTarget> + Send + 'static,
        log: Option<PathBuf>,
        (directory, ttl): (LeaseDirectory, Duration),
    ) -> Result<Self> {
        let place = directory.clone();
        // Many may start at once, and looking at files and starting a process take their time: not that of
        // the tasks of others.
        let started = tokio::task::spawn_blocking(move || {
            let target = plan()?;
            let token = place.make()?;
            let started = Started::begin(&program, log.as_deref(), &place).inspect_err(|_| drop(place.remove()));
            Ok::<_, Error>((started?, target, token))
        });
        let broken = || Error::new(ErrorKind::Io, "the start of the keeper broke off");
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

    /// Comes back to a keeper with a lease.
    pub(crate) async fn attach(directory: LeaseDirectory) -> Result<Self> {
        let token = directory.token()?;
        let connect = async {
            let stream = tokio::net::UnixStream::connect(directory.socket()).await.map_err(|_| nobody_there())?;
            RemoteSandbox::connect(stream, Some(&token)).await
        };
        let remote = timeout(ATTACH_TIME, connect).await.unwrap_or_else(|_| Err(nobody_there()))?;
        let process = directory.keeper();
        Ok(Self { remote, held: Held::Leased { directory, process } })
    }

    /// Ends the sandbox: asks, then closes the stream, then kills. Returns when the keeper is gone.
    pub(crate) async fn stop(&self) -> Result<()> {
        self.wake();
        // Whatever it answers, it will be gone.
        let _ = timeout(STOP_TIME, self.remote.stop()).await;
        self.close().await;
        Ok(())
    }

    /// Continues a keeper that a command has stopped, which is possible on the host.
    fn wake(&self) {
        if let Held::Owned { child, .. } = &self.held {
            child.wake();
        }
    }

    /// Ends the sandbox without asking: closes the stream, and kills what does not heed that. Returns when
    /// the keeper is gone.
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
                // Its supervisor has removed it, if it had the time.
                let _ = directory.remove();
            }
        }
    }
}

/// A process that waits to be told what keeper to be. When nobody tells it, it ends.
struct Started {
    ours: UnixStream,
    child: KeeperChild,
}

impl Started {
    fn begin(program: &KeeperProgram, log: Option<&Path>, directory: &LeaseDirectory) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| no_stream(&error))?;
        let child = KeeperChild::start(program, theirs, log)?;
        // Before it is told anything: one that nobody can find must not live.
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

/// Tells a keeper that was just started what to be, and connects; ends one that does not become that.
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
            Err(Error::new(ErrorKind::TimedOut, format!("the keeper was not ready after {seconds} seconds")))
        }
    }
}

fn nobody_there() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox is gone: nobody answers on its socket")
}

async fn connect(ours: &UnixStream, target: LaunchTarget, lifetime: Lifetime) -> Result<RemoteSandbox> {
    let stream = ours.try_clone().map_err(|error| no_stream(&error))?;
    stream.set_nonblocking(true).map_err(|error| no_stream(&error))?;
    let mut stream = tokio::net::UnixStream::from_std(stream).map_err(|error| no_stream(&error))?;
    let launch = Launch { protocol: PROTOCOL, target, lifetime };
    workden_wire::launch(&mut stream, &launch).await?;
    RemoteSandbox::connect(stream, None).await
}

/// One that ended without a word may say something by how it ended.
async fn told(error: Error, child: &KeeperChild) -> Error {
    let ended = timeout(END_TIME, child.wait()).await;
    let Ok(status) = ended else {
        child.kill();
        return error;
    };
    match status {
        Some(status) if error.kind() == ErrorKind::Gone => {
            Error::new(ErrorKind::Gone, format!("the keeper ended before it was ready ({status})"))
                .hint("is the keeper the file of `workden` or `workden-keeper`, of this version?")
        }
        _ => error,
    }
}

fn end(stream: &UnixStream) {
    // A stream that the keeper has closed is as good.
    let _ = stream.shutdown(Shutdown::Both);
}

fn no_stream(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("there is no stream to the keeper: {}", error.kind()))
}
