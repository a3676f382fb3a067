//! The tools of a workspace under a policy, with a real sandbox without isolation.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use workden::{
    Action, Approvals, Decision, ErrorKind, Operation, Policy, Preset, Ruleset, Scope, Workspace,
    core::{Approval, ApprovalRequest, Approver, Audit, AuditEvent, Error},
    files::memory,
    policy::{MountRules, MountTable, OperationRules, Rule},
    tools::{self, CallContext, ExtraTool, Progress, ProgressSink, Toolset, ToolsetOptions},
};

use crate::place::Place;

async fn says(tools: &Toolset, tool: &str, arguments: Value, expected: &str) {
    let answer = tools.call(tool, arguments.clone()).await.unwrap();
    assert_eq!(answer.text, expected, "{tool} {arguments}");
}

fn names(tools: &Toolset) -> Vec<&'static str> {
    tools.names().collect()
}

#[tokio::test]
async fn with_a_sandbox_there_are_eleven_tools() {
    let tools = Place::new().tools();
    let expected = [
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "glob",
        "grep",
        "execute",
        "run_in_background",
        "read_output",
        "kill_shell",
        "list_shells",
    ];
    assert_eq!(names(&tools), expected);
    for (include_execute, include_background, count) in [(true, false, 7), (false, true, 6), (false, false, 6)] {
        let mut options = ToolsetOptions::default();
        (options.include_execute, options.include_background) = (include_execute, include_background);
        let tools = Place::new().builder().build().unwrap().toolset(options).unwrap();
        assert_eq!(names(&tools), expected[..count]);
        let told: String = tools.list().iter().map(|spec| spec.description.as_str()).collect();
        let told = told + &tools.system_prompt();
        for absent in &expected[count..] {
            assert!(!told.contains(absent), "{absent}: {told}");
        }
    }
}

#[tokio::test]
async fn execute_answers_with_output_or_what_went_wrong() {
    let place = Place::new();
    let tools = place.tools();
    let run = |command: &str| json!({ "command": command });
    says(&tools, "execute", run("echo out; echo err >&2; echo out again"), "out\nerr\nout again\n").await;
    says(&tools, "execute", run("true"), "(no output)").await;
    says(&tools, "execute", run("echo no; exit 3"), "Command failed (exit code 3):\nno\n").await;
    says(&tools, "execute", run("exit 1"), "Command failed (exit code 1):\n(no output)").await;
    says(&tools, "execute", run("kill -9 $$"), "Command failed (exit code 137):\n(no output)").await;
    let slow = json!({ "command": "echo started; sleep 60", "timeout": 1 });
    says(&tools, "execute", slow, "Command timed out after 1 seconds (exit code 124):\nstarted\n").await;
    let answer = tools.call("execute", run("echo x; exit 2")).await.unwrap();
    let facts = answer.structured.unwrap();
    assert_eq!((&facts["exit_code"], facts.get("output")), (&json!(2), None), "the text is not repeated");
    // A `cd` lasts as long as its shell.
    tools.call("execute", run("mkdir d && cd d && touch here")).await.unwrap();
    says(&tools, "execute", run("ls"), "d\n").await;
    says(&tools, "ls", json!({ "path": "d" }), "Contents of d:\n  here (0 bytes)").await;
}

#[tokio::test]
async fn a_flood_is_bounded_and_its_rest_can_be_read() {
    let place = Place::new();
    let tools = place.tools();
    let flood = json!({ "command": "echo first; seq 1 400000; echo last" });
    let answer = tools.call("execute", flood).await.unwrap();
    assert!(answer.text.len() < 31_000, "{}", answer.text.len());
    assert!(answer.text.starts_with("first\n1\n") && answer.text.ends_with("\n400000\nlast\n"));
    let note = answer.text.lines().find(|line| line.contains("left out")).unwrap();
    let id = note.split('`').rev().nth(1).unwrap();
    let rest = tools.call("read_output", json!({ "shell_id": id, "offset": 0 })).await.unwrap();
    assert!(rest.text.starts_with(&format!("[{id}] exited (code 0)\nfirst\n1\n")), "{}", &rest.text[..100]);
    assert!(rest.text.ends_with("more bytes; call read_output again)"), "{}", &rest.text[rest.text.len() - 100..]);
}

