//! `SandboxPod`: the lifetime of one pod. It is created or claimed when first needed, found again by its name, and
//! served by a keeper, which any of three ways reaches.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use tokio::{
    sync::{Notify, OnceCell},
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result, Sandbox, limits, sandbox::Isolation};
use workden_wire::RemoteSandbox;

use super::{
    access::Access,
    agent_sandbox::{self, Claim, ClaimPlan},
    cluster::{Cluster, patiently},
    creation, errors, launched,
    launching::{self, LaunchPlan},
    names,
    plan::PodPlan,
    reach::{self, Reach},
    report,
    starting::{self, Presence, StartTimes},
};
use crate::{container_keepers::ContainerKeepers, reconnecting::Connector};

/// How long a keeper may take to stop its commands.
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));

/// One pod.
#[derive(Debug)]
pub(super) struct SandboxPod {
    pub(super) cluster: Cluster,
    pub(super) keepers: ContainerKeepers,
    pub(super) choice: PodChoice,
    pub(super) settings: PodSettings,
    made: OnceCell<Made>,
    /// Wakes a start that is no longer wanted.
    unwanted: Notify,
    /// The way of the current connection.
    way: Mutex<Option<Reach>>,
    /// Whether the pod was stopped, and needs no further deletion.
    ended: AtomicBool,
}

/// How a pod is started and reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodSettings {
    pub(super) times: StartTimes,
    /// The only way to use; `None` for the first that works.
    pub(super) reach: Option<Reach>,
    pub(super) when_stopped: WhenStopped,
}

/// What happens to the pod of a sandbox that is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenStopped {
    /// It is deleted.
    #[default]
    Delete,
    /// It stays, without processes. A sandbox of a pool is suspended: its volumes stay.
    Keep,
}

/// Which pod to use.
#[derive(Clone, Debug)]
pub(super) enum PodChoice {
    /// A new one, or the existing one of this name.
    New { plan: Arc<PodPlan>, name: Option<String> },
    /// An existing one.
    Existing(String),
    /// One that the caller has just read.
    Found(Box<Pod>),
    /// One of a pool.
    Claimed(Arc<ClaimPlan>),
}

/// Whether other processes use the same pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// It has a name by which they find it.
    Shared,
    /// Only this process knows it.
    Private,
}

impl Sharing {
    fn of(name: Option<&String>) -> Self {
        if name.is_some() { Self::Shared } else { Self::Private }
    }
}

/// An existing pod with a keeper.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) uid: String,
    access: Access,
    /// The address of the pod, which it keeps until it ends.
    pub(super) address: Option<String>,
    /// The claim that it belongs to.
    pub(super) claim: Option<Claim>,
}

impl Made {
    /// Returns a pod that runs.
    fn of(pod: &Pod, access: Access, claim: Option<Claim>) -> Self {
        let address =
            pod.status.as_ref().and_then(|status| status.pod_ip.clone()).filter(|address| !address.is_empty());
        let (name, uid) = (pod.metadata.name.clone(), pod.metadata.uid.clone());
        Self { name: name.unwrap_or_default(), uid: uid.unwrap_or_default(), access, address, claim }
    }

    /// Deletes the pod, or the claim that it belongs to.
    async fn release(&self, cluster: &Cluster) -> Result<()> {
        match &self.claim {
            Some(claim) => claim.release(cluster).await,
            None => creation::delete(cluster, &self.name, &self.uid).await,
        }
    }

    /// Returns what a client needs to use its keeper.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }
}

