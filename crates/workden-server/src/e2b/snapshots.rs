//! The control plane: snapshots of sandboxes, which are templates of others, and forks. Both are copies of files: memory
//! and processes are not copied.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    control::{KNOWN, LIFETIME},
    failure::{E2bBody, E2bFailure, E2bQuery},
    views::OpenedSandbox,
};
use crate::{
    database::{SessionRow, SnapshotQuery, SnapshotRow, SnapshotState},
    identity::Principal,
    ports::ALL_PORTS,
    service::{Answer, Service},
    sessions::{ExistingName, NewSession},
    snapshots::CopyFor,
};

/// The longest name of a snapshot.
const NAME_CHARS: usize = 128;
/// The most forks of one call.
const FORKS: u64 = 20;
/// The most snapshots in one page.
const PAGE: i64 = 100;

/// A request for a snapshot. Whether memory is wanted does not matter: a snapshot has only files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NewSnapshot {
    name: Option<String>,
}

/// A request for forks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NewForks {
    timeout: Option<u64>,
    count: Option<u64>,
}

/// The query of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListedSnapshots {
    #[serde(rename = "sandboxID")]
    sandbox_id: Option<String>,
    name: Option<String>,
    limit: Option<i64>,
    next_token: Option<String>,
}

/// What clients see of a snapshot.
#[derive(Debug, Serialize)]
pub(super) struct SnapshotView {
    #[serde(rename = "snapshotID")]
    snapshot_id: String,
    names: Vec<String>,
}

impl From<SnapshotRow> for SnapshotView {
    fn from(row: SnapshotRow) -> Self {
        let names = if row.name.is_empty() { Vec::new() } else { vec![row.name] };
        Self { snapshot_id: row.id, names }
    }
}

pub(super) async fn take(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    E2bBody(new): E2bBody<NewSnapshot>,
) -> Result<(StatusCode, Json<SnapshotView>), E2bFailure> {
    let row = service.sandbox_row(&principal, &id).await?;
    let name = new.name.unwrap_or_default();
    check_name(&service, &name)?;
    let taken = service.take_snapshot(&principal, row, name).await?;
    Ok((StatusCode::CREATED, Json(taken.into())))
}

/// A template's name is also that of a runtime, which comes first.
fn check_name(service: &Service, name: &str) -> Result<(), E2bFailure> {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || "-_./:".contains(char);
    if name.len() > NAME_CHARS || !name.chars().all(is_allowed) {
        let message = format!("invalid `name`: at most {NAME_CHARS} letters, digits and `-_./:`");
        return Err(E2bFailure::invalid(message));
    }
    match service.config().runtimes.contains_key(name) || KNOWN.contains(&name) {
        true => Err(E2bFailure::new(StatusCode::CONFLICT, format!("a runtime has the name '{name}'"))),
        false => Ok(()),
    }
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    E2bQuery(asked): E2bQuery<ListedSnapshots>,
) -> Result<Response, E2bFailure> {
    principal.require_tenant()?;
    let query = SnapshotQuery {
        tenant: principal.scope().map(str::to_owned),
        session: asked.sandbox_id,
        name: asked.name,
        after: asked.next_token.unwrap_or_default(),
        limit: asked.limit.unwrap_or(PAGE).clamp(1, PAGE),
    };
    let rows = service.database.snapshots(&query).await?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == query.limit);
    let next = rows.last().filter(|_| is_full).map(|row| row.id.clone());
    let views = Json(rows.into_iter().map(SnapshotView::from).collect::<Vec<_>>());
    Ok(match next {
        Some(next) => ([("x-next-token", next)], views).into_response(),
        None => views.into_response(),
    })
}

/// Deletes a snapshot. Other templates are runtimes, which are the operator's.
pub(super) async fn delete(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, E2bFailure> {
    principal.require_tenant()?;
    match service.database.hide_snapshot(principal.scope(), &id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(E2bFailure::new(StatusCode::NOT_FOUND, format!("template '{}' not found", id.escape_debug()))),
    }
}

/// Starts sandboxes like this one, with copies of its files. Each may fail by itself.
pub(super) async fn fork(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    E2bBody(new): E2bBody<NewForks>,
) -> Result<(StatusCode, Json<Vec<Value>>), E2bFailure> {
    let count = new.count.unwrap_or(1);
    if !(1..=FORKS).contains(&count) {
        return Err(E2bFailure::invalid(format!("invalid `count`: use a number from 1 to {FORKS}")));
    }
    let row = service.sandbox_row(&principal, &id).await?;
    let forking = forks_of(Arc::clone(&service), principal, row, (count, new.timeout));
    // Also if the client goes away: a copy that is not finished would stay for a while.
    Ok((StatusCode::CREATED, Json(service.to_its_end(forking).await?)))
}

async fn forks_of(
    service: Arc<Service>,
    principal: Principal,
    row: SessionRow,
    (count, timeout): (u64, Option<u64>),
) -> Answer<Vec<Value>> {
    let copy = service.copy_files(&principal, &row, (CopyFor::Sessions, "")).await?;
    let like = serde_json::from_str::<NewSession>(&row.spec).unwrap_or_default();
    let like = NewSession {
        name: None,
        if_exists: ExistingName::Refuse,
        lifetime_seconds: Some(timeout.unwrap_or(LIFETIME)),
        ..like
    };
    let forks = (0..count).map(|_| forked(&service, &principal, &row, (like.clone(), &copy)));
    let forks = join_all(forks).await.into_iter().map(|fork| match fork {
        Ok(sandbox) => json!({ "sandbox": sandbox }),
        Err(failure) => {
            json!({ "error": { "code": failure.status.as_u16(), "message": failure.message } })
        }
    });
    let forks = forks.collect();
    service.database.finish_snapshot(&copy.id, SnapshotState::Hidden, copy.size).await?;
    Ok(forks)
}

async fn forked(
    service: &Arc<Service>,
    principal: &Principal,
    like: &SessionRow,
    (new, copy): (NewSession, &SnapshotRow),
) -> Result<OpenedSandbox, E2bFailure> {
    let (row, _) = service.create_session_from(principal, new, Some(copy.clone())).await?;
    if service.database.is_published(&like.id, ALL_PORTS).await? {
        service.database.publish_port(&row.id, ALL_PORTS).await?;
    }
    Ok(OpenedSandbox::of(service, &row).await?)
}
