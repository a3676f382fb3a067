//! Processes with streams: what comes out is the body of the response that started one.
//!
//! Invariant: the body is the process. Nothing reads ahead of who reads the body, so that who does
//! not read slows the process down and nothing else; when the body goes, the process goes.

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

/// The processes that can be talked to, by the number that was given out.
#[derive(Default)]
pub(super) struct Processes {
    last: AtomicU64,
    running: Mutex<HashMap<u64, Arc<dyn ProcessControl>>>,
}

impl Processes {
    /// The process of this number.
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

/// A place in the table, given up when this goes.
struct Place {
    id: u64,
    processes: Arc<Processes>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.processes.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// What comes out of a process, as pieces of a body.
struct Output {
    events: Option<ProcessEvents>,
    /// A piece that is to come first.
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
