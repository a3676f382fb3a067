//! What all gates say of a call together, before anybody is asked.
//!
//! Invariant: a file is judged under every name that it has in the workspace, and a directory that
//! moves or goes is judged with all that is in it. What cannot be seen through is refused.

use super::{Access, Guarded, Op};
use crate::{
    Backend, CompiledVisibility, Completeness, Entry, Error, ErrorKind, Link, NameForm, Refusal, Resolved, Result,
    Sight, Verdict, VirtualPath, Visibility,
    search::{GlobKinds, GlobRequest},
};

/// How much of a directory a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The directory alone.
    One,
    /// All that is in it.
    Tree,
}

/// What was found out about a call.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Why somebody has to be asked, if so.
    pub(super) ask: Option<Error>,
    /// Other names of the file that have a say.
    pub(super) other_names: Vec<VirtualPath>,
    /// What is at the paths of the call, where the call depends on it.
    pub(super) there: Vec<Option<Entry>>,
    /// What is in the directory that the call is about, by path.
    pub(super) below: Vec<Entry>,
}

impl Findings {
    /// Takes note of one more reason to ask; the first is the one that is told.
    fn asks(&mut self, why: Option<Error>) {
        self.ask = self.ask.take().or(why);
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
            Op::Stat(_) | Op::List(_) | Op::MakeDir(_) | Op::Glob(_) | Op::Grep(_) => true,
        }
    }
}

