//! Creates a claim, or finds the existing one of its name; suspends and releases it.

use std::collections::BTreeMap;

use kube::{
    Error as KubeError,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::wait::{await_condition, conditions::is_deleted},
};
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use workden_core::{Error, ErrorKind, Result};

use super::{
    ClaimPlan,
    claim_state::ClaimState,
    resources::{self, ClaimLifecycle, ClaimSpec, EXTENSIONS, SandboxClaim, WarmPoolRef},
};
use crate::kubernetes::{
    cluster::{Cluster, patiently},
    errors, labels, names,
    starting::StartTimes,
};

/// How long at least a claim stays after its pod has ended. The pod of a sandbox that is being suspended ends, too.
const LEAST_TTL_SECONDS: u64 = 60;

/// Where a claim comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ClaimOrigin {
    /// It is created, unless one of its name exists.
    Created,
    /// It exists.
    Existing,
}

/// A claim of this process.
#[derive(Clone, Debug)]
pub(in super::super) struct Claim {
    pub(in super::super) name: String,
    pub(super) uid: String,
    pub(super) pool: String,
    /// Whether this process has created it.
    pub(in super::super) is_new: bool,
}

/// Creates a claim, or finds the one of its name. One whose sandbox has ended is replaced.
pub(in super::super) async fn obtain(cluster: &Cluster, plan: &ClaimPlan, times: StartTimes) -> Result<Claim> {
    let claims = resources::claims(cluster).await?;
    let name = match &plan.name {
        Some(name) => name.clone(),
        None => names::random()?,
    };
    let (wanted, params) = (planned(plan, &name), PostParams::default());
    let what = format!("create the claim `{name}`");
    let deadline = Instant::now() + times.start;
    loop {
        if plan.origin == ClaimOrigin::Created {
            match patiently(|| claims.create(&params, &wanted)).await {
                Ok(made) => return Ok(Claim::of(&made, true)),
                Err(error) if errors::exists_already(&error) => {}
                Err(error) => return Err(failed(&what, &error)),
            }
        }
        let found = patiently(|| claims.get_opt(&name)).await.map_err(|error| failed(&what, &error))?;
        let Some(found) = found else {
            if plan.origin == ClaimOrigin::Existing {
                return Err(gone(&format!("its claim `{name}` was deleted")));
            }
            continue;
        };
        match ClaimState::of(&found) {
            ClaimState::Over(why) if plan.origin == ClaimOrigin::Existing => {
                return Err(gone(&format!("the sandbox of its claim `{name}` has ended: {why}")));
            }
            ClaimState::Over(_) => {
                let ended = Claim::of(&found, false);
                ended.release(cluster).await?;
                let deleted = await_condition(claims.clone(), &name, is_deleted(&ended.uid));
                if timeout_at(deadline, deleted).await.is_err() {
                    let sentence = format!("deleting the ended claim `{name}` timed out");
                    return Err(Error::new(ErrorKind::TimedOut, sentence)
                        .hint(format!("`kubectl describe sandboxclaim {name}` says what it waits for")));
                }
            }
            _ => {
                // A process that adopts a session does not know the options that it was created with.
                if plan.origin == ClaimOrigin::Created {
                    check_options(&wanted, &found)?;
                }
                return Ok(Claim::of(&found, false));
            }
        }
    }
}

/// Returns the claim that a plan describes.
fn planned(plan: &ClaimPlan, name: &str) -> SandboxClaim {
    let spec = ClaimSpec {
        warm_pool_ref: WarmPoolRef { name: plan.pool.clone() },
        // The keeper exits when its lease ends; its claim ends after it, also when no process is left to delete it.
        lifecycle: Some(ClaimLifecycle {
            shutdown_policy: "Delete".to_owned(),
            ttl_seconds_after_finished: Some(plan.lease.as_secs().max(LEAST_TTL_SECONDS)),
        }),
    };
    let mut claim = SandboxClaim::new(name, &resources::claim_type(), spec);
    let mut all_labels = labels::ours();
    all_labels.extend(plan.labels.clone());
    claim.metadata.labels = Some(all_labels);
    claim.metadata.annotations = (!plan.annotations.is_empty()).then(|| plan.annotations.clone());
    claim
}

impl Claim {
    fn of(claim: &SandboxClaim, is_new: bool) -> Self {
        Self {
            name: claim.metadata.name.clone().unwrap_or_default(),
            uid: claim.metadata.uid.clone().unwrap_or_default(),
            pool: claim.spec.warm_pool_ref.name.clone(),
            is_new,
        }
    }

    /// Deletes it, unless it is another one of the same name by now. Its sandbox and its pod are deleted with it.
    pub(in super::super) async fn release(&self, cluster: &Cluster) -> Result<()> {
        let claims = resources::claims(cluster).await?;
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(self.uid.clone()), resource_version: None }),
            ..DeleteParams::background()
        };
        match patiently(|| claims.delete(&self.name, &params)).await {
            Ok(_) => Ok(()),
            Err(error) if matches!(errors::code(&error), Some(404 | 409)) => Ok(()),
            Err(error) => Err(errors::failed(&format!("delete the claim `{}`", self.name), &error)),
        }
    }
}

