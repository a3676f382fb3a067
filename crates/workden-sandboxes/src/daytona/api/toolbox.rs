//! The toolbox: files and commands of one sandbox, by the daemon in it.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use workden_core::{Error, ErrorKind, Result};

use super::{
    Api, escaped,
    failure::{self, Failure},
    http::{Call, CallLimits, Payload, Repeat},
    multipart::{self, Part},
    types::{
        CommandLogs, CommandStatus, ExecuteAnswer, ExecuteRequest, FileInfo, SessionCommand, SessionInfo,
        StartedCommand,
    },
};

/// How much later than a command's time limit the answer may come.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Bytes of the output of a command.
const OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// How long an upload may take: the keeper, over a slow line.
const UPLOAD_TIME: Duration = Duration::from_secs(300);

/// The toolbox of one sandbox. Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct Toolbox {
    pub(crate) api: Api,
    base: String,
}

impl Toolbox {
    pub(crate) fn new(api: Api, base: String) -> Self {
        Self { api, base }
    }

    pub(crate) async fn info(&self, path: &str) -> Result<FileInfo, Failure> {
        self.ask("look at a file", &format!("/files/info?path={}", escaped(path)), CallLimits::FILES).await
    }

    pub(crate) async fn list(&self, path: &str) -> Result<Vec<FileInfo>, Failure> {
        self.ask("list a directory", &format!("/files?path={}", escaped(path)), CallLimits::FILES).await
    }

