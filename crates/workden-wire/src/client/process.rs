//! A process at the other end of a byte stream: its output is the body of one response, and everything else is a call
//! that names the process.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::Method;
use hyper::body::{Body as _, Incoming};
use workden_core::{
    Result,
    sandbox::{Process, ProcessControl, ProcessEvent, Signal, WindowSize},
};

use super::connection::{Connection, answer, broken};
use crate::{
    calls::{CloseInput, Input, Resize, SendSignal},
    errors,
    frames::{Frame, FrameReader},
};

/// Returns the process whose output is this body.
pub(super) async fn started(connection: Connection, body: Incoming) -> Result<Process> {
    let mut frames = Frames { body, piece: Bytes::new(), reader: FrameReader::default() };
    match frames.next().await {
        Some(Ok(Frame::Started(started))) => {
            let control = Box::new(RemoteControl { connection, process: started.process });
            let events = Box::pin(Events { frames: Some(frames) });
            Ok(Process::new(started.pid, events, control))
        }
        Some(Ok(Frame::Failed(error)) | Err(error)) => Err(error),
        Some(Ok(Frame::Event(_))) => Err(errors::not_understood("with a process that never started")),
        None => Err(errors::gone()),
    }
}

/// The frames in a body.
struct Frames {
    body: Incoming,
    piece: Bytes,
    reader: FrameReader,
}

impl Stream for Frames {
    type Item = Result<Frame>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(frame) = this.reader.next(&mut this.piece)? {
                return Poll::Ready(Some(Ok(frame)));
            }
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => this.piece = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(broken(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// The events of a process. The stream always ends with a final event or an error.
struct Events {
    frames: Option<Frames>,
}

impl Stream for Events {
    type Item = Result<ProcessEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(frames) = &mut self.frames else { return Poll::Ready(None) };
        let event = match ready!(frames.poll_next_unpin(context)) {
            Some(Ok(Frame::Event(event))) => Ok(event),
            Some(Ok(Frame::Failed(error)) | Err(error)) => Err(error),
            Some(Ok(Frame::Started(_))) => Err(errors::not_understood("with a process in a process")),
            None => Err(errors::gone()),
        };
        if !matches!(event, Ok(ProcessEvent::Printed(..) | ProcessEvent::LimitHit(_))) {
            self.frames = None;
        }
        Poll::Ready(Some(event))
    }
}

struct RemoteControl {
    connection: Connection,
    process: u64,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ProcessControl for RemoteControl {
    async fn write(&self, bytes: Bytes) -> Result<()> {
        let call = Input::new(&self.process);
        answer::<Input<'_>>(self.connection.with_body(Method::PUT, &call, Body::from(bytes)).await?).await
    }

    async fn close_input(&self) -> Result<()> {
        self.connection.call(&CloseInput::new(&self.process)).await
    }

    async fn signal(&self, signal: Signal) -> Result<()> {
        self.connection.call(&SendSignal::new(&self.process, &signal)).await
    }

    async fn resize(&self, size: WindowSize) -> Result<()> {
        self.connection.call(&Resize::new(&self.process, &size)).await
    }
}
