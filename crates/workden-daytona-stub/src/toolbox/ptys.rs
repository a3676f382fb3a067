//! Routes of terminals: create, connect, resize, kill, and the one call that creates and connects.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures_util::{FutureExt, SinkExt, StreamExt};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use workden_core::sandbox::{Ended, WindowSize};

use super::pty::{Next, Pty, PtyPlan};
use crate::{
    answer::{Answered, Refused, json_answer, ok},
    call::Call,
    place::{HOME, Place},
    shared::locked,
    websocket::{self, Socket},
};

/// The subprotocol of clients that want a message before the close.
const EXIT_CONTROL: &str = "X-Daytona-Pty-Exit-Control";
/// The subprotocol that carries variables.
const VARIABLES: &str = "X-Daytona-Pty-Envs~";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Create {
    id: Option<String>,
    cwd: Option<String>,
    envs: Option<BTreeMap<String, String>>,
    cols: Option<u16>,
    rows: Option<u16>,
}

#[derive(Deserialize)]
struct Resize {
    cols: u16,
    rows: u16,
}

pub(super) async fn route(place: &Place, rest: &[&str], mut call: Call) -> Answered {
    match (call.method().as_str(), rest) {
        ("GET", []) => {
            let sessions: Vec<Value> = locked(&place.toolbox.ptys).values().map(|pty| shown(pty)).collect();
            ok(&json!({ "sessions": sessions }))
        }
        ("POST", []) => {
            let pty = create(place, call.json().await?).await?;
            Ok(json_answer(StatusCode::CREATED, &json!({ "sessionId": pty.plan.id })))
        }
        ("GET", ["create-connect"]) => {
            let number = |name: &str| call.parameter(name).and_then(|text| text.parse().ok());
            let request = Create {
                id: call.parameter("id").map(str::to_owned),
                cwd: call.parameter("cwd").map(str::to_owned),
                envs: variables(&call)?,
                cols: number("cols"),
                rows: number("rows"),
            };
            if !websocket::is_wanted(&call) {
                return Err(Refused::invalid("this route requires a WebSocket"));
            }
            let pty = create(place, request).await?;
            connect(&pty, call)
        }
        ("GET", [id]) => ok(&shown(&*found(place, id)?)),
        ("GET", [id, "connect"]) => connect(&found(place, id)?, call),
        ("POST", [id, "resize"]) => {
            let pty = found(place, id)?;
            let Resize { cols, rows } = call.json().await?;
            pty.resize(size(Some(rows), Some(cols))?).await?;
            ok(&shown(&pty))
        }
        ("DELETE", [id]) => {
            let removed = locked(&place.toolbox.ptys).remove(*id);
            removed.ok_or_else(|| unknown(id))?.kill();
            ok(&json!({ "message": "PTY session deleted" }))
        }
        _ => Err(Refused::not_found("route not found").code("NOT_FOUND")),
    }
}

fn unknown(id: &str) -> Refused {
    Refused::not_found(format!("PTY session {id} not found")).code("PROCESS_NOT_FOUND")
}

fn found(place: &Place, id: &str) -> Result<Arc<Pty>, Refused> {
    locked(&place.toolbox.ptys).get(id).cloned().ok_or_else(|| unknown(id))
}

fn size(rows: Option<u16>, cols: Option<u16>) -> Result<WindowSize, Refused> {
    let (rows, columns) = (rows.unwrap_or(24), cols.unwrap_or(80));
    if !(1..=1000).contains(&rows) || !(1..=1000).contains(&columns) {
        return Err(Refused::invalid("invalid size: use 1 to 1000 rows and columns"));
    }
    Ok(WindowSize { rows, columns })
}

/// Returns the variables of a subprotocol, in which they are JSON in base64.
fn variables(call: &Call) -> Result<Option<BTreeMap<String, String>>, Refused> {
    let Some(offered) = websocket::offered(call, VARIABLES) else { return Ok(None) };
    let text = BASE64_URL_SAFE_NO_PAD.decode(offered.trim_start_matches(VARIABLES)).ok();
    let parsed = text.and_then(|text| serde_json::from_slice(&text).ok());
    parsed.map(Some).ok_or_else(|| Refused::invalid("invalid variables"))
}

async fn create(place: &Place, request: Create) -> Result<Arc<Pty>, Refused> {
    let id = request.id.filter(|id| !id.is_empty()).ok_or_else(|| Refused::invalid("`id` is required"))?;
    let exists = || Refused::conflict(format!("PTY session {id} already exists"));
    if locked(&place.toolbox.ptys).contains_key(&id) {
        return Err(exists());
    }
    let plan = PtyPlan {
        id: id.clone(),
        directory: request.cwd,
        variables: request.envs.unwrap_or_default(),
        size: size(request.rows, request.cols)?,
    };
    let pty = Arc::new(Pty::start(place, plan).await?);
    match locked(&place.toolbox.ptys).entry(id.clone()) {
        Entry::Occupied(_) => Err(exists()),
        Entry::Vacant(vacant) => Ok(Arc::clone(vacant.insert(pty))),
    }
}

fn shown(pty: &Pty) -> Value {
    let size = *locked(&pty.size);
    json!({
        "id": pty.plan.id,
        "cwd": pty.plan.directory.as_deref().unwrap_or(HOME),
        "envs": pty.plan.variables,
        "cols": size.columns,
        "rows": size.rows,
        "createdAt": pty.created,
        "active": pty.is_active(),
        "lazyStart": false,
    })
}

fn connect(pty: &Arc<Pty>, call: Call) -> Answered {
    let wants_message = websocket::offered(&call, EXIT_CONTROL);
    let pty = Arc::clone(pty);
    let told = wants_message.is_some();
    websocket::accept(call, wants_message.as_deref(), move |socket| {
        let exit = if told { ExitMessage::Sent } else { ExitMessage::CloseOnly };
        serve(socket, pty, exit).boxed()
    })
}

/// How a client learns of the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExitMessage {
    /// By a message, and by the reason of the close.
    Sent,
    /// By the reason of the close.
    CloseOnly,
}

async fn serve(mut socket: Socket, pty: Arc<Pty>, exit: ExitMessage) {
    let connected = json!({ "type": "control", "status": "connected" }).to_string();
    if socket.send(Message::text(connected)).await.is_err() {
        return;
    }
    let mut seen = 0;
    let ended = loop {
        tokio::select! {
            next = pty.next(&mut seen) => match next {
                Next::Ended(ended) => break ended,
                Next::Output(pieces) => {
                    for piece in pieces {
                        if socket.send(Message::binary(piece)).await.is_err() {
                            return;
                        }
                    }
                }
            },
            message = socket.next() => match message {
                Some(Ok(Message::Binary(bytes))) => drop(pty.control.write(bytes).await),
                Some(Ok(Message::Text(text))) => drop(pty.control.write(text.into()).await),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    };
    let mut told = json!({ "exitCode": ended.exit_code() });
    if let Ended::Signalled(signal) = ended {
        told["exitReason"] = format!("signal {signal}").into();
    }
    if exit == ExitMessage::Sent {
        let mut message = told.clone();
        message["type"] = "control".into();
        message["status"] = "exited".into();
        let _ = socket.send(Message::text(message.to_string())).await;
    }
    websocket::close(socket, &told.to_string()).await;
}
