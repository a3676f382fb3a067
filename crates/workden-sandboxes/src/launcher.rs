//! `Launcher`: makes the sandboxes of sessions. Linux sandboxes and containers have one each, and a
//! program can bring its own.

use std::{fmt, future::Future, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use crate::{SessionId, runtimes::RuntimeConfig};

/// What a sandbox is made for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchRequest {
    /// Whose it is; `None` for a spare one, which somebody gets later.
    pub session: Option<SessionId>,
    /// What is installed in it; `None` for what the factory does without being told.
    pub runtime: Option<RuntimeConfig>,
    /// The directory of the host that holds the files of the session, and outlives it.
    pub workspace: Option<PathBuf>,
    /// How long it lives on its own when whoever made it is gone.
    pub idle: Option<Duration>,
}

/// A sandbox that was made or found, and what its factory calls it.
#[derive(Clone)]
pub struct Launched {
    /// The sandbox.
    pub sandbox: Arc<dyn Sandbox>,
    /// The name by which its factory finds it again: a container's, a directory's. It changes when a
    /// spare one is given away.
    pub name: String,
}

impl fmt::Debug for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launched").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A sandbox that is there from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingSandbox {
    /// What its factory calls it.
    pub name: String,
    /// Whose it is; `None` for a spare one.
    pub session: Option<SessionId>,
    /// Whether it still runs: one that does not can only be removed.
    pub running: bool,
    /// How old it is, if that is known.
    pub age: Option<Duration>,
}

/// Makes the sandboxes of sessions, and finds those again that it made before, also in an earlier process.
#[async_trait]
pub trait Launcher: Send + Sync + 'static {
    /// Makes a sandbox, started and ready.
    ///
    /// # Behavior
    ///
    /// - A failure leaves nothing behind.
    /// - Dropping the call leaves nothing behind that [`find`](Self::find) does not find.
    async fn create(&self, order: &LaunchRequest) -> Result<Launched>;

    /// Gives a spare sandbox to a session. It has a new name after that.
    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched>;

    /// All that there is of this factory's, from before and from now.
    async fn find(&self) -> Result<Vec<ExistingSandbox>>;

    /// Connects to a sandbox that is there from before.
    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched>;

    /// Removes what there is of this name, whether it runs or not. Nothing there is fine.
    async fn remove(&self, name: &str) -> Result<()>;
}

/// A function as a factory: it makes sandboxes that end with this process, so that there are none to find.
#[async_trait]
impl<F, R> Launcher for F
where
    F: Fn(LaunchRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Arc<dyn Sandbox>>> + Send + 'static,
{
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        let name = order.session.as_ref().map_or_else(String::new, ToString::to_string);
        Ok(Launched { sandbox: self(order.clone()).await?, name })
    }

    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched> {
        Ok(Launched { name: session.to_string(), ..spare })
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        Ok(Vec::new())
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        Err(Error::new(ErrorKind::NotFound, format!("there is no sandbox `{}` from before", found.name)))
    }

    async fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }
}
