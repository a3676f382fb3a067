//! `KubernetesLauncher`: the pods of sessions. Any process that uses the same namespace finds a session again by the
//! labels of its pod.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use workden_core::{Error, ErrorKind, Result};

use super::{
    Cluster, KubernetesSandbox, KubernetesSandboxBuilder,
    agent_sandbox::{self, ClaimOrigin, ClaimPlan, SandboxClaim},
    cluster::patiently,
    creation, errors, labels, names,
    pod::PodChoice,
    pod_state::PodState,
};
use crate::{
    launcher::{ExistingSandbox, LaunchRequest, Launched, Launcher},
    session_id::SessionId,
};

/// Creates the pods of sessions from one template.
#[derive(Clone, Debug)]
pub struct KubernetesLauncher {
    template: KubernetesSandboxBuilder,
    /// One connection for all pods.
    cluster: Cluster,
    owner: String,
}

impl KubernetesLauncher {
    /// Creates pods from this template for the sessions of this owner. Every process with the same owner and namespace
    /// has the same sessions.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an owner that is not valid as the value of a label.
    pub fn new(template: KubernetesSandboxBuilder, owner: &str) -> Result<Self> {
        let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let is_label = owner.len() <= 63
            && owner.bytes().all(is_part)
            && ends(owner.bytes().next())
            && ends(owner.bytes().next_back());
        if is_label {
            let cluster = template.cluster_or_usual();
            let template = template.cluster(cluster.clone());
            return Ok(Self { template, cluster, owner: owner.to_owned() });
        }
        let sentence = format!("invalid session owner `{}`", owner.escape_debug());
        Err(Error::new(ErrorKind::InvalidArgument, sentence)
            .hint("use at most 63 letters, digits, `.`, `_` and `-`, with a letter or digit at both ends"))
    }

    /// Returns the pool from which its pods are claimed.
    pub(super) fn pool_name(&self) -> Option<&str> {
        self.template.pool_name()
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns the hash of the options of its pods.
    pub(super) fn fingerprint(&self) -> Result<String> {
        self.template.clone().label(labels::OWNER, &self.owner).fingerprint()
    }

    pub(super) fn builder(&self, order: &LaunchRequest) -> Result<KubernetesSandboxBuilder> {
        if order.workspace.is_some() || order.runtime.is_some() {
            let what = if order.workspace.is_some() { "a directory of this machine" } else { "a runtime" };
            let sentence = format!("{what} is not supported with a Kubernetes sandbox");
            return Err(Error::new(ErrorKind::Unsupported, sentence).hint("use an image, and a claim for files"));
        }
        let mut builder = self.template.clone().label(labels::OWNER, &self.owner);
        // Without a keeper nothing in the pod could end it.
        if let Some(idle) = order.idle.filter(|_| builder.has_keeper()) {
            builder = builder.lease(idle);
        }
        builder = builder.annotation(labels::MADE_OF, self.fingerprint()?);
        Ok(match &order.session {
            Some(session) => builder
                .pod_name(names::of_session(&self.owner, session))
                .label(labels::SESSION, names::hash_of(&self.owner, session))
                .annotation(labels::SESSION_ID, session.as_str()),
            None => builder.pod_name(names::random()?),
        })
    }

    fn found(pod: &Pod) -> Option<ExistingSandbox> {
        let session = pod.metadata.annotations.as_ref().and_then(|all| all.get(labels::SESSION_ID));
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        Some(ExistingSandbox {
            name: pod.metadata.name.clone()?,
            session: match session {
                Some(session) => Some(session.parse().ok()?),
                None => None,
            },
            running: PodState::of(pod) == PodState::Running,
            age: created.and_then(|created| Duration::try_from(Timestamp::now().duration_since(created)).ok()),
        })
    }

    fn found_claim(claim: &SandboxClaim) -> Option<ExistingSandbox> {
        // A claim has the same metadata as the pod that it stands for.
        let pod = Pod { metadata: claim.metadata.clone(), ..Pod::default() };
        Some(ExistingSandbox { running: agent_sandbox::is_running(claim), ..Self::found(&pod)? })
    }

    /// Returns the sandbox of a pod that was just read.
    pub(super) fn found_sandbox(&self, pod: Pod) -> Result<KubernetesSandbox> {
        self.template.sandbox(PodChoice::Found(Box::new(pod)))
    }

    fn sandbox(&self, name: &str) -> Result<KubernetesSandbox> {
        let choice = match self.template.pool_name() {
            Some(pool) => PodChoice::Claimed(Arc::new(ClaimPlan {
                name: Some(name.to_owned()),
                origin: ClaimOrigin::Existing,
                ..self.template.claim_plan(pool)?
            })),
            None => PodChoice::Existing(name.to_owned()),
        };
        self.template.sandbox(choice)
    }
}

#[async_trait]
impl Launcher for KubernetesLauncher {
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        let sandbox = self.builder(order)?.build()?;
        sandbox.start().await?;
        let name = sandbox.claim_name().or_else(|| sandbox.pod_name()).unwrap_or_default();
        Ok(Launched { sandbox: Arc::new(sandbox), name })
    }

    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched> {
        let label = BTreeMap::from([(labels::SESSION, names::hash_of(&self.owner, session))]);
        let annotation = BTreeMap::from([(labels::SESSION_ID, session.as_str())]);
        if self.template.pool_name().is_some() {
            agent_sandbox::assign(&self.cluster, &spare.name, &label, &annotation).await?;
            return Ok(spare);
        }
        let pods = self.cluster.pods().await?;
        let patch = Patch::Merge(json!({"metadata": {"labels": label, "annotations": annotation}}));
        let params = PatchParams::default();
        let assigned = patiently(|| pods.patch_metadata(&spare.name, &params, &patch)).await;
        assigned.map_err(|error| errors::failed(&format!("assign the pod `{}` to a session", spare.name), &error))?;
        Ok(spare)
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        let selector = format!("{}={}", labels::OWNER, self.owner);
        if self.template.pool_name().is_some() {
            let all = agent_sandbox::list(&self.cluster, &selector).await?;
            return Ok(all.iter().filter_map(Self::found_claim).collect());
        }
        let (pods, ours) = (self.cluster.pods().await?, ListParams::default().labels(&selector));
        let all = patiently(|| pods.list(&ours)).await.map_err(|error| errors::failed("list pods", &error))?;
        Ok(all.items.iter().filter_map(Self::found).collect())
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        let sandbox = self.sandbox(&found.name)?;
        sandbox.start().await?;
        Ok(Launched { sandbox: Arc::new(sandbox), name: found.name.clone() })
    }

    async fn remove(&self, name: &str) -> Result<()> {
        match self.template.pool_name() {
            Some(_) => agent_sandbox::delete_named(&self.cluster, name).await,
            None => creation::delete_named(&self.cluster, name).await,
        }
    }
}
