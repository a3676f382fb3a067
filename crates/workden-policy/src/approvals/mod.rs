//! Approvals: the source of answers when the policy asks, and the memory of the answers.
//!
//! Invariant: only approvals are remembered, for exactly what was approved; a denial applies once and is forgotten.
//! Remembered approvals can be listed and revoked, and end with the session.

mod decision;
mod memory;

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
pub use decision::{Decision, Scope};
pub use memory::{ApprovalMemory, Remembered, RememberedId};
use workden_core::{Approval, ApprovalRequest, Approver, Error, Refusal};

/// The source of answers: immediate, or as slow as a person.
#[derive(Clone)]
enum Answerer {
    /// None: calls that require approval are refused.
    None,
    /// Everything is approved, once.
    Yes,
    /// Everything is refused.
    No,
    /// A function that answers before it returns.
    Now(Arc<dyn Fn(&ApprovalRequest) -> Decision + Send + Sync>),
    /// A function that answers in the future.
    Later(Arc<dyn Fn(ApprovalRequest) -> Later + Send + Sync>),
}

type Later = Pin<Box<dyn Future<Output = Decision> + Send>>;

/// Answers the questions of a policy, with a memory.
///
/// ```
/// use workden_policy::approvals::{Approvals, Decision, Scope};
///
/// let approvals = Approvals::asking(|request| match request.call.as_str() {
///     "read" => Decision::Approve(Scope::Session),
///     _ => Decision::deny("only reading today"),
/// });
/// assert!(approvals.memory().list().is_empty());
/// ```
#[derive(Clone)]
pub struct Approvals {
    answers: Answerer,
    memory: Arc<ApprovalMemory>,
}

impl Approvals {
    /// Refuses every call that requires approval, and says so.
    #[must_use]
    pub fn none() -> Self {
        Self::with(Answerer::None)
    }

    /// Approves every call that requires approval; denied calls stay denied.
    #[must_use]
    pub fn approve_all() -> Self {
        Self::with(Answerer::Yes)
    }

    /// Refuses every call that requires approval, as the reference library's strict mode does.
    #[must_use]
    pub fn strict() -> Self {
        Self::with(Answerer::No)
    }

    /// Asks a function that answers before it returns. It runs on the thread of the call.
    pub fn asking(answer: impl Fn(&ApprovalRequest) -> Decision + Send + Sync + 'static) -> Self {
        Self::with(Answerer::Now(Arc::new(answer)))
    }

