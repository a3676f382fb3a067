//! `Session`: a sandbox whose use is counted. A call counts while it is in progress, and a process until its end is
//! read or its stream is dropped.

use std::{
    fmt,
    ops::Deref,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use workden_core::{
    Result, Sandbox,
    sandbox::{ProcessEvent, ProcessEvents},
};

use crate::{
    Opened, SessionId, SessionRecord,
    live::{InUse, Live},
};
use workden_sandboxes::delegate;

/// A session: its id, and its sandbox. Clones share it. The manager's `release`, reaper or shutdown ends it; dropping
/// it does not.
#[derive(Clone)]
pub struct Session {
    live: Arc<Live>,
    sandbox: Arc<dyn Sandbox>,
}

impl Session {
    pub(super) fn new(live: Arc<Live>) -> Self {
        let sandbox = Arc::new(CountedSandbox { live: Arc::clone(&live) });
        Self { live, sandbox }
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.live.id
    }

    /// Returns the launcher's name for its sandbox.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.live.placed.name
    }

    /// Returns its record, where records are in a directory.
    #[must_use]
    pub fn record(&self) -> Option<&SessionRecord> {
        self.live.record.as_ref().and_then(|open| open.record())
    }

    /// Whether this process created it or found it.
    #[must_use]
    pub fn opened(&self) -> Opened {
        self.live.record.as_ref().map_or(Opened::New, |open| open.opened())
    }

    /// Returns its sandbox; calls of it count as use of the session.
    #[must_use]
    pub fn sandbox(&self) -> Arc<dyn Sandbox> {
        Arc::clone(&self.sandbox)
    }
}

impl Deref for Session {
    type Target = dyn Sandbox;

    fn deref(&self) -> &Self::Target {
        &*self.sandbox
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The sandbox of a session, with its calls counted.
struct CountedSandbox {
    live: Arc<Live>,
}

impl fmt::Debug for CountedSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountedSandbox({})", self.live.id)
    }
}

delegate!(CountedSandbox, |this| this.live.begin()?, |answer| this.live.told(answer), {
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        let in_use = self.live.begin()?;
        let mut process = self.live.told(in_use.spawn(request).await)?;
        process.events = Box::pin(CountedEvents { events: process.events, in_use: Some(in_use) });
        Ok(process)
    }
    // Stopping the sandbox leaves the session in the table: the next caller that asks for it finds it dead.
    async fn stop(&self) -> Result<()> {
        self.live.doubt();
        let stopped = self.live.placed.sandbox.stop().await;
        self.live.doubt();
        stopped
    }
});

/// The output of a process, which counts as use.
struct CountedEvents {
    events: ProcessEvents,
    in_use: Option<InUse>,
}

impl Stream for CountedEvents {
    type Item = Result<ProcessEvent>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.events.as_mut().poll_next(cx);
        if matches!(polled, Poll::Ready(None | Some(Ok(ProcessEvent::Ended(_))))) {
            self.in_use = None;
        }
        polled
    }
}
