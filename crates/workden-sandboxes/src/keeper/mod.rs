//! A keeper that was started here, and the connection to it.
//!
//! Invariant: it ends with this value. Dropping closes the stream, which is all that a keeper needs to
//! hear, however many calls are still under way.

mod child;
mod program;

use std::{net::Shutdown, os::unix::net::UnixStream, path::Path, time::Duration};

use child::KeeperChild;
pub use program::{KEEPER_WORD, KeeperProgram};
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result, Sandbox, limits};
use workden_wire::{Ground, Launch, Lifetime, PROTOCOL, RemoteSandbox};

/// How long a keeper has from its start to its first word.
const START_TIME: Duration = Duration::from_secs(20);
/// How long it has to stop its commands when it is asked to: they have [`limits::TERM_TIME`].
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));
/// How long it has to clean up after that.
const END_TIME: Duration = Duration::from_secs(5);

/// A keeper that was started here.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) remote: RemoteSandbox,
    /// The same stream as the connection's, for ending it whoever still holds that.
    stream: UnixStream,
    child: KeeperChild,
}

impl Keeper {
    /// Starts a keeper on this ground, and connects.
    pub(crate) async fn start(program: &KeeperProgram, ground: Ground, log: Option<&Path>) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| no_stream(&error))?;
        let child = KeeperChild::start(program, theirs, log)?;
        match timeout(START_TIME, connect(&ours, ground)).await {
            Ok(Ok(remote)) => Ok(Self { remote, stream: ours, child }),
            Ok(Err(error)) => {
                end(&ours);
                Err(told(error, &child).await)
            }
            Err(_) => {
                child.kill();
                let seconds = START_TIME.as_secs();
                Err(Error::new(ErrorKind::TimedOut, format!("the keeper was not ready after {seconds} seconds")))
            }
        }
    }

    /// Ends the sandbox: asks, then closes the stream, then kills. Returns when the keeper is gone.
    pub(crate) async fn stop(&self) -> Result<()> {
        // Whatever it answers, it will be gone.
        let _ = timeout(STOP_TIME, self.remote.stop()).await;
        self.close().await;
        Ok(())
    }

    /// Ends the sandbox without asking: closes the stream, and kills what does not heed that. Returns when
    /// the keeper is gone.
    pub(crate) async fn close(&self) {
        end(&self.stream);
        if timeout(END_TIME, self.child.wait()).await.is_err() {
            self.child.kill();
            self.child.wait().await;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        end(&self.stream);
    }
}

async fn connect(ours: &UnixStream, ground: Ground) -> Result<RemoteSandbox> {
    let stream = ours.try_clone().map_err(|error| no_stream(&error))?;
    stream.set_nonblocking(true).map_err(|error| no_stream(&error))?;
    let mut stream = tokio::net::UnixStream::from_std(stream).map_err(|error| no_stream(&error))?;
    let launch = Launch { protocol: PROTOCOL, ground, lifetime: Lifetime::Owned };
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
