//! A call in progress, from its start to its record. A call that is dropped is recorded as abandoned.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use super::{Audit, AuditEvent, AuditOutcome, Caller, Execution, Op, conflict::as_approved, measures::Measured};
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
    began: Option<Duration>,
    why: Option<String>,
    exit_code: Option<i32>,
    bytes: Option<u64>,
}

impl<'a> Trace<'a> {
    pub(super) fn new(op: Op<'a>, audits: &'a [Arc<dyn Audit>], caller: Option<&'a Caller>) -> Self {
        let (stage, outcome) = (Stage::Judged, AuditOutcome::Abandoned);
        let (why, exit_code, bytes) = (None, None, None);
        Self { op, stage, audits, caller, outcome, began: elapsed(audits), why, exit_code, bytes }
    }

    /// Notes how many bytes the call is about to write.
    pub(super) fn sized(&mut self, bytes: usize) {
        self.bytes = Some(bytes as u64);
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
    pub(super) fn end<T: Measured>(mut self, outcome: Result<T>) -> Result<T> {
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
        match (&outcome, self.outcome) {
            (Ok(done), _) => {
                self.exit_code = done.exit_code();
                self.bytes = done.bytes().or(self.bytes);
            }
            (Err(error), AuditOutcome::Refused(_)) => self.why = Some(error.sentence().to_owned()),
            (Err(_), _) => {}
        }
        outcome
    }
}

impl Trace<'_> {
    fn millis(&self) -> Option<u64> {
        let taken = elapsed(self.audits)?.checked_sub(self.began?)?;
        u64::try_from(taken.as_millis()).ok()
    }
}

/// Returns the time by the first recorder that has a clock.
fn elapsed(audits: &[Arc<dyn Audit>]) -> Option<Duration> {
    audits.iter().find_map(|audit| audit.elapsed())
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
            why: self.why.take(),
            millis: self.millis(),
            exit_code: self.exit_code,
            bytes: self.bytes,
        };
        for audit in self.audits {
            // An audit that panics must not fail the call.
            let _ = catch_unwind(AssertUnwindSafe(|| audit.record(&event)));
        }
    }
}
