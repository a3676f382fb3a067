//! `/v1/sessions/{id}/watch`: what changes in a directory, as it happens.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    Sse,
    sse::{Event, KeepAlive},
};
use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{Backend, Sandbox};
use workden_core::{
    Symlink, VirtualPath,
    sandbox::{FileChange, FileEvent, WatchDepth, WatchRequest},
};

use super::{
    description::ServerEvent,
    session::{DirectoryPath, NamedSession, SessionDirectory, SessionPath},
};
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::ApiQuery,
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(watch))
}

/// How deep to watch.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WatchDepthQuery {
    /// Whether everything below it is watched as well.
    #[serde(default)]
    recursive: bool,
}

/// A change of an entry.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangeView {
    path: String,
    /// `created`, `written`, `removed`, `renamed` (away from this name) or `attributes`.
    change: &'static str,
    is_directory: bool,
}

impl ChangeView {
    fn of(path: &VirtualPath, change: FileChange, is_directory: bool) -> Self {
        let change = match change {
            FileChange::Created => "created",
            FileChange::Written => "written",
            FileChange::Removed => "removed",
            FileChange::Renamed => "renamed",
            FileChange::Attributes => "attributes",
        };
        Self { path: path.to_string(), change, is_directory }
    }
}

/// Watch a directory
///
/// Server-sent events: `changed` with the path and what happened, `missed` when a slow reader lost some, and `error`
/// when the watch ends. Starts the sandbox of the session.
#[utoipa::path(get, operation_id = "watch_directory", path = "/v1/sessions/{id}/watch", tag = "files",
    params(NamedSession, DirectoryPath, WatchDepthQuery), responses(
        (status = 200, description = "Changes as they happen", body = ServerEvent, content_type = "text/event-stream"),
        (status = 404, description = "Directory not found", body = ApiErrorBody),
    ))]
pub(super) async fn watch(
    SessionDirectory(SessionPath { workspace, path }): SessionDirectory,
    ApiQuery(window): ApiQuery<WatchDepthQuery>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let depth = if window.recursive { WatchDepth::Tree } else { WatchDepth::Entries };
    let sandbox = workspace.commands()?;
    let at = sandbox.resolve(&path, Symlink::Follow).await?;
    let events = sandbox.watch(&at, &WatchRequest::default().depth(depth)).await?;
    let events = events.map(|event| {
        let (name, data) = match event {
            Ok(FileEvent::Changed { path, change, is_directory }) => {
                ("changed", serde_json::to_string(&ChangeView::of(&path, change, is_directory)))
            }
            Ok(FileEvent::Missed) => ("missed", Ok("{}".to_owned())),
            Err(error) => ("error", serde_json::to_string(&ApiError::from(error).body())),
        };
        Ok(Event::default().event(name).data(data.unwrap_or_default()))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}