#[tokio::test]
async fn background_commands_from_start_to_end() {
    let place = Place::new();
    let tools = place.tools();
    says(&tools, "list_shells", json!({}), "No background shells.").await;
    let line = "echo ready; read x < wait; echo done";
    tools.call("execute", json!({ "command": "mkfifo wait" })).await.unwrap();
    let started = tools.call("run_in_background", json!({ "command": line })).await.unwrap();
    let pid = started.structured.unwrap()["pid"].as_u64().unwrap();
    let expected = format!(
        "Started background shell bg_1 (pid {pid}).\nUse read_output('bg_1') to follow its output and \
         kill_shell('bg_1') to stop it."
    );
    assert_eq!(started.text, expected);
    let read = |wait: u64| json!({ "shell_id": "bg_1", "wait": wait });
    says(&tools, "read_output", read(10), "[bg_1] running\nready\n").await;
    says(&tools, "read_output", read(0), "[bg_1] running\n(no new output)").await;
    says(&tools, "list_shells", json!({}), &format!("bg_1  running  {line}")).await;
    tools.call("execute", json!({ "command": "echo go > wait" })).await.unwrap();
    let told = tools.call("read_output", read(10)).await.unwrap().text;
    assert!(told.ends_with("\ndone\n"), "{told}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    says(&tools, "read_output", read(0), "[bg_1] exited (code 0)\n(no new output)").await;
    says(&tools, "list_shells", json!({}), &format!("bg_1  exited(0)  {line}")).await;
    let kill = |id: &str| json!({ "shell_id": id });
    says(&tools, "kill_shell", kill("bg_1"), "Background shell bg_1 was already finished or unknown.").await;
    says(&tools, "kill_shell", kill("bg_9"), "Background shell bg_9 was already finished or unknown.").await;
    let unknown = tools.call("read_output", kill("bg_9")).await.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::NotFound);
    tools.call("run_in_background", json!({ "command": "sleep 600" })).await.unwrap();
    says(&tools, "kill_shell", kill("bg_2"), "Killed background shell bg_2.").await;
    // Another agent reads from the start.
    let other = tools.for_another_agent();
    says(&other, "read_output", json!({ "shell_id": "bg_1" }), "[bg_1] exited (code 0)\nready\ndone\n").await;
}

#[tokio::test]
async fn dropping_a_call_ends_its_command() {
    let place = Place::new();
    let tools = place.tools();
    let call = tools.call("execute", json!({ "command": "sh -c 'echo $$ > pid; exec sleep 600'" }));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let pid = std::fs::read_to_string(place.directory.path().join("pid")).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    let deadline = Instant::now() + Duration::from_secs(10);
    while process.exists() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!process.exists());
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<Progress>>);

impl ProgressSink for Heard {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }
}

#[tokio::test]
async fn who_follows_a_command_hears_of_it() {
    let place = Place::new();
    let tools = place.tools();
    let heard = Arc::new(Heard::default());
    let followed = CallContext::new().progress(Arc::clone(&heard) as Arc<dyn ProgressSink>);
    let slow = json!({ "command": "sleep 2.5; echo done", "timeout": 30 });
    assert_eq!(tools.call_with("execute", slow, followed).await.unwrap().text, "done\n");
    let heard = heard.0.lock().unwrap();
    assert!(heard.len() >= 2, "{heard:?}");
    let in_time = |news: &Progress| match news {
        Progress::Running { elapsed, timeout } => elapsed < timeout && *timeout == Duration::from_secs(30),
        _ => false,
    };
    assert!(heard.iter().all(in_time), "{heard:?}");
}

#[tokio::test]
async fn what_the_policy_denies_is_not_offered_and_not_done() {
    let place = Place::new();
    std::fs::write(place.directory.path().join(".env"), "KEY=secret\n").unwrap();
    std::fs::write(place.directory.path().join("a.txt"), "KEY=open\n").unwrap();
    let tools = |preset| place.builder().preset(preset).build().unwrap().toolset(ToolsetOptions::default()).unwrap();
    let readonly = tools(Preset::Readonly);
    assert_eq!(names(&readonly), ["ls", "read_file", "glob", "grep"]);
    for tool in ["write_file", "execute", "run_in_background", "kill_shell"] {
        let refused = readonly.call(tool, json!({ "path": "x", "content": "", "command": "true" })).await.unwrap_err();
        assert!(refused.text.starts_with(&format!("Error: tool `{tool}` not found")), "{refused}");
    }
    let permissive = tools(Preset::Permissive);
    for (tool, arguments) in [
        ("read_file", json!({ "path": ".env" })),
        ("write_file", json!({ "path": ".env", "content": "" })),
        ("edit_file", json!({ "path": "./.env", "old_string": "secret", "new_string": "x" })),
        ("execute", json!({ "command": "cat .env" })),
        ("run_in_background", json!({ "command": "cat .env" })),
    ] {
        let refused = permissive.call(tool, arguments).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Denied, "{tool}: {refused}");
        assert!(refused.text.starts_with("Error: ") && !refused.text.contains("secret"), "{refused}");
    }
    let found = permissive.call("grep", json!({ "pattern": "KEY", "ignore_hidden": false })).await.unwrap();
    assert_eq!(found.text.lines().count(), 2, "{}", found.text);
    assert!(found.text.ends_with("/a.txt"), "{}", found.text);
}