    /// Asks a function that answers in the future.
    pub fn asking_later<F>(answer: impl Fn(ApprovalRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Decision> + Send + 'static,
    {
        Self::with(Answerer::Later(Arc::new(move |request| Box::pin(answer(request)))))
    }

    /// Shares a memory with another instance, for a sub-agent of the same session.
    #[must_use]
    pub fn remembering_in(mut self, memory: Arc<ApprovalMemory>) -> Self {
        self.memory = memory;
        self
    }

    /// Returns the remembered approvals.
    #[must_use]
    pub fn memory(&self) -> &Arc<ApprovalMemory> {
        &self.memory
    }

    fn with(answers: Answerer) -> Self {
        Self { answers, memory: Arc::default() }
    }
}

#[async_trait]
impl Approver for Approvals {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        if self.memory.covers(&request) {
            return Approval::Granted;
        }
        let decision = match &self.answers {
            Answerer::None => return Approval::Refused(unapproved(&request)),
            Answerer::Yes => Decision::Approve(Scope::Once),
            Answerer::No => Decision::deny(format!("Strict mode: {} requires approval", asker(&request))),
            Answerer::Now(answer) => answer(&request),
            Answerer::Later(answer) => answer(request.clone()).await,
        };
        match decision {
            Decision::Approve(scope) => {
                self.memory.remember(&request, scope);
                Approval::Granted
            }
            Decision::Deny { note } => Approval::Refused(Error::from(Refusal::Disapproved {
                operation: request.call.clone(),
                target: target(&request),
                note: note.unwrap_or_default(),
            })),
            Decision::Unanswered { how } => Approval::Refused(unapproved(&request).hint(how)),
        }
    }
}

fn asker(request: &ApprovalRequest) -> &str {
    request.caller.as_ref().map_or(request.call.as_str(), |caller| caller.tool.as_str())
}

fn unapproved(request: &ApprovalRequest) -> Error {
    let refusal = request.refusal.clone().unwrap_or_else(|| Refusal::Unapproved {
        operation: request.call.clone(),
        target: target(request),
        description: String::new(),
    });
    Error::from(refusal)
}

fn target(request: &ApprovalRequest) -> String {
    match &request.command {
        Some(command) => command.script.clone(),
        None => request.paths.iter().map(|path| path.typed.as_str()).collect::<Vec<_>>().join("` to `"),
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = match self.answers {
            Answerer::None => "none",
            Answerer::Yes => "approve all",
            Answerer::No => "strict",
            Answerer::Now(_) => "asking",
            Answerer::Later(_) => "asking later",
        };
        f.debug_struct("Approvals").field("answers", &answers).field("memory", &self.memory).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_executor::block_on;
    use workden_core::{CommandLine, ErrorKind, Resolved, VirtualPath};

    use super::*;

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    fn question(call: &str, at: &str) -> ApprovalRequest {
        ApprovalRequest::new(call, format!("{call} `{at}`"), "it asks").paths(vec![Resolved::literal(path(at))])
    }

    fn command(script: &str, understood: Option<&[&[&str]]>) -> ApprovalRequest {
        let words = |argv: &&[&str]| argv.iter().map(|word| (*word).to_owned()).collect();
        let command = CommandLine {
            script: script.to_owned(),
            directory: path("/workspace/app"),
            understood: understood.map(|all| all.iter().map(words).collect()),
        };
        question("execute", "/").command(command).paths(vec![])
    }

    /// Answers every question with this decision, and counts the questions.
    fn answering(decision: Decision) -> (Approvals, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let approvals = Approvals::asking(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            decision.clone()
        });
        (approvals, asked)
    }

    fn granted(approvals: &Approvals, request: &ApprovalRequest) -> bool {
        block_on(approvals.approve(request.clone())) == Approval::Granted
    }

    #[test]
    fn without_an_answerer_a_call_is_refused_with_a_hint() {
        let Approval::Refused(error) = block_on(Approvals::none().approve(question("write", "/a"))) else { panic!() };
        assert_eq!(error.kind(), ErrorKind::ApprovalNeeded);
        assert!(error.to_string().contains("`/a`") && error.hint_text().is_some(), "{error}");
    }

    #[test]
    fn an_unanswered_question_is_refused_with_its_hint() {
        let (approvals, _) = answering(Decision::Unanswered { how: "ring the bell".to_owned() });
        let Approval::Refused(error) = block_on(approvals.approve(question("write", "/a"))) else { panic!() };
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::ApprovalNeeded, Some("ring the bell")));
        assert!(approvals.memory().list().is_empty());
    }

    #[test]
    fn once_is_once_and_a_session_remembers() {
        let (approvals, asked) = answering(Decision::Approve(Scope::Once));
        assert!(granted(&approvals, &question("read", "/a")) && granted(&approvals, &question("read", "/a")));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        let (approvals, asked) = answering(Decision::Approve(Scope::Session));
        assert!(granted(&approvals, &question("read", "/a")) && granted(&approvals, &question("read", "/a")));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        // Another path, another call, or a link that now leads elsewhere is another question.
        let mut elsewhere = question("read", "/a");
        elsewhere.paths[0].real = path("/b");
        for other in [question("read", "/b"), question("write", "/a"), elsewhere] {
            assert!(granted(&approvals, &other));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn a_denial_is_never_remembered_not_even_as_a_denial() {
        let (approvals, asked) = answering(Decision::deny("not now"));
        let request = question("write", "/a");
        let Approval::Refused(error) = block_on(approvals.approve(request.clone())) else { panic!() };
        assert!(error.to_string().contains("not now"), "{error}");
        assert!(!granted(&approvals, &request));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert!(approvals.memory().list().is_empty());
    }

    #[test]
    fn what_is_remembered_can_be_listed_and_revoked() {
        let (approvals, asked) = answering(Decision::Approve(Scope::Session));
        assert!(granted(&approvals, &question("read", "/a")) && granted(&approvals, &question("read", "/b")));
        let listed = approvals.memory().list();
        assert_eq!(listed.iter().map(|one| one.description.as_str()).collect::<Vec<_>>(), ["read `/a`", "read `/b`"]);
        assert!(approvals.memory().revoke(listed[0].id) && !approvals.memory().revoke(listed[0].id));
        assert!(granted(&approvals, &question("read", "/b")) && granted(&approvals, &question("read", "/a")));
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        approvals.memory().clear();
        assert!(granted(&approvals, &question("read", "/b")));
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn an_empty_memory_that_is_handed_in_is_the_one_that_is_used() {
        let memory = Arc::new(ApprovalMemory::default());
        let (approvals, asked) = answering(Decision::Approve(Scope::Session));
        let approvals = approvals.remembering_in(Arc::clone(&memory));
        assert!(granted(&approvals, &question("read", "/a")));
        assert_eq!(memory.list().len(), 1);
        memory.clear();
        assert!(granted(&approvals, &question("read", "/a")));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_prefix_covers_only_commands_that_were_understood() {
        let scope =
            Scope::CommandPrefix { words: vec!["git".to_owned(), "push".to_owned()], directory: path("/workspace") };
        let (approvals, asked) = answering(Decision::Approve(scope));
        assert!(granted(&approvals, &command("git push origin", Some(&[&["git", "push", "origin"]]))));
        assert!(granted(&approvals, &command("git push fork", Some(&[&["git", "push", "fork"]]))));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        for (script, understood) in [
            ("git push $x", None),
            ("git pull", Some(&[&["git", "pull"] as &[&str]] as &[&[&str]])),
            ("git push && make", Some(&[&["git", "push"], &["make"]])),
            ("", Some(&[])),
        ] {
            asked.store(0, Ordering::Relaxed);
            assert!(granted(&approvals, &command(script, understood)));
            assert_eq!(asked.load(Ordering::Relaxed), 1, "{script}");
        }
        let mut outside = command("git push", Some(&[&["git", "push"]]));
        outside.command.as_mut().unwrap().directory = path("/other");
        asked.store(0, Ordering::Relaxed);
        assert!(granted(&approvals, &outside));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_memory_does_not_grow_for_ever() {
        let (approvals, asked) = answering(Decision::Approve(Scope::Session));
        for n in 0..5_000 {
            assert!(granted(&approvals, &question("read", &format!("/{n}"))));
        }
        assert_eq!(approvals.memory().list().len(), 4_096);
        assert!(granted(&approvals, &question("read", "/4999")) && granted(&approvals, &question("read", "/0")));
        assert_eq!(asked.load(Ordering::Relaxed), 5_001, "the oldest is asked about again");
    }

    #[test]
    fn a_prefix_in_a_directory_does_not_go_to_another() {
        use crate::{Policy, Preset};
        let policy = Policy::new().with_rules(&Preset::Default.ruleset()).unwrap();
        let understood = |script: &str| policy.judge_command(script, &path("/workspace/app")).command_line().understood;
        assert!(understood("git push").is_some() && understood("git -C sub push").is_some());
        for elsewhere in ["git -C /other push", "git -C .. push", "env -C /other git push", "sudo -D / make"] {
            assert_eq!(understood(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_tree_is_asked_about_every_time() {
        let (approvals, asked) = answering(Decision::Approve(Scope::Session));
        let tree = question("delete", "/d").below(3);
        assert!(granted(&approvals, &tree) && granted(&approvals, &tree));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn modes_answer_without_a_person() {
        assert!(granted(&Approvals::approve_all(), &question("write", "/a")));
        let Approval::Refused(error) = block_on(Approvals::strict().approve(question("write", "/a"))) else { panic!() };
        assert!(error.to_string().contains("Strict mode: write requires approval"), "{error}");
        let later = Approvals::asking_later(|request| async move {
            if request.call == "read" { Decision::Approve(Scope::Once) } else { Decision::Deny { note: None } }
        });
        assert!(granted(&later, &question("read", "/a")) && !granted(&later, &question("write", "/a")));
    }
}
