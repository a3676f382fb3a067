//! Spare sandboxes: started before a session wants them, as many of a runtime as the configuration says.
//!
//! A spare sandbox has an id, a directory and a row like a session, and no tenant. A new session that asks for nothing
//! but the runtime takes its id. Invariant: no client sees a spare one, none has seen a client, and each ends: with its
//! session, with this process, or after its time, when the sweeper of any process ends it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio::sync::Notify;
use workden::{Error, ErrorKind, GitFiles, Result, Sandbox, SessionSpec, Workspace};

use super::{NewSession, sweeper::CLAIM};
use crate::{
    clock::Moment,
    config::TenantQuotas,
    database::SessionRow,
    identity::{Principal, Role},
    service::{Answer, Service},
};

/// How long one is kept, and how long its row is after this process has died.
const FRESH: Duration = Duration::from_secs(15 * 60);
const OVER: Duration = Duration::from_secs(20 * 60);
/// The time after one was taken in which none is started: the session that took it needs the processor now.
const PAUSE: Duration = Duration::from_millis(300);
/// How long one may take to answer before another is started in its place.
const ANSWER: Duration = Duration::from_secs(1);
/// How often to look for those that are too old.
const LOOK: Duration = Duration::from_secs(10);
/// The longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The spare sandboxes of this process.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    ready: Mutex<Vec<Spare>>,
    taken: Notify,
}

#[derive(Debug)]
struct Spare {
    row: SessionRow,
    spec: SessionSpec,
    workspace: Workspace,
    made: Instant,
}

impl Spare {
    /// Whether its keeper is there.
    async fn answers(&self) -> bool {
        let Ok(commands) = self.workspace.commands() else { return false };
        tokio::time::timeout(ANSWER, commands.usage()).await.is_ok_and(|usage| usage.is_ok())
    }

    /// Lets go of the sandbox, which goes on.
    fn close(&self) {
        if let Some(lazy) = self.workspace.lazy() {
            lazy.close();
        }
    }
}

impl Spares {
    /// Takes the newest one with these options.
    fn take(&self, spec: &SessionSpec) -> Option<Spare> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = ready.iter().rposition(|spare| spare.spec == *spec && spare.made.elapsed() < FRESH)?;
        let spare = ready.remove(newest);
        drop(ready);
        self.taken.notify_one();
        Some(spare)
    }

    fn add(&self, spare: Spare) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
    }

    /// Removes those that `is_wanted` does not name.
    fn remove_unless(&self, mut is_wanted: impl FnMut(&Spare) -> bool) -> Vec<Spare> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).extract_if(.., |spare| !is_wanted(spare)).collect()
    }

    fn count(&self, spec: &SessionSpec) -> usize {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|spare| spare.spec == *spec).count()
    }
}

/// Runtimes that could not start: until when each is left alone, and for how long the next time.
type Failures = HashMap<String, (Instant, Duration)>;

