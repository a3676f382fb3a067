//! The judgement of all gates on a call, before the approver is asked.
//!
//! Invariant: a file is judged under every name that it has in the workspace, and a directory that
//! moves or goes is judged with all that is in it. What cannot be seen through is refused.

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
    /// All that is in it.
    Tree,
}

/// How what is at a path is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// By what `resolve` saw, and by another look only where that says nothing: right before the call.
    AsResolved,
    /// By another look: time has passed since `resolve`.
    Again,
}

/// What was found out about a call.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Why the call has to be approved, if so.
    pub(super) ask: Option<Error>,
    /// The commands that an approval would be for; see [`Judgement::commands`].
    pub(super) commands: Option<Vec<Vec<String>>>,
    /// Other names of the file that have a say.
    pub(super) other_names: Vec<VirtualPath>,
    /// What is at the paths of the call, where the call depends on it.
    pub(super) there: Vec<Option<Entry>>,
    /// What is in the directory that the call is about, by path.
    pub(super) below: Vec<Entry>,
    /// What a write or an edit would replace, where it has to be approved.
    pub(super) replaced: Option<TargetState>,
}

impl Findings {
    /// Takes note of one more reason to ask; the first is the one that is told.
    pub(super) fn asks(&mut self, why: Option<Error>) {
        self.ask = self.ask.take().or(why);
    }

    /// What is at the first path of the call.
    pub(super) fn source(&self) -> Option<&Entry> {
        self.there.first().and_then(Option::as_ref)
    }

    /// Adds what was found out about another demand of the same call.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.asks(other.ask);
        self.other_names.extend(other.other_names);
        self
    }

    /// Whether what a call would be done to is still what it was.
    pub(super) fn still_holds(&self, op: Op<'_>, now: &Self) -> bool {
        match op {
            Op::Remove(_) | Op::Rename { .. } | Op::Copy { .. } => self.there == now.there && self.below == now.below,
            // What is approved is to look into this file, however it grows; a change has a version.
            Op::Read(_) | Op::Change(_) | Op::Write(_) => {
                let what = |entry: &Option<Entry>| entry.as_ref().map(|entry| (entry.kind, entry.link));
                self.there.iter().map(what).eq(now.there.iter().map(what))
            }
            Op::Stat(_) | Op::List(_) | Op::MakeDir(_) | Op::Glob(_) | Op::Grep(_) | Op::Execute(_) => true,
        }
    }
}

impl<B: Backend> Guarded<B> {
    /// What all gates say of one call: why it has to be approved, or the error of the gate that denies.
    pub(super) async fn judge(&self, op: Op<'_>) -> Result<Option<Error>> {
        Ok(self.judge_all(op).await?.0)
    }

    /// The same, with the commands that an approval would be for.
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

    /// The largest file that all gates allow at a path.
    pub(super) fn most_bytes(&self, at: &Resolved, access: Access) -> Option<u64> {
        self.roles.gates.iter().filter_map(|gate| gate.most_bytes(at, access)).min()
    }

    /// What all gates let a listing or a search show.
    pub(super) fn visibility(&self, op: Op<'_>, asked: &Visibility) -> Visibility {
        self.roles.gates.iter().fold(asked.clone(), |visibility, gate| visibility.and(&gate.visibility(op)))
    }

    /// Judges a call with all that it touches.
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

    /// Looks at what is there. What cannot be looked at is the call's to refuse.
    async fn look(&self, op: Op<'_>, look: Look, findings: &mut Findings) {
        for at in op.paths() {
            findings.there.push(match (look, at.unjudged_presence()) {
                (Look::AsResolved, Presence::Present(entry)) => Some(entry.clone()),
                (Look::AsResolved, Presence::Absent) => None,
                (Look::AsResolved, Presence::Unknown) | (Look::Again, _) => self.inner.stat(at).await.ok(),
            });
        }
    }

    /// Judges the size of the file that a call is about, and its other names.
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

    /// Judges the content of a file under another name. The caller must be allowed to read it
    /// under all of them; what is changed or removed is changed under the one name that was used.
    pub(super) async fn judge_other_name(
        &self,
        source: &Resolved,
        other: &Resolved,
        size: u64,
        findings: &mut Findings,
    ) -> Result<()> {
        // What the gate says of the other name would tell that name.
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

    /// Holds a size against the ceilings of a call.
    pub(super) fn check_size(&self, op: Op<'_>, size: u64) -> Result<()> {
        for (at, access) in accesses(op) {
            if let Some(most) = self.most_bytes(at, access) {
                Refusal::check_size(&at.typed, size, most)?;
            }
        }
        Ok(())
    }
}

/// Whether an entry is a regular file, and no link to one.
pub(super) fn is_file_itself(entry: &Entry) -> bool {
    entry.is_file() && entry.link == Link::Direct
}

/// Whose content a call reads or writes.
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
