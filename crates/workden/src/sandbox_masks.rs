//! The walls of one sandbox, under every policy that a workspace has added over it.
//!
//! Invariant: a sandbox starts with the walls of all policies over it, and a workspace whose policy came after the start
//! runs no command while the sandbox shows a file that this policy denies to read, or can change one that it denies to
//! change.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use async_trait::async_trait;
use workden_core::{Access, Error, ErrorKind, Gate, Judgement, Op, Resolved, Result, Verdict, VirtualPath, Visibility};
use workden_policy::Policy;

use crate::masks::{ShownFiles, Walls};

/// The masks of a sandbox. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct SandboxMasks {
    shown: Arc<ShownFiles>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The policies of all workspaces over the sandbox. A workspace that is gone needs no masks.
    policies: Vec<Weak<Policy>>,
    /// The walls of the last start.
    walls: Option<Walls>,
    /// The policies that these walls satisfy.
    satisfied: Vec<Weak<Policy>>,
}

impl SandboxMasks {
    pub(crate) fn new(shown: ShownFiles) -> Self {
        Self { shown: Arc::new(shown), state: Arc::default() }
    }

    /// Adds a policy, for the next start.
    pub(crate) fn add(&self, policy: &Arc<Policy>) {
        let mut state = self.state();
        state.policies.retain(|known| known.strong_count() > 0);
        state.policies.push(Arc::downgrade(policy));
    }

    /// Returns the walls of a sandbox that starts now.
    pub(crate) async fn at_start(&self) -> Result<Walls> {
        let policies = self.state().policies.clone();
        let mut walls = Walls::default();
        for policy in policies.iter().filter_map(Weak::upgrade) {
            walls.extend(self.shown.walls(&policy).await?);
        }
        let mut state = self.state();
        (state.walls, state.satisfied) = (Some(walls.clone()), policies);
        Ok(walls)
    }

    /// Checks that a sandbox that has started holds every file that a policy denies.
    async fn satisfy(&self, policy: &Arc<Policy>) -> Result<()> {
        let walls = {
            let state = self.state();
            let is_this = |known: &Weak<Policy>| known.ptr_eq(&Arc::downgrade(policy));
            match &state.walls {
                // The sandbox has not started, and will start with the masks of this policy.
                None => return Ok(()),
                Some(_) if state.satisfied.iter().any(is_this) => return Ok(()),
                Some(walls) => walls.clone(),
            }
        };
        let denied = self.shown.walls(policy).await?;
        let is_below = |at: &VirtualPath, held: &BTreeSet<VirtualPath>| held.iter().any(|held| at.is_within(held));
        let shown = denied.masked.iter().find(|at| !is_below(at, &walls.masked)).map(|at| ("read", at));
        let is_open = |at: &&VirtualPath| !is_below(at, &walls.read_only) && !is_below(at, &walls.masked);
        let open = denied.read_only.iter().find(is_open).map(|at| ("change", at));
        if let Some((can, at)) = shown.or(open) {
            let sentence = format!("the sandbox started before this policy: its commands can {can} `{at}`");
            return Err(Error::new(ErrorKind::Conflict, sentence)
                .hint("stop the sandbox, so that the next command starts it with the policy, or give it the policy"));
        }
        let mut state = self.state();
        if state.walls.as_ref() == Some(&walls) {
            state.satisfied.push(Arc::downgrade(policy));
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses commands while the sandbox shows a file that the policy denies.
#[derive(Clone, Debug)]
pub(crate) struct MasksGate {
    pub(crate) masks: SandboxMasks,
    pub(crate) policy: Arc<Policy>,
}

#[async_trait]
impl Gate for MasksGate {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let checked = match op.execution() {
            Some(_) => self.masks.satisfy(&self.policy).await,
            None => Ok(()),
        };
        checked.map_or_else(Verdict::Deny, |()| Verdict::Allow).into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}
