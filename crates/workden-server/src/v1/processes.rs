//! `/v1/sessions/{id}/processes`: processes with streams, and terminals, over websockets that come and go.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{
        FromRequestParts,
        ws::{Message, WebSocket},
    },
    http::{StatusCode, request::Parts},
    response::Response,
};
use futures_util::{SinkExt, StreamExt, stream::SplitStream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{Object, ObjectBuilder, schema::Type},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::Result;
use workden_core::sandbox::{Signal, SpawnRequest, Stream, Streams, WindowSize};

use super::{
    commands::CommandRequest,
    description::RawBytes,
    session::{NamedSession, OpenSession},
};
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::{ApiBytes, ApiJson, ApiPath, ApiQuery, ApiWebSocket},
    clock::Moment,
    described_values::{optional_object, whole},
    processes::{Piece, ServedProcess},
    service::{Answer, Service},
    sessions::SessionUse,
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(start, list))
        .routes(routes!(describe, stop))
        .routes(routes!(input))
        .routes(routes!(signal))
        .routes(routes!(attach))
}

/// A process to start. It has no timeout, and its output is not cut.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessRequest {
    /// A line for the shell.
    #[schema(example = "pytest -q")]
    command: Option<String>,
    /// A program and its arguments instead, without a shell.
    #[schema(min_items = 1)]
    argv: Option<Vec<String>>,
    /// Where to run it; the working directory by default.
    directory: Option<String>,
    /// Variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// A terminal of this size, instead of pipes.
    #[serde(default, deserialize_with = "optional_object")]
    terminal: Option<TerminalSize>,
    /// A name of your choice.
    tag: Option<String>,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TerminalSize {
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 65535)]
    rows: u16,
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 65535)]
    columns: u16,
}

impl From<TerminalSize> for WindowSize {
    fn from(size: TerminalSize) -> Self {
        Self { rows: size.rows, columns: size.columns }
    }
}

/// A process.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProcessView {
    /// Its number in the session.
    id: u64,
    /// Its pid in the sandbox.
    pid: u32,
    /// The command, as a person would type it.
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    is_terminal: bool,
    started_at: Moment,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

impl ProcessView {
    fn of(process: &ServedProcess) -> Self {
        let ended = process.ended();
        Self {
            id: process.id,
            pid: process.pid,
            command: process.line.clone(),
            tag: process.tag.clone(),
            is_terminal: process.is_terminal,
            started_at: process.started_at,
            running: ended.is_none(),
            exit_code: ended.and_then(Result::ok).map(|ended| ended.exit_code()),
        }
    }
}

/// The process of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NumberedProcess {
    /// Number of the process
    #[serde(deserialize_with = "whole")]
    process: u64,
}

/// A process of an opened session.
pub(super) struct FoundProcess {
    session: OpenSession,
    process: Arc<ServedProcess>,
}

impl FromRequestParts<Arc<Service>> for FoundProcess {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        let ApiPath(NumberedProcess { process }) = ApiPath::from_request_parts(parts, service).await?;
        let session = OpenSession::from_request_parts(parts, service).await?;
        let process = session.live.processes.find(process)?;
        Ok(Self { session, process })
    }
}

/// Start a process
///
/// It runs until it ends or is stopped; clients attach to it and leave it.
#[utoipa::path(post, operation_id = "start_process", path = "/v1/sessions/{id}/processes", tag = "processes",
    params(NamedSession),
    request_body = ProcessRequest, responses(
        (status = 201, description = "It runs", body = ProcessView),
        (status = 403, description = "The policy denies it", body = ApiErrorBody),
    ))]
pub(super) async fn start(
    session: OpenSession,
    ApiJson(request): ApiJson<ProcessRequest>,
) -> Answer<(StatusCode, Json<ProcessView>)> {
    let workspace = session.workspace();
    let ProcessRequest { command, argv, directory, env, terminal, tag } = request;
    let request = CommandRequest { command, argv, directory, env, ..CommandRequest::default() };
    let streams = terminal.map_or(Streams::Pipes, |size| Streams::Terminal(size.into()));
    let spawn = SpawnRequest::new(request.command()?, streams).environment(request.env.clone());
    let spawn = spawn.directory(request.directory(&workspace).await?);
    let process = session.live.processes.start(&workspace, &spawn, tag).await?;
    Ok((StatusCode::CREATED, Json(ProcessView::of(&process))))
}

/// List processes
#[utoipa::path(get, operation_id = "list_processes", path = "/v1/sessions/{id}/processes", tag = "processes",
    params(NamedSession),
    responses(
        (status = 200, description = "Oldest first, for a while also those that ended", body = Vec<ProcessView>),
    ))]
pub(super) async fn list(session: OpenSession) -> Answer<Json<Vec<ProcessView>>> {
    Ok(Json(session.live.processes.all().iter().map(|process| ProcessView::of(process)).collect()))
}

/// Describe a process
#[utoipa::path(get, operation_id = "describe_process", path = "/v1/sessions/{id}/processes/{process}",
    tag = "processes", params(NamedSession, NumberedProcess), responses(
        (status = 200, description = "The process", body = ProcessView),
        (status = 404, description = "Process not found", body = ApiErrorBody),
    ))]
pub(super) async fn describe(FoundProcess { process, .. }: FoundProcess) -> Answer<Json<ProcessView>> {
    Ok(Json(ProcessView::of(&process)))
}

