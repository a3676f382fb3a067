//! `Service`: the state that all routes share.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Instant,
};

use tokio_util::task::TaskTracker;
use workden::{HostEnvironment, KeeperProgram, Result, UserSessions};

use crate::{
    ServerConfig,
    api_error::ApiError,
    approvals::ApprovalDesk,
    changes::Comparisons,
    clock::Moment,
    database::{Database, EventWriter, KeyRow},
    disk::DiskUse,
    events::{CallRecorder, EventLog},
    identity::{Principal, Rates, Role, ServiceSecret, TrustedKeys, new_id, new_key},
    operations::Metrics,
    sandboxd::Runs,
    sessions::{LiveSession, Spares},
    traces::Traces,
    usage::UsageHistory,
};

/// The state of a running service.
#[derive(Debug)]
pub(crate) struct Service {
    config: RwLock<Arc<ServerConfig>>,
    pub(crate) database: Database,
    pub(crate) secret: ServiceSecret,
    pub(crate) trusted: TrustedKeys,
    pub(crate) rates: Rates,
    pub(crate) disk: DiskUse,
    pub(crate) comparisons: Comparisons,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Traces,
    /// The id of this process as a writer of events.
    pub(crate) writer: String,
    pub(crate) events: Arc<EventLog>,
    pub(crate) approvals: Arc<ApprovalDesk>,
    /// The id of the directory with the files of sessions: processes with the same one share them.
    pub(crate) place: String,
    /// The sandboxes, whose records other processes on this machine share.
    pub(crate) sandboxes: UserSessions,
    /// The sessions that this process has opened.
    live: Mutex<HashMap<String, Arc<LiveSession>>>,
    /// The sandboxes that no session has yet.
    pub(crate) spares: Spares,
    /// What sessions and the machine used lately.
    pub(crate) usage: UsageHistory,
    /// The commands of clients of sandboxd.
    pub(crate) runs: Runs,
    /// Work that goes on after its call.
    pub(crate) tasks: TaskTracker,
    pub(crate) started_at: Moment,
}

impl Service {
    /// Opens the state that the configuration names.
    pub(crate) async fn open(config: ServerConfig) -> Result<Arc<Self>> {
        config.check()?;
        let traces = Traces::to(config.otlp_endpoint.as_deref())?;
        let state = std::path::absolute(&config.state).unwrap_or_else(|_| config.state.clone());
        tokio::fs::create_dir_all(&state).await.map_err(|error| {
            workden::Error::new(workden::ErrorKind::Io, "cannot create the directory of the service")
                .hint("name a directory that you own: `--state DIR`")
                .with_source(error)
        })?;
        let database = match &config.database {
            Some(url) => Database::open(url).await?,
            None => Database::in_directory(&state).await?,
        };
        let place = place_of(&state).await?;
        let secret = database.setting_or("secret", &ServiceSecret::random()?).await?;
        let (metrics, writer) = (Arc::new(Metrics::new()), new_id()?);
        let events = EventLog::new(Arc::clone(&metrics));
        let tasks = TaskTracker::new();
        tasks.spawn(Arc::clone(&events).write_to(database.clone(), EventWriter::new(writer.clone())));
        Ok(Arc::new(Self {
            rates: Rates::default(),
            disk: DiskUse::default(),
            comparisons: Comparisons::default(),
            metrics,
            traces,
            writer,
            approvals: Arc::new(ApprovalDesk::new(database.clone(), &config)),
            sandboxes: UserSessions::at(&state, host_environment()),
            config: RwLock::new(Arc::new(config)),
            database,
            place,
            secret: ServiceSecret::new(secret),
            trusted: TrustedKeys::default(),
            events,
            live: Mutex::default(),
            spares: Spares::default(),
            usage: UsageHistory::default(),
            runs: Runs::default(),
            tasks,
            started_at: Moment::now(),
        }))
    }

    /// Returns the current configuration.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Uses another configuration from now on. The address and the database stay.
    pub(crate) fn reload(&self, config: ServerConfig) -> Result<()> {
        config.check()?;
        self.approvals.wait_for(config.approval_time());
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        self.rates.renew(Instant::now());
        Ok(())
    }

    /// Creates a key, and returns it: it is not stored, and cannot be shown again.
    pub(crate) async fn create_key(&self, tenant: &str, role: Role, label: &str) -> Result<(KeyRow, String)> {
        let new = new_key()?;
        let row = KeyRow {
            id: new.id,
            tenant: tenant.to_owned(),
            role: role.name().to_owned(),
            label: label.to_owned(),
            hash: new.hash,
            created_at: Moment::now(),
            revoked_at: None,
        };
        self.database.add_key(&row).await?;
        Ok((row, new.key))
    }

    /// Returns the recorder of a caller's events in a session.
    pub(crate) fn recorder(&self, session: &str, tenant: &str, principal: &Principal) -> CallRecorder {
        CallRecorder {
            log: Arc::clone(&self.events),
            session: session.to_owned(),
            tenant: tenant.to_owned(),
            actor: principal.key.clone(),
        }
    }

    pub(crate) fn live(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Returns all open sessions of this process.
    pub(crate) fn all_live(&self) -> Vec<Arc<LiveSession>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Keeps an opened session, unless another call has opened it meanwhile. Returns the one that is kept.
    pub(crate) fn keep_live(&self, session: Arc<LiveSession>) -> Arc<LiveSession> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(live.entry(session.id.clone()).or_insert(session))
    }

    pub(crate) fn drop_live(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

/// Who commits in a session is not the operator, and a service has many keepers.
fn host_environment() -> HostEnvironment {
    let host = HostEnvironment::from_process().without_git_identity();
    // Between two releases the one beside this program may be older, with the same version.
    if cfg!(debug_assertions) { host } else { KeeperProgram::prefer_small(host) }
}

/// Returns the id of a directory, which its first process writes.
async fn place_of(state: &Path) -> Result<String> {
    let file = state.join("place");
    let failed = |error| {
        workden::Error::new(workden::ErrorKind::Io, "cannot use the directory of the service")
            .hint("name a directory that you own: `--state DIR`")
            .with_source(error)
    };
    let (id, own) = (new_id()?, state.join(format!("place-{}", std::process::id())));
    tokio::fs::write(&own, &id).await.map_err(failed)?;
    // A link, so that of two processes that start at a time one writes, and none reads half.
    let _ = tokio::fs::hard_link(&own, &file).await;
    tokio::fs::remove_file(&own).await.map_err(failed)?;
    tokio::fs::read_to_string(&file).await.map_err(failed)
}

/// The result of a route.
pub(crate) type Answer<T> = Result<T, ApiError>;