impl<B: Backend> Guarded<B> {
    /// What all gates say of one call: why somebody has to be asked, or the error of the one that
    /// denies.
    async fn judge(&self, op: Op<'_>) -> Result<Option<Error>> {
        let mut strictest = Verdict::Allow;
        for gate in &self.roles.gates {
            strictest = strictest.strictest(gate.judge(op).await);
        }
        match strictest {
            Verdict::Allow => Ok(None),
            Verdict::Ask(why) => Ok(Some(why)),
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
    pub(super) async fn examine(&self, op: Op<'_>, reach: Reach) -> Result<Findings> {
        let mut findings = Findings { ask: self.judge(op).await?, ..Findings::default() };
        match op {
            Op::Stat(_) | Op::List(_) | Op::Write(_) | Op::MakeDir(_) | Op::Glob(_) | Op::Grep(_) => {}
            Op::Read(source) | Op::Change(source) | Op::Copy { from: source, .. } => {
                self.look(op, &mut findings).await;
                self.judge_file(op, source, &mut findings).await?;
            }
            Op::Remove(source) | Op::Rename { from: source, .. } => {
                self.look(op, &mut findings).await;
                let is_tree = findings.source().is_some_and(|entry| entry.is_dir() && entry.link == Link::Direct);
                match (op, is_tree) {
                    (_, true) if reach == Reach::Tree => self.judge_below(op, source, &mut findings).await?,
                    (Op::Rename { .. }, false) => self.judge_file(op, source, &mut findings).await?,
                    _ => {}
                }
            }
        }
        Ok(findings)
    }

    /// Looks at what is there. What cannot be looked at is the call's to refuse.
    async fn look(&self, op: Op<'_>, findings: &mut Findings) {
        for at in op.paths() {
            findings.there.push(self.inner.stat(at).await.ok());
        }
    }

    /// Judges the size of the file that a call is about, and its other names.
    async fn judge_file(&self, op: Op<'_>, source: &Resolved, findings: &mut Findings) -> Result<()> {
        let Some(entry) = findings.source().filter(|entry| is_file_itself(entry)) else { return Ok(()) };
        let size = entry.size.unwrap_or(0);
        self.check_size(op, size)?;
        let names = self.inner.other_names(std::slice::from_ref(source)).await?;
        for name in names.into_iter().flatten() {
            let other = Resolved::literal(name);
            self.judge_other_name(op, source, &other, size, findings).await?;
            findings.other_names.push(other.real);
        }
        Ok(())
    }

    async fn judge_other_name(
        &self,
        op: Op<'_>,
        source: &Resolved,
        other: &Resolved,
        size: u64,
        findings: &mut Findings,
    ) -> Result<()> {
        let under_other = with_source(op, other);
        let operation = op.operations().first().copied().unwrap_or_default().to_owned();
        // What the gate says of the other name would tell that name.
        let target = source.typed.to_string();
        match self.judge(under_other).await {
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
        for (_, access) in accesses(under_other).filter(|(at, _)| *at == other) {
            if let Some(most) = self.most_bytes(other, access) {
                Refusal::check_size(&source.typed, size, most)?;
            }
        }
        Ok(())
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

    /// Judges a call on a directory for each thing in it.
    async fn judge_below(&self, op: Op<'_>, top: &Resolved, findings: &mut Findings) -> Result<()> {
        let everything = GlobRequest { kinds: GlobKinds::Everything, keep: usize::MAX, ..GlobRequest::new("**") };
        let found = self.inner.glob(top, &everything).await?;
        let is_closed = |entry: &Entry| entry.is_dir() && entry.name == NameForm::NotUtf8;
        if found.completeness != Completeness::Complete
            || found.left_out > 0
            || found.skipped.unreadable > 0
            || found.entries.iter().any(is_closed)
        {
            return Err(refused_for_something(op, ErrorKind::Denied, "not all that is in it can be looked at"));
        }
        findings.below = found.entries;
        findings.below.sort_by(|one, other| one.path.cmp(&other.path));
        let seen = self.visibility(Op::List(top), &Visibility::everything()).compile()?;
        let mut files = Vec::new();
        for entry in findings.below.clone() {
            let pair = Child::of(op, top, &entry);
            let judged = match self.judge(pair.op(op)).await {
                Ok(None) => pair.reveals_nothing(op, &seen, &entry).map(|()| None),
                judged => judged,
            };
            let judged = judged.map_err(|why| told_of(op, &seen, &entry, why))?;
            findings.asks(judged.map(|why| told_of(op, &seen, &entry, why)));
            if is_file_itself(&entry) && matches!(op, Op::Rename { .. }) {
                let sized = self.check_size(pair.op(op), entry.size.unwrap_or(0));
                sized.map_err(|why| told_of(op, &seen, &entry, why))?;
                files.push((pair, entry));
            }
        }
        let sources: Vec<Resolved> = files.iter().map(|(pair, _)| pair.from.clone()).collect();
        let names = if sources.is_empty() { Vec::new() } else { self.inner.other_names(&sources).await? };
        for ((pair, entry), names) in files.iter().zip(names) {
            for name in names {
                let other = Resolved::literal(name);
                let judged = self.judge_other_name(pair.op(op), &pair.from, &other, entry.size.unwrap_or(0), findings);
                judged.await.map_err(|why| told_of(op, &seen, entry, why))?;
            }
        }
        Ok(())
    }
}

impl Findings {
    /// What is at the first path of the call.
    pub(super) fn source(&self) -> Option<&Entry> {
        self.there.first().and_then(Option::as_ref)
    }
}

/// One thing in a directory, and where it goes with it.
struct Child {
    from: Resolved,
    to: Option<Resolved>,
}

impl Child {
    fn of(op: Op<'_>, top: &Resolved, entry: &Entry) -> Self {
        let below = entry.path.strip_prefix(&top.real).unwrap_or_else(VirtualPath::root);
        let under = |at: &Resolved| Resolved { typed: below.below(&at.typed), real: below.below(&at.real) };
        Self { from: under(top), to: op.paths().nth(1).map(under) }
    }

    /// The call, of this child.
    fn op(&self, op: Op<'_>) -> Op<'_> {
        match (op, &self.to) {
            (Op::Rename { .. }, Some(to)) => Op::Rename { from: &self.from, to },
            _ => Op::Remove(&self.from),
        }
    }

    /// Makes sure that this does not go to where more of it could be seen.
    fn reveals_nothing(&self, op: Op<'_>, seen: &CompiledVisibility, entry: &Entry) -> Result<()> {
        let Some(to) = &self.to else { return Ok(()) };
        let sights = |path: &VirtualPath| {
            [seen.to_list(path), seen.to_read(path), seen.size_to_read(path, entry.size.unwrap_or(0))]
        };
        match sights(&self.from.real).iter().zip(sights(&to.real)).any(|(before, after)| after < *before) {
            true => {
                let why = "something in it that may not be seen could be seen there";
                Err(refused_for_something(op, ErrorKind::Denied, why))
            }
            false => Ok(()),
        }
    }
}

/// A gate's word on something in a directory: as it is where the thing may be seen, without its name
/// where it may not.
fn told_of(op: Op<'_>, seen: &CompiledVisibility, entry: &Entry, why: Error) -> Error {
    match seen.to_list(&entry.path) {
        Sight::Shown => why,
        Sight::Asks | Sight::Hidden => {
            refused_for_something(op, why.kind(), "the policy does not allow it for something in it")
        }
    }
}

fn refused_for_something(op: Op<'_>, kind: ErrorKind, why: &str) -> Error {
    let paths: Vec<String> = op.paths().map(|at| format!("`{}`", at.typed)).collect();
    let call = op.name();
    Error::new(kind, format!("cannot {call} {}: {why}", paths.join(" to ")))
        .hint(format!("{call} what is allowed, one by one"))
}

/// Whether an entry is a regular file, and no link to one.
fn is_file_itself(entry: &Entry) -> bool {
    entry.is_file() && entry.link == Link::Direct
}

/// The same call on another file.
fn with_source<'a>(op: Op<'a>, source: &'a Resolved) -> Op<'a> {
    match op {
        Op::Stat(_) => Op::Stat(source),
        Op::List(_) => Op::List(source),
        Op::Read(_) => Op::Read(source),
        Op::Write(_) => Op::Write(source),
        Op::Change(_) => Op::Change(source),
        Op::MakeDir(_) => Op::MakeDir(source),
        Op::Remove(_) => Op::Remove(source),
        Op::Rename { to, .. } => Op::Rename { from: source, to },
        Op::Copy { to, .. } => Op::Copy { from: source, to },
        Op::Glob(_) => Op::Glob(source),
        Op::Grep(_) => Op::Grep(source),
    }
}

/// Whose content a call reads or writes.
fn accesses<'a>(op: Op<'a>) -> impl Iterator<Item = (&'a Resolved, Access)> {
    let (read, write) = match op {
        Op::Stat(_) | Op::List(_) | Op::MakeDir(_) | Op::Remove(_) | Op::Glob(_) | Op::Grep(_) => (None, None),
        Op::Read(at) => (Some(at), None),
        Op::Write(at) => (None, Some(at)),
        Op::Change(at) => (Some(at), Some(at)),
        Op::Rename { from, to } | Op::Copy { from, to } => (Some(from), Some(to)),
    };
    let read = read.map(|at| (at, Access::Read));
    read.into_iter().chain(write.map(|at| (at, Access::Write)))
}
