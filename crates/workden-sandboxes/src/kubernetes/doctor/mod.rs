//! Checks a cluster for sandboxes: whether it can be reached, what its namespace enforces, which permissions are
//! missing, and whether a pod starts.
//!
//! Invariant: nothing stays in the cluster, and no check waits for a cluster that does not answer.

mod namespace;
mod permissions;
mod policies;
mod quotas;
mod trial;

use std::{pin::pin, time::Duration};

use futures_util::future::join_all;
use kube::{Client, Error as KubeError};
use tokio::time::timeout;
use workden_core::sandbox::{Finding, Need, Outcome};

use super::{Cluster, KubernetesSandboxBuilder, errors};

/// How long one answer of the cluster may take.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// What sets up a namespace with everything that the checks look for.
const SETUP: &str = "kubectl apply -k deploy/kubernetes/base";

impl KubernetesSandboxBuilder {
    /// Checks the cluster for sandboxes with these options. With an image, starts a pod, tries each way to its keeper,
    /// and deletes it.
    pub async fn probe(&self) -> Vec<Finding> {
        self.probe_until(std::future::pending()).await
    }

    /// Does the same, but makes no further checks once `unwanted` is ready. The pod is deleted before it returns.
    pub async fn probe_until(&self, unwanted: impl Future<Output = ()>) -> Vec<Finding> {
        let cluster = self.cluster_or_usual();
        let (client, version) = match reached(&cluster).await {
            Ok(reached) => reached,
            Err(finding) => return vec![finding],
        };
        let mut unwanted = pin!(unwanted);
        let mut findings = vec![version];
        tokio::select! {
            looked = self.looked(&client) => findings.extend(looked),
            () = &mut unwanted => return findings,
        }
        if self.image.is_some() || self.template.is_some() {
            findings.extend(trial::run(self, unwanted).await);
        }
        findings
    }

    /// Makes the checks that change nothing.
    async fn looked(&self, client: &Client) -> Vec<Finding> {
        let mut findings = namespace::check(client).await;
        if let Some(name) = &self.runtime_class {
            findings.push(namespace::runtime_class(client, name).await);
        }
        findings.extend(join_all(permissions::ALL.iter().map(|permission| permission.check(client))).await);
        findings.push(policies::check(client).await);
        findings.push(quotas::check(client).await);
        findings
    }
}

/// Returns the client of a cluster that answers, and its version.
async fn reached(cluster: &Cluster) -> std::result::Result<(Client, Finding), Finding> {
    let finding = |outcome| Finding::new("cluster", "cluster", Need::Sandbox, outcome);
    let fix = "check the kubeconfig and the context: `kubectl cluster-info`";
    let lacking = |why: String| finding(Outcome::Lacking { why, fix: Some(fix.to_owned()) });
    let client = cluster.client().await.map_err(|error| lacking(error.sentence().to_owned()))?.clone();
    let answer = answered("read the version", client.apiserver_version()).await;
    match answer {
        Ok(version) => {
            let told =
                format!("Kubernetes {} answers, namespace `{}`", version.git_version, client.default_namespace());
            Ok((client, finding(Outcome::Works(told))))
        }
        Err(refusal) => Err(lacking(refusal.why)),
    }
}

/// Why a call to the cluster failed.
struct Refusal {
    /// The HTTP status, if there was an answer.
    code: Option<u16>,
    why: String,
}

impl Refusal {
    /// Returns the outcome of a check that this account may not make, or that failed.
    fn unknown(self) -> Outcome {
        match self.code {
            Some(403) => Outcome::Unknown("this account may not read it".to_owned()),
            _ => Outcome::Unknown(self.why),
        }
    }
}

/// Waits for one answer of the cluster.
async fn answered<T>(
    what: &str,
    call: impl Future<Output = std::result::Result<T, KubeError>>,
) -> std::result::Result<T, Refusal> {
    match timeout(ANSWER_TIME, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let why = errors::failed(what, &error).sentence().to_owned();
            Err(Refusal { code: errors::code(&error), why })
        }
        Err(_) => {
            let why = format!("cannot {what}: no answer within {} s", ANSWER_TIME.as_secs());
            Err(Refusal { code: None, why })
        }
    }
}

/// Returns an outcome that lacks something, and how to add it.
fn lacking(why: impl Into<String>, fix: impl Into<String>) -> Outcome {
    Outcome::Lacking { why: why.into(), fix: Some(fix.into()) }
}
