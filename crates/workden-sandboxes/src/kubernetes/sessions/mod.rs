//! `ClusterSessions`: sessions whose records are in the cluster, so that any number of processes share them.
//!
//! A session has a Lease and a pod. The Lease is created first, and names the pod: a process that finds it uses that
//! pod, and creates the pod if no process has. It belongs to the pod, so the cluster deletes it with the pod.
//!
//! Invariant: every step can be repeated by another process. A process that is killed leaves a session that the next
//! one completes, or that the next [`reap`](ClusterSessions::reap) removes.

mod informers;
mod lease;
mod opening;
mod reaping;
mod server_clock;
mod spares;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use informers::Informers;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::{Api, api::ListParams};
use lease::SessionLease;
use server_clock::ServerClock;
use tokio::{
    sync::OnceCell,
    time::{Instant, timeout},
};
use workden_core::{Result, Sandbox};

use super::{
    cluster::{Cluster, patiently},
    creation, errors, labels,
    launcher::KubernetesLauncher,
    names,
    pod_state::PodState,
};
use crate::{launcher::Launched, session_id::SessionId};

/// How long a keeper may take to say that it is alive.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// The sessions of an owner in a cluster. Clones share the watches.
#[derive(Clone, Debug)]
pub struct ClusterSessions {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    launcher: KubernetesLauncher,
    clock: ServerClock,
    informers: OnceCell<Informers>,
    /// How many spare pods there should be.
    spares: Mutex<usize>,
}

/// A session of the cluster that this process uses.
#[derive(Debug)]
pub struct ClusterSession {
    /// Its sandbox.
    pub launched: Launched,
    /// Whether this call created it.
    pub is_new: bool,
    /// Its record.
    pub lease: HeldLease,
}

/// A session of the cluster, as its record describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Its id.
    pub session: SessionId,
    /// The name of its pod.
    pub pod: String,
    /// The time since it was last used, exact to the interval at which processes record use.
    pub idle: Duration,
}

/// What a reaper has removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReapedSessions {
    /// Idle sessions, and how long each was idle.
    pub sessions: Vec<(SessionId, Duration)>,
    /// Pods and records of sessions that had ended or were never completed.
    pub leftovers: usize,
}

/// The record of a session in use.
#[derive(Debug)]
pub struct HeldLease {
    sessions: ClusterSessions,
    /// As this process last wrote it, and when.
    written: Mutex<(SessionLease, Instant)>,
}

impl HeldLease {
    fn new(sessions: ClusterSessions, lease: SessionLease) -> Self {
        Self { sessions, written: Mutex::new((lease, Instant::now())) }
    }

    /// Records that the session is in use. Returns whether it still exists: another process may have ended it.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be reached.
    pub async fn renew(&self, idle: Duration) -> Result<bool> {
        let (leases, now) = (self.sessions.leases().await?, self.sessions.now().await?);
        let renewed = self.lease().renew(&leases, now, idle, None).await?;
        let exists = renewed.is_some();
        if let Some(renewed) = renewed {
            *self.written.lock().unwrap_or_else(PoisonError::into_inner) = (renewed, Instant::now());
        }
        Ok(exists)
    }

    /// Ends the session, unless another process has recorded use of it since this one did. Returns whether it ended.
    ///
    /// # Errors
    ///
    /// What the cluster reports.
    pub async fn end_unused(&self) -> Result<bool> {
        let lease = self.lease();
        let pod = self.sessions.pod_of(&lease).await?;
        if !lease.delete_unchanged(&self.sessions.leases().await?).await? {
            return Ok(false);
        }
        if let Some(pod) = &pod {
            self.sessions.delete_pod(pod).await?;
        }
        Ok(true)
    }