/// Keeps as many spare sandboxes as the configuration says, until the service ends.
pub(crate) async fn keep_spares(service: Arc<Service>) {
    let mut failures = Failures::new();
    loop {
        if let Err(error) = fill(&service, &mut failures).await {
            tracing::warn!(%error, "cannot keep spare sandboxes");
        }
        let _ = tokio::time::timeout(LOOK, service.spares.taken.notified()).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Ends those that are too old or no longer wanted, and starts the ones that are missing, one at a time.
async fn fill(service: &Arc<Service>, failures: &mut Failures) -> Result<()> {
    let config = service.config();
    let mut wanted = Vec::new();
    for (name, runtime) in config.runtimes.iter().filter(|(_, runtime)| runtime.spares > 0) {
        let new = NewSession { runtime: Some(name.clone()), ..NewSession::default() };
        let new = new.checked(&config, &TenantQuotas::default())?;
        wanted.push((name, new.spec(&config)?, new, runtime.spares));
    }
    let is_wanted = |spare: &Spare| spare.made.elapsed() < FRESH && wanted.iter().any(|one| one.1 == spare.spec);
    service.end_spares_unless(is_wanted).await;
    for (name, spec, new, most) in wanted {
        if failures.get(name).is_some_and(|(until, _)| Instant::now() < *until) {
            continue;
        }
        while service.spares.count(&spec) < most {
            match service.start_spare(&new).await {
                Ok((row, workspace)) => {
                    failures.remove(name);
                    service.spares.add(Spare { row, spec: spec.clone(), workspace, made: Instant::now() });
                }
                Err(error) => {
                    tracing::warn!(%error, runtime = name, "cannot start a spare sandbox");
                    let pause = failures.get(name).map_or(LOOK, |(_, pause)| (*pause * 2).min(LONGEST_PAUSE));
                    failures.insert(name.clone(), (Instant::now() + pause, pause));
                    break;
                }
            }
        }
    }
    Ok(())
}

impl Service {
    async fn start_spare(self: &Arc<Self>, new: &NewSession) -> Result<(SessionRow, Workspace)> {
        let no_tenant = Principal { key: String::new(), tenant: String::new(), role: Role::Tenant, session: None };
        let row = self.new_row(&no_tenant, new).map_err(|failed| failed.error)?;
        let row = SessionRow { state: "spare".to_owned(), ends_at: Moment::now().after(OVER), ..row };
        self.database.add_session(&row, 1).await?;
        let (service, new) = (Arc::clone(self), new.clone());
        // In a task of its own: a start that is not waited for goes on, and its failure leaves nothing.
        let starting = async move {
            match service.start_unused(&row, &new).await {
                Ok(workspace) => Ok((row, workspace)),
                Err(error) => {
                    service.end_spare_row(&row).await;
                    Err(error)
                }
            }
        };
        match self.tasks.spawn(starting).await {
            Ok(started) => started,
            Err(_) => Err(Error::new(ErrorKind::Io, "the start did not end")),
        }
    }

    async fn start_unused(&self, row: &SessionRow, new: &NewSession) -> Result<Workspace> {
        let id = row.id.parse()?;
        let record = self.planned(&id, new).await.map_err(|failed| failed.error)?;
        let builder = Workspace::builder().session(self.sandboxes.clone(), id, record).git_files(GitFiles::Writable);
        let workspace = builder.build()?;
        workspace.start().await?;
        Ok(workspace)
    }

    /// Makes a spare sandbox that of a new session, if there is one with its options. Nothing of it may depend on the
    /// client: rules hide files when a sandbox starts.
    pub(super) async fn take_spare(
        self: &Arc<Self>,
        row: &SessionRow,
        new: &NewSession,
        quotas: &TenantQuotas,
    ) -> Answer<Option<SessionRow>> {
        let config = self.config();
        if !config.runtimes.values().any(|runtime| runtime.spares > 0)
            || config.preset.is_some()
            || new.policy.is_some()
            || self.tenant_policy(&row.tenant).await?.is_some()
        {
            return Ok(None);
        }
        let Some(spare) = self.spares.take(&new.spec(&config)?) else { return Ok(None) };
        if !spare.answers().await {
            let service = Arc::clone(self);
            self.tasks.spawn(async move { service.end_spare(&spare).await });
            return Ok(None);
        }
        let id = spare.row.id.clone();
        let name = if row.name == row.id { id.clone() } else { row.name.clone() };
        let row = SessionRow { id, name, ..row.clone() };
        match self.database.give_spare(&row, quotas.max_sessions).await {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                self.spares.add(spare);
                return Err(error.into());
            }
        }
        // From here on nothing waits: a client that goes away now leaves a session that has its record.
        match quotas.disk {
            // A gate, which only a workspace that is opened anew has.
            Some(_) => spare.close(),
            None => self.open_with(&row, &spare.workspace)?,
        }
        Ok(Some(row))
    }

    /// Ends all spare sandboxes of this process.
    pub(crate) async fn end_spares(&self) {
        self.end_spares_unless(|_| false).await;
    }

    async fn end_spares_unless(&self, is_wanted: impl Fn(&Spare) -> bool) {
        let unwanted = self.spares.remove_unless(is_wanted);
        join_all(unwanted.iter().map(|spare| self.end_spare(spare))).await;
    }

    async fn end_spare(&self, spare: &Spare) {
        spare.close();
        self.end_spare_row(&spare.row).await;
    }

    /// Ends the sandbox of a row. If that fails, the sweeper goes on.
    async fn end_spare_row(&self, row: &SessionRow) {
        let ended = async {
            self.database.begin_deletion(&row.id, "spare", Moment::now().after(CLAIM)).await?;
            self.end_session(row).await
        };
        if let Err(error) = ended.await {
            tracing::warn!(%error, spare = row.id, "cannot end a spare sandbox");
        }
    }
}
