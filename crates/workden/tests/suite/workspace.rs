//! Workspaces built in code.

use std::sync::{Arc, Mutex};

use workden::{
    Approvals, Decision, Derive, Error, ErrorKind, MountAccess, Preset, Scope, Verdict, VirtualPath, Workspace,
    core::{Audit, AuditEvent, Caller, search::GrepRequest, text::Replacement},
};

fn in_memory(preset: Preset, approvals: Approvals) -> Workspace {
    Workspace::builder().preset(preset).approvals(approvals).build().unwrap()
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, Error>) -> ErrorKind {
    outcome.unwrap_err().kind()
}

#[tokio::test]
async fn a_preset_holds_over_every_call() {
    let workspace = in_memory(Preset::Permissive, Approvals::none());
    workspace.write("a.md", "one\ntwo\n").await.unwrap();
    workspace.edit("a.md", &[Replacement::once("two", "2")]).await.unwrap();
    assert_eq!(workspace.read("a.md", 0, 10).await.unwrap().text, "     1\tone\n     2\t2");
    for denied in [".env", "secrets/token.txt", "deep/.SSH/id_rsa", "x\ny/.env"] {
        assert_eq!(kind(workspace.write(denied, "x").await), ErrorKind::Denied, "{denied}");
        assert_eq!(kind(workspace.read_bytes(denied).await), ErrorKind::Denied, "{denied}");
        assert_eq!(kind(workspace.copy("a.md", denied).await), ErrorKind::Denied, "{denied}");
        assert_eq!(kind(workspace.rename("a.md", denied).await), ErrorKind::Denied, "{denied}");
        assert!(!workspace.exists(denied).await, "{denied}");
    }
    let found = workspace.grep("/", &GrepRequest::literal("one")).await.unwrap();
    assert_eq!(found.matches, 1);
}

#[tokio::test]
async fn what_asks_is_asked_once_for_a_session_and_names_the_tool() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let approvals = Approvals::asking(move |request| {
        let tool = request.caller.as_ref().map(|caller| caller.tool.clone());
        seen.lock().unwrap().push((request.description.clone(), tool));
        Decision::Approve(Scope::Session)
    });
    let workspace = in_memory(Preset::Default, approvals);
    let caller = Caller { tool: "write_file".to_owned(), arguments: serde_json::json!({ "path": "a.md" }) };
    workspace.on_behalf_of(caller).write("a.md", "text").await.unwrap();
    workspace.write("/a.md", "other text").await.unwrap();
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked, [("Write 4 bytes to `/a.md`".to_owned(), Some("write_file".to_owned()))]);
    let remembered = workspace.approvals().memory().list();
    assert_eq!(remembered.len(), 1);
    assert!(workspace.approvals().memory().revoke(remembered[0].id));
}

#[tokio::test]
async fn without_an_approver_a_question_is_a_refusal_with_a_hint() {
    let workspace = in_memory(Preset::Default, Approvals::none());
    let error = workspace.write("a.md", "text").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ApprovalNeeded);
    assert!(error.to_string().starts_with("cannot write `a.md` without approval"), "{error}");
    assert!(error.hint_text().is_some_and(|hint| hint.contains("it has to be approved first")), "{error}");
}

#[tokio::test]
async fn a_child_has_part_of_what_its_parent_has() {
    let workspace = in_memory(Preset::Permissive, Approvals::none());
    workspace.write("/docs/a.md", "text").await.unwrap();
    workspace.write("/src/b.rs", "code").await.unwrap();
    let place = |typed| vec![VirtualPath::parse(typed).unwrap()];
    let child = workspace.derive(&Derive { allow_read: Some(place("/docs")), ..Derive::default() }).unwrap();
    assert_eq!(child.read_bytes("/docs/a.md").await.unwrap(), "text");
    assert_eq!(kind(child.write("/docs/a.md", "x").await), ErrorKind::ReadOnly);
    assert_eq!(kind(child.read_bytes("/src/b.rs").await), ErrorKind::Denied);
    let listed = child.list("/").await.unwrap();
    assert_eq!(listed.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["/docs"]);
    // A grandchild cannot regain what its parent lost.
    assert!(child.derive(&Derive { allow_write: Some(place("/docs")), ..Derive::default() }).is_err());
    let grandchild = child.derive(&Derive { inherit: true, ..Derive::default() }).unwrap();
    assert_eq!(kind(grandchild.write("/docs/a.md", "x").await), ErrorKind::ReadOnly);
    assert_eq!(grandchild.read_bytes("/docs/a.md").await.unwrap(), "text");
    // A command is not limited to the directories of a child, so that the child has to ask.
    assert!(matches!(workspace.judge_command("make").await, Verdict::Allow));
    assert!(matches!(child.judge_command("make").await, Verdict::Ask(_)));
}

