//! `ExecStream`: the standard streams of a program that the API server executes in a pod.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
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
    /// Dropping it ends the connection.
    process: AttachedProcess,
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
    Ok(ExecStream { input, output, complaint, listener, process })
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
        let Some(status) = self.process.take_status() else { return String::new() };
        let status = timeout(COMPLAINT_TIME, status).await.ok().flatten();
        errors::shown(&status.and_then(|status| status.message).unwrap_or_default())
    }
}

impl AsyncRead for ExecStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, into)
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