    /// Returns the content of a file.
    pub(crate) async fn download(&self, path: &str) -> Result<Bytes, Failure> {
        let call = self.post("read a file", "/files/bulk-download", &serde_json::json!({ "paths": [path] }))?;
        // It changes nothing, so that any failure may be followed by another attempt.
        let answer = self.api.http.call(Call { limits: CallLimits::FILES, repeat: Repeat::Harmless, ..call }).await?;
        let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match multipart::download(kind, &answer.body)? {
            Part::File(content) => Ok(content),
            Part::Refusal(why) => {
                let status = serde_json::from_slice::<serde_json::Value>(&why).ok();
                let status = status.as_ref().and_then(|why| why.get("statusCode")?.as_u64());
                let status = status.and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok());
                let status = status.unwrap_or(StatusCode::BAD_REQUEST);
                Err(failure::refused(&self.api.http.key, "read a file", status, &why))
            }
        }
    }

    /// Writes a file in place, and makes its directories.
    pub(crate) async fn upload(&self, path: &str, content: &[u8]) -> Result<(), Failure> {
        let payload = multipart::upload(path, content)?;
        let call = self.call("write a file", Method::POST, "/files/bulk-upload", CallLimits::CONTROL);
        let limits = CallLimits { time: UPLOAD_TIME, ..CallLimits::CONTROL };
        // Writing the same once more changes nothing.
        self.api.http.call(Call { payload, limits, repeat: Repeat::Harmless, ..call }).await.map(drop)
    }

    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        let path = format!("/files/move?source={}&destination={}", escaped(from), escaped(to));
        // Once more, it would not find the file that it has moved.
        let call = self.call("move a file", Method::POST, &path, CallLimits::FILES);
        self.api.http.call(Call { repeat: Repeat::Unconnected, ..call }).await.map(drop)
    }

    /// Runs a line on the input of a shell. Returns the exit code and both outputs in one; `None` when it timed out.
    pub(crate) async fn execute(
        &self,
        line: &str,
        directory: Option<&str>,
        time: Duration,
    ) -> Result<Option<(i32, String)>, Failure> {
        // The daemon knows whole seconds, and zero means none.
        let timeout = time.as_secs_f64().ceil().clamp(1.0, 1e9) as u64;
        let request = ExecuteRequest { command: line, cwd: directory, timeout };
        let call = self.post("run a command", "/process/execute", &request)?;
        let limits = CallLimits { time: time.saturating_add(ANSWER_TIME), bytes: OUTPUT_BYTES };
        match self.api.parsed::<ExecuteAnswer>(Call { limits, repeat: Repeat::Unconnected, ..call }).await {
            Ok(ExecuteAnswer { exit_code: Some(code), result }) => Ok(Some((code, result.unwrap_or_default()))),
            Ok(_) => {
                let sentence = "cannot run a command: invalid answer of Daytona: no exit code";
                Err(Error::new(ErrorKind::Io, sentence).into())
            }
            Err(failure) if failure.is(408) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Creates a session: a shell that stays.
    pub(crate) async fn create_session(&self, id: &str) -> Result<(), Failure> {
        let call = self.post("create a session", "/process/session", &serde_json::json!({ "sessionId": id }))?;
        match self.api.http.call(call).await {
            // The answer to an earlier attempt was lost: ids are random.
            Err(failure) if failure.is(409) => Ok(()),
            created => created.map(drop),
        }
    }

    pub(crate) async fn sessions(&self) -> Result<Vec<SessionInfo>, Failure> {
        self.ask("list sessions", "/process/session", CallLimits::CONTROL).await
    }

    /// Deletes a session with its processes.
    pub(crate) async fn delete_session(&self, id: &str) -> Result<(), Failure> {
        let path = format!("/process/session/{}", escaped(id));
        match self.api.http.call(self.call("delete a session", Method::DELETE, &path, CallLimits::CONTROL)).await {
            Err(failure) if failure.is(404) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Starts a command in a session, and returns its id.
    pub(crate) async fn start_command(&self, session: &str, line: &str) -> Result<String, Failure> {
        // What is sent to its input must not be in its log.
        let request = SessionCommand { command: line, run_async: true, suppress_input_echo: true };
        let path = format!("/process/session/{}/exec", escaped(session));
        let call = self.post("start a command in a session", &path, &request)?;
        let started: StartedCommand = self.api.parsed(Call { repeat: Repeat::Unconnected, ..call }).await?;
        started.cmd_id.ok_or_else(|| {
            let sentence = "cannot start a command in a session: invalid answer of Daytona: no id";
            Error::new(ErrorKind::Io, sentence).into()
        })
    }

    /// Sends a secret text to the input of a command.
    pub(crate) async fn send_secret(&self, session: &str, command: &str, data: &str) -> Result<(), Failure> {
        let path = format!("{}/input", command_path(session, command));
        let call = self.post("send input to a command", &path, &serde_json::json!({ "data": data }))?;
        let payload = Payload { is_secret: true, ..call.payload };
        self.api.http.call(Call { payload, ..call }).await.map(drop)
    }

    /// Returns the exit code of a command of a session; `None` while it runs.
    pub(crate) async fn exit_code(&self, session: &str, command: &str) -> Result<Option<i32>, Failure> {
        let path = command_path(session, command);
        Ok(self.ask::<CommandStatus>("look at a command", &path, CallLimits::CONTROL).await?.exit_code)
    }

    /// Returns what a command of a session has printed.
    pub(crate) async fn logs(&self, session: &str, command: &str) -> Result<String, Failure> {
        let path = format!("{}/logs", command_path(session, command));
        let logs: CommandLogs = self.ask("read the log of a command", &path, CallLimits::CONTROL).await?;
        let apart = [logs.stdout, logs.stderr].into_iter().flatten().collect::<Vec<_>>().join("\n");
        Ok(if apart.trim().is_empty() { logs.output.unwrap_or_default() } else { apart })
    }

    async fn ask<T: DeserializeOwned>(&self, what: &str, path: &str, limits: CallLimits) -> Result<T, Failure> {
        let call = self.call(what, Method::GET, path, limits);
        self.api.parsed(Call { repeat: Repeat::Harmless, ..call }).await
    }

    fn post<'a>(&self, what: &'a str, path: &str, value: &impl Serialize) -> Result<Call<'a>, Failure> {
        let payload = Payload::json(value)?;
        Ok(Call { payload, ..self.call(what, Method::POST, path, CallLimits::CONTROL) })
    }

    fn call<'a>(&self, what: &'a str, method: Method, path: &str, limits: CallLimits) -> Call<'a> {
        let repeat = if method == Method::POST { Repeat::Unanswered } else { Repeat::Harmless };
        Call { what, method, url: format!("{}{path}", self.base), payload: Payload::default(), limits, repeat }
    }
}

fn command_path(session: &str, command: &str) -> String {
    format!("/process/session/{}/command/{}", escaped(session), escaped(command))
}
