//! How a workspace is assembled: backends at their places, and the gates in front of them.
//!
//! The one place that knows the order: the policy judges, whoever approves is asked after every
//! denial, and records are kept of all of it.

use std::sync::Arc;

use workden_core::{Audit, Backend, Guarded, VirtualPath};
use workden_policy::{Policy, approvals::Approvals};

use crate::workspace::Files;

/// What a workspace consists of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) approvals: Approvals,
    pub(crate) audits: Vec<Arc<dyn Audit>>,
    /// Where relative paths start, and where commands would run.
    pub(crate) directory: VirtualPath,
}

impl Parts {
    /// The backend behind everything that has a say.
    pub(crate) fn guarded(&self) -> Files {
        let mut guarded = Guarded::new(Arc::clone(&self.backend)).approver(Arc::new(self.approvals.clone()));
        // A policy without layers is no gate.
        if !self.policy.is_empty() {
            let policy: Arc<Policy> = Arc::clone(&self.policy);
            guarded = guarded.gate(policy);
        }
        self.audits.iter().fold(guarded, |guarded, audit| guarded.audit(Arc::clone(audit)))
    }
}
