//! `process.Process`: the list of processes, their input, their signals and the size of their terminals.

use std::sync::Arc;

use axum::{
    Json,
    body::{Body, to_bytes},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use futures_util::stream;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};
use workden_core::sandbox::{Command, Signal};

use super::{
    connect::{ContentKind, RpcError, RpcFrames, end, is_of_type, message, parse, streamed},
    envd::EnvdCall,
    process::PtyRequest,
};
use crate::processes::{ProcessTable, ServedProcess};

/// The largest plain call.
const CALL_BYTES: usize = 8 << 20;
/// Base64 with or without padding: both are JSON of protobuf.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A process, by its pid or by the name that its client gave it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ProcessSelector {
    Pid(u32),
    Tag(String),
}

impl ProcessSelector {
    /// Returns the process, also for a while after its end. Pids are used again: the newest one is meant.
    pub(super) fn find(&self, table: &ProcessTable) -> Result<Arc<ServedProcess>, RpcError> {
        let is_meant = |process: &&Arc<ServedProcess>| match self {
            Self::Pid(pid) => process.pid == *pid,
            Self::Tag(tag) => process.tag.as_ref() == Some(tag),
        };
        table.all().iter().rev().find(is_meant).cloned().ok_or_else(|| self.missing())
    }

    fn find_running(&self, table: &ProcessTable) -> Result<Arc<ServedProcess>, RpcError> {
        let found = self.find(table)?;
        if found.ended().is_some() { Err(self.missing()) } else { Ok(found) }
    }

    fn missing(&self) -> RpcError {
        RpcError::not_found(match self {
            Self::Pid(pid) => format!("process with pid {pid} not found"),
            Self::Tag(tag) => format!("process with tag {} not found", tag.escape_debug()),
        })
    }
}

/// Bytes in base64.
#[derive(Debug)]
struct InputBytes(Bytes);

impl<'de> Deserialize<'de> for InputBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?.replace('-', "+").replace('_', "/");
        BASE64.decode(text).map(|bytes| Self(bytes.into())).map_err(D::Error::custom)
    }
}

/// Input of a process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ProcessInput {
    Stdin(InputBytes),
    Pty(InputBytes),
}

impl ProcessInput {
    async fn send(self, process: &ServedProcess) -> Result<(), RpcError> {
        let (bytes, is_terminal) = match self {
            Self::Stdin(bytes) => (bytes.0, false),
            Self::Pty(bytes) => (bytes.0, true),
        };
        if process.is_terminal != is_terminal {
            let has = if process.is_terminal { "a terminal: send `pty`" } else { "no terminal: send `stdin`" };
            return Err(RpcError::new("failed_precondition", format!("the process has {has}")));
        }
        Ok(process.control.write(bytes).await?)
    }
}

#[derive(Debug, Deserialize)]
struct OfProcess {
    process: ProcessSelector,
    input: Option<ProcessInput>,
    signal: Option<ProcessSignal>,
    pty: Option<PtyRequest>,
}

/// A signal, by its name or number in protobuf.
#[derive(Clone, Copy, Debug, Deserialize)]
enum ProcessSignal {
    #[serde(rename = "SIGNAL_SIGTERM")]
    Term,
    #[serde(rename = "SIGNAL_SIGKILL")]
    Kill,
}

/// A message of a stream of input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum InputMessage {
    Start { process: ProcessSelector },
    Data { input: ProcessInput },
    Keepalive {},
}

/// Answers a plain call.
pub(super) async fn plain(method: &str, call: &EnvdCall, headers: &HeaderMap, body: Body) -> Response {
    match answer(method, call, headers, body).await {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => error.into_response(),
    }
}