impl SandboxPod {
    pub(super) fn new(cluster: Cluster, keepers: ContainerKeepers, choice: PodChoice, settings: PodSettings) -> Self {
        Self {
            cluster,
            keepers,
            choice,
            settings,
            made: OnceCell::new(),
            unwanted: Notify::new(),
            way: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    /// Returns the pod, if it was created or found.
    pub(super) fn made(&self) -> Option<&Made> {
        self.made.get()
    }

    /// Gives up a start that has not ended, so that a stop need not wait for a slow image.
    pub(super) fn give_up(&self) {
        if self.made.get().is_none() {
            self.unwanted.notify_one();
        }
    }

    /// Finds, creates or claims the pod, and launches its keeper.
    async fn provide(&self) -> Result<Made> {
        match &self.choice {
            PodChoice::Existing(name) => self.existing(name).await,
            PodChoice::Found(pod) => self.attached(pod).await,
            PodChoice::New { plan, name } => self.created(plan, name.as_ref()).await,
            PodChoice::Claimed(plan) => self.claimed(plan).await,
        }
    }

    async fn created(&self, plan: &PodPlan, name: Option<&String>) -> Result<Made> {
        let sharing = Sharing::of(name);
        let name = match name {
            Some(name) => name.clone(),
            None => names::random()?,
        };
        let (pod, is_new) = creation::create(&self.cluster, plan, &name, self.settings.times).await?;
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let launching = async {
            // The keeper of a pod that another process has created may run already.
            if launched::is_marked(&pod) {
                return Ok(Made::of(&pod, Access::agreed(&self.cluster, &name, &uid).await?, None));
            }
            let pod = starting::running(&self.cluster, &name, self.settings.times, Presence::Now).await?;
            Ok(Made::of(&pod, self.launched(&plan.launch(), &pod, sharing).await?, None))
        };
        let launched = tokio::select! {
            launched = launching => launched,
            () = self.unwanted.notified() => {
                Err(Error::new(ErrorKind::Gone, format!("the sandbox was stopped while its pod `{name}` started")))
            }
        };
        // A name that was chosen here is not another process's.
        if launched.is_err() && (is_new || sharing == Sharing::Private) {
            // The error is why it did not start; what cannot be deleted ends with its lease.
            let _ = creation::delete(&self.cluster, &name, &uid).await;
        }
        launched
    }

    /// Claims a pod from a pool.
    async fn claimed(&self, plan: &ClaimPlan) -> Result<Made> {
        let sharing = Sharing::of(plan.name.as_ref());
        let claim = agent_sandbox::obtain(&self.cluster, plan, self.settings.times).await?;
        let attached = async {
            let pod = agent_sandbox::running_pod(&self.cluster, &claim, self.settings.times).await?;
            let source = agent_sandbox::template::keeper_source(&pod)?;
            let access = self.launched(&plan.launch(source), &pod, sharing).await?;
            Ok(Made::of(&pod, access, Some(claim.clone())))
        };
        let attached = attached.await;
        if attached.is_err() && claim.is_new {
            // The error is why it did not start.
            let _ = claim.release(&self.cluster).await;
        }
        attached
    }

    async fn existing(&self, name: &str) -> Result<Made> {
        let pods = self.cluster.pods().await?;
        let pod = patiently(|| pods.get_opt(name)).await;
        let pod = pod.map_err(|error| errors::failed(&format!("read the pod `{name}`"), &error))?;
        let missing = || Error::new(ErrorKind::Gone, format!("the sandbox is gone: its pod `{name}` was deleted"));
        self.attached(&pod.ok_or_else(missing)?).await
    }

    /// Uses a pod whose keeper was launched.
    async fn attached(&self, pod: &Pod) -> Result<Made> {
        starting::check_running(&self.cluster, pod).await?;
        let (name, uid) = (pod.metadata.name.as_deref(), pod.metadata.uid.as_deref());
        let (name, uid) = (name.unwrap_or_default(), uid.unwrap_or_default());
        let unlaunched = || Error::new(ErrorKind::NotFound, format!("the pod `{name}` has no keeper of workden"));
        if !launched::is_marked(pod) {
            return Err(unlaunched());
        }
        Ok(Made::of(pod, Access::read(&self.cluster, uid).await?.ok_or_else(unlaunched)?, None))
    }

    /// Launches the keeper of a running pod, unless another process has, and returns the access to it.
    async fn launched(&self, plan: &LaunchPlan, pod: &Pod, sharing: Sharing) -> Result<Access> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let access = match sharing {
            Sharing::Shared => Access::agreed(&self.cluster, name, uid).await?,
            Sharing::Private => Access::random()?,
        };
        if launched::is_marked(pod) {
            return Ok(access);
        }
        let launch = launching::launch(&self.cluster, &self.keepers, name, plan, &access);
        let most = self.settings.times.start;
        let error = match timeout(most, launch).await {
            Ok(Ok(())) => None,
            // Another process was faster, with the same access.
            Ok(Err(error)) if sharing == Sharing::Shared && error.kind() == ErrorKind::Conflict => None,
            Ok(Err(error)) => Some(error),
            Err(_) => {
                let sentence = format!("starting the keeper in `{name}` timed out after {} s", most.as_secs());
                Some(Error::new(ErrorKind::TimedOut, sentence).hint("set a longer start timeout"))
            }
        };
        if let Some(error) = error {
            return Err(starting::why_gone(&self.cluster, name, uid).await.err().unwrap_or(error));
        }
        if sharing == Sharing::Shared {
            launched::mark(&self.cluster, name, uid).await?;
        }
        Ok(access)
    }

    fn way(&self) -> Option<Reach> {
        *self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Connector for SandboxPod {
    async fn connect(&self) -> Result<RemoteSandbox> {
        let made = self.made.get_or_try_init(|| self.provide()).await?;
        match reach::connect(&self.cluster, made, self.settings.reach).await {
            Ok((remote, way)) => {
                *self.way.lock().unwrap_or_else(PoisonError::into_inner) = Some(way);
                Ok(remote)
            }
            Err(error) => {
                let why = starting::why_unreachable(&self.cluster, &made.name, &made.uid).await;
                Err(why.err().unwrap_or(error))
            }
        }
    }

    async fn look(&self) -> Result<()> {
        match self.made.get() {
            Some(made) => starting::why_gone(&self.cluster, &made.name, &made.uid).await,
            None => Ok(()),
        }
    }

    async fn report(&self, seen: Isolation) -> Result<Isolation> {
        let Some(made) = self.made.get() else { return Ok(seen) };
        let pods = self.cluster.pods().await?;
        let pod = patiently(|| pods.get_opt(&made.name)).await;
        let pod = pod.map_err(|error| errors::failed(&format!("read the pod `{}`", made.name), &error))?;
        Ok(pod.map_or(seen.clone(), |pod| report::complete(seen, &pod, self.way())))
    }

    async fn end(&self, remote: Option<RemoteSandbox>) -> Result<()> {
        let Some(made) = self.made.get() else { return Ok(()) };
        let suspended = made.claim.as_ref().filter(|_| self.settings.when_stopped == WhenStopped::Keep);
        if let Some(claim) = suspended {
            // Before the keeper exits: a sandbox whose pod ends by itself is over for its controller.
            agent_sandbox::suspend(&self.cluster, claim, &made.name).await?;
        }
        if let Some(remote) = remote {
            // The pod is deleted whatever the keeper answers.
            let _ = timeout(STOP_TIME, remote.stop()).await;
        }
        match (self.settings.when_stopped, suspended) {
            (WhenStopped::Delete, _) => made.release(&self.cluster).await?,
            // A sandbox that is resumed before its controller has deleted the pod would get that pod again.
            (WhenStopped::Keep, Some(_)) => creation::deleted(&self.cluster, &made.name, &made.uid).await?,
            (WhenStopped::Keep, None) => {}
        }
        self.ended.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for SandboxPod {
    /// An unnamed pod cannot be found again: it is deleted now if a runtime still runs. Otherwise its keeper exits when
    /// its lease ends.
    fn drop(&mut self) {
        let is_nameless = match &self.choice {
            PodChoice::New { name, .. } => name.is_none(),
            PodChoice::Claimed(plan) => plan.name.is_none(),
            PodChoice::Existing(_) | PodChoice::Found(_) => false,
        };
        let deletes = is_nameless && !*self.ended.get_mut() && self.settings.when_stopped == WhenStopped::Delete;
        let Some(made) = self.made.take().filter(|_| deletes) else { return };
        let cluster = self.cluster.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { made.release(&cluster).await });
        }
    }
}
