//! Directories that are moved or removed: judged with all of their content, as one call.
//!
//! Invariant: every entry below is judged. If an entry cannot be examined, the whole call is refused, and the refusal
//! does not name hidden entries.

use super::{
    Guarded, Op,
    judging::{Findings, is_file_itself},
};
use crate::{
    Backend, BackendExt, CompiledVisibility, Completeness, Entry, Error, ErrorKind, NameForm, Resolved, Result, Sight,
    VirtualPath, Visibility,
    search::{GlobKinds, GlobRequest, Skipped},
};

impl<B: Backend> Guarded<B> {
    /// Judges a call on a directory for each entry in it.
    pub(super) async fn judge_below(&self, op: Op<'_>, top: &Resolved, findings: &mut Findings) -> Result<()> {
        let everything = GlobRequest { kinds: GlobKinds::Everything, keep: usize::MAX, ..GlobRequest::new("**") };
        let found = self.inner.glob(top, &everything).await?;
        let is_closed = |entry: &Entry| entry.is_dir() && entry.name == NameForm::NotUtf8;
        if found.completeness != Completeness::Complete
            || found.left_out > 0
            || found.skipped != Skipped::default()
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
                let judged = self.judge_other_name(&pair.from, &other, entry.size.unwrap_or(0), findings);
                judged.await.map_err(|why| told_of(op, &seen, entry, why))?;
            }
        }
        Ok(())
    }
}

/// An entry in a directory, and its destination if the directory moves.
struct Child {
    from: Resolved,
    to: Option<Resolved>,
}

impl Child {
    fn of(op: Op<'_>, top: &Resolved, entry: &Entry) -> Self {
        let below = entry.path.strip_prefix(&top.real).unwrap_or_else(VirtualPath::root);
        let under = |at: &Resolved| Resolved::new(below.below(&at.typed), below.below(&at.real));
        Self { from: under(top), to: op.paths().nth(1).map(under) }
    }

    /// Returns the call for this entry.
    fn op(&self, op: Op<'_>) -> Op<'_> {
        match (op, &self.to) {
            (Op::Rename { .. }, Some(to)) => Op::Rename { from: &self.from, to },
            _ => Op::Remove(&self.from),
        }
    }

    /// Refuses a move to a path at which more of the entry could be seen.
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

/// Returns a gate's error about an entry in a directory: unchanged if the entry may be seen, otherwise without its
/// name.
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
