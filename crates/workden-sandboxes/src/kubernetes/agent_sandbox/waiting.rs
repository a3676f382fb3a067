//! Waits until a claim has a pod that runs, and resumes a suspended sandbox.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::{Instant, sleep_until};
use workden_core::{Error, ErrorKind, Result};

use super::{
    claim::{Claim, resume},
    claim_state::ClaimState,
    claim_watch::ClaimWatch,
};
use crate::kubernetes::{
    cluster::Cluster,
    starting::{self, Presence, StartTimes},
};

/// How long the controller may take to notice a pool or a template.
const NOTICE_TIME: Duration = Duration::from_secs(3);

/// Waits until the pod of a claim runs, and returns it.
pub(in super::super) async fn running_pod(cluster: &Cluster, claim: &Claim, times: StartTimes) -> Result<Pod> {
    let mut changes = ClaimWatch::new(cluster, &claim.name).await?;
    let limit = Instant::now() + times.start;
    let mut waits_for = String::new();
    let mut trouble: Option<Trouble> = None;
    let mut is_resumed = false;
    let mut pod: Option<BoxFuture<'_, Result<Pod>>> = None;
    loop {
        let deadline = trouble.as_ref().map_or(limit, |trouble| (trouble.since + trouble.patience).min(limit));
        let state = tokio::select! {
            running = async { match &mut pod {
                Some(pod) => pod.await,
                None => std::future::pending().await,
            } } => return running,
            state = changes.next() => state?,
            () = sleep_until(deadline) => {
                return Err(trouble.map_or_else(|| late(claim, times, &waits_for), |trouble| trouble.error));
            }
        };
        let since = trouble.take().map_or_else(Instant::now, |trouble| trouble.since);
        match state {
            ClaimState::Waiting(why) => waits_for = why,
            ClaimState::Bound(name) => {
                waits_for = format!("the pod `{name}` does not run");
                if pod.is_none() {
                    let running = async move { starting::running(cluster, &name, times, Presence::Later).await };
                    pod = Some(running.boxed());
                }
            }
            ClaimState::Suspended(name) => {
                waits_for = format!("the sandbox `{name}` is suspended");
                // The controller reports it some more times before it has seen the change.
                if !is_resumed {
                    resume(cluster, claim, &name).await?;
                    is_resumed = true;
                }
            }
            ClaimState::Failing(why) => {
                trouble = Some(Trouble { since, patience: times.schedule, error: no_free_sandbox(claim, &why) });
            }
            // The controller may not have noticed a pool or a template that was just created.
            ClaimState::Missing(why) => {
                trouble = Some(Trouble { since, patience: NOTICE_TIME, error: missing(claim, &why) });
            }
            ClaimState::Refused(why) => {
                let sentence = format!("the claim `{}` is refused: {why}", claim.name);
                return Err(Error::new(ErrorKind::InvalidArgument, sentence));
            }
            // The watch of the pod says why in more detail; and a sandbox that is resumed has had a pod that ended.
            ClaimState::Over(why) if pod.is_some() || is_resumed => waits_for = why,
            ClaimState::Over(why) => {
                return Err(Error::new(ErrorKind::Gone, format!("the claim `{}` has ended: {why}", claim.name)));
            }
        }
    }
}

/// What a claim cannot have now, and perhaps soon.
struct Trouble {
    since: Instant,
    /// How long it is waited for.
    patience: Duration,
    error: Error,
}

fn missing(claim: &Claim, why: &str) -> Error {
    let sentence = format!("cannot claim from the pool `{}`: {why}", claim.pool);
    Error::new(ErrorKind::NotFound, sentence)
        .hint("`kubectl get sandboxwarmpools,sandboxtemplates` lists what the namespace has")
}

fn no_free_sandbox(claim: &Claim, why: &str) -> Error {
    let sentence = format!("the pool `{}` has no free sandbox, and none can be created: {why}", claim.pool);
    Error::new(ErrorKind::Busy, sentence).hint("release a sandbox, or ask for a larger quota")
}

fn late(claim: &Claim, times: StartTimes, waits_for: &str) -> Error {
    let Claim { name, pool, .. } = claim;
    let seconds = times.start.as_secs();
    let sentence = format!("claiming a sandbox from the pool `{pool}` timed out after {seconds} s: {waits_for}");
    Error::new(ErrorKind::TimedOut, sentence)
        .hint(format!("check the pool with `kubectl describe sandboxwarmpool {pool}`, the claim was `{name}`"))
}
