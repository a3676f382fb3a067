//! `ReconnectingSandbox`: a connection to a remote sandbox that is reestablished when it breaks.
//!
//! Invariant: only one connection attempt runs at a time, and a caller that stops waiting does not cancel it. The
//! next call replaces a broken stream; an interrupted call is repeated only if it changes nothing; and no call waits
//! forever: a silent connection is checked.

mod sandbox;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio::time::{Instant, sleep, timeout};
use workden_core::{Error, ErrorKind, Result, Sandbox, sandbox::Isolation};
use workden_wire::RemoteSandbox;

/// How long a call may be silent before the keeper is checked.
const SILENCE: Duration = Duration::from_secs(3);
/// How long a keeper may take to answer that check.
const ANSWER_TIME: Duration = Duration::from_secs(4);
/// How long the sandbox's host may take to report its state.
const LOOK_TIME: Duration = Duration::from_secs(6);
/// How long a keeper of a running sandbox may be silent: machines can be busy.
const DEAF_TIME: Duration = Duration::from_secs(40);

/// Connects to one remote sandbox.
#[async_trait]
pub(crate) trait Connector: Send + Sync + 'static {
    /// Connects, and creates the sandbox first if it does not exist yet.
    ///
    /// # Errors
    ///
    /// `Gone` when it existed and no longer does, which is permanent.
    async fn connect(&self) -> Result<RemoteSandbox>;

    /// Checks that the sandbox exists and runs, without contacting its keeper.
    ///
    /// # Errors
    ///
    /// Its state: `Gone`, `Busy` when it is paused, `Unreachable` when the state is unknown.
    async fn look(&self) -> Result<()>;

    /// Completes the keeper's isolation report with what else is known.
    async fn report(&self, seen: Isolation) -> Result<Isolation>;

    /// Ends the sandbox. A sandbox that has ended is not an error.
    async fn end(&self, remote: Option<RemoteSandbox>) -> Result<()>;
}

type Connecting = Shared<BoxFuture<'static, Result<RemoteSandbox>>>;

/// The connection to a remote sandbox.
pub(crate) struct ReconnectingSandbox<C> {
    pub(crate) connector: Arc<C>,
    at: Mutex<At>,
}

#[derive(Default)]
struct At {
    connecting: Option<Connecting>,
    /// Why no further connection is possible.
    over: Option<Error>,
}

/// Whether an interrupted call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// The call changes nothing.
    Once,
    /// The call may have taken effect.
    Never,
}

impl<C: Connector> ReconnectingSandbox<C> {
    pub(crate) fn new(connector: C) -> Self {
        Self { connector: Arc::new(connector), at: Mutex::default() }
    }

    fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current connection, or a new one.
    pub(crate) async fn remote(&self) -> Result<RemoteSandbox> {
        let connecting = {
            let mut at = self.at();
            if let Some(why) = &at.over {
                return Err(why.clone());
            }
            match at.connecting.as_ref().filter(|connecting| is_of_use(connecting)) {
                Some(connecting) => connecting.clone(),
                None => {
                    let connecting = self.connect();
                    at.connecting = Some(connecting.clone());
                    connecting
                }
            }
        };
        let connected = connecting.await;
        if let Err(why) = &connected
            && why.kind() == ErrorKind::Gone
        {
            self.at().over.get_or_insert_with(|| why.clone());
        }
        connected
    }

    /// Connects in a separate task: the caller may stop waiting, and others share the result.
    fn connect(&self) -> Connecting {
        let connector = Arc::clone(&self.connector);
        let connecting = tokio::spawn(async move { connector.connect().await });
        let connected = async move {
            match connecting.await {
                Ok(connected) => connected,
                Err(_) => Err(Error::new(ErrorKind::Io, "connecting to the sandbox was interrupted")),
            }
        };
        connected.boxed().shared()
    }

    /// Waits until waiting for an answer is pointless, and returns why.
    pub(crate) async fn trouble(&self, remote: &RemoteSandbox) -> Error {
        let mut heard = Instant::now();
        loop {
            sleep(SILENCE).await;
            if let Ok(Ok(_)) = timeout(ANSWER_TIME, remote.usage()).await {
                heard = Instant::now();
                continue;
            }
            match timeout(LOOK_TIME, self.connector.look()).await {
                Ok(Ok(())) if heard.elapsed() < DEAF_TIME => {}
                Ok(Ok(())) => {
                    self.forget();
                    let sentence = "the sandbox runs, but its keeper does not answer";
                    return Error::new(ErrorKind::Unreachable, sentence).hint("try again, or create a new sandbox");
                }
                Ok(Err(why)) => {
                    if why.kind() != ErrorKind::Busy {
                        self.forget();
                    }
                    return why;
                }
                Err(_) => {
                    self.forget();
                    return Error::new(ErrorKind::Unreachable, "the sandbox cannot be reached: no answer")
                        .hint("check the network to it; the next call tries again");
                }
            }
        }
    }

    /// Decides about an answer: `None` means to repeat the call.
    pub(crate) async fn judge<T>(
        &self,
        remote: &RemoteSandbox,
        answer: Result<T>,
        again: &mut Again,
    ) -> Option<Result<T>> {
        match &answer {
            Err(why) if remote.was_lost(why).await => {}
            _ => return Some(answer),
        }
        // A sandbox that was stopped here may look alive for a moment.
        if let Some(over) = self.at().over.clone() {
            return Some(Err(over));
        }
        // A broken stream does not carry a reason.
        let why = match timeout(LOOK_TIME, self.connector.look()).await {
            Ok(Ok(())) => match std::mem::replace(again, Again::Never) {
                Again::Once => {
                    tracing::info!("connection to the sandbox lost; connecting again");
                    return None;
                }
                Again::Never => {
                    Error::new(ErrorKind::Unreachable, "the connection to the sandbox broke during the call")
                        .hint("the sandbox is still there: check how far the call got, then try again")
                }
            },
            Ok(Err(why)) => why,
            Err(_) => Error::new(ErrorKind::Unreachable, "the sandbox cannot be reached: no answer")
                .hint("the next call tries again"),
        };
        tracing::warn!(%why, "connection to the sandbox lost");
        if why.kind() == ErrorKind::Gone {
            self.at().over.get_or_insert_with(|| why.clone());
        }
        Some(Err(why))
    }

    /// Drops an unusable connection.
    fn forget(&self) {
        self.at().connecting = None;
    }

    /// Ends the sandbox; later calls are `Gone`.
    pub(crate) async fn end(&self) -> Result<()> {
        let remote = {
            let mut at = self.at();
            at.over.get_or_insert_with(stopped);
            at.connecting.take()
        };
        // Wait for a pending connection: its sandbox would otherwise outlive the end.
        let remote = match remote {
            Some(connecting) => connecting.await.ok(),
            None => None,
        };
        self.connector.end(remote).await
    }
}

/// Whether the connection is pending or usable.
fn is_of_use(connecting: &Connecting) -> bool {
    match connecting.peek() {
        None => true,
        Some(Ok(remote)) => !remote.is_gone(),
        Some(Err(_)) => false,
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox is gone: it was stopped")
}

impl<C> fmt::Debug for ReconnectingSandbox<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectingSandbox").finish_non_exhaustive()
    }
}
