//! Commands: separate streams up to a limit, a time limit, and an end from another request.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use bytes::BytesMut;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result, Sandbox};
use workden_core::sandbox::{Command, Ended, Process, ProcessEvent, Signal, SpawnRequest, Stream};

use super::{
    failure::{SandboxdFailure, SandboxdResult, sentence},
    sessions::live,
};
use crate::{identity::Principal, service::Service};

/// The longest time of a command, which the policy shows.
pub(super) const LONGEST: u64 = 3600;
/// Bytes of both streams.
const MOST_OUTPUT: usize = 10 << 20;
/// The exit code of a command that the policy refuses, as of one that may not be executed.
const REFUSED: i32 = 126;

/// A request to run a program.
#[derive(Debug, Deserialize)]
pub(super) struct RunRequest {
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout_seconds: Option<f64>,
    run_id: String,
}

/// How it ended.
#[derive(Debug, Default, Serialize)]
pub(super) struct RunAnswer {
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
    timed_out: bool,
    output_limited: bool,
    output_limit: Option<usize>,
}

/// The commands that run, by session and by the id that the client gave them.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<HashMap<(String, String), CancellationToken>>);

/// A command that runs; dropped, it is forgotten.
struct RunningCommand<'a> {
    runs: &'a Runs,
    key: (String, String),
    stop: CancellationToken,
}

impl Runs {
    fn begin(&self, session: &str, run: &str) -> RunningCommand<'_> {
        let (key, stop) = ((session.to_owned(), run.to_owned()), CancellationToken::new());
        self.all().insert(key.clone(), stop.clone());
        RunningCommand { runs: self, key, stop }
    }

    fn stop(&self, session: &str, run: &str) {
        if let Some(stop) = self.all().get(&(session.to_owned(), run.to_owned())) {
            stop.cancel();
        }
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<(String, String), CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        self.runs.all().remove(&self.key);
    }
}

/// The output of a command so far.
#[derive(Default)]
struct SeparateOutput {
    output: BytesMut,
    errors: BytesMut,
}

impl SeparateOutput {
    /// Takes output up to the limit. Returns whether there was more.
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        let room = MOST_OUTPUT.saturating_sub(self.output.len() + self.errors.len());
        let into = match stream {
            Stream::Output => &mut self.output,
            Stream::Error => &mut self.errors,
        };
        into.extend_from_slice(&bytes[..bytes.len().min(room)]);
        bytes.len() > room
    }
}

/// Reads a process until it exits; `None` if it printed too much.
async fn read(process: &mut Process, printed: &mut SeparateOutput) -> Result<Option<Ended>> {
    while let Some(event) = process.events.next().await {
        match event? {
            ProcessEvent::Printed(stream, bytes) if printed.take(stream, &bytes) => return Ok(None),
            ProcessEvent::Printed(..) | ProcessEvent::LimitHit(_) => {}
            ProcessEvent::Ended(ended) => return Ok(Some(ended)),
        }
    }
    Err(Error::new(ErrorKind::Gone, "the sandbox ended before the command"))
}

fn is_run_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

fn unprocessable(detail: &str) -> SandboxdFailure {
    SandboxdFailure::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}

pub(super) async fn run(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(request): Json<RunRequest>,
) -> SandboxdResult<Json<RunAnswer>> {
    if request.argv.is_empty() || !is_run_id(&request.run_id) {
        return Err(unprocessable("invalid run: `argv` needs a program, and `run_id` 32 hexadecimal digits"));
    }
    let time = match request.timeout_seconds {
        None => Duration::from_secs(LONGEST),
        Some(seconds) if seconds > 0.0 => {
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(Duration::from_secs(LONGEST))
        }
        Some(_) => return Err(unprocessable("invalid `timeout_seconds`: use a number above 0")),
    };
    let live = live(&service, &principal, &id).await?;
    let _in_use = live.begin_use();
    let running = service.runs.begin(&live.id, &request.run_id);
    let workspace = live.workspace(&service, &principal);
    let directory = workspace.working_directory().await?;
    let spawn = SpawnRequest::piped(Command::Program(request.argv)).directory(directory).environment(request.env);
    let spawned = tokio::select! {
        spawned = async { workspace.commands()?.spawn(&spawn).await } => spawned,
        () = running.stop.cancelled() => return Ok(Json(RunAnswer::default())),
    };
    let mut process = match spawned {
        Ok(process) => process,
        Err(refused) if matches!(refused.kind(), ErrorKind::Denied | ErrorKind::ApprovalNeeded) => {
            let (stderr, exit_code) = (sentence(&refused) + "\n", Some(REFUSED));
            return Ok(Json(RunAnswer { stderr, exit_code, ..RunAnswer::default() }));
        }
        Err(error) => return Err(error.into()),
    };
    // A process that has exited needs no input.
    let _ = process.control.close_input().await;
    let mut printed = SeparateOutput::default();
    let ended = tokio::select! {
        ended = tokio::time::timeout(time, read(&mut process, &mut printed)) => ended,
        () = running.stop.cancelled() => Ok(Ok(Some(Ended::Signalled(9)))),
    };
    let mut answer = RunAnswer::default();
    match ended {
        // A session that ends takes its commands and files with it: that is not how the command ended.
        Ok(Ok(Some(_))) if !running.stop.is_cancelled() && !service.runs_on(&live.id).await? => {
            return Err(SandboxdFailure::new(StatusCode::GONE, "the session ended before the command"));
        }
        Ok(Ok(Some(ended))) => answer.exit_code = Some(ended.exit_code()),
        Ok(Ok(None)) => (answer.output_limited, answer.output_limit) = (true, Some(MOST_OUTPUT)),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => answer.timed_out = true,
    }
    if answer.exit_code.is_none() || running.stop.is_cancelled() {
        // Dropping the process ends it as well; this does not wait for that.
        let _ = process.control.signal(Signal::Kill).await;
    }
    answer.stdout = String::from_utf8_lossy(&printed.output).into_owned();
    answer.stderr = String::from_utf8_lossy(&printed.errors).into_owned();
    Ok(Json(answer))
}

impl Service {
    /// Whether a session is still open.
    async fn runs_on(&self, session: &str) -> Result<bool> {
        Ok(self.database.session(session).await?.is_some_and(|row| row.state == "running"))
    }
}

/// Stops a command. One that has ended is not an error: the client does not know how far it got.
pub(super) async fn stop(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path((id, run)): Path<(String, String)>,
) -> SandboxdResult<StatusCode> {
    if !is_run_id(&run) {
        return Err(unprocessable("invalid `run_id`: use 32 hexadecimal digits"));
    }
    let row = super::sessions::open_row(&service, &principal, &id).await?;
    service.runs.stop(&row.id, &run);
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_share_one_limit() {
        let mut printed = SeparateOutput::default();
        assert!(!printed.take(Stream::Output, &vec![b'x'; MOST_OUTPUT - 1]));
        assert!(!printed.take(Stream::Error, b"y"));
        assert!(printed.take(Stream::Error, b"z"));
        assert_eq!((printed.output.len(), &printed.errors[..]), (MOST_OUTPUT - 1, &b"y"[..]));
    }

    #[test]
    fn a_command_is_stopped_by_its_session_and_id_while_it_runs() {
        let runs = Runs::default();
        let running = runs.begin("a", "1");
        for (session, run) in [("b", "1"), ("a", "2")] {
            runs.stop(session, run);
            assert!(!running.stop.is_cancelled(), "{session} {run}");
        }
        runs.stop("a", "1");
        assert!(running.stop.is_cancelled());
        drop(running);
        assert!(runs.all().is_empty());
    }
}
