//! How a workspace is assembled: backends at their places, and the gates in front of them.
//!
//! The one place that knows the order: the policy judges, whoever approves is asked after every
//! denial, and records are kept of all of it.

use std::{sync::Arc, time::Duration};

use workden_core::{Audit, Backend, Guarded, Sandbox, VirtualPath};
use workden_policy::{Policy, approvals::Approvals};
use workden_sandboxes::LazySandbox;

use crate::{
    judging::PolicyGate,
    read_only::ReadOnlyPaths,
    workspace::{Commands, Files},
};

/// What a workspace consists of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) backend: Arc<dyn Backend>,
    /// Where commands run, if they do; its files are among those of the backend.
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    /// The same, where this workspace starts and stops it.
    pub(crate) lazy: Option<LazySandbox>,
    pub(crate) policy: Arc<Policy>,
    /// What file calls may not change, whatever the policy says.
    pub(crate) read_only: ReadOnlyPaths,
    pub(crate) approvals: Approvals,
    pub(crate) audits: Vec<Arc<dyn Audit>>,
    /// Where relative paths start, and where commands run; `None` for where the sandbox says.
    pub(crate) directory: Option<VirtualPath>,
    /// The time limit of a command that names none.
    pub(crate) timeout: Option<Duration>,
    pub(crate) at_end: AtEnd,
}

/// What happens to the sandbox when the workspace stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// It stops.
    Stop,
    /// It goes on: others may use it.
    Leave,
}

impl Parts {
    /// The backend behind everything that has a say.
    pub(crate) fn guarded(&self) -> Files {
        self.behind_gates(Arc::clone(&self.backend))
    }

    /// The sandbox behind everything that has a say.
    pub(crate) fn guarded_sandbox(&self) -> Option<Commands> {
        self.sandbox.as_ref().map(|sandbox| self.behind_gates(Arc::clone(sandbox)))
    }

    fn behind_gates<B: Backend>(&self, inner: B) -> Guarded<B> {
        let mut guarded = Guarded::new(inner).approver(Arc::new(self.approvals.clone()));
        // A policy without layers is no gate.
        if !self.policy.is_empty() {
            guarded = guarded.gate(Arc::new(PolicyGate(Arc::clone(&self.policy))));
        }
        if !self.read_only.is_empty() {
            guarded = guarded.gate(Arc::new(self.read_only.clone()));
        }
        self.audits.iter().fold(guarded, |guarded, audit| guarded.audit(Arc::clone(audit)))
    }
}
