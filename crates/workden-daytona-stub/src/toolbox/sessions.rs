//! Routes of sessions: one shell each, with commands, logs and input.

use std::sync::Arc;

use futures_util::{FutureExt, SinkExt};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use workden_core::sandbox::Stream;

use super::{
    log::LogState,
    session::{Echo, Session, SessionCommand},
};
use crate::{
    answer::{Answered, Refused, bytes_answer, empty, json_answer, ok},
    call::Call,
    faults::FaultKind,
    place::Place,
    shared::locked,
    websocket::{self, Socket},
};

/// From this version of the SDK on the streams come apart.
const APART: [u64; 3] = [0, 167, 0];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Create {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Execute {
    command: String,
    #[serde(default, alias = "async")]
    run_async: Option<bool>,
    #[serde(default)]
    suppress_input_echo: Option<bool>,
}

#[derive(Deserialize)]
struct Input {
    data: String,
}

pub(super) async fn route(place: &Place, rest: &[&str], mut call: Call) -> Answered {
    match (call.method().as_str(), rest) {
        ("GET", []) => ok(&all(place)),
        ("POST", []) => create(place, call.json().await?).await,
        ("GET", [id]) => ok(&shown(id, &*session(place, id)?)),
        ("DELETE", [id]) => {
            let removed = locked(&place.toolbox.sessions).remove(*id);
            removed.ok_or_else(|| unknown(id))?.kill();
            empty(StatusCode::NO_CONTENT)
        }
        ("POST", [id, "exec"]) => execute(place, id, call).await,
        ("GET", [id, "command", command]) => ok(&shown_command(&*session(place, id)?.command(command)?)),
        ("GET", [id, "command", command, "logs"]) => logs(&session(place, id)?.command(command)?, call),
        ("POST", [id, "command", command, "input"]) => {
            let command = session(place, id)?.command(command)?;
            let Input { data } = call.json().await?;
            command.write(data.into()).await?;
            empty(StatusCode::NO_CONTENT)
        }
        _ => Err(Refused::not_found("route not found").code("NOT_FOUND")),
    }
}

fn unknown(id: &str) -> Refused {
    Refused::not_found(format!("session {id} not found")).code("PROCESS_NOT_FOUND")
}

fn session(place: &Place, id: &str) -> Result<Arc<Session>, Refused> {
    locked(&place.toolbox.sessions).get(id).cloned().ok_or_else(|| unknown(id))
}

async fn create(place: &Place, request: Create) -> Answered {
    let id = request.session_id;
    if id.is_empty() {
        return Err(Refused::invalid("`sessionId` is empty"));
    }
    let exists = || Refused::conflict(format!("session {id} already exists"));
    if locked(&place.toolbox.sessions).contains_key(&id) {
        return Err(exists());
    }
    let started = Arc::new(Session::start(place).await?);
    match locked(&place.toolbox.sessions).entry(id.clone()) {
        std::collections::btree_map::Entry::Occupied(_) => Err(exists()),
        std::collections::btree_map::Entry::Vacant(vacant) => {
            vacant.insert(started);
            empty(StatusCode::CREATED)
        }
    }
}

async fn execute(place: &Place, id: &str, mut call: Call) -> Answered {
    let session = session(place, id)?;
    let request: Execute = call.json().await?;
    if request.command.trim().is_empty() {
        return Err(Refused::invalid("`command` is empty").code("INVALID_REQUEST_BODY"));
    }
    let echo = if request.suppress_input_echo == Some(true) { Echo::Suppressed } else { Echo::Shown };
    let command = session.run(place, &request.command, echo).await?;
    if request.run_async == Some(true) {
        return Ok(json_answer(StatusCode::ACCEPTED, &json!({ "cmdId": command.id })));
    }
    let state = command.log.ended().await;
    let mut answer = streams(&state, &call);
    answer["cmdId"] = command.id.as_str().into();
    answer["exitCode"] = state.exit_code.into();
    ok(&answer)
}

/// Returns the log, with separate streams for clients that know them.
fn streams(state: &LogState, call: &Call) -> Value {
    let mut answer = json!({ "output": state.text(None) });
    if call.sdk_version().is_some_and(|version| version >= APART) {
        answer["stdout"] = state.text(Some(Stream::Output)).into();
        answer["stderr"] = state.text(Some(Stream::Error)).into();
    }
    answer
}

fn logs(command: &Arc<SessionCommand>, call: Call) -> Answered {
    if websocket::is_wanted(&call) {
        let delivery = match call.fault {
            Some(FaultKind::SplitMarks) => Delivery::Bytes,
            Some(FaultKind::TruncatedBody) => Delivery::Cut,
            _ => Delivery::Pieces,
        };
        let protocol = websocket::offered(&call, "X-Daytona-SDK-Version~");
        let command = Arc::clone(command);
        return websocket::accept(call, protocol.as_deref(), move |socket| follow(socket, command, delivery).boxed());
    }
    let state = command.log.state();
    if call.sdk_version().is_some_and(|version| version >= APART) {
        return ok(&streams(&state, &call));
    }
    Ok(bytes_answer(StatusCode::OK, "text/plain; charset=utf-8", state.text(None)))
}

/// How a log is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// A frame for what came together.
    Pieces,
    /// A frame for each byte.
    Bytes,
    /// One byte, and then the connection ends without a close.
    Cut,
}

/// Sends the log as it comes.
async fn follow(mut socket: Socket, command: Arc<SessionCommand>, delivery: Delivery) {
    let size = if delivery == Delivery::Pieces { usize::MAX } else { 1 };
    let mut seen = 0;
    while let Some(bytes) = command.log.marked_after(&mut seen).await {
        for frame in bytes.chunks(size) {
            if socket.send(Message::binary(frame.to_vec())).await.is_err() || delivery == Delivery::Cut {
                return;
            }
        }
    }
    websocket::close(socket, "").await;
}

fn all(place: &Place) -> Vec<Value> {
    locked(&place.toolbox.sessions).iter().map(|(id, session)| shown(id, session)).collect()
}

fn shown(id: &str, session: &Session) -> Value {
    let commands: Vec<Value> = session.commands().iter().map(|command| shown_command(command)).collect();
    json!({ "sessionId": id, "commands": commands })
}

fn shown_command(command: &SessionCommand) -> Value {
    let mut shown = json!({ "id": command.id, "command": command.line });
    if let Some(code) = command.log.state().exit_code {
        shown["exitCode"] = code.into();
    }
    shown
}