/// Suspends the sandbox of a claim: its pod is deleted, and its volumes stay.
///
/// The claim is marked first. The controller reports the end of the pod before it reports the suspension, and another
/// process would take the claim for one that has ended.
pub(in super::super) async fn suspend(cluster: &Cluster, claim: &Claim, sandbox: &str) -> Result<()> {
    mark(cluster, claim, Some("true")).await?;
    set_mode(cluster, sandbox, "suspend", "Suspended").await
}

/// Resumes the suspended sandbox of a claim: it gets a new pod.
pub(super) async fn resume(cluster: &Cluster, claim: &Claim, sandbox: &str) -> Result<()> {
    set_mode(cluster, sandbox, "resume", "Running").await?;
    mark(cluster, claim, None).await
}

async fn set_mode(cluster: &Cluster, sandbox: &str, what: &str, mode: &str) -> Result<()> {
    let sandboxes = resources::sandboxes(cluster).await?;
    let (params, patch) = (PatchParams::default(), Patch::Merge(json!({"spec": {"operatingMode": mode}})));
    match patiently(|| sandboxes.patch(sandbox, &params, &patch)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(errors::failed(&format!("{what} the sandbox `{sandbox}`"), &error)),
    }
}

/// Sets or removes the mark of a suspended claim.
async fn mark(cluster: &Cluster, claim: &Claim, value: Option<&str>) -> Result<()> {
    let claims = resources::claims(cluster).await?;
    let patch = json!({"metadata": {"uid": claim.uid, "annotations": {labels::SUSPENDED: value}}});
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    match patiently(|| claims.patch(&claim.name, &params, &patch)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(errors::failed(&format!("mark the claim `{}`", claim.name), &error)),
    }
}

/// Returns the claims with these labels.
pub(in super::super) async fn list(cluster: &Cluster, selector: &str) -> Result<Vec<SandboxClaim>> {
    let (claims, params) = (resources::claims(cluster).await?, ListParams::default().labels(selector));
    let all = patiently(|| claims.list(&params)).await.map_err(|error| failed("list claims", &error))?;
    Ok(all.items)
}

/// Changes the labels and annotations of a claim.
pub(in super::super) async fn assign(
    cluster: &Cluster,
    name: &str,
    labels: &BTreeMap<&str, String>,
    annotations: &BTreeMap<&str, &str>,
) -> Result<()> {
    let claims = resources::claims(cluster).await?;
    let patch = Patch::Merge(json!({"metadata": {"labels": labels, "annotations": annotations}}));
    let params = PatchParams::default();
    match patiently(|| claims.patch(name, &params, &patch)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(errors::failed(&format!("assign the claim `{name}` to a session"), &error)),
    }
}

/// Deletes the claim of this name. A missing claim is not an error.
pub(in super::super) async fn delete_named(cluster: &Cluster, name: &str) -> Result<()> {
    let (claims, params) = (resources::claims(cluster).await?, DeleteParams::background());
    match patiently(|| claims.delete(name, &params)).await {
        Ok(_) => Ok(()),
        Err(error) if errors::is_not_found(&error) => Ok(()),
        Err(error) => Err(errors::failed(&format!("delete the claim `{name}`"), &error)),
    }
}

/// Rejects an existing claim that was created with other options.
fn check_options(wanted: &SandboxClaim, found: &SandboxClaim) -> Result<()> {
    let made_of = |claim: &SandboxClaim| claim.metadata.annotations.as_ref()?.get(labels::MADE_OF).cloned();
    let pool = |claim: &SandboxClaim| claim.spec.warm_pool_ref.name.clone();
    if (made_of(wanted), pool(wanted)) == (made_of(found), pool(found)) {
        return Ok(());
    }
    let name = found.metadata.name.as_deref().unwrap_or_default();
    let sentence = format!("another claim `{name}` exists already, which was created with other options");
    Err(Error::new(ErrorKind::Conflict, sentence)
        .hint(format!("see `kubectl describe sandboxclaim {name}`; delete it, or use the same options")))
}

/// Returns the error of a call about claims. A missing namespace is also "not found", and is named.
fn failed(what: &str, error: &KubeError) -> Error {
    match error {
        KubeError::Api(status) if status.code == 404 && !status.message.contains("namespaces") => not_installed(),
        _ => errors::failed(what, error),
    }
}

pub(super) fn not_installed() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("agent-sandbox is not installed in this cluster (`{EXTENSIONS}/v1beta1`)"),
    )
    .hint(format!("check it with `kubectl get crd sandboxclaims.{EXTENSIONS}`, or leave out `pool`"))
}

fn gone(why: &str) -> Error {
    Error::new(ErrorKind::Gone, format!("the sandbox is gone: {why}"))
}
