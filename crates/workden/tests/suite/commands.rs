//! Commands of a workspace under a policy, in a real sandbox without isolation.

use std::sync::{Arc, Mutex};

use workden::{
    Approvals, Backend, Decision, Derive, ErrorKind, Preset, Scope, Workspace,
    core::{
        Audit, AuditEvent, Completeness, Sandbox,
        sandbox::{Command, ExecuteRequest, JobRead, Streams},
    },
    denied_files,
    files::memory,
};

use crate::place::Place;

#[tokio::test]
async fn files_and_commands_are_one_place() {
    let place = Place::new();
    let workspace = place.builder().build().unwrap();
    workspace.write("notes.md", "by a call\n").await.unwrap();
    let done = workspace.execute("cat notes.md; echo by a command > made.md", None).await.unwrap();
    assert_eq!((done.output.text().as_str(), done.exit_code()), ("by a call\n", 0));
    assert_eq!(workspace.read_bytes("made.md").await.unwrap(), "by a command\n");
    let job = workspace.start_job("echo from the background").await.unwrap();
    let read = JobRead::from(0).wait(std::time::Duration::from_secs(5));
    assert_eq!(workspace.read_job(&job.id, &read).await.unwrap().text, "from the background\n");
    assert!(place.directory.path().join("notes.md").exists());
}

#[tokio::test]
async fn without_a_sandbox_commands_are_refused_with_a_hint() {
    let workspace = Workspace::builder().build().unwrap();
    for refused in [
        workspace.execute("true", None).await.unwrap_err(),
        workspace.start_job("true").await.unwrap_err(),
        workspace.spawn(Command::Shell("true".into()), Streams::Pipes).await.unwrap_err(),
        workspace.jobs().await.unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert!(refused.to_string().contains("hint: build the workspace with a sandbox"), "{refused}");
    }
}

#[tokio::test]
async fn the_policy_holds_for_commands_however_they_are_started() {
    let place = Place::new();
    let workspace = place.builder().preset(Preset::Permissive).build().unwrap();
    for line in ["cat .env", "sh -c 'cat .env'", "head -n 1 < .env"] {
        let denied = workspace.execute(line, None).await.unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::Denied, "{line}: {denied}");
        assert_eq!(workspace.start_job(line).await.unwrap_err().kind(), ErrorKind::Denied, "{line}");
        let spawned = workspace.spawn(Command::Shell(line.into()), Streams::Pipes).await;
        assert_eq!(spawned.unwrap_err().kind(), ErrorKind::Denied, "{line}");
    }
    let words = ["cat", ".env"].map(str::to_owned).to_vec();
    let spawned = workspace.spawn(Command::Program(words), Streams::Pipes).await.unwrap_err();
    assert_eq!(spawned.kind(), ErrorKind::Denied);
    assert_eq!(workspace.execute("echo fine", None).await.unwrap().output.text(), "fine\n");
}

#[tokio::test]
async fn neither_variables_nor_later_input_are_a_way_around() {
    let place = Place::new();
    let workspace = place.builder().preset(Preset::Permissive).build().unwrap();
    let with = |name: &str| ExecuteRequest::shell("ls").environment([(name, "/tmp/x")]);
    let commands = workspace.commands().unwrap();
    for name in ["LD_PRELOAD", "PATH", "BASH_FUNC_ls%%", "GIT_SSH_COMMAND", "odd.name"] {
        let refused = commands.execute(&with(name)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ApprovalNeeded, "{name}: {refused}");
    }
    assert!(commands.execute(&with("COLOUR")).await.is_ok());
    let shell = || Command::Shell("sh".into());
    let refused = workspace.spawn(shell(), Streams::Pipes).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ApprovalNeeded, "{refused}");
    assert!(commands.execute(&ExecuteRequest::new(shell())).await.is_ok(), "`execute` gives the shell no input");
}

#[tokio::test]
async fn a_directory_that_is_a_link_is_judged_as_what_it_is() {
    let place = Place::new();
    std::fs::create_dir_all(place.directory.path().join("home/.ssh")).unwrap();
    std::os::unix::fs::symlink("home/.ssh", place.directory.path().join("harmless")).unwrap();
    let workspace = place.builder().preset(Preset::Permissive).work_dir("/harmless").build().unwrap();
    let refused = workspace.execute("cat id_rsa", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
}

#[derive(Debug, Default)]
struct Records(Mutex<Vec<AuditEvent>>);

impl Audit for Records {
    fn record(&self, event: &AuditEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

#[tokio::test]
async fn commands_are_asked_about_remembered_and_recorded() {
    let place = Place::new();
    let records = Arc::new(Records::default());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let count = Arc::clone(&asked);
    let approvals = Approvals::asking(move |request| {
        count.lock().unwrap().push(request.clone());
        Decision::Approve(Scope::Session)
    });
    let audit = Arc::clone(&records) as Arc<dyn Audit>;
    let workspace = place.builder().preset(Preset::Default).approvals(approvals).audit(audit).build().unwrap();
    for line in ["mkdir made", "mkdir -p made", "mkdir -p made"] {
        workspace.execute(line, None).await.unwrap();
    }
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "the third was approved already: {asked:?}");
    assert_eq!(asked[0].command.as_ref().unwrap().script, "mkdir made");
    assert_eq!(asked[0].description, "Run `mkdir made` in `/`");
    let records = records.0.lock().unwrap();
    let commands: Vec<_> = records.iter().filter_map(|event| event.command.as_deref()).collect();
    assert_eq!(commands, ["mkdir made", "mkdir -p made", "mkdir -p made"]);
}

#[tokio::test]
async fn a_sub_agent_does_not_find_the_jobs_of_its_parent() {
    let place = Place::new();
    let parent = place.builder().preset(Preset::Permissive).build().unwrap();
    let job = parent.start_job("echo secret").await.unwrap();
    let child = parent.derive(&Derive::default()).unwrap();
    assert_eq!(child.read_job(&job.id, &JobRead::from(0)).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(child.jobs().await.unwrap(), Vec::new());
    assert_eq!(parent.jobs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn other_places_cover_files_and_nothing_is_at_the_root_besides_the_sandbox() {
    let place = Place::new();
    let workspace = place.builder().mount_backend("/memory", memory()).build().unwrap();
    workspace.write("/memory/a", "x").await.unwrap();
    assert!(!place.directory.path().join("memory").exists());
    let refused = place.builder().mount_backend("/", memory()).build().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn denied_files_that_exist_are_found_for_masking() {
    let place = Place::new();
    let root = place.directory.path();
    std::fs::create_dir_all(root.join("app/deep")).unwrap();
    for file in [".env", "app/.env", "app/deep/key.pem", "app/main.rs"] {
        std::fs::write(root.join(file), "x").unwrap();
    }
    std::os::unix::fs::symlink(".env", root.join("link")).unwrap();
    let workspace = place.builder().preset(Preset::Permissive).build().unwrap();
    let files: &dyn Backend = &place.sandbox;
    let at = workspace.working_directory().await.unwrap();
    let found = denied_files(files, &at, workspace.policy(), 100).await.unwrap();
    let paths: Vec<_> = found.paths.iter().map(|path| path.as_str()).collect();
    assert_eq!(paths, ["/.env", "/app/.env", "/app/deep/key.pem"]);
    assert_eq!(found.completeness, Completeness::Complete);
    let some = denied_files(files, &at, workspace.policy(), 2).await.unwrap();
    assert_eq!((some.paths.len(), some.completeness), (2, Completeness::StoppedAtCeiling));
}
