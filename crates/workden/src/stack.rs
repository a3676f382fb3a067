//! Assembles a workspace: backends at their paths, and the gates in front of them.
//!
//! Only this module knows the order: the policy decides, the approver is asked only if no gate denies, and every
//! decision is recorded.

use std::{sync::Arc, time::Duration};

use workden_core::{
    Audit, Backend, Gate, Guarded, Sandbox, VirtualPath,
    sandbox::{CommandFacts, Shell},
};
use workden_policy::{Policy, approvals::Approvals};
use workden_sandboxes::LazySandbox;

use crate::{
    judging::PolicyGate,
    read_only::ReadOnlyPaths,
    sandbox_masks::{MasksGate, SandboxMasks},
};

/// The files of a workspace, behind all gates.
pub type Files = Guarded<Arc<dyn Backend>>;

/// The sandbox of a workspace, behind all gates.
pub type Commands = Guarded<Arc<dyn Sandbox>>;

/// The parts of a workspace.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) backend: Arc<dyn Backend>,
    /// The sandbox, if there is one; its files are part of the backend.
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    /// The same sandbox, if this workspace starts and stops it.
    pub(crate) lazy: Option<LazySandbox>,
    /// Its masks, which cover what the policy denies.
    pub(crate) masks: Option<SandboxMasks>,
    pub(crate) policy: Arc<Policy>,
    /// Paths that file calls may not change, whatever the policy says.
    pub(crate) read_only: ReadOnlyPaths,
    pub(crate) approvals: Approvals,
    pub(crate) audits: Vec<Arc<dyn Audit>>,
    /// Gates of the program that builds the workspace.
    pub(crate) gates: Vec<Arc<dyn Gate>>,
    /// Where relative paths start and commands run; `None` for the directory of the sandbox.
    pub(crate) directory: Option<VirtualPath>,
    /// The shell of commands, if it is known before the sandbox runs.
    pub(crate) shell: Option<Shell>,
    /// The time limit of a command that has none.
    pub(crate) timeout: Option<Duration>,
    /// What a model should know about commands.
    pub(crate) facts: CommandFacts,
    pub(crate) at_end: AtEnd,
}

/// What happens to the sandbox when the workspace stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// It stops.
    Stop,
    /// It goes on: other programs may use it.
    Leave,
}

impl Parts {
    /// Returns the backend behind all gates.
    pub(crate) fn guarded(&self) -> Files {
        self.behind_gates(Arc::clone(&self.backend))
    }

    /// Returns the sandbox behind all gates.
    pub(crate) fn guarded_sandbox(&self) -> Option<Commands> {
        self.sandbox.as_ref().map(|sandbox| self.behind_gates(Arc::clone(sandbox)))
    }

    fn behind_gates<B: Backend>(&self, inner: B) -> Guarded<B> {
        let mut guarded = Guarded::new(inner).approver(Arc::new(self.approvals.clone()));
        // A policy without layers needs no gate.
        if !self.policy.is_empty() {
            guarded = guarded.gate(Arc::new(PolicyGate(Arc::clone(&self.policy))));
            if let Some(masks) = self.masks.clone() {
                guarded = guarded.gate(Arc::new(MasksGate { masks, policy: Arc::clone(&self.policy) }));
            }
        }
        if !self.read_only.is_empty() {
            guarded = guarded.gate(Arc::new(self.read_only.clone()));
        }
        let guarded = self.gates.iter().fold(guarded, |guarded, gate| guarded.gate(Arc::clone(gate)));
        self.audits.iter().fold(guarded, |guarded, audit| guarded.audit(Arc::clone(audit)))
    }
}
