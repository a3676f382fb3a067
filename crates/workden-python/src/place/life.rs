//! The life of a place that is a sandbox: started early, looked after, asked what separates it from the machine.

use std::{fmt, sync::Arc};

use workden_core::Sandbox;
use workden_sandboxes::LateSandbox;

use super::Place;
use crate::{calls::calls, failure, runtime};

/// Whether the sandbox of a place has been started, which nobody could find out by asking it: it would start.
#[derive(Clone)]
pub(crate) struct Life {
    shared: Arc<Shared>,
}

struct Shared {
    has_started: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// What starts once more after its end.
    late: Option<LateSandbox>,
}

impl Life {
    /// That of a sandbox of which this function knows it. What the function holds is let go last of all.
    pub(super) fn told_by(has_started: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(Shared { has_started: Some(Box::new(has_started)), late: None }) }
    }

    /// The same of one that starts once more after its end.
    pub(super) fn of_late(late: LateSandbox, has_started: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(Shared { has_started: Some(Box::new(has_started)), late: Some(late) }) }
    }

    fn has_started(&self) -> bool {
        self.shared.has_started.as_ref().is_some_and(|told| told())
    }
}

impl Drop for Shared {
    /// A container that nobody holds any more is removed by a task, and Python lets go of things on threads that
    /// could not start one.
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

    /// Starts the sandbox now, before anybody needs it.
    fn start | start_async (den) -> () {
        den.workspace.commands()?.usage().await.map(drop)
    }

    /// Whether the sandbox has been started, and is there. Nothing is started by asking.
    fn is_alive | is_alive_async (den) -> bool {
        let Some(life) = den.life.as_ref().filter(|life| life.has_started()) else { return Ok(false) };
        Ok(match (&life.shared.late, den.workspace.commands()) {
            // Not by way of the workspace, which would start another if this one is ended meanwhile.
            (Some(late), _) => match late.sandbox() {
                Some(sandbox) => sandbox.usage().await.is_ok(),
                None => false,
            },
            (None, Ok(commands)) => commands.usage().await.is_ok(),
            (None, Err(_)) => false,
        })
    }

    /// Ends the sandbox with all that runs in it. One that we start is started once more when it is needed again.
    fn end | end_async (den) -> () {
        match (den.life.as_ref().and_then(|life| life.shared.late.as_ref()), den.workspace.commands()) {
            (Some(late), _) => late.end().await,
            (None, Ok(commands)) => commands.stop().await,
            (None, Err(_)) => Ok(()),
        }
    }

    /// What separates commands from the machine, as JSON.
    fn isolation | isolation_async (den) -> String {
        let isolation = den.workspace.commands()?.isolation().await?;
        serde_json::to_string(&isolation).map_err(|error| failure::invalid("the report", error))
    }

    /// What the sandbox uses at the moment, as JSON.
    fn usage | usage_async (den) -> String {
        let usage = den.workspace.commands()?.usage().await?;
        serde_json::to_string(&usage).map_err(|error| failure::invalid("the report", error))
    }
}
