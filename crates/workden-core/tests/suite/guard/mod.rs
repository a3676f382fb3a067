//! Gates, questions, ceilings and records, over files in memory: what all tests of them share.

mod approvals;
mod ceilings;
mod commands;
mod records;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_executor::block_on;
use workden_core::{
    Access, Approval, ApprovalRequest, Approver, Audit, AuditEvent, AuditOutcome, Backend, BackendExt, ByteRange,
    Caller, CommandLine, Content, Error, ErrorKind, ExecutionInput, Expect, Gate, Guarded, IfExists, Judgement, Layer,
    Op, Refusal, Removal, Resolved, Result, Rule, RuleCase, Rules, Sight, SteppingClock, TargetState, Verdict,
    VirtualPath, Visibility,
    search::{GlobRequest, GrepRequest, ListRequest},
    text::{Change, Replacement, TextWindow},
};
use workden_files::StateBackend;

fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

const FILES: &[(&str, &str)] =
    &[("/a.md", "one\ntwo\n"), ("/d/x", "12345"), ("/d/deep/y", "1234567890"), ("/tiny/z", "1")];

fn state() -> StateBackend {
    let files = StateBackend::new(Arc::new(SteppingClock::default()));
    for (typed, content) in FILES {
        block_on(files.write_path(&path(typed), (*content).into(), Expect::Absent)).unwrap();
    }
    files
}

/// A gate with one word on everything below a path, but for looks.
#[derive(Debug)]
struct Says {
    under: &'static str,
    word: fn(Error) -> Verdict,
}

#[async_trait]
impl Gate for Says {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let speaks = op.paths().any(|at| at.real.is_within(&path(self.under)));
        let verdict = match op {
            Op::Stat(_) => Verdict::Allow,
            _ if speaks => (self.word)(Error::new(ErrorKind::ApprovalNeeded, "the gate says so").hint("no")),
            _ => Verdict::Allow,
        };
        verdict.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

fn says(under: &'static str, word: fn(Error) -> Verdict) -> Arc<dyn Gate> {
    Arc::new(Says { under, word })
}

/// A gate with ceilings: so many bytes anywhere, and fewer below `/tiny`.
#[derive(Debug)]
struct Most {
    read: u64,
    write: u64,
}

#[async_trait]
impl Gate for Most {
    async fn judge(&self, _: Op<'_>) -> Judgement {
        Verdict::Allow.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, at: &Resolved, access: Access) -> Option<u64> {
        let most = match access {
            Access::Read => self.read,
            Access::Write => self.write,
        };
        Some(if at.real.is_within(&path("/tiny")) { most.min(1) } else { most })
    }
}

/// Answers as told, after doing something, and keeps the questions.
#[derive(Debug)]
struct Answers {
    answer: Approval,
    meanwhile: Option<(StateBackend, &'static str)>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Answers {
    fn new(answer: Approval) -> Arc<Self> {
        Arc::new(Self { answer, meanwhile: None, asked: Mutex::default() })
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn last(&self) -> ApprovalRequest {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

#[async_trait]
impl Approver for Answers {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        self.asked.lock().unwrap().push(request);
        if let Some((files, typed)) = &self.meanwhile {
            files.write_path(&path(typed), "meanwhile".into(), Expect::Anything).await.unwrap();
        }
        self.answer.clone()
    }
}

/// Makes a call by name, on the files that [`state`] makes.
async fn call(files: &dyn Backend, name: &str) -> Result<()> {
    let at = path("/a.md");
    match name {
        "read" => files.read_bytes(&at).await.map(drop),
        "lines" => files.read_numbered(&at, 0, 5).await.map(drop),
        "list" => files.list_path(&path("/"), &ListRequest::default()).await.map(drop),
        "glob" => files.glob_path(&path("/"), &GlobRequest::new("**")).await.map(drop),
        "grep" => files.grep_path(&path("/"), &GrepRequest::literal("one")).await.map(drop),
        "write" => files.write_path(&at, "new".into(), Expect::Anything).await.map(drop),
        "make" => files.write_path(&path("/new"), "new".into(), Expect::Anything).await.map(drop),
        "directory" => files.make_dir_path(&path("/new")).await,
        "edit" => files.edit(&at, &[Replacement::once("two", "2")]).await.map(drop),
        "remove" => files.remove_path(&at, Removal::One).await,
        "remove a tree" => files.remove_path(&path("/d"), Removal::Tree).await,
        "move" => files.move_path(&at, &path("/b.md"), IfExists::Refuse).await,
        "move a tree" => files.move_path(&path("/d"), &path("/e"), IfExists::Refuse).await,
        "copy" => files.copy_path(&at, &path("/b.md"), IfExists::Refuse).await.map(drop),
        _ => unreachable!("{name}"),
    }
}

const CALLS: &[&str] = &[
    "read",
    "lines",
    "list",
    "glob",
    "grep",
    "write",
    "make",
    "directory",
    "edit",
    "remove",
    "remove a tree",
    "move",
    "move a tree",
    "copy",
];

/// All files and what is in them.
fn all(files: &StateBackend) -> String {
    files.to_json().unwrap()
}
