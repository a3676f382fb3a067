//! A call in progress, from its start to its record. A call that is dropped is recorded as abandoned.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{Audit, AuditEvent, AuditOutcome, Caller, Execution, Op, conflict::as_approved};
use crate::Result;

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Judged,
    Allowed,
    Approved,
}

/// A call in progress.
pub(super) struct Trace<'a> {
    op: Op<'a>,
    stage: Stage,
    audits: &'a [Arc<dyn Audit>],
    caller: Option<&'a Caller>,
    outcome: AuditOutcome,
}

impl<'a> Trace<'a> {
    pub(super) fn new(op: Op<'a>, audits: &'a [Arc<dyn Audit>], caller: Option<&'a Caller>) -> Self {
        Self { op, stage: Stage::Judged, audits, caller, outcome: AuditOutcome::Abandoned }
    }

    /// Notes that the call was allowed without a question.
    pub(super) fn allowed(&mut self) {
        self.stage = Stage::Allowed;
    }

    /// Notes that the call was approved.
    pub(super) fn approved(&mut self) {
        self.stage = Stage::Approved;
    }

    /// Records the outcome.
    pub(super) fn end<T>(mut self, outcome: Result<T>) -> Result<T> {
        let outcome = match self.stage {
            Stage::Approved => as_approved(self.op, outcome),
            Stage::Judged | Stage::Allowed => outcome,
        };
        self.outcome = match (&outcome, self.stage) {
            (Ok(_), Stage::Approved) => AuditOutcome::Approved,
            (Ok(_), Stage::Allowed | Stage::Judged) => AuditOutcome::Allowed,
            (Err(error), Stage::Judged) => AuditOutcome::Refused(error.kind()),
            (Err(error), Stage::Allowed | Stage::Approved) => AuditOutcome::Failed(error.kind()),
        };
        outcome
    }
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        if self.audits.is_empty() {
            return;
        }
        let event = AuditEvent {
            call: self.op.name().to_owned(),
            paths: self.op.paths().cloned().collect(),
            command: self.op.execution().map(Execution::whole_script),
            outcome: self.outcome,
            tool: self.caller.map(|caller| caller.tool.clone()),
        };
        for audit in self.audits {
            // An audit that panics must not fail the call.
            let _ = catch_unwind(AssertUnwindSafe(|| audit.record(&event)));
        }
    }
}
