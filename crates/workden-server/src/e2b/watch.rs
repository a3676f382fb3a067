//! Watched directories: a stream of events (`WatchDir`), and watchers that clients ask again and again.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{body::Body, http::HeaderMap, response::Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use workden::{Backend, Sandbox};
use workden_core::{
    Symlink, VirtualPath,
    sandbox::{FileChange, FileEvent, FileEvents, WatchDepth, WatchRequest},
};

use super::{
    connect::{RpcError, RpcFrames, end, keepalive, message, streamed, time_limit},
    entries::EntryInfo,
    envd::EnvdCall,
};
use crate::identity::new_id;

/// Watchers of one sandbox.
const MOST_WATCHERS: usize = 64;
/// Events that a watcher keeps for its client; the oldest are lost.
const KEPT_EVENTS: usize = 10_000;

/// What to watch.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WatchedPath {
    path: String,
    recursive: bool,
    /// Whether each event describes the entry, as it is when the event is sent.
    include_entry: bool,
}

/// A watcher.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WatcherId {
    watcher_id: String,
}

/// A watched directory.
struct Watched {
    call: EnvdCall,
    top: VirtualPath,
    describes: bool,
    events: FileEvents,
}

impl Watched {
    async fn begin(call: &EnvdCall, asked: WatchedPath) -> Result<Self, RpcError> {
        let top = call.path(&asked.path).await?;
        let sandbox = call.workspace.commands()?;
        let at = sandbox.resolve(&top, Symlink::Follow).await?;
        let depth = if asked.recursive { WatchDepth::Tree } else { WatchDepth::Entries };
        let events =
            sandbox.watch(&at, &WatchRequest::default().depth(depth)).await.map_err(|error| match error.kind() {
                workden::ErrorKind::NotDirectory => RpcError::invalid(format!("path {top} not a directory")),
                _ => error.into(),
            })?;
        Ok(Self { call: call.clone(), top: at.real, describes: asked.include_entry, events })
    }

    /// Returns the next event in the words of clients; `None` at the end.
    async fn next(&mut self) -> Option<Result<Value, RpcError>> {
        loop {
            let (path, change) = match self.events.next().await? {
                Ok(FileEvent::Changed { path, change, .. }) => (path, change),
                // Clients have no word for it.
                Ok(FileEvent::Missed) => continue,
                Err(error) => return Some(Err(error.into())),
            };
            let name = path.strip_prefix(&self.top).map_or_else(String::new, |name| name.relative().to_owned());
            let mut event = json!({ "name": name, "type": kind(change) });
            // What is gone meanwhile is not described.
            if self.describes
                && let Ok(entry) = EntryInfo::at(&self.call.workspace, &path).await
            {
                event["entry"] = json!(entry);
            }
            return Some(Ok(event));
        }
    }
}

fn kind(change: FileChange) -> &'static str {
    match change {
        FileChange::Created => "EVENT_TYPE_CREATE",
        FileChange::Written => "EVENT_TYPE_WRITE",
        FileChange::Removed => "EVENT_TYPE_REMOVE",
        FileChange::Renamed => "EVENT_TYPE_RENAME",
        FileChange::Attributes => "EVENT_TYPE_CHMOD",
    }
}

/// Answers `WatchDir`.
pub(super) async fn stream(call: EnvdCall, headers: &HeaderMap, body: Body) -> Result<Response, RpcError> {
    let watched = Watched::begin(&call, RpcFrames::new(body).only().await?).await?;
    let deadline = time_limit(headers).map(|limit| Instant::now() + limit);
    Ok(streamed(frames(watched, deadline, keepalive(headers))))
}

fn frames(
    mut watched: Watched,
    deadline: Option<Instant>,
    keepalive: std::time::Duration,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    async_stream::stream! {
        let _in_use = watched.call.live.begin_use();
        yield Ok(message(&json!({ "start": {} })));
        loop {
            let alive = Instant::now() + keepalive;
            match timeout_at(deadline.map_or(alive, |deadline| deadline.min(alive)), watched.next()).await {
                Ok(Some(Ok(event))) => yield Ok(message(&json!({ "filesystem": event }))),
                Ok(Some(Err(error))) => {
                    yield Ok(end(Err(&error)));
                    return;
                }
                Ok(None) => {
                    yield Ok(end(Ok(())));
                    return;
                }
                Err(_) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                    yield Ok(end(Err(&RpcError::new("deadline_exceeded", "the time limit of the call is reached"))));
                    return;
                }
                Err(_) => yield Ok(message(&json!({ "keepalive": {} }))),
            }
        }
    }
}

/// The watchers of one sandbox in this process.
#[derive(Debug, Default)]
pub(crate) struct Watchers(Mutex<HashMap<String, Watcher>>);

#[derive(Debug)]
struct Watcher {
    kept: Arc<Mutex<Kept>>,
    task: JoinHandle<()>,
}

/// Events that a client has not asked for yet, and the error that ended them.
#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Value>,
    failure: Option<RpcError>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers `CreateWatcher`.
pub(super) async fn create(call: &EnvdCall, asked: WatchedPath) -> Result<Value, RpcError> {
    let mut watched = Watched::begin(call, asked).await?;
    let (id, kept) = (new_id()?, Arc::new(Mutex::new(Kept::default())));
    let keeping = Arc::clone(&kept);
    let task = tokio::spawn(async move {
        while let Some(event) = watched.next().await {
            let mut kept = keeping.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                Ok(event) => {
                    if kept.events.len() >= KEPT_EVENTS {
                        kept.events.pop_front();
                    }
                    kept.events.push_back(event);
                }
                Err(error) => kept.failure = Some(error),
            }
        }
    });
    let watcher = Watcher { kept, task };
    let mut all = call.live.watchers.0.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= MOST_WATCHERS {
        let message = format!("the sandbox has {MOST_WATCHERS} watchers; remove one first");
        return Err(RpcError::new("resource_exhausted", message));
    }
    all.insert(id.clone(), watcher);
    Ok(json!({ "watcherId": id }))
}

/// Answers `GetWatcherEvents`: what happened since the last time.
pub(super) fn events(call: &EnvdCall, asked: &WatcherId) -> Result<Value, RpcError> {
    let all = call.live.watchers.0.lock().unwrap_or_else(PoisonError::into_inner);
    let watcher = all.get(&asked.watcher_id).ok_or_else(|| missing(asked))?;
    let mut kept = watcher.kept.lock().unwrap_or_else(PoisonError::into_inner);
    match (&kept.failure, kept.events.is_empty()) {
        (Some(failure), true) => Err(failure.clone()),
        _ => Ok(json!({ "events": kept.events.drain(..).collect::<Vec<_>>() })),
    }
}

/// Answers `RemoveWatcher`. Removing what is not there is no failure.
pub(super) fn remove(call: &EnvdCall, asked: &WatcherId) -> Value {
    call.live.watchers.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&asked.watcher_id);
    json!({})
}

fn missing(asked: &WatcherId) -> RpcError {
    RpcError::not_found(format!("watcher with id {} not found", asked.watcher_id.escape_debug()))
}
