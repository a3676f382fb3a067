//! `ReconnectingSandbox`: the connection to a sandbox that lives elsewhere, made again when it breaks.
//!
//! Invariant: connecting happens once at a time, whoever asks and whoever stops waiting. A stream that breaks is
//! made anew by the next call; a call that was on its way is repeated only when it changes nothing; and nobody
//! waits for ever: whoever hears nothing finds out why.

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

/// How long a call is silent before somebody asks whether the other side is still there.
const SILENCE: Duration = Duration::from_secs(3);
/// How long a keeper has to answer that question.
const ANSWER_TIME: Duration = Duration::from_secs(4);
/// How long whoever runs the sandbox has to say what became of it.
const LOOK_TIME: Duration = Duration::from_secs(6);
/// How long a keeper may say nothing at all while its sandbox is said to run: machines can be busy.
const DEAF_TIME: Duration = Duration::from_secs(40);

/// Connects to one sandbox that lives elsewhere.
#[async_trait]
pub(crate) trait Connector: Send + Sync + 'static {
    /// Connects, and makes the sandbox first when there is none yet.
    ///
    /// # Errors
    ///
    /// `Gone` when there was one and is no more: then it is gone for good.
    async fn connect(&self) -> Result<RemoteSandbox>;

    /// Looks whether the sandbox is there and runs, without talking to its keeper.
    ///
    /// # Errors
    ///
    /// What became of it: `Gone`, `Busy` when it is paused, `Unreachable` when nobody knows.
    async fn look(&self) -> Result<()>;

    /// What separates commands from the machine, by what the keeper sees and by what else is known.
    async fn report(&self, seen: Isolation) -> Result<Isolation>;

    /// Ends the sandbox. One that is gone is fine.
    async fn end(&self, remote: Option<RemoteSandbox>) -> Result<()>;
}

type Connecting = Shared<BoxFuture<'static, Result<RemoteSandbox>>>;

/// The connection to a sandbox that lives elsewhere.
pub(crate) struct ReconnectingSandbox<C> {
    pub(crate) connector: Arc<C>,
    at: Mutex<At>,
}

#[derive(Default)]
struct At {
    connecting: Option<Connecting>,
    /// Why there is nothing to connect to any more.
    over: Option<Error>,
}

/// Whether a call that broke off may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// It changes nothing.
    Once,
    /// Nobody knows how far it got.
    Never,
}

impl<C: Connector> ReconnectingSandbox<C> {
    pub(crate) fn new(connector: C) -> Self {
        Self { connector: Arc::new(connector), at: Mutex::default() }
    }

    fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection there is, or a new one.
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

    /// Connects in a task of its own: whoever asked may stop waiting, and others wait for the same.
    fn connect(&self) -> Connecting {
        let connector = Arc::clone(&self.connector);
        let connecting = tokio::spawn(async move { connector.connect().await });
        let connected = async move {
            match connecting.await {
                Ok(connected) => connected,
                Err(_) => Err(Error::new(ErrorKind::Io, "connecting to the sandbox broke off")),
            }
        };
        connected.boxed().shared()
    }

    /// Waits until there is a reason not to wait for an answer any longer.
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
                    return Error::new(ErrorKind::Unreachable, sentence).hint("try again, or make a new sandbox");
                }
                Ok(Err(why)) => {
                    if why.kind() != ErrorKind::Busy {
                        self.forget();
                    }
                    return why;
                }
                Err(_) => {
                    self.forget();
                    return Error::new(ErrorKind::Unreachable, "the sandbox cannot be reached: nobody answers")
                        .hint("is the network to it cut? The next call tries again");
                }
            }
        }
    }

    /// What to make of an answer: `None` to ask again.
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
        // A stream says that it broke, and never why.
        let why = match timeout(LOOK_TIME, self.connector.look()).await {
            Ok(Ok(())) => match std::mem::replace(again, Again::Never) {
                Again::Once => {
                    tracing::info!("connection to the sandbox lost; connecting again");
                    return None;
                }
                Again::Never => {
                    Error::new(ErrorKind::Unreachable, "the connection to the sandbox broke during the call")
                        .hint("the sandbox is still there: look how far the call got, and try again")
                }
            },
            Ok(Err(why)) => why,
            Err(_) => Error::new(ErrorKind::Unreachable, "the sandbox cannot be reached: nobody answers")
                .hint("the next call tries again"),
        };
        tracing::warn!(%why, "connection to the sandbox lost");
        if why.kind() == ErrorKind::Gone {
            self.at().over.get_or_insert_with(|| why.clone());
        }
        Some(Err(why))
    }

    /// Lets go of a connection that is of no use.
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
        // One that is being made is waited for, or it would be there after its end.
        let remote = match remote {
            Some(connecting) => connecting.await.ok(),
            None => None,
        };
        self.connector.end(remote).await
    }
}

/// Whether it is under way, or there and well.
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
