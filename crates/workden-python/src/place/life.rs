//! Lifecycle of a place with a sandbox: start, status, isolation and end.

use std::{fmt, sync::Arc};

use workden::{LazySandbox, Workspace};
use workden_core::Sandbox;

use super::Place;
use crate::{calls::calls, failure, runtime};

/// Reports whether the sandbox of a place was started. Calling the sandbox itself would start it.
#[derive(Clone)]
pub(crate) struct Life {
    shared: Arc<Shared>,
}

struct Shared {
    has_started: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// What starts once more after its end.
    late: Option<LazySandbox>,
}

impl Life {
    /// Uses this function to report the state. Its captures are dropped last.
    pub(super) fn told_by(has_started: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(Shared { has_started: Some(Box::new(has_started)), late: None }) }
    }

    /// That of a workspace that starts its sandbox itself, and once more after its end.
    pub(super) fn of(workspace: &Workspace) -> Option<Self> {
        let lazy = workspace.lazy()?.clone();
        let asked = lazy.clone();
        let has_started: Box<dyn Fn() -> bool + Send + Sync> = Box::new(move || asked.has_started());
        Some(Self { shared: Arc::new(Shared { has_started: Some(has_started), late: Some(lazy) }) })
    }

    fn has_started(&self) -> bool {
        self.shared.has_started.as_ref().is_some_and(|told| told())
    }
}

impl Drop for Shared {
    /// Dropping an unreferenced container starts a task that removes it, and Python drops objects on threads that
    /// cannot start tasks.
    fn drop(&mut self) {
        let held = (self.late.take(), self.has_started.take());
        runtime::entered(|| drop(held));
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life").field("has_started", &self.has_started()).finish()
    }
}

calls! {
    impl Place = den;

    /// Starts the sandbox now instead of on first use.
    fn start | start_async (den) -> () {
        den.workspace.commands()?.usage().await.map(drop)
    }

    /// Whether the sandbox was started and is running. Does not start it.
    fn is_alive | is_alive_async (den) -> bool {
        let Some(life) = den.life.as_ref().filter(|life| life.has_started()) else { return Ok(false) };
        Ok(match (&life.shared.late, den.workspace.commands()) {
            // Not through the workspace, which would start another sandbox if this one has ended meanwhile.
            (Some(late), _) => match late.sandbox() {
                Some(sandbox) => sandbox.usage().await.is_ok(),
                None => false,
            },
            (None, Ok(commands)) => commands.usage().await.is_ok(),
            (None, Err(_)) => false,
        })
    }

    /// Ends the sandbox and its processes. A sandbox that this place started is started again on next use.
    fn end | end_async (den) -> () {
        match (den.life.as_ref().and_then(|life| life.shared.late.as_ref()), den.workspace.commands()) {
            (Some(late), _) => late.end().await,
            (None, Ok(commands)) => commands.stop().await,
            (None, Err(_)) => Ok(()),
        }
    }

    /// Returns the isolation of commands, as JSON.
    fn isolation | isolation_async (den) -> String {
        let isolation = den.workspace.commands()?.isolation().await?;
        serde_json::to_string(&isolation).map_err(|error| failure::invalid("the report", error))
    }

    /// Returns the resource usage of the sandbox, as JSON.
    fn usage | usage_async (den) -> String {
        let usage = den.workspace.commands()?.usage().await?;
        serde_json::to_string(&usage).map_err(|error| failure::invalid("the report", error))
    }
}
