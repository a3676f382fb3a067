//! Connects a process to this one until it ends: forwards output and input, and ends it on a timeout or a signal.

use std::{
    convert::Infallible,
    io,
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use futures_util::StreamExt;
use workden_core::{
    Error, ErrorKind, Result, limits,
    sandbox::{Ended, LimitHit, Process, ProcessControl, ProcessEvent, ProcessEvents, Signal, Stream},
};

use super::ending::Ending;
use crate::{descriptor::Descriptor, signals::ToldToEnd};

/// The end of a process and the limits that it hit; its output is printed at once.
type Drained = std::result::Result<(Ended, Vec<LimitHit>), Ending>;

/// Attends to a process until it ends. `besides` runs meanwhile and never returns.
pub(super) async fn attend(
    process: Process,
    input: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
    told: &mut ToldToEnd,
    besides: impl AsyncFnOnce(&dyn ProcessControl) -> Infallible,
) -> Result<Ending> {
    let Process { mut events, control, .. } = process;
    let control = control.as_ref();
    let drained = drain(&mut events);
    tokio::pin!(drained);
    tokio::select! {
        drained = &mut drained => {
            let ending = drained.map(|(ended, hits)| Ending::Command(ended, hits, Vec::new()));
            Ok(ending.unwrap_or_else(|ending| ending))
        }
        never = pass_on(input, control) => match never {},
        never = besides(control) => match never {},
        () = after(timeout) => {
            end(control, Signal::Term, &mut drained).await;
            Ok(Ending::TimedOut(timeout.unwrap_or_default()))
        }
        (signal, number) = told.next() => {
            end(control, signal, &mut drained).await;
            Ok(Ending::Told(number))
        }
    }
}

/// Signals the command and forwards its last output. A command that does not end in time ends with the sandbox.
async fn end(control: &dyn ProcessControl, signal: Signal, drained: &mut (impl Future<Output = Drained> + Unpin)) {
    let last_words = async {
        // Fails only if the command has exited.
        let _ = control.signal(signal).await;
        let _ = drained.await;
    };
    let _ = tokio::time::timeout(limits::TERM_TIME, last_words).await;
}

async fn drain(events: &mut ProcessEvents) -> Drained {
    let (out, err) = (io::stdout(), io::stderr());
    let (mut out, mut err) = (Descriptor::new(out.as_fd()), Descriptor::new(err.as_fd()));
    let mut hits = Vec::new();
    while let Some(event) = events.next().await {
        let written = match event.map_err(Ending::Broken)? {
            ProcessEvent::Printed(Stream::Output, bytes) => out.write(&bytes).await,
            ProcessEvent::Printed(Stream::Error, bytes) => err.write(&bytes).await,
            ProcessEvent::LimitHit(hit) => {
                hits.push(hit);
                Ok(())
            }
            ProcessEvent::Ended(ended) => return Ok((ended, hits)),
        };
        written.map_err(Ending::output)?;
    }
    Err(Ending::Broken(Error::new(ErrorKind::Gone, "the sandbox ended before the command did")))
}

/// Forwards the input and its end. A command that does not read its input is not an error.
async fn pass_on(input: Option<BorrowedFd<'_>>, control: &dyn ProcessControl) -> Infallible {
    if let Some(input) = input {
        let mut input = Descriptor::new(input);
        while let Ok(bytes) = input.read().await {
            if bytes.is_empty() || control.write(bytes.into()).await.is_err() {
                break;
            }
        }
    }
    let _ = control.close_input().await;
    std::future::pending().await
}

async fn after(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

pub(super) fn no_signals(error: &io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot listen for signals: {error}"))
}
