//! The judgement of all gates on a call, before the approver is asked.
//!
//! Invariant: a file is judged under every name that it has in the workspace, and a directory that is moved or removed
//! is judged with all of its content. A call whose targets cannot all be examined is refused.

use super::{Access, Guarded, Op, TargetState};
use crate::{
    Backend, BackendExt, Entry, Error, Judgement, Link, Presence, Refusal, Resolved, Result, Verdict, VirtualPath,
    Visibility,
};

/// How much of a directory a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The directory alone.
    One,
    /// The directory with all of its content.
    Tree,
}

/// Where the entry at a path comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// From `resolve`, and from another look only if `resolve` did not look: right before the call.
    AsResolved,
    /// From another look: time has passed since `resolve`.
    Again,
}

/// The facts about a call that decide about it.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Why the call needs approval, if it does.
    pub(super) ask: Option<Error>,
    /// The commands that an approval would cover; see [`Judgement::commands`].
    pub(super) commands: Option<Vec<Vec<String>>>,
    /// Other names of the file that rules apply to.
    pub(super) other_names: Vec<VirtualPath>,
    /// The entries at the paths of the call, if the call depends on them.
    pub(super) there: Vec<Option<Entry>>,
    /// The entries in the directory of the call, by path.
    pub(super) below: Vec<Entry>,
    /// The content that a write or an edit would replace, if it needs approval.
    pub(super) replaced: Option<TargetState>,
}

impl Findings {
    /// Adds a reason to ask; the first reason is the one that is reported.
    pub(super) fn asks(&mut self, why: Option<Error>) {
        self.ask = self.ask.take().or(why);
    }

    /// Returns the entry at the first path of the call.
    pub(super) fn source(&self) -> Option<&Entry> {
        self.there.first().and_then(Option::as_ref)
    }

    /// Merges the findings about another operation of the same call.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.asks(other.ask);
        self.other_names.extend(other.other_names);
        self
    }

    /// Whether the targets of a call are still the same.
    pub(super) fn still_holds(&self, op: Op<'_>, now: &Self) -> bool {
        match op {
            Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. } => self.there == now.there && self.below == now.below,
            // The approval of a read covers this file even if it grows; a change is bound to a version.
            Op::Read(_) | Op::Change(_) | Op::Write(_) => {
                let what = |entry: &Option<Entry>| entry.as_ref().map(|entry| (entry.kind, entry.link));
                self.there.iter().map(what).eq(now.there.iter().map(what))
            }
            Op::Stat(_) | Op::List(_) | Op::MakeDir(_) | Op::Glob(_) | Op::Grep(_) | Op::Execute(_) => true,
        }
    }
}

impl<B: Backend> Guarded<B> {
    /// Returns why the call needs approval, if it does, or the error of the gate that denies it.
    pub(super) async fn judge(&self, op: Op<'_>) -> Result<Option<Error>> {
        Ok(self.judge_all(op).await?.0)
    }

    /// Like `judge`, with the commands that an approval would cover.
    async fn judge_all(&self, op: Op<'_>) -> Result<(Option<Error>, Option<Vec<Vec<String>>>)> {
        let mut all = Judgement::default();
        for gate in &self.roles.gates {
            all = all.and(gate.judge(op).await);
        }
        match all.verdict {
            Verdict::Allow => Ok((None, None)),
            Verdict::Ask(why) => Ok((Some(why), all.commands)),
            Verdict::Deny(why) => Err(why),
        }
    }

    /// Returns the size of the largest file that all gates allow at a path.
    pub(super) fn most_bytes(&self, at: &Resolved, access: Access) -> Option<u64> {
        self.roles.gates.iter().filter_map(|gate| gate.most_bytes(at, access)).min()
    }

    /// Returns what all gates allow a listing or a search to show.
    pub(super) fn visibility(&self, op: Op<'_>, asked: &Visibility) -> Visibility {
        self.roles.gates.iter().fold(asked.clone(), |visibility, gate| visibility.and(&gate.visibility(op)))
    }

