//! Waits until a claim has a pod that runs, and resumes a suspended sandbox.

use futures_util::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::{Instant, sleep_until};
use workden_core::{Error, ErrorKind, Result};

use super::{
    claim::{Claim, OperatingMode, set_mode},
    claim_state::ClaimState,
    claim_watch::ClaimWatch,
};
use crate::kubernetes::{
    cluster::Cluster,
    starting::{self, Presence, StartTimes},
};

/// Waits until the pod of a claim runs, and returns it.
pub(in super::super) async fn running_pod(cluster: &Cluster, claim: &Claim, times: StartTimes) -> Result<Pod> {
    let mut changes = ClaimWatch::new(cluster, &claim.name).await?;
    let began = Instant::now();
    let mut waits_for = String::new();
    let mut failing: Option<(Instant, String)> = None;
    let mut is_resumed = false;
    let mut pod: Option<BoxFuture<'_, Result<Pod>>> = None;
    loop {
        let limit = began + times.start;
        let deadline = failing.as_ref().map_or(limit, |(since, _)| (*since + times.schedule).min(limit));
        let state = tokio::select! {
            running = async { match &mut pod {
                Some(pod) => pod.await,
                None => std::future::pending().await,
            } } => return running,
            state = changes.next() => state?,
            () = sleep_until(deadline) => return Err(late(claim, times, failing, &waits_for)),
        };
        if !matches!(state, ClaimState::Failing(_)) {
            failing = None;
        }
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
                    set_mode(cluster, &name, OperatingMode::Running).await?;
                    is_resumed = true;
                }
            }
            ClaimState::Failing(why) => {
                let since = failing.take().map_or_else(Instant::now, |(since, _)| since);
                failing = Some((since, why));
            }
            ClaimState::Missing(why) => {
                let sentence = format!("cannot claim from the pool `{}`: {why}", claim.pool);
                return Err(Error::new(ErrorKind::NotFound, sentence)
                    .hint("`kubectl get sandboxwarmpools,sandboxtemplates` lists what the namespace has"));
            }
            ClaimState::Refused(why) => {
                let sentence = format!("the claim `{}` is refused: {why}", claim.name);
                return Err(Error::new(ErrorKind::InvalidArgument, sentence));
            }
            // The watch of the pod says why in more detail.
            ClaimState::Over(why) if pod.is_some() => waits_for = why,
            ClaimState::Over(why) => {
                return Err(Error::new(ErrorKind::Gone, format!("the claim `{}` has ended: {why}", claim.name)));
            }
        }
    }
}

fn late(claim: &Claim, times: StartTimes, failing: Option<(Instant, String)>, waits_for: &str) -> Error {
    let Claim { name, pool, .. } = claim;
    if let Some((_, why)) = failing {
        let sentence = format!("the pool `{pool}` has no free sandbox, and none can be created: {why}");
        return Error::new(ErrorKind::Busy, sentence).hint("release a sandbox, or ask for a larger quota");
    }
    let seconds = times.start.as_secs();
    let sentence = format!("claiming a sandbox from the pool `{pool}` timed out after {seconds} s: {waits_for}");
    Error::new(ErrorKind::TimedOut, sentence)
        .hint(format!("check the pool with `kubectl describe sandboxwarmpool {pool}`, the claim was `{name}`"))
}