/// Stop a process
///
/// Stops it with everything that it started.
#[utoipa::path(delete, operation_id = "stop_process", path = "/v1/sessions/{id}/processes/{process}",
    tag = "processes", params(NamedSession, NumberedProcess),
    responses((status = 204, description = "It is being stopped")))]
pub(super) async fn stop(FoundProcess { process, .. }: FoundProcess) -> Answer<StatusCode> {
    process.stop();
    Ok(StatusCode::NO_CONTENT)
}

/// Write to the standard input of a process
#[utoipa::path(post, operation_id = "write_to_process", path = "/v1/sessions/{id}/processes/{process}/input",
    tag = "processes", params(NamedSession, NumberedProcess),
    request_body(content = inline(RawBytes), content_type = "application/octet-stream"),
    responses((status = 204, description = "It has the bytes")))]
pub(super) async fn input(FoundProcess { process, .. }: FoundProcess, ApiBytes(bytes): ApiBytes) -> Answer<StatusCode> {
    process.control.write(bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A signal for a process.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SignalRequest {
    /// The name of the signal.
    #[schema(schema_with = signal_names)]
    signal: Signal,
}

fn signal_names() -> Object {
    const NAMES: [&str; 11] = ["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP", "WINCH"];
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(NAMES)).examples([json!("INT")]).build()
}

/// Send a signal to a process
#[utoipa::path(post, operation_id = "signal_process", path = "/v1/sessions/{id}/processes/{process}/signal",
    tag = "processes", params(NamedSession, NumberedProcess),
    request_body = SignalRequest, responses((status = 204, description = "It is sent")))]
pub(super) async fn signal(
    FoundProcess { process, .. }: FoundProcess,
    ApiJson(request): ApiJson<SignalRequest>,
) -> Answer<StatusCode> {
    process.control.signal(request.signal).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where to start reading.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AttachFrom {
    /// Bytes of output to skip; 0 by default, as much as is kept.
    #[serde(default, deserialize_with = "whole")]
    offset: u64,
}

/// Attach to a process
///
/// A websocket. From the service: binary messages, of which the first byte is 1 for standard output or the terminal and 2
/// for standard error, and the rest is output; text messages `{"type": "lost", "bytes"}`, `{"type": "limits"}` and at last
/// `{"type": "ended", "exit_code"}`. To the service: binary messages are input; text messages are
/// `{"type": "resize", "rows", "columns"}`, `{"type": "signal", "signal"}` and `{"type": "close_input"}`.
#[utoipa::path(get, operation_id = "attach_to_process", path = "/v1/sessions/{id}/processes/{process}/attach",
    tag = "processes", params(NamedSession, NumberedProcess, AttachFrom),
    responses((status = 101, description = "A websocket")))]
pub(super) async fn attach(
    FoundProcess { session, process }: FoundProcess,
    ApiQuery(from): ApiQuery<AttachFrom>,
    ApiWebSocket(upgrade): ApiWebSocket,
) -> Answer<Response> {
    let in_use = session.begin_use();
    Ok(upgrade.on_upgrade(move |socket| watch(socket, process, from.offset, in_use)))
}

/// Passes output and input on until the process has ended or the client is gone.
async fn watch(socket: WebSocket, process: Arc<ServedProcess>, offset: u64, _in_use: SessionUse) {
    let (mut sink, messages) = socket.split();
    let outgoing = async {
        let mut pieces = std::pin::pin!(process.follow(offset));
        while let Some(piece) = pieces.next().await {
            if sink.send(message(piece)).await.is_err() {
                return;
            }
        }
        let _ = sink.close().await;
    };
    tokio::select! {
        () = outgoing => {}
        () = take_input(messages, &process) => {}
    }
}

fn message(piece: Piece) -> Message {
    match piece {
        Piece::Output(stream, bytes) => {
            let mark = if stream == Stream::Output { 1 } else { 2 };
            let mut marked = Vec::with_capacity(bytes.len() + 1);
            marked.push(mark);
            marked.extend_from_slice(&bytes);
            Message::Binary(marked.into())
        }
        Piece::Lost(bytes) => text(&json!({ "type": "lost", "bytes": bytes })),
        Piece::Limits(limits) => text(&json!({ "type": "limits", "limits": limits })),
        Piece::Ended(Ok(ended)) => text(&json!({ "type": "ended", "exit_code": ended.exit_code() })),
        Piece::Ended(Err(error)) => text(&json!({ "type": "failed", "error": ApiError::from(error).body() })),
    }
}

fn text(value: &serde_json::Value) -> Message {
    Message::Text(value.to_string().into())
}

/// A text message of a client.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ControlMessage {
    Resize { rows: u16, columns: u16 },
    Signal { signal: Signal },
    CloseInput,
}

/// Takes messages until the client is gone. What a process does not take is not an error of the client.
async fn take_input(mut messages: SplitStream<WebSocket>, process: &ServedProcess) {
    while let Some(Ok(message)) = messages.next().await {
        let control = &process.control;
        let done = match message {
            Message::Binary(bytes) => control.write(bytes).await,
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(ControlMessage::Resize { rows, columns }) => control.resize(WindowSize { rows, columns }).await,
                Ok(ControlMessage::Signal { signal }) => control.signal(signal).await,
                Ok(ControlMessage::CloseInput) => control.close_input().await,
                Err(_) => return,
            },
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => Ok(()),
        };
        if let Err(error) = done {
            tracing::debug!(%error, "a process did not take a message of its client");
        }
    }
}