#[tokio::test]
async fn read_only_mounts_leave_nothing_to_write_with() {
    let at = |typed: &str| workden::VirtualPath::parse(typed).unwrap();
    let mounts = |rules: Vec<MountRules>| Policy::new().with_mounts(MountTable::new(rules).unwrap());
    let tools =
        |policy: Policy| Workspace::builder().policy(policy).build().unwrap().toolset(ToolsetOptions::default());
    let read_only = mounts(vec![MountRules::read_only(at("/input"))]);
    assert!(read_only.denies_everywhere(Operation::Write) && !read_only.denies_everywhere(Operation::Read));
    assert_eq!(names(&tools(read_only).unwrap()), ["ls", "read_file", "glob", "grep"]);
    // Rules for writing do not apply to editing.
    let no_write = Ruleset { write: Some(OperationRules::always(Action::Deny)), ..Ruleset::all(Action::Allow) };
    let no_write = Policy::new().with_rules(&no_write).unwrap();
    assert_eq!(names(&tools(no_write).unwrap()), ["ls", "read_file", "edit_file", "glob", "grep"]);
    let both = mounts(vec![MountRules::read_only(at("/input")), MountRules::read_write(at("/output"))]);
    assert_eq!(names(&tools(both).unwrap()), ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]);
}

#[tokio::test]
async fn what_a_search_passed_over_is_said_in_its_data_as_well() {
    let place = Place::new();
    for name in ["a.md", "a.txt"] {
        std::fs::write(place.directory.path().join(name), "here\n").unwrap();
    }
    let asks = OperationRules { rules: vec![Rule::new("*.txt", Action::Ask)], ..OperationRules::default() };
    let rules =
        Ruleset { read: Some(asks.clone()), glob: Some(asks.clone()), grep: Some(asks), ..Ruleset::all(Action::Allow) };
    let mut options = ToolsetOptions::default();
    options.extra_tools = vec![ExtraTool::ListFiles];
    let tools = place.builder().rules(rules).build().unwrap().toolset(options).unwrap();
    for (tool, pattern) in [("glob", "*"), ("grep", "here"), ("list_files", "*")] {
        let answer = tools.call(tool, json!({ "pattern": pattern })).await.unwrap();
        let data = answer.structured.unwrap();
        assert!(answer.text.contains("1 file skipped"), "{tool}: {}", answer.text);
        assert!(data["note"].as_str().unwrap().contains("1 file skipped"), "{tool}: {data}");
    }
}

#[derive(Debug)]
struct Says(Approval, Mutex<Vec<ApprovalRequest>>);

#[async_trait]
impl Approver for Says {
    async fn approve(&self, request: ApprovalRequest) -> Approval {
        self.1.lock().unwrap().push(request);
        self.0.clone()
    }
}

#[tokio::test]
async fn questions_name_the_tool_and_can_go_to_the_caller() {
    let place = Place::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    let approvals = Approvals::asking(move |request| {
        record.lock().unwrap().push(request.caller.as_ref().unwrap().tool.clone());
        Decision::Approve(Scope::Once)
    });
    let workspace = place.builder().preset(Preset::Default).approvals(approvals).build().unwrap();
    let tools = workspace.toolset(ToolsetOptions::default()).unwrap();
    let write = json!({ "path": "a.txt", "content": "x" });
    tools.call("write_file", write.clone()).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["write_file"]);
    let no = Error::new(ErrorKind::ApprovalNeeded, "the client says no");
    let client = Arc::new(Says(Approval::Refused(no), Mutex::default()));
    let call = CallContext::new().approver(Arc::clone(&client) as Arc<dyn Approver>);
    let refused = tools.call_with("write_file", write.clone(), call).await.unwrap_err();
    assert_eq!(refused.text, "Error: the client says no");
    assert_eq!(client.1.lock().unwrap()[0].caller.as_ref().unwrap().arguments, write);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn one_call_is_one_question_however_often_a_tool_looks() {
    let place = Place::new();
    // One pixel.
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xFF\xFF\xFF,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;";
    std::fs::write(place.directory.path().join("a.gif"), gif).unwrap();
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let approvals = Approvals::asking(move |_| {
        *count.lock().unwrap() += 1;
        Decision::Approve(Scope::Once)
    });
    let workspace = place.builder().preset(Preset::Strict).approvals(approvals).build().unwrap();
    let tools = workspace.toolset(ToolsetOptions::default()).unwrap();
    let image = tools.call("read_file", json!({ "path": "a.gif" })).await.unwrap();
    assert_eq!((image.text.as_str(), image.attachments.len()), ("Image a.gif: image/gif, 1x1 pixels", 1));
    assert_eq!(*asked.lock().unwrap(), 1);
    tools.call("read_file", json!({ "path": "a.gif" })).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), 2);
}

