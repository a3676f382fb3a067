//! The step from findings to a decision: the question, if one is needed, and the conditions that must still hold when
//! the answer arrives.
//!
//! Invariant: a call is asked about once, after every check that can refuse it without a question; and exactly the
//! approved call is made. A change while the question was open is a `Conflict`, which no retry turns into another call.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    Approval, ApprovalRequest, Guarded, Op, TargetState,
    conflict::changed_meanwhile,
    describing::{NewContent, describe},
    judging::{Depth, Findings, Look, is_file_itself},
    page::Preview,
    trace::Trace,
};
use crate::{Backend, ByteRange, Error, IfExists, Resolved, Result, Version, VersionHasher};

/// A file larger than this is identified by its size and time.
const VERSIONED_BYTES: u64 = 16 * 1024 * 1024;

/// The approved looks of one tool call: a tool that looks twice is one call to the approver. Only looks are remembered,
/// and only for the very same path; calls that change something are asked about every time.
#[derive(Debug, Default)]
pub(super) struct GrantedLooks(Mutex<HashSet<(&'static str, Resolved)>>);

impl GrantedLooks {
    fn granted(&self) -> MutexGuard<'_, HashSet<(&'static str, Resolved)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, op: Op<'_>) {
        if let Some(at) = looked_at(op) {
            self.granted().insert((op.name(), at.clone()));
        }
    }

    fn has(&self, op: Op<'_>) -> bool {
        looked_at(op).is_some_and(|at| self.granted().contains(&(op.name(), at.clone())))
    }
}

/// Returns the path that a call looks at without changing it.
fn looked_at(op: Op<'_>) -> Option<&Resolved> {
    match op {
        Op::Stat(at) | Op::List(at) | Op::Read(at) | Op::Glob(at) | Op::Grep(at) => Some(at),
        Op::Write(_)
        | Op::Change(_)
        | Op::MakeDir(_)
        | Op::Remove(_)
        | Op::Rename { .. }
        | Op::Copy { .. }
        | Op::Execute(_) => None,
    }
}

impl<B: Backend> Guarded<B> {
    /// Judges a call that writes no content, and asks for approval if necessary.
    pub(super) async fn pass(&self, trace: &mut Trace<'_>, op: Op<'_>, depth: Depth) -> Result<()> {
        if self.is_open() {
            trace.allowed();
            return Ok(());
        }
        let findings = self.examine(op, depth, Look::AsResolved).await?;
        self.settle(trace, op, depth, findings, NewContent::None, None).await
    }

    /// Like `pass`, for a move or a copy: an impossible one is refused without a question.
    pub(super) async fn pass_to(&self, trace: &mut Trace<'_>, op: Op<'_>, if_exists: IfExists) -> Result<()> {
        if self.is_open() {
            trace.allowed();
            return Ok(());
        }
        let findings = self.examine(op, Depth::Tree, Look::AsResolved).await?;
        if let (Op::Rename { from, to } | Op::Copy { from, to }, Some(Some(_))) = (op, findings.there.get(1))
            && from.real != to.real
            && if_exists == IfExists::Refuse
            && findings.ask.is_some()
            && self.roles.approver.is_some()
        {
            return Err(Error::already_exists(if op.name() == "move" { "move to" } else { "copy to" }, &to.typed));
        }
        self.settle(trace, op, Depth::Tree, findings, NewContent::None, None).await
    }

    /// Asks for approval if the findings require it.
    pub(super) async fn settle(
        &self,
        trace: &mut Trace<'_>,
        op: Op<'_>,
        depth: Depth,
        findings: Findings,
        content: NewContent<'_>,
        preview: Option<Preview>,
    ) -> Result<()> {
        let Some(why) = &findings.ask else {
            trace.allowed();
            return Ok(());
        };
        let Some(approver) = &self.roles.approver else { return Err(why.clone()) };
        if self.caller.is_some() && self.granted.has(op) {
            trace.approved();
            return Ok(());
        }
        self.there_to_ask_about(op, &findings).await?;
        let (preview, left_out) = preview.map_or((None, None), |preview| (Some(preview.text), preview.left_out));
        let command = op.execution().map(|execution| execution.command_line(findings.commands.clone()));
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
            left_out,
            targets: self.targets(op, &findings).await,
        };
        match approver.approve(request).await {
            Approval::Refused(why) => return Err(why),
            Approval::Granted => {}
        }
        // Files may change while a person decides. The judgement of a command does not depend on files.
        if op.execution().is_none() {
            let now = self.examine(op, depth, Look::Again).await?;
            if !findings.still_holds(op, &now) {
                return Err(changed_meanwhile(op));
            }
        }
        if self.caller.is_some() {
            self.granted.note(op);
        }
        trace.approved();
        Ok(())
    }

    /// Returns the state of a call's targets. It is read between the two looks, so that it describes what both see.
    async fn targets(&self, op: Op<'_>, findings: &Findings) -> Vec<TargetState> {
        match op {
            Op::Write(_) | Op::Change(_) => findings.replaced.iter().cloned().collect(),
            Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. } => {
                let mut found = Vec::new();
                for (at, there) in op.paths().zip(&findings.there) {
                    found.push(match there {
                        None => TargetState::Nothing,
                        Some(entry) if is_file_itself(entry) => {
                            TargetState::Entry(entry.clone(), self.version(at).await)
                        }
                        Some(entry) => TargetState::Entry(entry.clone(), None),
                    });
                }
                if !findings.below.is_empty() {
                    found.push(TargetState::Below(version_of_all(findings)));
                }
                found
            }
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::MakeDir(_) | Op::Glob(_) | Op::Grep(_) | Op::Execute(_) => {
                Vec::new()
            }
        }
    }

    async fn version(&self, at: &Resolved) -> Option<Version> {
        let read = self.inner.read(at, ByteRange::Whole { most: VERSIONED_BYTES }).await;
        read.ok().map(|slice| Version::of(&slice.bytes))
    }

    /// Refuses a call on a missing path without a question.
    async fn there_to_ask_about(&self, op: Op<'_>, findings: &Findings) -> Result<()> {
        match (op.paths().next(), findings.there.first()) {
            (Some(source), Some(None)) => self.inner.stat(source).await.map(drop),
            _ => Ok(()),
        }
    }
}

/// Returns a version of the whole content of a directory.
fn version_of_all(findings: &Findings) -> Version {
    let mut hasher = VersionHasher::default();
    for entry in &findings.below {
        hasher.update(format!("{entry:?}\n").as_bytes());
    }
    hasher.finish()
}
