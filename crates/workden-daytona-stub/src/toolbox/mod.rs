//! The toolbox: the routes below `/toolbox/{sandbox}`, which work on the place of a started sandbox.

mod entries;
mod execute;
mod files;
mod log;
mod proxy;
mod pty;
mod ptys;
mod relay;
mod search;
mod session;
mod sessions;
mod transfer;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use hyper::StatusCode;
use serde_json::json;

use crate::{
    answer::{Answered, Refused, ok},
    call::Call,
    place::{HOME, Place},
    shared::Shared,
};

/// The version that the daemon reports.
pub(crate) const VERSION: &str = "0.190.0-stub";

/// Segments before the path that a port sees: `/toolbox/{sandbox}/proxy/{port}` and `/preview/{sandbox}/{port}`.
const PROXY_DEPTH: usize = 4;
const PREVIEW_DEPTH: usize = 3;

/// What the daemon of one sandbox remembers.
#[derive(Debug, Default)]
pub(crate) struct Toolbox {
    sessions: Mutex<BTreeMap<String, Arc<session::Session>>>,
    ptys: Mutex<BTreeMap<String, Arc<pty::Pty>>>,
}

pub(crate) async fn route(shared: &Arc<Shared>, mut call: Call) -> Answered {
    let segments = std::mem::take(&mut call.segments);
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let Some((id, rest)) = segments.split_first() else { return Err(Refused::not_found("route not found")) };
    let place = place(shared, id)?;
    match (call.method().as_str(), rest) {
        ("GET", ["version"]) => ok(&json!({ "version": VERSION })),
        ("GET", ["user-home-dir" | "work-dir" | "project-dir"]) => ok(&json!({ "dir": HOME })),
        (_, ["files", rest @ ..]) => files::route(&place, rest, call).await,
        ("POST", ["process", "execute"]) => execute::execute(&place, call).await,
        (_, ["process", "session", rest @ ..]) => sessions::route(&place, rest, call).await,
        (_, ["process", "pty", rest @ ..]) => ptys::route(&place, rest, call).await,
        (_, ["proxy", port, ..]) => proxy::pass_on(&place, port, call, PROXY_DEPTH).await,
        _ => Err(Refused::not_found("route not found").code("NOT_FOUND")),
    }
}

/// Passes a request on to a port, by the address that `preview-url` returns.
pub(crate) async fn preview(shared: &Arc<Shared>, mut call: Call) -> Answered {
    match &std::mem::take(&mut call.segments)[..] {
        [id, port, ..] => proxy::pass_on(&*place(shared, id)?, port, call, PREVIEW_DEPTH).await,
        _ => Err(Refused::not_found("route not found")),
    }
}

/// Returns the place of a sandbox that is started.
fn place(shared: &Shared, id: &str) -> Result<Arc<Place>, Refused> {
    let record = shared.records().iter().find(|record| record.id == id).cloned();
    let record = record.ok_or_else(|| Refused::not_found(format!("sandbox {id} not found")))?;
    let not_started = || {
        let message = format!("sandbox is not started: its state is `{}`", record.state().name());
        Refused::new(StatusCode::BAD_REQUEST, message)
    };
    record.place().ok_or_else(not_started)
}