#[tokio::test]
async fn options_can_ask_for_more_approval_than_the_policy() {
    let place = Place::new();
    let mut options = ToolsetOptions::default();
    options.execute_approval = tools::RequireApproval::Always;
    options.write_approval = tools::RequireApproval::Always;
    let tools = place.builder().build().unwrap().toolset(options.clone()).unwrap();
    for (tool, arguments) in [
        ("write_file", json!({ "path": "a.txt", "content": "x" })),
        ("execute", json!({ "command": "true" })),
        ("run_in_background", json!({ "command": "true" })),
    ] {
        let refused = tools.call(tool, arguments).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::ApprovalNeeded, "{tool}: {refused}");
    }
    tools.call("ls", json!({})).await.unwrap();
    let yes = place.builder().approvals(Approvals::approve_all()).build().unwrap().toolset(options).unwrap();
    yes.call("write_file", json!({ "path": "a.txt", "content": "x" })).await.unwrap();
    says(&yes, "execute", json!({ "command": "cat a.txt" }), "x").await;
}

#[derive(Debug, Default)]
struct Records(Mutex<Vec<(String, String)>>);

impl Audit for Records {
    fn record(&self, event: &AuditEvent) {
        self.0.lock().unwrap().push((event.tool.clone().unwrap_or_default(), event.call.clone()));
    }
}

#[tokio::test]
async fn records_name_the_tool() {
    let records = Arc::new(Records::default());
    let workspace = Workspace::builder().audit(Arc::clone(&records) as Arc<dyn Audit>).build().unwrap();
    let tools = workspace.toolset(ToolsetOptions::default()).unwrap();
    tools.call("write_file", json!({ "path": "a", "content": "x" })).await.unwrap();
    tools.call("edit_file", json!({ "path": "a", "old_string": "x", "new_string": "y" })).await.unwrap();
    let records = records.0.lock().unwrap();
    assert_eq!(*records, [("write_file".into(), "write".into()), ("edit_file".into(), "edit".into())]);
}

#[tokio::test]
async fn a_sandbox_with_other_places_mounted_has_commands() {
    let place = Place::new();
    let workspace = place.builder().mount_backend("/notes", memory()).build().unwrap();
    let tools = workspace.toolset(ToolsetOptions::default()).unwrap();
    tools.call("write_file", json!({ "path": "/notes/a.md", "content": "x" })).await.unwrap();
    says(&tools, "ls", json!({ "path": "/notes" }), "Contents of /notes:\n  a.md (1 byte)").await;
    says(&tools, "execute", json!({ "command": "echo here" }), "here\n").await;
}

#[tokio::test]
async fn an_edit_after_a_command_has_changed_the_file_is_stale() {
    let place = Place::new();
    let tools = place.tools();
    tools.call("write_file", json!({ "path": "a.txt", "content": "one\ntwo\n" })).await.unwrap();
    tools.call("execute", json!({ "command": "sed -i s/one/1/ a.txt" })).await.unwrap();
    let edit = json!({ "path": "a.txt", "old_string": "two", "new_string": "2" });
    let refused = tools.call("edit_file", edit.clone()).await.unwrap_err();
    assert!(refused.text.ends_with("(- before, + now):\n-    1\tone\n+    1\t1"), "{refused}");
    tools.call("read_file", json!({ "path": "a.txt" })).await.unwrap();
    tools.call("edit_file", edit).await.unwrap();
    says(&tools, "execute", json!({ "command": "cat a.txt" }), "1\n2\n").await;
}