    /// Returns the time since use was last recorded.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).1.elapsed()
    }

    fn lease(&self) -> SessionLease {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

impl ClusterSessions {
    /// Returns the sessions of a launcher's owner. No call is made yet.
    #[must_use]
    pub fn new(launcher: KubernetesLauncher) -> Self {
        let shared =
            Shared { launcher, clock: ServerClock::default(), informers: OnceCell::new(), spares: Mutex::new(0) };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the session of this id. Creates it if it does not exist, or if its pod has ended. However many processes
    /// ask at a time, one pod is created.
    ///
    /// # Errors
    ///
    /// `Conflict` when the pod was created with other options, and whatever prevents the start, in the cluster's words.
    pub async fn open(&self, session: &SessionId, idle: Duration) -> Result<ClusterSession> {
        opening::open(self, session, idle).await
    }

    /// Connects to a session without using it; `None` when it does not run.
    ///
    /// # Errors
    ///
    /// When its keeper cannot be reached.
    pub async fn look(&self, session: &SessionId) -> Result<Option<Launched>> {
        let Some(lease) = self.read(session).await? else { return Ok(None) };
        let Some(pod) = self.pod_of(&lease).await?.filter(|pod| PodState::of(pod) == PodState::Running) else {
            return Ok(None);
        };
        self.adopt(&pod).await.map(Some)
    }

    /// Ends a session. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// What the cluster reports.
    pub async fn release(&self, session: &SessionId) -> Result<bool> {
        let lease = self.read(session).await?;
        let pods = self.pods_of(session).await?;
        for pod in &pods {
            self.delete_pod(pod).await?;
        }
        // The lease goes with its pod; one without a pod stays.
        if let Some(lease) = &lease {
            lease.delete(&self.leases().await?).await?;
        }
        Ok(lease.is_some() || !pods.is_empty())
    }

    /// Ends a session that has been idle for its limit, or for `most`. Returns how long it was idle; `None` when it is
    /// in use.
    ///
    /// # Errors
    ///
    /// What the cluster reports.
    pub async fn end_if_idle(&self, session: &SessionId, most: Option<Duration>) -> Result<Option<Duration>> {
        match self.read(session).await? {
            Some(lease) => reaping::end_if_idle(self, &lease, most).await,
            None => Ok(Some(Duration::ZERO)),
        }
    }

    /// Removes the pod of a session if its keeper does not answer on a new connection. Another process may have
    /// replaced it already.
    ///
    /// # Errors
    ///
    /// What the cluster reports.
    pub async fn remove_dead(&self, session: &SessionId) -> Result<()> {
        let Some(lease) = self.read(session).await? else { return Ok(()) };
        let asked = async { Ok(self.look(session).await?.is_some()) };
        let answers: Result<bool> = timeout(ANSWER_TIME, asked).await.unwrap_or(Ok(false));
        if answers.unwrap_or(false) {
            return Ok(());
        }
        if let Some(pod) = self.pod_of(&lease).await? {
            self.delete_pod(&pod).await?;
        }
        lease.delete(&self.leases().await?).await.map(drop)
    }

    /// Lists all sessions of the owner, of all processes. A watch keeps the list up to date.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be reached.
    pub async fn list(&self) -> Result<Vec<ListedSession>> {
        let now = self.now().await?;
        let listed = |lease: &Arc<Lease>| {
            let lease = SessionLease::of(lease)?;
            let idle = lease.idle_at(now);
            Some(ListedSession { session: lease.session, pod: lease.pod, idle })
        };
        let mut all: Vec<ListedSession> = self.informers().await?.leases().iter().filter_map(listed).collect();
        all.sort_by(|one, other| one.session.cmp(&other.session));
        Ok(all)
    }

    /// Ends the sessions that have been idle for longer than their limit, or than `most`, and removes what killed
    /// processes left. Any process may do this, also at the same time as others.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be reached. A session that cannot be ended is tried again next time.
    pub async fn reap(&self, most: Option<Duration>) -> Result<ReapedSessions> {
        reaping::reap(self, most).await
    }

    /// Keeps this many pods ready in the cluster, for the next sessions of any process. Zero, the default, keeps none
    /// and uses none.
    pub fn keep_spares(&self, ready: usize) {
        *self.shared.spares.lock().unwrap_or_else(PoisonError::into_inner) = ready;
        if ready > 0 {
            tokio::spawn(spares::keep_filled(Arc::downgrade(&self.shared), ready));
        }
    }

    fn wants_spares(&self) -> bool {
        *self.shared.spares.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }

    fn launcher(&self) -> &KubernetesLauncher {
        &self.shared.launcher
    }

    fn owner(&self) -> &str {
        self.launcher().owner()
    }

    fn cluster(&self) -> &Cluster {
        self.launcher().cluster()
    }

    async fn leases(&self) -> Result<Api<Lease>> {
        self.cluster().api().await
    }

    async fn now(&self) -> Result<k8s_openapi::jiff::Timestamp> {
        self.shared.clock.now(self.cluster()).await
    }

    async fn informers(&self) -> Result<&Informers> {
        let start = || Informers::start(self.cluster(), self.owner());
        let informers = self.shared.informers.get_or_try_init(start).await?;
        informers.check()?;
        Ok(informers)
    }

    async fn read(&self, session: &SessionId) -> Result<Option<SessionLease>> {
        SessionLease::read(&self.leases().await?, self.owner(), session).await
    }

    /// Returns the pod of a lease, if it exists and is that very pod.
    async fn pod_of(&self, lease: &SessionLease) -> Result<Option<Pod>> {
        let (pods, name) = (self.cluster().pods().await?, &lease.pod);
        let found = patiently(|| pods.get_opt(name)).await;
        let found = found.map_err(|error| errors::failed(&format!("read the pod `{name}`"), &error))?;
        let is_it = |pod: &Pod| lease.pod_uid.is_none() || pod.metadata.uid == lease.pod_uid;
        Ok(found.filter(is_it))
    }

    /// Returns the pods that have the label of a session.
    async fn pods_of(&self, session: &SessionId) -> Result<Vec<Pod>> {
        let pods = self.cluster().pods().await?;
        let of_session = ListParams::default().labels(&format!("{}={}", labels::SESSION, self.hash(session)));
        let found = patiently(|| pods.list(&of_session)).await;
        Ok(found.map_err(|error| errors::failed("list pods", &error))?.items)
    }

    async fn delete_pod(&self, pod: &Pod) -> Result<()> {
        let meta = &pod.metadata;
        let (name, uid) = (meta.name.as_deref().unwrap_or_default(), meta.uid.as_deref().unwrap_or_default());
        creation::delete(self.cluster(), name, uid).await
    }

    /// Connects to an existing pod.
    async fn adopt(&self, pod: &Pod) -> Result<Launched> {
        let sandbox = self.launcher().found_sandbox(pod.clone())?;
        sandbox.usage().await?;
        Ok(Launched { sandbox: Arc::new(sandbox), name: pod.metadata.name.clone().unwrap_or_default() })
    }

    fn hash(&self, session: &SessionId) -> String {
        names::hash_of(self.owner(), session)
    }
}
