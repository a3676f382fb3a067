//! The control plane: how long a sandbox lives, and its pauses.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{
    failure::{E2bBody, E2bFailure},
    views::{OpenedSandbox, pauses_at_end},
};
use crate::{clock::Moment, database::SessionRow, identity::Principal, service::Service};

/// How long a pause may take, and how often to look whether it is over: any process of the service may do it.
const PAUSE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// A time to live, in seconds from now.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TimeToLive {
    timeout: Option<u64>,
}

/// How a sandbox's end changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewEnd {
    /// It may come earlier.
    Exact,
    /// It never comes earlier than it would have.
    Later,
}

impl Service {
    /// Returns the row of a sandbox that the caller may use. One that is about to end is gone for clients; one that is
    /// about to be paused is waited for.
    pub(super) async fn sandbox_row(&self, principal: &Principal, id: &str) -> Result<SessionRow, E2bFailure> {
        let deadline = Instant::now() + PAUSE;
        loop {
            let row = self.session_row(principal, id).await?;
            match row.state.as_str() {
                "running" | "paused" => return Ok(row),
                _ if pauses_at_end(&row) && Instant::now() < deadline => sleep(LOOK).await,
                _ => return Err(E2bFailure::new(StatusCode::NOT_FOUND, format!("sandbox \"{}\" not found", row.id))),
            }
        }
    }

    async fn set_sandbox_end(&self, row: &SessionRow, seconds: u64, end: NewEnd) -> Result<(), E2bFailure> {
        let most = self.tenant_quotas(&row.tenant).await?.lifetime_seconds;
        let ends_at = Moment::now().after(Duration::from_secs(seconds.min(most)));
        match end {
            NewEnd::Later if ends_at <= row.ends_at => Ok(()),
            NewEnd::Later | NewEnd::Exact => Ok(self.database.set_session_end(&row.id, ends_at).await?),
        }
    }
}

/// Connects to a sandbox, which resumes a paused one.
pub(super) async fn connect(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    E2bBody(time): E2bBody<TimeToLive>,
) -> Result<(StatusCode, Json<OpenedSandbox>), E2bFailure> {
    principal.require_tenant()?;
    let row = service.sandbox_row(&principal, &id).await?;
    let was_paused = row.state == "paused";
    let row = match was_paused {
        true => service.resume_session(&principal, &row.id).await?,
        false => row,
    };
    if let Some(seconds) = time.timeout {
        let end = if was_paused { NewEnd::Exact } else { NewEnd::Later };
        service.set_sandbox_end(&row, seconds, end).await?;
    }
    let status = if was_paused { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(OpenedSandbox::of(&service, &row).await?)))
}

/// Resumes a paused sandbox; a running one is a conflict.
pub(super) async fn resume(
    service: State<Arc<Service>>,
    principal: Principal,
    id: Path<String>,
    time: E2bBody<TimeToLive>,
) -> Result<(StatusCode, Json<OpenedSandbox>), E2bFailure> {
    match connect(service, principal, id, time).await? {
        (StatusCode::CREATED, resumed) => Ok((StatusCode::CREATED, resumed)),
        _ => Err(E2bFailure::new(StatusCode::CONFLICT, "the sandbox is running")),
    }
}

pub(super) async fn set_timeout(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    E2bBody(time): E2bBody<TimeToLive>,
) -> Result<StatusCode, E2bFailure> {
    let seconds = time.timeout.ok_or_else(|| E2bFailure::invalid("missing `timeout`: seconds from now"))?;
    principal.require_tenant()?;
    let row = service.sandbox_row(&principal, &id).await?;
    service.set_sandbox_end(&row, seconds, NewEnd::Exact).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pauses a sandbox: its processes end, and its files stay.
pub(super) async fn pause(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, E2bFailure> {
    match service.pause_session(&principal, &id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(E2bFailure::new(StatusCode::CONFLICT, "the sandbox is paused already")),
    }
}
