//! `Guarded`: the one wrapper that holds rules over any backend.
//!
//! Invariant: every call that touches files is an [`Op`] and passes every [`Gate`] before it
//! reaches the backend; the strictest verdict wins. Searches and listings are not filtered
//! afterwards: the gates' `Visibility` goes with the request to where the files are.
//! `resolve` alone is no `Op`: it opens nothing, and what it returns is judged at the call that
//! uses it, as typed and as real.

mod approval;
mod audit;
mod gate;

use std::sync::Arc;

pub use approval::{Approval, ApprovalRequest, Approver, Caller, CommandLine};
use async_trait::async_trait;
pub use audit::{Audit, AuditEvent, AuditOutcome};
pub use gate::{Access, Gate, Op, OpenGate};

use crate::{
    Backend, ByteRange, Changed, Content, Entry, Error, ErrorKind, Existing, Expect, Last, Link, Removal, Resolved,
    Result, Slice, Verdict, VirtualPath, Visibility, Written,
    search::{Completeness, GlobKinds, GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

/// A backend behind gates.
#[derive(Clone, Debug)]
pub struct Guarded<B> {
    inner: B,
    roles: Arc<Roles>,
    caller: Option<Arc<Caller>>,
}

/// Who has a say, and who keeps records.
#[derive(Clone, Debug, Default)]
struct Roles {
    gates: Vec<Arc<dyn Gate>>,
    approver: Option<Arc<dyn Approver>>,
    audits: Vec<Arc<dyn Audit>>,
}

impl<B: Backend> Guarded<B> {
    /// A backend that nobody guards yet.
    pub fn new(inner: B) -> Self {
        Self { inner, roles: Arc::default(), caller: None }
    }

    /// Adds a gate.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        Arc::make_mut(&mut self.roles).gates.push(gate);
        self
    }

    /// Says who is asked. Without anybody, what would have to be asked is refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        Arc::make_mut(&mut self.roles).approver = Some(approver);
        self
    }

    /// Adds somebody who keeps records.
    #[must_use]
    pub fn audit(mut self, audit: Arc<dyn Audit>) -> Self {
        Arc::make_mut(&mut self.roles).audits.push(audit);
        self
    }

    /// The same files and rules for the calls of one tool call, which questions and records name.
    #[must_use]
    pub fn on_behalf_of(&self, caller: Caller) -> Self
    where
        B: Clone,
    {
        Self { caller: Some(Arc::new(caller)), ..self.clone() }
    }

    async fn pass(&self, op: Op<'_>) -> Result<()> {
        let mut strictest = Verdict::Allow;
        for gate in &self.roles.gates {
            strictest = strictest.strictest(gate.judge(op).await);
        }
        match strictest {
            Verdict::Allow => Ok(()),
            Verdict::Ask(why) | Verdict::Deny(why) => Err(why),
        }
    }

    /// Makes sure that a directory is not moved to where more of it could be seen: the gates have
    /// judged its own path, not those of what is in it.
    async fn reveals_nothing(&self, from: &Resolved, to: &Resolved) -> Result<()> {
        let visibility = self.visibility(Op::List(from), &Visibility::everything()).compile()?;
        let is_tree = |entry: Entry| entry.is_dir() && entry.link == Link::Direct;
        // What cannot be looked at is the move's to refuse.
        if visibility.shows_everything() || !self.inner.stat(from).await.is_ok_and(is_tree) {
            return Ok(());
        }
        let all = GlobRequest { kinds: GlobKinds::Everything, keep: usize::MAX, ..GlobRequest::new("**") };
        let found = self.inner.glob(from, &all).await?;
        let refused = |why: &str| {
            Error::new(ErrorKind::Denied, format!("cannot move `{}` to `{}`: {why}", from.typed, to.typed))
                .hint("move what may be seen, one by one")
        };
        if found.completeness != Completeness::Complete {
            return Err(refused("it holds too much to see whether all of it may be moved"));
        }
        let sights = |path: &VirtualPath, size: Option<u64>| {
            [visibility.to_list(path), visibility.to_read(path), visibility.size_to_read(path, size.unwrap_or(0))]
        };
        let is_revealed = |entry: &Entry| {
            let moved = entry.path.strip_prefix(&from.real).unwrap_or_else(VirtualPath::root).below(&to.real);
            let (before, after) = (sights(&entry.path, entry.size), sights(&moved, entry.size));
            before.iter().zip(after).any(|(before, after)| after < *before)
        };
        match found.entries.iter().any(is_revealed) {
            true => Err(refused("something in it that may not be seen could be seen there")),
            false => Ok(()),
        }
    }

    fn visibility(&self, op: Op<'_>, asked: &Visibility) -> Visibility {
        self.roles.gates.iter().fold(asked.clone(), |visibility, gate| visibility.and(&gate.visibility(op)))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend> Backend for Guarded<B> {
    async fn resolve(&self, path: &VirtualPath, last: Last) -> Result<Resolved> {
        self.inner.resolve(path, last).await
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.pass(Op::Stat(at)).await?;
        self.inner.stat(at).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.pass(Op::List(at)).await?;
        let request = ListRequest { visibility: self.visibility(Op::List(at), &request.visibility), ..request.clone() };
        self.inner.list(at, &request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        self.pass(Op::Read(at)).await?;
        self.inner.read(at, range).await
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.pass(Op::Read(at)).await?;
        self.inner.read_text(at, window).await
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        self.pass(Op::Write(at)).await?;
        self.inner.write(at, content, expect).await
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect) -> Result<Changed> {
        self.pass(Op::Change(at)).await?;
        self.inner.change(at, change, expect).await
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.pass(Op::MakeDir(at)).await?;
        self.inner.make_dir(at).await
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.pass(Op::Remove(at)).await?;
        self.inner.remove(at, what).await
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<()> {
        self.pass(Op::Rename { from, to }).await?;
        self.reveals_nothing(from, to).await?;
        self.inner.rename(from, to, existing).await
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<Written> {
        self.pass(Op::Copy { from, to }).await?;
        self.inner.copy(from, to, existing).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.pass(Op::Glob(at)).await?;
        let request = GlobRequest { visibility: self.visibility(Op::Glob(at), &request.visibility), ..request.clone() };
        self.inner.glob(at, &request).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.pass(Op::Grep(at)).await?;
        let request = GrepRequest { visibility: self.visibility(Op::Grep(at), &request.visibility), ..request.clone() };
        self.inner.grep(at, &request).await
    }
}
