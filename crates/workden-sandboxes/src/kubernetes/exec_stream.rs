//! `ExecStream`: the standard streams of a program that the API server executes in a pod.
//!
//! Invariant: the output ends when the connection does. The pipes of kube do not end when the connection is lost, but
//! the status of the program arrives then, or is known not to.

use std::{
    future::{Future, poll_fn},
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, ReadHalf, SimplexStream, WriteHalf},
    task::JoinHandle,
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result};

use super::{errors, plan};

/// Bytes of each standard stream that are buffered.
const BUFFER: usize = 256 * 1024;
/// The most bytes of a line.
const LINE_BYTES: usize = 100;
/// How long the last of the standard error may take to arrive.
const COMPLAINT_TIME: Duration = Duration::from_secs(1);
/// Bytes of standard error that are kept.
const COMPLAINT_BYTES: usize = 4096;

/// The standard streams of a program in a pod. The program's input ends when this is dropped.
pub(super) struct ExecStream {
    input: WriteHalf<SimplexStream>,
    output: ReadHalf<SimplexStream>,
    complaint: Complaint,
    listener: JoinHandle<()>,
    ending: Ending,
    /// Dropping it ends the connection.
    _process: AttachedProcess,
}

/// How the program ends.
enum Ending {
    Awaited(Pin<Box<dyn Future<Output = Option<String>> + Send>>),
    /// What the cluster says about it; `None` when it says nothing, or the connection was lost first.
    Known(Option<String>),
}

/// What a program has written to its standard error.
type Complaint = Arc<Mutex<Vec<u8>>>;

/// Executes a program in the container of a pod.
pub(super) async fn run(pods: &Api<Pod>, name: &str, words: &[String]) -> Result<ExecStream> {
    let params = AttachParams::default()
        .container(plan::CONTAINER)
        .stdin(true)
        .stdout(true)
        .stderr(true)
        .max_stdin_buf_size(BUFFER)
        .max_stdout_buf_size(BUFFER);
    let process = pods.exec(name, words, &params).await;
    let mut process = process.map_err(|error| errors::failed(&format!("execute a program in `{name}`"), &error))?;
    let missing = || Error::new(ErrorKind::Io, "the cluster did not return the streams of a program");
    let (input, output) = (process.stdin().ok_or_else(missing)?, process.stdout().ok_or_else(missing)?);
    let mut errors = process.stderr().ok_or_else(missing)?;
    let status = process.take_status().ok_or_else(missing)?;
    let ending = Ending::Awaited(Box::pin(async move { status.await?.message }));
    let complaint = Complaint::default();
    let heard = complaint.clone();
    let listener = tokio::spawn(async move {
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = errors.read(&mut piece).await {
            let mut all = heard.lock().unwrap_or_else(PoisonError::into_inner);
            let room = COMPLAINT_BYTES.saturating_sub(all.len()).min(length);
            all.extend_from_slice(&piece[..room]);
        }
    });
    Ok(ExecStream { input, output, complaint, listener, ending, _process: process })
}

impl ExecStream {
    /// Reads a short line, and no byte after it.
    pub(super) async fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        while line.len() < LINE_BYTES {
            match self.output.read_u8().await? {
                b'\n' => break,
                byte => line.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Returns what the program has written to its standard error, or how it ended. A program that has ended may have
    /// written more than has arrived.
    pub(super) async fn complaint(&mut self) -> String {
        let _ = timeout(COMPLAINT_TIME, &mut self.listener).await;
        let said = self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !said.is_empty() {
            return errors::shown(&String::from_utf8_lossy(&said));
        }
        let message = timeout(COMPLAINT_TIME, poll_fn(|context| self.poll_ending(context))).await.ok().flatten();
        errors::shown(&message.unwrap_or_default())
    }

    fn poll_ending(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        if let Ending::Awaited(message) = &mut self.ending {
            let message = ready!(message.as_mut().poll(context));
            self.ending = Ending::Known(message);
        }
        match &self.ending {
            Ending::Known(message) => Poll::Ready(message.clone()),
            Ending::Awaited(_) => Poll::Pending,
        }
    }
}

impl Drop for ExecStream {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl AsyncRead for ExecStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(read) = Pin::new(&mut self.output).poll_read(context, into) {
            return Poll::Ready(read);
        }
        ready!(self.poll_ending(context));
        // More may have come before the end; nothing is the end of the output.
        match Pin::new(&mut self.output).poll_read(context, into) {
            Poll::Ready(read) => Poll::Ready(read),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for ExecStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(context)
    }
}
