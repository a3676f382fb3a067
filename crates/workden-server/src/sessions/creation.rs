//! Creates sessions and attaches to existing ones.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use workden::{Error, ErrorKind};

use super::{ExistingName, NewSession, SessionView, ending::Files};
use crate::{
    clock::Moment,
    config::TenantQuotas,
    database::{SessionRow, SnapshotRow},
    identity::{Principal, new_id},
    service::{Answer, Service},
    sessions::SessionPolicy,
};

/// How long a session may take to start: its own time counts from then on. What a process that died was starting ends
/// after this.
const STARTING: Duration = Duration::from_secs(3600);

/// How long a caller that attaches waits for the files of a session, and how often it looks.
const FILLING: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);

/// Whether a session was created or existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    Created,
    Attached,
}

impl Service {
    /// Creates a session and starts its sandbox, or attaches to the one of that name if the request says so. A session
    /// that cannot start leaves nothing behind.
    pub(crate) async fn create_session(
        self: &Arc<Self>,
        principal: &Principal,
        new: NewSession,
    ) -> Answer<(SessionRow, Creation)> {
        self.create_session_from(principal, new, None).await
    }

    /// Creates a session as [`Service::create_session`], which starts with the files of a snapshot.
    pub(crate) async fn create_session_from(
        self: &Arc<Self>,
        principal: &Principal,
        new: NewSession,
        start: Option<SnapshotRow>,
    ) -> Answer<(SessionRow, Creation)> {
        principal.require_tenant()?;
        let quotas = self.tenant_quotas(&principal.tenant).await?;
        let new = new.checked(&self.config(), &quotas)?;
        self.disk.gate(&principal.tenant).require_room()?;
        let started_from = start.as_ref().map(|snapshot| snapshot.id.clone()).unwrap_or_default();
        let row = SessionRow { is_filled: start.is_none(), started_from, ..self.new_row(principal, &new)? };
        let name = row.name.clone();
        let row = match self.add_row(row, &new, &quotas).await {
            Ok(row) => row,
            Err(failed) if failed.error.kind() == ErrorKind::Conflict && new.if_exists == ExistingName::Attach => {
                let row = self.filled_row(principal, &name).await?;
                self.opened(row.clone()).await?;
                return Ok((row, Creation::Attached));
            }
            Err(failed) => return Err(failed),
        };
        let (service, recorder) = (Arc::clone(self), self.recorder(&row.id, &row.tenant, principal));
        let starting = async move {
            match service.start_session(row.clone(), &new, start.as_ref()).await {
                Ok(row) => {
                    recorder.tell("session_created", &json!({ "runtime": row.runtime, "name": row.name }));
                    Ok((row, Creation::Created))
                }
                Err(failed) => {
                    recorder.tell("session_failed", &json!({ "error": failed.error.sentence() }));
                    service.end_session(&row).await?;
                    Err(failed)
                }
            }
        };
        self.to_its_end(starting).await
    }

    /// Stores the row of a new session, and returns it: with the id of a spare sandbox if one fits.
    async fn add_row(self: &Arc<Self>, row: SessionRow, new: &NewSession, quotas: &TenantQuotas) -> Answer<SessionRow> {
        if row.is_filled
            && let Some(given) = self.take_spare(&row, new, quotas).await?
        {
            return Ok(given);
        }
        self.database.add_session(&row, quotas.max_sessions).await?;
        Ok(row)
    }

    /// Returns the row of a session once it has its files.
    async fn filled_row(&self, principal: &Principal, name: &str) -> Answer<SessionRow> {
        let deadline = Instant::now() + FILLING;
        loop {
            let row = self.session_row(principal, name).await?;
            if row.is_filled || Instant::now() > deadline {
                return Ok(row);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Awaits work in a task of its own: also if the client goes away, a session gets its time and its record.
    pub(crate) async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Answer<T>> + Send + 'static,
    ) -> Answer<T> {
        match self.tasks.spawn(work).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::new(ErrorKind::Io, "the call did not end").into()),
        }
    }

