//! `Guarded`: the one wrapper that enforces rules on any backend.
//!
//! Invariant: every call that touches files is an [`Op`] and passes every [`Gate`] before it reaches the backend; the
//! strictest verdict wins, and the approver is asked last. Searches and listings are not filtered afterwards: the
//! backend evaluates the gates' `Visibility` itself. Neither `resolve` nor the search for a file's names is an `Op`:
//! they open nothing, and the call that uses their answers is judged by the typed and the real path. A command of a
//! guarded sandbox is an `Op`, too: see [`commands`].

mod approval;
mod asking;
mod audit;
mod commands;
mod conflict;
mod describing;
mod excerpt;
mod execution;
mod gate;
mod judging;
mod measures;
mod page;
mod preview;
mod reading;
mod trace;
mod trees;
mod writing;

use std::sync::Arc;

pub use approval::{Approval, ApprovalRequest, Approver, Caller, CommandLine, TargetState};
use async_trait::async_trait;
pub use audit::{Audit, AuditEvent, AuditOutcome};
use commands::OwnJobs;
pub use execution::{Execution, ExecutionInput};
pub use gate::{Access, Gate, Op, OpenGate};
use judging::Depth;
use trace::Trace;

use crate::{
    Attributes, Backend, BackendExt, ByteRange, Changed, Content, Entry, Expect, FileIdentity, HostFiles, IfExists,
    Opened, Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

/// A backend behind gates. A clone has the same gates.
///
/// ```
/// # futures_executor::block_on(async {
/// use std::sync::Arc;
/// use workden_core::{BackendExt, Caller, Expect, Guarded, OpenGate, VirtualPath};
///
/// let files = workden_files::memory();
/// let guarded = Guarded::new(files).gate(Arc::new(OpenGate));
/// let call = Caller { tool: "write_file".to_owned(), arguments: serde_json::json!({ "path": "a.md" }) };
/// guarded.on_behalf_of(call).write_path(&VirtualPath::parse("/a.md")?, "text".into(), Expect::Absent).await?;
/// # Ok::<(), workden_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Guarded<B> {
    inner: B,
    roles: Arc<Roles>,
    caller: Option<Arc<Caller>>,
    /// The approved looks of this tool call.
    granted: Arc<asking::GrantedLooks>,
    own_jobs: Arc<OwnJobs>,
}

/// The gates, the approver and the audits.
#[derive(Clone, Debug, Default)]
struct Roles {
    gates: Vec<Arc<dyn Gate>>,
    approver: Option<Arc<dyn Approver>>,
    audits: Vec<Arc<dyn Audit>>,
}

impl<B: Backend> Guarded<B> {
    /// Wraps a backend, without gates.
    pub fn new(inner: B) -> Self {
        Self { inner, roles: Arc::default(), caller: None, granted: Arc::default(), own_jobs: Arc::default() }
    }

    /// Adds a gate.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        Arc::make_mut(&mut self.roles).gates.push(gate);
        self
    }

    /// Sets the approver. Without one, calls that need approval are refused.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        Arc::make_mut(&mut self.roles).approver = Some(approver);
        self
    }

    /// Adds an audit, which records every call.
    #[must_use]
    pub fn audit(mut self, audit: Arc<dyn Audit>) -> Self {
        Arc::make_mut(&mut self.roles).audits.push(audit);
        self
    }

    /// Returns the same files and rules for the calls of one tool call, which questions and records name. A second look
    /// at the same path asks no second question.
    #[must_use]
    pub fn on_behalf_of(&self, caller: impl Into<Arc<Caller>>) -> Self
    where
        B: Clone,
    {
        Self { caller: Some(caller.into()), granted: Arc::default(), ..self.clone() }
    }

    /// Whether there are no gates.
    fn is_open(&self) -> bool {
        self.roles.gates.is_empty()
    }

    fn trace<'a>(&'a self, op: Op<'a>) -> Trace<'a> {
        Trace::new(op, &self.roles.audits, self.caller.as_deref())
    }
}

/// Makes a call with a trace, which records the outcome.
macro_rules! traced {
    ($guarded:ident, $op:expr, |$trace:ident, $judged:ident| $act:expr) => {{
        let $judged = $op;
        let mut trace = $guarded.trace($judged);
        let outcome = async {
            let $trace = &mut trace;
            $act
        };
        let outcome = outcome.await;
        trace.end(outcome)
    }};
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend> Backend for Guarded<B> {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        // The entry serves the judgement of the next call and is not shown.
        Ok(self.inner.resolve(path, symlink).await?.sealed())
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        traced!(self, Op::Stat(at), |trace, op| {
            self.pass(trace, op, Depth::One).await?;
            self.inner.stat(at).await
        })
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        traced!(self, Op::List(at), |trace, op| {
            self.pass(trace, op, Depth::One).await?;
            let request = ListRequest { visibility: self.visibility(op, &request.visibility), ..request.clone() };
            self.inner.list(at, &request).await
        })
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        traced!(self, Op::Read(at), |trace, _op| self.read_guarded(trace, at, range).await)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        traced!(self, Op::Read(at), |trace, _op| self.read_text_guarded(trace, at, window).await)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        traced!(self, Op::Write(at), |trace, _op| {
            if let Content::Whole(bytes) = &content {
                trace.sized(bytes.len());
            }
            self.write_guarded(trace, at, content, expect).await
        })
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        traced!(self, Op::Change(at), |trace, _op| self.change_guarded(trace, at, change, expect, most).await)
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        traced!(self, Op::MakeDir(at), |trace, op| {
            self.pass(trace, op, Depth::One).await?;
            self.inner.make_dir(at).await
        })
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        let depth = match what {
            Removal::One => Depth::One,
            Removal::Tree => Depth::Tree,
        };
        traced!(self, Op::Remove(at), |trace, op| {
            self.pass(trace, op, depth).await?;
            self.inner.remove(at, what).await
        })
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        traced!(self, Op::Rename { from, to }, |trace, op| {
            self.pass_to(trace, op, if_exists).await?;
            self.inner.rename(from, to, if_exists).await
        })
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        traced!(self, Op::Copy { from, to }, |trace, op| {
            self.pass_to(trace, op, if_exists).await?;
            self.inner.copy(from, to, if_exists).await
        })
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        traced!(self, Op::Glob(at), |trace, op| {
            self.pass(trace, op, Depth::One).await?;
            let request = GlobRequest { visibility: self.visibility(op, &request.visibility), ..request.clone() };
            self.inner.glob(at, &request).await
        })
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        traced!(self, Op::Grep(at), |trace, op| {
            self.pass(trace, op, Depth::One).await?;
            let request = GrepRequest { visibility: self.visibility(op, &request.visibility), ..request.clone() };
            self.inner.grep(at, &request).await
        })
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        self.inner.host_files().map(|_| self as &dyn HostFiles)
    }
}

#[async_trait]
impl<B: Backend> HostFiles for Guarded<B> {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        traced!(self, Op::Read(at), |trace, _op| self.open_guarded(trace, at, most).await)
    }

    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        traced!(self, Op::Stat(at), |trace, op| {
            self.pass(trace, op, Depth::One).await?;
            self.inner.attributes(at, prefix).await
        })
    }

    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        traced!(self, Op::Write(at), |trace, _op| self.set_attributes_guarded(trace, at, attributes).await)
    }

    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        self.inner.other_names(files).await
    }

    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        self.inner.identify(at).await
    }

    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        self.inner.origins().await
    }

    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        self.inner.names_of(files).await
    }
}
