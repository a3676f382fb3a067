//! From findings to a decision: the question, if there is one, and what must still hold when the
//! answer comes.
//!
//! Invariant: a question is asked once, after everything that could be refused without it; and what
//! was approved is what is done. What changed while the question was open is a `Conflict`, which no
//! retry turns into another call.

use super::{
    Approval, ApprovalRequest, Guarded, Op,
    describing::{NewContent, describe},
    judging::{Findings, Reach},
    trace::Trace,
};
use crate::{Backend, Error, ErrorKind, Existing, Result};

impl<B: Backend> Guarded<B> {
    /// Judges a call that puts no content anywhere, and asks if it must.
    pub(super) async fn pass(&self, trace: &mut Trace<'_>, op: Op<'_>, reach: Reach) -> Result<()> {
        if self.is_open() {
            trace.allowed();
            return Ok(());
        }
        let findings = self.examine(op, reach).await?;
        self.settle(trace, op, reach, findings, NewContent::None, None).await
    }

    /// As `pass`, for a move or a copy: nobody is asked about one that could not be done.
    pub(super) async fn pass_to(&self, trace: &mut Trace<'_>, op: Op<'_>, existing: Existing) -> Result<()> {
        if self.is_open() {
            trace.allowed();
            return Ok(());
        }
        let findings = self.examine(op, Reach::Tree).await?;
        if let (Op::Rename { from, to } | Op::Copy { from, to }, Some(Some(_))) = (op, findings.there.get(1))
            && from.real != to.real
            && existing == Existing::Refuse
            && findings.ask.is_some()
            && self.roles.approver.is_some()
        {
            return Err(Error::already_exists(if op.name() == "move" { "move to" } else { "copy to" }, &to.typed));
        }
        self.settle(trace, op, Reach::Tree, findings, NewContent::None, None).await
    }

    /// Asks, if the findings want it.
    pub(super) async fn settle(
        &self,
        trace: &mut Trace<'_>,
        op: Op<'_>,
        reach: Reach,
        findings: Findings,
        content: NewContent<'_>,
        preview: Option<String>,
    ) -> Result<()> {
        let Some(why) = &findings.ask else {
            trace.allowed();
            return Ok(());
        };
        let Some(approver) = &self.roles.approver else { return Err(why.clone()) };
        self.there_to_ask_about(op, &findings).await?;
        let command = match op.execution() {
            Some(execution) => Some(execution.command_line(self.understood(execution).await)),
            None => None,
        };
        let request = ApprovalRequest {
            call: op.name().to_owned(),
            operations: op.operations().iter().map(|operation| (*operation).to_owned()).collect(),
            paths: op.paths().cloned().collect(),
            other_names: findings.other_names.clone(),
            below: findings.below.len() as u64,
            command,
            description: describe(op, content, findings.below.len()),
            why: why.sentence().to_owned(),
            refusal: why.refusal().cloned(),
            caller: self.caller.as_deref().cloned(),
            preview,
        };
        match approver.approve(request).await {
            Approval::Refused(why) => return Err(why),
            Approval::Granted => {}
        }
        // A person takes time, and the files do not wait.
        let now = self.examine(op, reach).await?;
        if !findings.still_holds(op, &now) {
            return Err(changed_meanwhile(op));
        }
        trace.approved();
        Ok(())
    }

    /// Nobody is asked about what is not there.
    async fn there_to_ask_about(&self, op: Op<'_>, findings: &Findings) -> Result<()> {
        match (op.paths().next(), findings.there.first()) {
            (Some(source), Some(None)) => self.inner.stat(source).await.map(drop),
            _ => Ok(()),
        }
    }
}

/// The outcome of a call that somebody approved: what shows that it is no longer the same is told
/// as that.
pub(super) fn as_approved<T>(op: Op<'_>, outcome: Result<T>) -> Result<T> {
    outcome.map_err(|error| match (op, error.kind()) {
        (
            Op::Read(_) | Op::Write(_) | Op::Change(_) | Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. },
            ErrorKind::Moved | ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::AlreadyExists,
        ) => changed_meanwhile(op),
        _ => error,
    })
}

/// The error for a file that is no longer what somebody was asked about.
pub(super) fn changed_meanwhile(op: Op<'_>) -> Error {
    let path = op.paths().next().map(|at| at.typed.to_string()).unwrap_or_default();
    Error::new(ErrorKind::Conflict, format!("cannot {} `{path}`: it changed while approval was pending", op.name()))
        .hint("nothing was done; look at what is there now, and decide anew")
}
