//! `LiveSession`: a session that this process has opened: its workspace, and who uses it now.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use workden::{
    Error, ErrorKind, GitFiles, MountAccess, Result, SessionId, Workspace, WorkspaceBuilder, sessions::SessionRecord,
};
use workden_mcp::{ClientQuestions, HttpEndpoint, McpServer};
use workden_tools::{Toolset, ToolsetOptions};

use super::{NewSession, SessionPolicy};
use crate::{
    api_error::ApiError,
    clock::Moment,
    database::SessionRow,
    e2b::{CodeContexts, Watchers},
    identity::{Principal, Role},
    processes::ProcessTable,
    service::{Answer, Service},
};

/// How often an opened session is looked up again: another process may have ended or paused it.
const CHECK_EVERY: i64 = 200;

/// A session that this process has opened.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) id: String,
    pub(crate) tenant: String,
    /// Without a recorder: [`LiveSession::workspace`] adds that of the caller.
    workspace: Workspace,
    toolset: OnceLock<Toolset>,
    /// The MCP endpoint of each key, so that no client can use what another key has started.
    endpoints: Mutex<HashMap<String, HttpEndpoint>>,
    pub(crate) processes: Arc<ProcessTable>,
    pub(crate) watchers: Watchers,
    pub(crate) contexts: CodeContexts,
    in_use: AtomicU64,
    checked_at: AtomicI64,
    /// Whether it has the files that it starts with.
    is_filled: AtomicBool,
}

/// A use of a session, which does not count as idle until this is dropped.
pub(crate) struct SessionUse {
    session: Arc<LiveSession>,
}

impl Drop for SessionUse {
    fn drop(&mut self) {
        self.session.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LiveSession {
    fn new(row: SessionRow, workspace: Workspace) -> Self {
        Self {
            id: row.id,
            tenant: row.tenant,
            workspace,
            toolset: OnceLock::new(),
            endpoints: Mutex::default(),
            processes: Arc::default(),
            watchers: Watchers::default(),
            contexts: CodeContexts::default(),
            in_use: AtomicU64::new(0),
            checked_at: AtomicI64::new(Moment::now().0),
            is_filled: AtomicBool::new(row.is_filled),
        }
    }

    /// Returns the workspace for one caller, whose calls are recorded.
    pub(crate) fn workspace(&self, service: &Service, principal: &Principal) -> Workspace {
        self.workspace.recorded_by(Arc::new(service.recorder(&self.id, &self.tenant, principal)))
    }

    /// Returns the workspace whose calls are not recorded, for the service itself.
    pub(crate) fn unrecorded(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the tools of the session. All callers are one agent, which has seen what any of them has read.
    pub(crate) fn toolset(&self, service: &Service, principal: &Principal) -> Result<Toolset> {
        if let Some(made) = self.toolset.get() {
            return Ok(made.clone());
        }
        let made = self.workspace(service, principal).toolset(ToolsetOptions::default())?;
        Ok(self.toolset.get_or_init(|| made).clone())
    }

    /// Returns the MCP endpoint of the session for one key.
    pub(crate) fn mcp(&self, service: &Service, principal: &Principal) -> Result<HttpEndpoint> {
        let known = || self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoint) = known().get(&principal.key) {
            return Ok(endpoint.clone());
        }
        let recorder = Arc::new(service.recorder(&self.id, &self.tenant, principal));
        // The agent has the token of its session: it must not answer its own questions.
        let client = match principal.role {
            Role::Admin | Role::Tenant => ClientQuestions::Asked,
            Role::Session => ClientQuestions::Never,
        };
        let approvals = workden_mcp::approvals_or(client, service.approvals.questions_of(Arc::clone(&recorder)));
        let workspace = self.workspace.behind(None, Some(approvals))?.recorded_by(recorder);
        let endpoint = HttpEndpoint::new(&McpServer::new(&workspace, ToolsetOptions::default())?);
        Ok(known().entry(principal.key.clone()).or_insert(endpoint).clone())
    }

    /// Counts a use until the value is dropped.
    pub(crate) fn begin_use(self: &Arc<Self>) -> SessionUse {
        self.in_use.fetch_add(1, Ordering::Relaxed);
        SessionUse { session: Arc::clone(self) }
    }

    /// Whether a call or a process of it is in progress.
    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) > 0
    }

