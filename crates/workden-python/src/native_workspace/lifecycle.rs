//! Lifecycle of a workspace with a sandbox: start, status, isolation and end.

use std::{fmt, sync::Arc};

use workden::{LazySandbox, Workspace};
use workden_core::Sandbox;

use super::NativeWorkspace;
use crate::{calls::calls, failure, runtime};

/// Reports whether the sandbox of a workspace was started. Calling the sandbox itself would start it.
#[derive(Clone)]
pub(crate) struct SandboxLifecycle {
    shared: Arc<Shared>,
}

struct Shared {
    has_started: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// What starts once more after its end.
    late: Option<LazySandbox>,
}

impl SandboxLifecycle {
    /// Uses this function to report the state. Its captures are dropped last.
    pub(super) fn reported_by(has_started: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(Shared { has_started: Some(Box::new(has_started)), late: None }) }
    }

    /// That of a workspace that starts its sandbox itself, and once more after its end.
    pub(super) fn of(workspace: &Workspace) -> Option<Self> {
        workspace.lazy().cloned().map(Self::of_lazy)
    }

    /// That of a sandbox that starts once more after its end.
    pub(super) fn of_lazy(lazy: LazySandbox) -> Self {
        let asked = lazy.clone();
        let has_started: Box<dyn Fn() -> bool + Send + Sync> = Box::new(move || asked.has_started());
        Self { shared: Arc::new(Shared { has_started: Some(has_started), late: Some(lazy) }) }
    }

    fn has_started(&self) -> bool {
        self.shared.has_started.as_ref().is_some_and(|has_started| has_started())
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

impl fmt::Debug for SandboxLifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxLifecycle").field("has_started", &self.has_started()).finish()
    }
}

calls! {
    impl NativeWorkspace = parts;

    /// Starts the sandbox now instead of on first use.
    fn start | start_async (parts) -> () {
        parts.workspace.commands()?.usage().await.map(drop)
    }

    /// Whether the sandbox was started and is running. Does not start it.
    fn is_alive | is_alive_async (parts) -> bool {
        let Some(lifecycle) = parts.lifecycle.as_ref().filter(|lifecycle| lifecycle.has_started()) else {
            return Ok(false);
        };
        Ok(match (&lifecycle.shared.late, parts.workspace.commands()) {
            // Not through the workspace, which would start another sandbox if this one has ended meanwhile.
            (Some(late), _) => match late.sandbox() {
                Some(sandbox) => sandbox.usage().await.is_ok(),
                None => false,
            },
            (None, Ok(commands)) => commands.usage().await.is_ok(),
            (None, Err(_)) => false,
        })
    }

    /// Ends the sandbox and its processes. A sandbox that this workspace started is started again on next use.
    fn end | end_async (parts) -> () {
        let late = parts.lifecycle.as_ref().and_then(|lifecycle| lifecycle.shared.late.as_ref());
        match (late, parts.workspace.commands()) {
            (Some(late), _) => late.end().await,
            (None, Ok(commands)) => commands.stop().await,
            (None, Err(_)) => Ok(()),
        }
    }

    /// Returns the isolation of commands, as JSON.
    fn isolation | isolation_async (parts) -> String {
        let isolation = parts.workspace.commands()?.isolation().await?;
        serde_json::to_string(&isolation).map_err(|error| failure::invalid("the report", error))
    }

    /// Returns the resource usage of the sandbox, as JSON.
    fn usage | usage_async (parts) -> String {
        let usage = parts.workspace.commands()?.usage().await?;
        serde_json::to_string(&usage).map_err(|error| failure::invalid("the report", error))
    }
}