    /// Starts the sandbox of a session, with the files of a snapshot. Its time counts from then on; the sweeper does not
    /// end it before.
    async fn start_session(
        &self,
        row: SessionRow,
        new: &NewSession,
        start: Option<&SnapshotRow>,
    ) -> Answer<SessionRow> {
        let live = self.opened(row.clone()).await?;
        let in_use = live.begin_use();
        live.unrecorded().start().await?;
        if let Some(snapshot) = start {
            self.unpack_snapshot(&live, snapshot).await?;
            if !live.unrecorded().policy().is_empty() {
                drop(in_use);
                self.start_again(&row).await?;
            }
        }
        let now = Moment::now();
        let ends_at = now.after(self.lifetime(new));
        match self.database.session_started(&row.id, (now, ends_at)).await? {
            true => Ok(SessionRow { used_at: now, ends_at, ..row }),
            false => {
                let sentence = format!("session `{}` was ended while it started", row.name);
                Err(Error::new(ErrorKind::Gone, sentence).into())
            }
        }
    }

    /// Starts the sandbox of a session again: it masks the denied files that are there when it starts.
    async fn start_again(&self, row: &SessionRow) -> Answer<()> {
        if self.has_files_in_sandbox(row)? {
            let sentence = format!("a snapshot is not supported with a policy and the runtime `{}`", row.runtime);
            return Err(Error::new(ErrorKind::Unsupported, sentence)
                .hint("its files are in the sandbox, which masks denied files only when it starts")
                .into());
        }
        self.release(row, Files::Stay).await?;
        self.opened(row.clone()).await?.unrecorded().start().await?;
        Ok(())
    }

    fn lifetime(&self, new: &NewSession) -> Duration {
        Duration::from_secs(new.lifetime_seconds.unwrap_or(self.config().lifetime_seconds))
    }

    pub(super) fn new_row(&self, principal: &Principal, new: &NewSession) -> Answer<SessionRow> {
        let id = new_id()?;
        let now = Moment::now();
        let idle = new.idle_seconds.map_or(self.config().idle(), Duration::from_secs);
        Ok(SessionRow {
            name: new.name.clone().unwrap_or_else(|| id.clone()),
            id,
            tenant: principal.tenant.clone(),
            runtime: new.runtime.clone().unwrap_or_default(),
            state: "running".to_owned(),
            spec: serde_json::to_string(new).unwrap_or_default(),
            labels: serde_json::to_string(&new.labels).unwrap_or_default(),
            created_at: now,
            used_at: now,
            idle_ms: i64::try_from(idle.as_millis()).unwrap_or(i64::MAX),
            ends_at: now.after(self.lifetime(new).max(STARTING)),
            kept_until: None,
            started_from: String::new(),
            is_filled: true,
            place: if new.spec(&self.config())?.kind.has_own_files() { String::new() } else { self.place.clone() },
        })
    }

    /// Returns what a client sees of a session, with a token for it.
    pub(crate) fn session_view(&self, row: &SessionRow) -> SessionView {
        SessionView::of(row, &self.config().domain)
    }

    /// Returns the quotas of a tenant: its own, or those of the configuration.
    pub(crate) async fn tenant_quotas(&self, tenant: &str) -> Answer<TenantQuotas> {
        let row = self.database.tenants(Some(tenant)).await?.pop();
        let own = row.and_then(|row| serde_json::from_str(&row.quotas).ok());
        Ok(own.unwrap_or_else(|| self.config().quotas.clone()))
    }

    /// Returns the policy of a tenant, if it has one.
    pub(crate) async fn tenant_policy(&self, tenant: &str) -> workden::Result<Option<SessionPolicy>> {
        let row = self.database.tenants(Some(tenant)).await?.pop();
        let Some(text) = row.map(|row| row.policy).filter(|text| !text.is_empty()) else { return Ok(None) };
        // A policy that cannot be read must not become none.
        serde_json::from_str(&text).map(Some).map_err(|error| {
            workden::Error::new(ErrorKind::Io, "cannot read the policy of the tenant").with_source(error)
        })
    }

    /// Starts a paused session again.
    pub(crate) async fn resume_session(self: &Arc<Self>, principal: &Principal, id: &str) -> Answer<SessionRow> {
        principal.require_tenant()?;
        let row = self.session_row(principal, id).await?;
        let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
        let now = Moment::now();
        let while_starting = now.after(self.lifetime(&new).max(STARTING));
        let was_paused = self.database.restart_session(&row.id, (now, while_starting)).await?;
        let row = self.session_row(principal, &row.id).await?;
        if !was_paused {
            self.opened(row.clone()).await?.unrecorded().start().await?;
            return Ok(row);
        }
        self.recorder(&row.id, &row.tenant, principal).tell("session_resumed", &json!({}));
        let service = Arc::clone(self);
        self.to_its_end(async move { service.start_session(row, &new, None).await }).await
    }
}