async fn answer(method: &str, call: &EnvdCall, headers: &HeaderMap, body: Body) -> Result<Value, RpcError> {
    if !matches!(method, "List" | "SendInput" | "CloseStdin" | "SendSignal" | "Update") {
        return Err(RpcError::unimplemented(method));
    }
    if !is_of_type(headers, ContentKind::Plain) {
        return Err(RpcError::invalid("invalid content type: use application/json"));
    }
    let body = to_bytes(body, CALL_BYTES).await.map_err(|_| {
        RpcError::new("resource_exhausted", format!("the request ended early or exceeds {CALL_BYTES} bytes"))
    })?;
    if method == "List" {
        return Ok(list(&call.live.processes));
    }
    let request: OfProcess = parse(&body)?;
    let process = request.process.find_running(&call.live.processes)?;
    let missing = |name: &str| RpcError::invalid(format!("missing `{name}`"));
    match method {
        "SendInput" => request.input.ok_or_else(|| missing("input"))?.send(&process).await?,
        "CloseStdin" if process.is_terminal => {
            return Err(RpcError::new(
                "failed_precondition",
                "the process has a terminal: send the byte 4 to end its input",
            ));
        }
        "CloseStdin" => process.control.close_input().await?,
        "SendSignal" => {
            let signal = match request.signal.ok_or_else(|| missing("signal"))? {
                ProcessSignal::Term => Signal::Term,
                ProcessSignal::Kill => Signal::Kill,
            };
            process.control.signal(signal).await?;
        }
        _ => process.control.resize(request.pty.ok_or_else(|| missing("pty"))?.size.into()).await?,
    }
    Ok(json!({}))
}

fn list(table: &ProcessTable) -> Value {
    let running = table.all().into_iter().filter(|process| process.ended().is_none());
    let views = running.map(|process| {
        let (command, arguments) = match &process.request.command {
            Command::Shell(line) => ("sh".to_owned(), vec!["-c".to_owned(), line.clone()]),
            Command::Program(words) => {
                (words.first().cloned().unwrap_or_default(), words.get(1..).unwrap_or_default().to_vec())
            }
        };
        let config = json!({
            "cmd": command,
            "args": arguments,
            "envs": process.request.environment,
            "cwd": process.request.directory,
        });
        let mut view = json!({ "config": config, "pid": process.pid });
        if let Some(tag) = &process.tag {
            view["tag"] = json!(tag);
        }
        view
    });
    json!({ "processes": views.collect::<Vec<_>>() })
}

/// Passes a stream of input on, as it comes.
pub(super) async fn stream(call: &EnvdCall, body: Body) -> Result<Response, RpcError> {
    let mut frames = RpcFrames::new(body);
    let mut process = None;
    while let Some(message) = frames.next().await? {
        match (message, &process) {
            (InputMessage::Start { process: selector }, None) => {
                process = Some(selector.find_running(&call.live.processes)?);
            }
            (InputMessage::Data { input }, Some(process)) => input.send(process).await?,
            (InputMessage::Keepalive {}, Some(_)) => {}
            (InputMessage::Start { .. }, Some(_)) => {
                return Err(RpcError::invalid("`start` is the first message only"));
            }
            (InputMessage::Data { .. } | InputMessage::Keepalive {}, None) => {
                return Err(RpcError::invalid("the first message must be `start`"));
            }
        }
    }
    let answer = [Ok(message(&json!({}))), Ok(end(Ok(())))];
    Ok(streamed(stream::iter(answer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_json_of_protobuf() {
        let message = |text: &str| parse::<InputMessage>(text.as_bytes());
        for bytes in ["YQ==", "YQ"] {
            let text = format!(r#"{{"data": {{"input": {{"stdin": "{bytes}"}}}}}}"#);
            match message(&text).unwrap() {
                InputMessage::Data { input: ProcessInput::Stdin(bytes) } => assert_eq!(&bytes.0[..], b"a"),
                other => panic!("{other:?}"),
            }
        }
        assert!(message(r#"{"start": {"process": {"pid": 3}}}"#).is_ok());
        assert!(message(r#"{"keepalive": {}}"#).is_ok());
        for wrong in
            ["", "{}", "[]", r#"{"data": {"input": {"stdin": "*"}}}"#, r#"{"start": {"process": {"pid": -1}}}"#]
        {
            assert_eq!(message(wrong).unwrap_err().code, "invalid_argument", "{wrong}");
        }
    }
}
