//! `process.Process`: start processes and follow them, as streams of events.
//!
//! A process goes on when its client goes away, until its time limit or the end of the sandbox.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Path, Request},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use workden::{ErrorKind, VirtualPath};
use workden_core::sandbox::{self, Command, Ended, SpawnRequest, Streams, WindowSize};

use super::{
    connect::{
        ContentKind, RpcError, RpcFrames, end, failed_stream, is_of_type, keepalive, message, streamed, time_limit,
    },
    envd::{EnvdCall, check_user, user_of},
    input::{self, ProcessSelector},
};
use crate::processes::{Piece, ServedProcess};

/// A process to start.
#[derive(Debug, Deserialize)]
struct NewProcess {
    process: ProcessConfig,
    pty: Option<PtyRequest>,
    tag: Option<String>,
    stdin: Option<bool>,
}

/// The program of a process.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProcessConfig {
    cmd: String,
    args: Vec<String>,
    envs: BTreeMap<String, String>,
    cwd: Option<String>,
}

/// A terminal.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PtyRequest {
    pub(super) size: PtySize,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PtySize {
    cols: u16,
    rows: u16,
}

impl From<PtySize> for WindowSize {
    fn from(size: PtySize) -> Self {
        Self { rows: size.rows, columns: size.cols }
    }
}

/// The process to follow.
#[derive(Debug, Deserialize)]
struct Followed {
    process: ProcessSelector,
}

pub(super) async fn call(Path(method): Path<String>, call: EnvdCall, headers: HeaderMap, request: Request) -> Response {
    let checked = check_user(&user_of(&headers)).map_err(|error| RpcError::unauthenticated(error.to_string()));
    let body = request.into_body();
    match method.as_str() {
        "Start" | "Connect" | "StreamInput" => {
            if !is_of_type(&headers, ContentKind::Stream) {
                return RpcError::invalid("invalid content type: use application/connect+json").into_response();
            }
            let answer = match (checked, method.as_str()) {
                (Err(error), _) => Err(error),
                (Ok(()), "Start") => start(call, &headers, body).await,
                (Ok(()), "Connect") => follow(call, &headers, body).await,
                (Ok(()), _) => input::stream(&call, body).await,
            };
            answer.unwrap_or_else(|error| failed_stream(&error))
        }
        _ => match checked {
            Ok(()) => input::plain(&method, &call, &headers, body).await,
            Err(error) => error.into_response(),
        },
    }
}

async fn start(call: EnvdCall, headers: &HeaderMap, body: Body) -> Result<Response, RpcError> {
    let new: NewProcess = RpcFrames::new(body).only().await?;
    if new.process.cmd.is_empty() {
        return Err(RpcError::invalid("missing `cmd`"));
    }
    let home = call.home().await?;
    let directory = match new.process.cwd.as_deref().filter(|cwd| !cwd.is_empty()) {
        Some(cwd) => call.path(cwd).await?,
        None => home.clone(),
    };
    let streams = new.pty.map_or(Streams::Pipes, |pty| Streams::Terminal(pty.size.into()));
    let words = std::iter::once(new.process.cmd).chain(new.process.args).collect();
    let mut environment = user_variables(&home);
    environment.extend(new.process.envs);
    let request = SpawnRequest::new(Command::Program(words), streams).environment(environment).directory(directory);
    let started = call.live.processes.start(&call.workspace, &request, new.tag).await;
    let process = started.map_err(|error| match error.kind() {
        // No such program or directory.
        ErrorKind::NotFound | ErrorKind::NotDirectory => RpcError::invalid(error.to_string()),
        _ => error.into(),
    })?;
    if new.stdin == Some(false) && !process.is_terminal {
        // A process that has ended already has no input to close.
        let _ = process.control.close_input().await;
    }
    let deadline = time_limit(headers).map(|limit| Instant::now() + limit);
    if let Some(deadline) = deadline {
        process.stop_at(deadline);
    }
    let pieces = process.follow(0);
    Ok(streamed(events(call, process, pieces, (deadline, keepalive(headers)))))
}

/// Returns the variables with which every process starts.
pub(super) fn user_variables(home: &VirtualPath) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("HOME".to_owned(), home.to_string()),
        ("LOGNAME".to_owned(), "user".to_owned()),
        ("USER".to_owned(), "user".to_owned()),
    ])
}