    /// Judges a call with everything that it affects.
    pub(super) async fn examine(&self, op: Op<'_>, depth: Depth, look: Look) -> Result<Findings> {
        let (ask, commands) = self.judge_all(op).await?;
        let mut findings = Findings { ask, commands, ..Findings::default() };
        match op {
            Op::Stat(_) | Op::List(_) | Op::Write(_) | Op::MakeDir(_) | Op::Glob(_) | Op::Grep(_) | Op::Execute(_) => {}
            Op::Read(source) | Op::Change(source) | Op::Copy { from: source, .. } => {
                self.look(op, look, &mut findings).await;
                self.judge_file(op, source, look, &mut findings).await?;
            }
            Op::Remove(source) | Op::Rename { from: source, .. } => {
                self.look(op, look, &mut findings).await;
                let is_tree = findings.source().is_some_and(|entry| entry.is_dir() && entry.link == Link::Direct);
                match (op, is_tree) {
                    (_, true) if depth == Depth::Tree => self.judge_below(op, source, &mut findings).await?,
                    (Op::Rename { .. }, false) => self.judge_file(op, source, look, &mut findings).await?,
                    _ => {}
                }
            }
        }
        Ok(findings)
    }

    /// Finds the entries at the paths. If that fails, the call itself returns the error.
    async fn look(&self, op: Op<'_>, look: Look, findings: &mut Findings) {
        for at in op.paths() {
            findings.there.push(match (look, at.unjudged_presence()) {
                (Look::AsResolved, Presence::Present(entry)) => Some(entry.clone()),
                (Look::AsResolved, Presence::Absent) => None,
                (Look::AsResolved, Presence::Unknown) | (Look::Again, _) => self.inner.stat(at).await.ok(),
            });
        }
    }

    /// Judges the size and the other names of a call's file.
    async fn judge_file(&self, op: Op<'_>, source: &Resolved, look: Look, findings: &mut Findings) -> Result<()> {
        let Some(entry) = findings.source().filter(|entry| is_file_itself(entry)) else { return Ok(()) };
        let size = entry.size.unwrap_or(0);
        self.check_size(op, size)?;
        if look == Look::AsResolved && !source.unjudged_other_names() {
            return Ok(());
        }
        let names = self.inner.other_names(std::slice::from_ref(source)).await?;
        for name in names.into_iter().flatten() {
            let other = Resolved::literal(name);
            self.judge_other_name(source, &other, size, findings).await?;
            findings.other_names.push(other.real);
        }
        Ok(())
    }

    /// Judges the content of a file under another name. The caller must be allowed to read the file under all of its
    /// names; a change or a removal affects only the name in the call.
    pub(super) async fn judge_other_name(
        &self,
        source: &Resolved,
        other: &Resolved,
        size: u64,
        findings: &mut Findings,
    ) -> Result<()> {
        // The gate's error about the other name would disclose that name.
        let (operation, target) = ("read".to_owned(), source.typed.to_string());
        match self.judge(Op::Read(other)).await {
            Ok(None) => {}
            Ok(Some(_)) => {
                let description = "the file has another name that has to be approved".to_owned();
                findings.asks(Some(Refusal::Unapproved { operation, target, description }.into()));
            }
            Err(_) => {
                let description = "the file has another name that the policy protects".to_owned();
                return Err(Refusal::Rule { operation, target, description }.into());
            }
        }
        match self.most_bytes(other, Access::Read) {
            Some(most) => Refusal::check_size(&source.typed, size, most),
            None => Ok(()),
        }
    }

    /// Compares a size with the limits of a call.
    pub(super) fn check_size(&self, op: Op<'_>, size: u64) -> Result<()> {
        for (at, access) in accesses(op) {
            if let Some(most) = self.most_bytes(at, access) {
                Refusal::check_size(&at.typed, size, most)?;
            }
        }
        Ok(())
    }
}

/// Whether an entry is a regular file, not a link to one.
pub(super) fn is_file_itself(entry: &Entry) -> bool {
    entry.is_file() && entry.link == Link::Direct
}

/// Returns the paths whose content a call reads or writes.
fn accesses<'a>(op: Op<'a>) -> impl Iterator<Item = (&'a Resolved, Access)> {
    let (read, write) = match op {
        Op::Stat(_) | Op::List(_) | Op::MakeDir(_) | Op::Remove(_) | Op::Glob(_) | Op::Grep(_) | Op::Execute(_) => {
            (None, None)
        }
        Op::Read(at) => (Some(at), None),
        Op::Write(at) => (None, Some(at)),
        Op::Change(at) => (Some(at), Some(at)),
        Op::Rename { from, to } | Op::Copy { from, to } => (Some(from), Some(to)),
    };
    let read = read.map(|at| (at, Access::Read));
    read.into_iter().chain(write.map(|at| (at, Access::Write)))
}
