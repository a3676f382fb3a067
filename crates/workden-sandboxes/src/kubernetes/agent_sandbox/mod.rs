//! agent-sandbox: pods that its controller keeps warm. A SandboxClaim takes one from a SandboxWarmPool, and deleting the
//! claim releases it.
//!
//! Invariant: what a claim gets is used only if its template makes the keeper the first process, as
//! `deploy/kubernetes/overlays/agent-sandbox` does. Everything is learnt from watches of the claim and of its pod.

mod claim;
mod claim_state;
mod claim_watch;
mod resources;
pub(super) mod template;
mod waiting;

use std::{collections::BTreeMap, time::Duration};

use super::launching::{KeeperSource, LaunchPlan};
pub(super) use claim::{Claim, ClaimOrigin, assign, delete_named, list, obtain, suspend};
use claim_state::ClaimState;
pub(super) use resources::SandboxClaim;
use sha2::{Digest, Sha256};
pub(super) use waiting::running_pod;

/// What is claimed from a pool, and what its keeper is launched with.
#[derive(Clone, Debug)]
pub(super) struct ClaimPlan {
    pub(super) pool: String,
    /// The name by which the claim is found again.
    pub(super) name: Option<String>,
    pub(super) origin: ClaimOrigin,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) work_dir: String,
    pub(super) variables: BTreeMap<String, String>,
    /// How long the keeper lives without a connection.
    pub(super) lease: Duration,
}

impl ClaimPlan {
    /// Returns what the keeper is launched with.
    pub(super) fn launch(&self, keeper: KeeperSource) -> LaunchPlan {
        let (directory, variables) = (self.work_dir.clone(), self.variables.clone());
        LaunchPlan { directory, variables, lease: self.lease, keeper }
    }

    /// Returns a hash of everything that makes a difference to commands.
    pub(super) fn fingerprint(&self) -> String {
        let Self { pool, work_dir, variables, lease, .. } = self;
        let all = format!("{pool}\0{work_dir}\0{variables:?}\0{}", lease.as_secs());
        Sha256::digest(all).iter().take(8).fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
    }
}

/// Whether the pod of a claim runs.
pub(super) fn is_running(claim: &SandboxClaim) -> bool {
    ClaimState::is_ready(claim)
}
