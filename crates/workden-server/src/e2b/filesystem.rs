//! `filesystem.Filesystem`: stat, list, make, move and remove, as plain calls; and watching.

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{FromRequest, Path, Request, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use workden::{BackendExt, ErrorKind, VirtualPath};
use workden_core::{Entry, IfExists, Removal, search::ListRequest};

use super::{
    connect::{ContentKind, RpcError, failed_stream, is_of_type, parse},
    entries::EntryInfo,
    envd::{EnvdCall, check_user, user_of},
    metadata, watch,
};

/// The plain calls.
const METHODS: [&str; 8] =
    ["Stat", "MakeDir", "Remove", "Move", "ListDir", "CreateWatcher", "GetWatcherEvents", "RemoveWatcher"];
/// The most entries of one listing: its answer cannot say that it is incomplete.
const MOST_ENTRIES: usize = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfPath {
    path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfMove {
    source: String,
    destination: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfListing {
    path: String,
    depth: u32,
}

pub(super) async fn call(Path(method): Path<String>, call: EnvdCall, headers: HeaderMap, request: Request) -> Response {
    if method == "WatchDir" {
        return watch_dir(call, &headers, request.into_body()).await;
    }
    let body = Bytes::from_request(request, &()).await;
    match answer(&method, &call, &headers, body).await {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => error.into_response(),
    }
}

async fn watch_dir(call: EnvdCall, headers: &HeaderMap, body: Body) -> Response {
    if !is_of_type(headers, ContentKind::Stream) {
        return RpcError::invalid("invalid content type: use application/connect+json").into_response();
    }
    let begun = match check_user(&user_of(headers)) {
        Ok(()) => watch::stream(call, headers, body).await,
        Err(error) => Err(RpcError::unauthenticated(error.to_string())),
    };
    begun.unwrap_or_else(|error| failed_stream(&error))
}

async fn answer(
    method: &str,
    call: &EnvdCall,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Value, RpcError> {
    if !METHODS.contains(&method) {
        return Err(RpcError::unimplemented(method));
    }
    if !is_of_type(headers, ContentKind::Plain) {
        return Err(RpcError::invalid("invalid content type: use application/json"));
    }
    check_user(&user_of(headers)).map_err(|error| RpcError::unauthenticated(error.to_string()))?;
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => RpcError::new("resource_exhausted", error.body_text()),
        _ => RpcError::invalid(error.body_text()),
    })?;
    match method {
        "Stat" => {
            let path = call.path(&parse::<OfPath>(&body)?.path).await?;
            entry(call, &path).await
        }
        "MakeDir" => make_dir(call, parse(&body)?).await,
        "Remove" => remove(call, parse(&body)?).await,
        "Move" => {
            let OfMove { source, destination } = parse(&body)?;
            let (from, to) = (call.path(&source).await?, call.path(&destination).await?);
            call.workspace.files().move_path(&from, &to, IfExists::Replace).await?;
            entry(call, &to).await
        }
        "CreateWatcher" => watch::create(call, parse(&body)?).await,
        "GetWatcherEvents" => watch::events(call, &parse(&body)?),
        "RemoveWatcher" => Ok(watch::remove(call, &parse(&body)?)),
        _ => list(call, parse(&body)?).await,
    }
}

async fn entry(call: &EnvdCall, path: &VirtualPath) -> Result<Value, RpcError> {
    Ok(json!({ "entry": EntryInfo::at(&call.workspace, path).await? }))
}

async fn make_dir(call: &EnvdCall, request: OfPath) -> Result<Value, RpcError> {
    let path = call.path(&request.path).await?;
    match call.workspace.files().entry(&path).await {
        Ok(there) if there.is_dir() => {
            return Err(RpcError::new("already_exists", format!("directory already exists: {path}")));
        }
        Ok(_) => return Err(RpcError::invalid(format!("path already exists but it is not a directory: {path}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    call.workspace.files().make_dir_path(&path).await?;
    entry(call, &path).await
}

/// Removing what is not there is no failure.
async fn remove(call: &EnvdCall, request: OfPath) -> Result<Value, RpcError> {
    let path = call.path(&request.path).await?;
    match call.workspace.files().remove_path(&path, Removal::Tree).await {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(json!({})),
    }
}

async fn list(call: &EnvdCall, request: OfListing) -> Result<Value, RpcError> {
    let top = call.path(&request.path).await?;
    let mut found: Vec<Entry> = Vec::new();
    let mut level = vec![top.clone()];
    for _ in 0..request.depth.max(1) {
        let mut below = Vec::new();
        for directory in std::mem::take(&mut level) {
            let asked = ListRequest::default().keep(MOST_ENTRIES - found.len()).attributes(metadata::PREFIX.to_owned());
            let listing = match call.workspace.files().list_path(&directory, &asked).await {
                Ok(listing) => listing,
                // It went away, or was replaced, since its parent was listed.
                Err(error) if directory != top && error.kind() != ErrorKind::Denied => continue,
                Err(error) => return Err(error.into()),
            };
            if listing.left_out > 0 {
                let message = format!("{top} has more than {MOST_ENTRIES} entries; list its directories one by one");
                return Err(RpcError::new("resource_exhausted", message));
            }
            let is_direct = |entry: &&Entry| entry.is_dir() && entry.link == workden_core::Link::Direct;
            below.extend(listing.entries.iter().filter(is_direct).map(|entry| entry.path.clone()));
            found.extend(listing.entries);
        }
        level = below;
        if level.is_empty() {
            break;
        }
    }
    let mut entries = Vec::with_capacity(found.len());
    for entry in &found {
        entries.push(EntryInfo::listed(&call.workspace, entry).await);
    }
    Ok(json!({ "entries": entries }))
}