#[derive(Debug, Default)]
struct Records(Mutex<Vec<String>>);

impl Audit for Records {
    fn record(&self, event: &AuditEvent) {
        self.0.lock().unwrap().push(format!("{} {:?}", event.call, event.outcome));
    }
}

#[tokio::test]
async fn records_are_kept_of_what_was_done_and_of_what_was_refused() {
    let records = Arc::new(Records::default());
    let workspace = Workspace::builder().preset(Preset::Readonly).audit(records.clone()).build().unwrap();
    let _ = workspace.read_bytes("/a.md").await;
    let _ = workspace.write("/a.md", "x").await;
    assert_eq!(*records.0.lock().unwrap(), ["read Failed(NotFound)", "write Refused(Denied)"]);
}

#[test]
fn the_blocking_twin_waits_also_within_async_code() {
    let workspace = Workspace::builder().build_blocking().unwrap();
    workspace.write("a.md", "text").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let read = runtime.block_on(async { workspace.read_bytes("a.md") });
    assert_eq!(read.unwrap(), "text");
    assert_eq!(workspace.judge_command("rm -rf /"), Verdict::Allow, "no policy, no gate");
}

#[tokio::test]
async fn relative_paths_start_at_the_working_directory() {
    let workspace = Workspace::builder().work_dir("/area").build().unwrap();
    workspace.write("a.md", "text").await.unwrap();
    assert!(workspace.exists("/area/a.md").await);
    assert_eq!(workspace.read_bytes("../area/./a.md").await.unwrap(), "text");
}

#[test]
fn a_wrong_rule_or_a_missing_directory_is_an_error_when_it_is_built() {
    let rules = workden::policy::Rule::new("[z-a]", workden::Action::Deny);
    let mut ruleset = workden::Ruleset::all(workden::Action::Allow);
    ruleset.read = Some(workden::policy::OperationRules { default: None, rules: vec![rules] });
    assert_eq!(kind(Workspace::builder().rules(ruleset).build().map(|_| ())), ErrorKind::InvalidPattern);
    assert!(Workspace::builder().root("/nonexistent/directory").build().is_err());
    assert!(
        Workspace::builder()
            .mount("/a", "/", MountAccess::ReadWrite)
            .mount("/a/", "/", MountAccess::ReadWrite)
            .build()
            .is_err()
    );
}

#[test]
fn nothing_is_moved_to_or_away_from_where_programs_outside_would_run_it() {
    let place = tempfile::tempdir().unwrap();
    for directory in ["x/hooks", "gits", "y/.gitt", "sub/.git/hooks", "z", "bare"] {
        std::fs::create_dir_all(place.path().join(directory)).unwrap();
    }
    for file in ["x/hooks/pre-commit", "y/.gitt/config", "z/mcp.json", "sub/.git/config", "bare/head.md"] {
        std::fs::write(place.path().join(file), "evil").unwrap();
    }
    let den = Workspace::builder().root(place.path()).build_blocking().unwrap();
    for (from, to) in [
        ("x", ".git"),
        ("x", "gits/.git"),
        ("x/hooks", "sub/.git/hooks"),
        ("y/.gitt", "y/.git"),
        ("z", ".vscode"),
        ("z/mcp.json", ".mcp.json"),
        ("bare/head.md", "bare/HEAD"),
        ("sub/.git", "sub/away"),
        ("sub", "away"),
    ] {
        let refused = den.rename(from, to).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{from} to {to}: {refused}");
        assert!(place.path().join(from).exists() && !place.path().join(to).join("config").exists());
    }
    den.rename("x", "other").unwrap();
}
