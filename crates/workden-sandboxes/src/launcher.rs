//! `Launcher`: creates the sandboxes of sessions. Linux sandboxes and containers have one each, and a program can
//! implement its own.

use std::{fmt, future::Future, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use crate::{SessionId, runtimes::RuntimeConfig};

/// The requirements of a new sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchRequest {
    /// The session that it is for; `None` for a spare one, which is assigned later.
    pub session: Option<SessionId>,
    /// The software in it; `None` for the launcher's default.
    pub runtime: Option<RuntimeConfig>,
    /// The directory of the host that holds the files of the session, and outlives it.
    pub workspace: Option<PathBuf>,
    /// How long it lives without a connection after its creator has exited.
    pub idle: Option<Duration>,
}

/// A sandbox that was created or found, and its launcher's name for it.
#[derive(Clone)]
pub struct Launched {
    /// The sandbox.
    pub sandbox: Arc<dyn Sandbox>,
    /// The name by which its launcher finds it again: a container's, a directory's. It changes when a spare sandbox
    /// is assigned.
    pub name: String,
}

impl fmt::Debug for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launched").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A sandbox of an earlier process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingSandbox {
    /// Its launcher's name for it.
    pub name: String,
    /// The session that it belongs to; `None` for a spare one.
    pub session: Option<SessionId>,
    /// Whether it still runs: otherwise it can only be removed.
    pub running: bool,
    /// Its age, if known.
    pub age: Option<Duration>,
}

/// Creates the sandboxes of sessions, and finds those that it created before, even in an earlier process.
#[async_trait]
pub trait Launcher: Send + Sync + 'static {
    /// Creates a sandbox, started and ready.
    ///
    /// # Behavior
    ///
    /// - A failure leaves nothing behind.
    /// - Dropping the call leaves nothing behind that [`find`](Self::find) does not find.
    async fn create(&self, order: &LaunchRequest) -> Result<Launched>;

    /// Assigns a spare sandbox to a session, which changes its name.
    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched>;

    /// Finds all sandboxes of this launcher, of this process and of earlier ones.
    async fn find(&self) -> Result<Vec<ExistingSandbox>>;

    /// Connects to a sandbox that exists already.
    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched>;

    /// Removes the sandbox of this name, whether it runs or not. A missing sandbox is not an error.
    async fn remove(&self, name: &str) -> Result<()>;
}

/// A function as a launcher: its sandboxes end with this process, so there are none to find.
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
        Err(Error::new(ErrorKind::NotFound, format!("sandbox `{}` not found", found.name)))
    }

    async fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }
}