    /// Whether it is due to be looked up again, which the caller does then.
    fn is_check_due(&self, now: Moment) -> bool {
        let before = self.checked_at.load(Ordering::Relaxed);
        now.0.abs_diff(before) >= CHECK_EVERY.unsigned_abs()
            && self.checked_at.compare_exchange(before, now.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Service {
    /// Returns the row of a session that the caller may use, by its id or by its name.
    pub(crate) async fn session_row(&self, principal: &Principal, id: &str) -> Answer<SessionRow> {
        let missing = || {
            ApiError::not_found(format!("session `{}` not found", id.escape_debug()))
                .hint("`GET /v1/sessions` lists your sessions")
        };
        id.parse::<SessionId>().map_err(|_| missing())?;
        let row = match self.database.session(id).await? {
            Some(row) => Some(row),
            None => self.database.session_named(&principal.tenant, id).await?,
        };
        if row.is_none() {
            self.let_go(id);
        }
        row.filter(|row| principal.sees(&row.tenant, &row.id)).ok_or_else(missing)
    }

    /// Returns a session that the caller may use, opened.
    pub(crate) async fn session(&self, principal: &Principal, id: &str) -> Answer<Arc<LiveSession>> {
        let now = Moment::now();
        if let Some(live) = self.live(id)
            && principal.sees(&live.tenant, &live.id)
            && live.is_filled.load(Ordering::Relaxed)
            && !live.is_check_due(now)
        {
            return Ok(live);
        }
        let row = self.session_row(principal, id).await?;
        if !row.is_filled {
            let sentence = format!("session `{}` is still being filled with its files", row.name);
            return Err(Error::new(ErrorKind::Busy, sentence).hint("retry after a second").into());
        }
        let live = self.opened(row).await?;
        live.is_filled.store(true, Ordering::Relaxed);
        let (database, id) = (self.database.clone(), live.id.clone());
        self.tasks.spawn(async move {
            if let Err(error) = database.touch_session(&id, now).await {
                tracing::warn!(%error, session = id, "cannot record the use of a session");
            }
        });
        Ok(live)
    }

    /// Opens the session of a row. Its sandbox is found or started by the first call that needs it.
    pub(crate) async fn opened(&self, row: SessionRow) -> Answer<Arc<LiveSession>> {
        if row.state != "running" {
            self.let_go(&row.id);
        }
        match row.state.as_str() {
            "running" => {}
            "paused" => {
                // By its id: a visitor of a port knows that, and not the name.
                return Err(Error::new(ErrorKind::Conflict, format!("session `{}` is paused", row.id))
                    .hint(format!("`POST /v1/sessions/{}/resume` starts it again", row.id))
                    .into());
            }
            _ => return Err(Error::new(ErrorKind::Gone, format!("session `{}` has ended", row.id)).into()),
        }
        if let Some(live) = self.live(&row.id) {
            return Ok(live);
        }
        self.require_here(&row)?;
        let (new, id) = (requested(&row)?, row.id.parse()?);
        let (sandboxes, record) = (self.sandboxes.clone(), self.planned(&id, &new).await?);
        let recorder = Arc::new(self.recorder(&row.id, &row.tenant, &service_principal(&row.tenant)));
        // Nothing outside executes what is in the directory of a session.
        let builder = Workspace::builder().session(sandboxes, id, record).git_files(GitFiles::Writable);
        let builder = self.with_policies(builder, &row.tenant, new.policy.as_ref()).await?;
        // Without a quota there is no gate, and nothing is judged.
        let builder = match self.tenant_quotas(&row.tenant).await?.disk {
            Some(_) => builder.gate(Arc::new(self.disk.gate(&row.tenant))),
            None => builder,
        };
        let workspace = builder.approvals(self.approvals.of(recorder)).build()?;
        Ok(self.keep_live(Arc::new(LiveSession::new(row, workspace))))
    }

    /// Opens a session with the workspace of a spare sandbox, which has no policy.
    pub(super) fn open_with(&self, row: &SessionRow, workspace: &Workspace) -> Result<()> {
        let recorder = Arc::new(self.recorder(&row.id, &row.tenant, &service_principal(&row.tenant)));
        let workspace = workspace.behind(None, Some(self.approvals.of(recorder)))?;
        self.keep_live(Arc::new(LiveSession::new(row.clone(), workspace)));
        Ok(())
    }

    /// Refuses a session whose files are on another machine of the service: here it would start with none.
    pub(super) fn require_here(&self, row: &SessionRow) -> Result<()> {
        if row.place.is_empty() || row.place == self.place {
            return Ok(());
        }
        let sentence = format!("session `{}` is on another machine of the service", row.id);
        Err(Error::new(ErrorKind::Unreachable, sentence).hint(
            "send its calls there, or use a runtime of Kubernetes, whose sessions are reached from every machine",
        ))
    }

    /// Returns the files of a paused session, read-only and under its policy; `None` if they are not on this machine.
    pub(crate) async fn stored_workspace(&self, principal: &Principal, row: &SessionRow) -> Answer<Option<Workspace>> {
        let new = requested(row)?;
        let record = self.planned(&row.id.parse()?, &new).await?;
        if !record.has_directory() || !record.workspace.is_dir() {
            return Ok(None);
        }
        let builder = Workspace::builder()
            .mount(&record.directory, record.workspace.clone(), MountAccess::ReadOnly)
            .work_dir(&record.directory);
        let builder = self.with_policies(builder, &row.tenant, new.policy.as_ref()).await?;
        let recorder = Arc::new(self.recorder(&row.id, &row.tenant, principal));
        Ok(Some(builder.audit(recorder).build()?))
    }

    /// Returns the record of a session as its request says.
    pub(super) async fn planned(&self, id: &SessionId, new: &NewSession) -> Answer<SessionRecord> {
        let (sessions, id, spec) = (self.sandboxes.clone(), id.clone(), new.spec(&self.config())?);
        let record = tokio::task::spawn_blocking(move || sessions.planned(&id, &spec)).await;
        Ok(record.map_err(|_| Error::new(ErrorKind::Io, "cannot plan the sandbox of the session"))??)
    }

    /// Forgets an opened session, so that no call starts its sandbox again.
    pub(super) fn let_go(&self, id: &str) {
        if let Some(live) = self.drop_live(id)
            && let Some(lazy) = live.workspace.lazy()
        {
            lazy.close();
        }
    }

    /// Adds the rules of the service, the tenant and the session, of which the strictest wins.
    async fn with_policies(
        &self,
        mut builder: WorkspaceBuilder,
        tenant: &str,
        own: Option<&SessionPolicy>,
    ) -> Result<WorkspaceBuilder> {
        if let Some(preset) = self.config().preset {
            builder = builder.preset(preset);
        }
        let of_tenant = self.tenant_policy(tenant).await?;
        for policy in [of_tenant.as_ref(), own].into_iter().flatten() {
            builder = policy.rulesets()?.into_iter().fold(builder, WorkspaceBuilder::rules);
        }
        Ok(builder)
    }
}

/// Returns what a session was created with.
pub(crate) fn requested(row: &SessionRow) -> Result<NewSession> {
    serde_json::from_str(&row.spec)
        .map_err(|error| Error::new(ErrorKind::Io, "cannot read the record of the session").with_source(error))
}

/// The service itself, for records of what no caller does.
fn service_principal(tenant: &str) -> Principal {
    let key = String::new();
    Principal { key, tenant: tenant.to_owned(), role: Role::Tenant, session: None }
}