async fn follow(call: EnvdCall, headers: &HeaderMap, body: Body) -> Result<Response, RpcError> {
    let followed: Followed = RpcFrames::new(body).only().await?;
    let process = followed.process.find(&call.live.processes)?;
    let deadline = time_limit(headers).map(|limit| Instant::now() + limit);
    let pieces = process.follow_news();
    Ok(streamed(events(call, process, pieces, (deadline, keepalive(headers)))))
}

/// Returns the frames of a process: its start, its output, and its end.
fn events(
    call: EnvdCall,
    process: Arc<ServedProcess>,
    pieces: impl Stream<Item = Piece> + Send + 'static,
    (deadline, keepalive): (Option<Instant>, Duration),
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    async_stream::stream! {
        let _in_use = call.live.begin_use();
        let mut pieces = std::pin::pin!(pieces);
        let mut limits = Vec::new();
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let late = RpcError::new("deadline_exceeded", "the time limit of the call is reached");
        yield Ok(event(&json!({ "start": { "pid": process.pid } })));
        loop {
            let alive = Instant::now() + keepalive;
            let next = timeout_at(deadline.map_or(alive, |deadline| deadline.min(alive)), pieces.next()).await;
            match next {
                Ok(Some(Piece::Output(stream, bytes))) => {
                    let name = match (process.is_terminal, stream) {
                        (true, _) => "pty",
                        (false, sandbox::Stream::Output) => "stdout",
                        (false, sandbox::Stream::Error) => "stderr",
                    };
                    yield Ok(event(&json!({ "data": { name: BASE64_STANDARD.encode(&bytes) } })));
                }
                Ok(Some(Piece::Lost(bytes))) => tracing::debug!(bytes, pid = process.pid, "a client was too slow"),
                Ok(Some(Piece::Limits(hit))) => limits = hit,
                // It was stopped because of the deadline.
                Ok(Some(Piece::Ended(Ok(Ended::Signalled(_))))) | Err(_) if is_late() => {
                    yield Ok(end(Err(&late)));
                    return;
                }
                // The end of the sandbox, and not of the process: clients ask for its state when a connection is cut.
                Ok(Some(Piece::Ended(Ok(Ended::Signalled(_))))) if !call.is_current() => {
                    yield Err(io::ErrorKind::ConnectionReset.into());
                    return;
                }
                Ok(Some(Piece::Ended(Ok(ended)))) => {
                    yield Ok(event(&json!({ "end": outcome(ended, &limits) })));
                    yield Ok(end(Ok(())));
                    return;
                }
                Ok(Some(Piece::Ended(Err(error)))) => {
                    yield Err(io::Error::other(error));
                    return;
                }
                Ok(None) => {
                    yield Err(io::ErrorKind::UnexpectedEof.into());
                    return;
                }
                Err(_) => yield Ok(event(&json!({ "keepalive": {} }))),
            }
        }
    }
}

fn event(event: &Value) -> Bytes {
    message(&json!({ "event": event }))
}

fn outcome(ended: Ended, limits: &[String]) -> Value {
    let (code, exited, status) = match ended {
        Ended::Exited(code) => (code, true, format!("exit status {code}")),
        Ended::Signalled(signal) => (-1, false, format!("signal: {}", signal_name(signal))),
        Ended::TimedOut => (-1, false, "signal: killed".to_owned()),
    };
    let mut outcome = json!({ "exitCode": code, "exited": exited, "status": status });
    if code != 0 {
        outcome["error"] = json!(if limits.is_empty() { status } else { limits.join("; ") });
    }
    outcome
}

fn signal_name(signal: i32) -> String {
    match signal {
        1 => "hangup".to_owned(),
        2 => "interrupt".to_owned(),
        6 => "aborted".to_owned(),
        9 => "killed".to_owned(),
        11 => "segmentation fault".to_owned(),
        13 => "broken pipe".to_owned(),
        15 => "terminated".to_owned(),
        _ => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_as_go_tells_it() {
        for (ended, expected) in [
            (Ended::Exited(0), json!({"exitCode": 0, "exited": true, "status": "exit status 0"})),
            (
                Ended::Exited(3),
                json!({"exitCode": 3, "exited": true, "status": "exit status 3", "error": "exit status 3"}),
            ),
            (
                Ended::Signalled(9),
                json!({"exitCode": -1, "exited": false, "status": "signal: killed", "error": "signal: killed"}),
            ),
        ] {
            assert_eq!(outcome(ended, &[]), expected);
        }
        let killed = outcome(Ended::Signalled(9), &["killed: memory limit 64 MB".to_owned()]);
        assert_eq!(killed["error"], "killed: memory limit 64 MB");
    }
}
