//! Processes with streams: the output of a process is the body of the response that started it.
//!
//! Invariant: the body is the process. The server does not read ahead of the reader of the body, so a slow reader slows
//! down only its process; when the body is dropped, the process is stopped.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{Router, body::Body, extract::State, response::Response, routing::post};
use bytes::Bytes;
use futures_util::Stream;
use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{ProcessControl, ProcessEvent, ProcessEvents},
};

use super::{
    Shared,
    answer::{arguments, refusal},
    content::raw,
};
use crate::{
    calls::{Call, Spawn, Started},
    frames::{Frame, encode},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route(Spawn::PATH, post(spawn))
}

async fn spawn(State(served): State<Shared>, body: Body) -> Response {
    match output(&served, body).await {
        Ok(output) => raw(Body::from_stream(output)),
        Err(error) => refusal(&error),
    }
}

async fn output(served: &Shared, body: Body) -> Result<Output> {
    let call = arguments::<Spawn>(body).await?;
    let process = served.sandbox.spawn(&call.request).await?;
    let place = served.processes.admit(process.control.into());
    let (started, _) = encode(Frame::Started(Started { process: place.id, pid: process.pid }))?;
    Ok(Output { events: Some(process.events), next: Some(started), _place: place })
}

/// The running processes, by their numbers.
#[derive(Default)]
pub(super) struct Processes {
    last: AtomicU64,
    running: Mutex<HashMap<u64, Arc<dyn ProcessControl>>>,
}

impl Processes {
    /// Returns the process with this number.
    pub(super) fn find(&self, id: u64) -> Result<Arc<dyn ProcessControl>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(&id).cloned().ok_or_else(|| {
            Error::new(ErrorKind::Gone, "the process has ended").hint("nothing can be sent to it any more")
        })
    }

    fn admit(self: &Arc<Self>, control: Arc<dyn ProcessControl>) -> Place {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id, control);
        Place { id, processes: Arc::clone(self) }
    }
}

/// An entry in the table, removed when this is dropped.
struct Place {
    id: u64,
    processes: Arc<Processes>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.processes.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The output of a process, as pieces of a body.
struct Output {
    events: Option<ProcessEvents>,
    /// A piece to send first.
    next: Option<Bytes>,
    _place: Place,
}

impl Stream for Output {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(piece) = self.next.take() {
            return Poll::Ready(Some(Ok(piece)));
        }
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let frame = match ready!(events.as_mut().poll_next(context)) {
            Some(Ok(event)) => Frame::Event(event),
            Some(Err(error)) => Frame::Failed(error),
            None => Frame::Failed(Error::new(ErrorKind::Gone, "unknown how the process ended")),
        };
        if !matches!(frame, Frame::Event(ProcessEvent::Printed(..) | ProcessEvent::LimitHit(_))) {
            self.events = None;
        }
        let (first, second) = encode(frame)?;
        self.next = second;
        Poll::Ready(Some(Ok(first)))
    }
}
