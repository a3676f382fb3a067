//! Every way to build a workspace with a sandbox: a command cannot read what the policy denies, and no file call
//! changes what programs outside run by themselves. This program is also the keeper of its sandboxes.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use workden::{
    ErrorKind, GitFiles, KeeperProgram, Level, MountAccess, Network, PathScope, Preset, Ruleset, SessionSpec,
    UserSessions, Workspace, WorkspaceBuilder,
};

const SECRET: &str = "hunter2";
/// Reads the secret in a way that no rule about command lines detects.
const READ: &str = "for name in .e*; do cat \"$name\"; done\n";

fn main() {
    workden::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        // As the test runner expects: one test, and none that is ignored.
        let listed = if words.iter().any(|word| word == "--ignored") { "" } else { "sandboxed: test\n" };
        return std::io::stdout().write_all(listed.as_bytes()).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        linux_protects_its_root().await;
        linux_protects_directories_of_its_own_options().await;
        mounts_are_one_tree_and_protected().await;
        configured_mounts_are_protected().await;
        sessions_are_protected().await;
        rules_that_are_added_later_are_protected().await;
        denied_changes_are_walls().await;
        denied_changes_are_walls_in_sessions().await;
        rules_are_about_the_paths_of_file_calls().await;
        host_protects_file_calls().await;
        files_alone_are_protected().await;
        protection_is_given_up_by_name_only().await;
        unsupported_options_are_refused_at_build();
        a_sandbox_starts_late_stops_and_starts_again().await;
        another_work_directory().await;
        keepers_are_found_or_named();
    });
}

/// A directory with a secret, a script that reads it, and a repository.
fn project() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join(".git/hooks")).unwrap();
    for (file, content) in [(".env", SECRET), ("read.sh", READ), ("notes.md", "remember\n"), (".git/config", "")] {
        std::fs::write(place.path().join(file), content).unwrap();
    }
    place
}

fn permissive() -> WorkspaceBuilder {
    Workspace::builder().preset(Preset::Permissive)
}

/// Checks that the directory is protected at this path, where both commands and file calls see it.
async fn assert_protected(workspace: &Workspace, at: &str, host: &Path) {
    let read = workspace.execute(&format!("cd {at} && cat notes.md && sh read.sh"), None).await.unwrap();
    assert!(read.output.text().starts_with("remember\n"), "{at}: {read:?}");
    assert!(!read.output.text().contains(SECRET) && read.exit_code() != 0, "{at}: {read:?}");
    assert_names_protected(workspace, at, host).await;
}

async fn assert_names_protected(workspace: &Workspace, at: &str, host: &Path) {
    for name in [".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".mcp.json"] {
        let refused = workspace.write(&format!("{at}/{name}"), "evil").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{at}/{name}: {refused}");
        assert!(std::fs::read_to_string(host.join(name)).unwrap_or_default().is_empty());
    }
    assert_eq!(workspace.read_bytes(&format!("{at}/.env")).await.unwrap_err().kind(), ErrorKind::Denied);
    workspace.write(&format!("{at}/fine.md"), "fine\n").await.unwrap();
    assert_eq!(std::fs::read_to_string(host.join("fine.md")).unwrap(), "fine\n");
}

async fn linux_protects_its_root() {
    let project = project();
    let workspace = permissive().root(project.path()).linux(|s| s.network(Network::None)).build().unwrap();
    assert_protected(&workspace, "/workspace", project.path()).await;
    // In a script, where no rule sees it.
    workspace.write("hook.sh", "echo evil > .git/hooks/pre-commit\n").await.unwrap();
    let hook = workspace.execute("sh hook.sh", None).await.unwrap();
    assert_ne!(hook.exit_code(), 0, "{hook:?}");
    workspace.stop().await.unwrap();
}

async fn linux_protects_directories_of_its_own_options() {
    let (project, data) = (project(), project_at("data"));
    let workspace = permissive().linux(|s| s.root(project.path()).mount("/data", &data.1, MountAccess::ReadWrite));
    let workspace = workspace.build().unwrap();
    assert_protected(&workspace, "/workspace", project.path()).await;
    assert_protected(&workspace, "/data", &data.1).await;
    workspace.stop().await.unwrap();
}

fn project_at(name: &str) -> (TempDir, PathBuf) {
    let place = project();
    let directory = place.path().join(name);
    std::fs::create_dir(&directory).unwrap();
    for file in [".env", "read.sh", "notes.md"] {
        std::fs::copy(place.path().join(file), directory.join(file)).unwrap();
    }
    (place, directory)
}

async fn mounts_are_one_tree_and_protected() {
    let (project, data, given) = (project(), project_at("data"), project_at("given"));
    let workspace = permissive()
        .root(project.path())
        .mount("/data", &data.1, MountAccess::ReadWrite)
        .mount("/given", &given.1, MountAccess::ReadOnly)
        .linux(|s| s)
        .build()
        .unwrap();
    assert_protected(&workspace, "/data", &data.1).await;
    assert_eq!(workspace.write("/given/new", "").await.unwrap_err().kind(), ErrorKind::ReadOnly);
    let written = workspace.execute("echo by a command > /data/made; touch /given/new", None).await.unwrap();
    assert!(written.output.text().contains("Read-only file system"), "{written:?}");
    assert_eq!(workspace.read_bytes("/data/made").await.unwrap(), "by a command\n");
    workspace.stop().await.unwrap();
}

async fn configured_mounts_are_protected() {
    let project = project();
    let text = "extends = \"permissive\"\n[[mounts]]\nat = \"/project\"\ndirectory = \".\"\nmode = \"rw\"\n";
    let config = workden::Config::parse(text).unwrap();
    let workspace = Workspace::builder().config(config, project.path()).linux(|s| s).build().unwrap();
    assert_eq!(workspace.working_directory().await.unwrap().as_str(), "/project");
    assert_protected(&workspace, "/project", project.path()).await;
    workspace.stop().await.unwrap();
}

async fn sessions_are_protected() {
    let (project, state) = (project(), tempfile::tempdir().unwrap());
    let host = workden::HostEnvironment::from_process();
    let sessions = UserSessions::at(state.path().join("state"), host);
    let mut spec = SessionSpec::default();
    spec.root = Some(project.path().canonicalize().unwrap());
    let id: workden::SessionId = "protected".parse().unwrap();
    let record = sessions.planned(&id, &spec).unwrap();
    let workspace = permissive().session(sessions.clone(), id.clone(), record).build().unwrap();
    assert_protected(&workspace, "/workspace", project.path()).await;
    workspace.stop().await.unwrap();
    let managers = sessions.managers(&id).await.unwrap();
    assert!(managers.all[0].look(&id).await.unwrap().is_some(), "a session goes on");
    let other = permissive().session(sessions.clone(), id.clone(), sessions.planned(&id, &spec).unwrap());
    assert_eq!(other.root(state.path()).build().unwrap_err().kind(), ErrorKind::InvalidArgument);
    // A workspace that denies the secret rejects a session that shows it.
    let open: workden::SessionId = "open".parse().unwrap();
    let record = sessions.planned(&open, &spec).unwrap();
    sessions.open(&open, record.clone()).await.unwrap();
    let workspace = permissive().session(sessions.clone(), open.clone(), record).build().unwrap();
    let refused = workspace.execute("true", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    for (manager, id) in [(&managers.all[0], &id), (&managers.all[0], &open)] {
        assert!(manager.release(id).await.unwrap());
    }
}

async fn rules_that_are_added_later_are_protected() {
    let project = project();
    let open = Workspace::builder().root(project.path()).linux(|s| s).build().unwrap();
    let rules = Preset::Permissive.ruleset_in(PathScope::Machine);
    let guarded = open.behind(Some(&rules), None).unwrap();
    assert_protected(&guarded, "/workspace", project.path()).await;
    open.stop().await.unwrap();

    // A sandbox that started without the rules shows the secret, so they allow no command before it starts again.
    drop(guarded);
    assert_eq!(open.execute("cat .env", None).await.unwrap().output.text(), SECRET);
    let guarded = open.behind(Some(&rules), None).unwrap();
    let refused = guarded.execute("true", None).await.unwrap_err();
    assert!(refused.kind() == ErrorKind::Conflict && refused.sentence().contains("/workspace/.env"), "{refused}");
    open.stop().await.unwrap();
    assert_protected(&guarded, "/workspace", project.path()).await;
    open.stop().await.unwrap();
}

/// Changes what it can, in ways that no rule about command lines detects.
const CHANGE: &str = "p=sr; q=c; d=$p$q\n\
    echo evil > $d/a.txt; rm -f $d/a.txt; mv $d moved; echo new > $d/new.txt; mkdir $d/sub; ln $d/a.txt linked\n\
    l=lo; echo evil > x.${l}ck; rm -f x.${l}ck; echo evil > other-name\n\
    echo fine > notes.md; echo fine > out.txt; mkdir -p gen && echo fine > gen/a\n";

/// \"This directory, but `src` read-only\", and a name that nothing may change.
const TWO_LINES: &str = "[rules.write]\n\
    rules = [{ pattern = \"src/**\", action = \"deny\" }, { pattern = \"*.lock\", action = \"deny\" }]\n";

fn project_with_source() -> TempDir {
    let project = project();
    std::fs::create_dir_all(project.path().join("src/deep")).unwrap();
    for file in ["src/a.txt", "src/deep/b.txt", "x.lock"] {
        std::fs::write(project.path().join(file), "kept").unwrap();
    }
    std::fs::hard_link(project.path().join("x.lock"), project.path().join("other-name")).unwrap();
    std::fs::write(project.path().join("change.sh"), CHANGE).unwrap();
    project
}

fn assert_source_kept(project: &Path) {
    let read = |name: &str| std::fs::read_to_string(project.join(name)).unwrap_or_default();
    for name in ["src/a.txt", "src/deep/b.txt", "x.lock", "other-name"] {
        assert_eq!(read(name), "kept", "{name}");
    }
    let names: Vec<_> =
        std::fs::read_dir(project.join("src")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(!project.join("moved").exists() && !project.join("linked").exists());
    // The rest of the project is as writable as before.
    for name in ["notes.md", "out.txt", "gen/a"] {
        assert_eq!(read(name), "fine\n", "{name}");
    }
}

async fn denied_changes_are_walls() {
    let project = project_with_source();
    let config = workden::Config::parse(&format!("extends = \"permissive\"\n{TWO_LINES}")).unwrap();
    let workspace = Workspace::builder().root(project.path()).config(config, "").linux(|s| s).build().unwrap();
    workspace.execute("sh change.sh", None).await.unwrap();
    assert_source_kept(project.path());
    assert_eq!(workspace.write("src/new.txt", "x").await.unwrap_err().kind(), ErrorKind::Denied);
    workspace.stop().await.unwrap();

    // A sandbox that started without the rule cannot run commands under it.
    let open = Workspace::builder().root(project.path()).linux(|s| s).build().unwrap();
    open.execute("true", None).await.unwrap();
    let rules = r#"{"default": "allow", "write": {"rules": [{"pattern": "/workspace/src/**", "action": "deny"}]}}"#;
    let guarded = open.behind(Some(&serde_json::from_str(rules).unwrap()), None).unwrap();
    let refused = guarded.execute("true", None).await.unwrap_err();
    assert!(refused.sentence().ends_with("its commands can change `/workspace/src`"), "{refused}");
    open.stop().await.unwrap();
}

async fn denied_changes_are_walls_in_sessions() {
    let (project, state) = (project_with_source(), tempfile::tempdir().unwrap());
    let sessions = UserSessions::at(state.path().join("state"), workden::HostEnvironment::from_process());
    let mut spec = SessionSpec::default();
    spec.root = Some(project.path().canonicalize().unwrap());
    let id: workden::SessionId = "walls".parse().unwrap();
    let opened = |extends: &str| {
        let record = sessions.planned(&id, &spec).unwrap();
        let config = workden::Config::parse(&format!("extends = \"{extends}\"\n{TWO_LINES}")).unwrap();
        Workspace::builder().config(config, "").session(sessions.clone(), id.clone(), record).build().unwrap()
    };
    opened("permissive").execute("sh change.sh", None).await.unwrap();
    assert_source_kept(project.path());
    let managers = sessions.managers(&id).await.unwrap();
    managers.all[0].release(&id).await.unwrap();
}

async fn rules_are_about_the_paths_of_file_calls() {
    let project = project();
    std::fs::create_dir(project.path().join("secrets")).unwrap();
    std::fs::write(project.path().join("secrets/key"), SECRET).unwrap();
    let rules: Ruleset =
        serde_json::from_str(r#"{"default": "allow", "read": {"default": "allow", "rules": [{"pattern": "/secrets/**", "action": "deny"}]}}"#).unwrap();
    let workspace = Workspace::builder().root(project.path()).rules(rules).linux(|s| s.level(Level::Landlock));
    let workspace = workspace.build().unwrap();
    assert_eq!(workspace.read_bytes("/secrets/key").await.unwrap_err().kind(), ErrorKind::Denied);
    // Without namespaces nothing can be masked, so commands are refused.
    let refused = workspace.execute("sh read.sh", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
}

async fn host_protects_file_calls() {
    let project = project();
    let workspace = permissive().root(project.path()).host(|h| h).build().unwrap();
    let done = workspace.execute("cat notes.md", None).await.unwrap();
    assert_eq!(done.output.text(), "remember\n");
    assert_names_protected(&workspace, "", project.path()).await;
    workspace.stop().await.unwrap();
}

async fn files_alone_are_protected() {
    let project = project();
    let workspace = permissive().root(project.path()).build().unwrap();
    assert_names_protected(&workspace, "", project.path()).await;
}

async fn protection_is_given_up_by_name_only() {
    let project = project();
    let workspace = permissive().root(project.path()).git_files(GitFiles::Writable).linux(|s| s).build().unwrap();
    workspace.write(".git/hooks/pre-commit", "mine").await.unwrap();
    workspace.write("more.sh", "echo more >> .git/config\n").await.unwrap();
    assert_eq!(workspace.execute("sh more.sh", None).await.unwrap().exit_code(), 0);
    workspace.stop().await.unwrap();
}

fn unsupported_options_are_refused_at_build() {
    let project = project();
    let refused = Workspace::builder().root(project.path()).host(|h| h.memory("1G")).build().unwrap_err();
    assert_eq!(refused.sentence(), "`memory` is not supported with a host sandbox");
    let refused = Workspace::builder().root(project.path()).mount("/data", project.path(), MountAccess::ReadOnly);
    let refused = refused.host(|h| h).build().unwrap_err();
    assert!(refused.sentence().starts_with("`mount` is not supported with a host sandbox"), "{refused}");
    assert!(Workspace::builder().linux(|s| s.memory("much")).build().is_err());
    assert!(Workspace::builder().linux(|s| s).host(|h| h).build().is_err());
    let root = Workspace::builder().mount("/", project.path(), MountAccess::ReadWrite).linux(|s| s).build();
    assert!(root.unwrap_err().hint_text().unwrap().contains("/workspace"));
}

async fn a_sandbox_starts_late_stops_and_starts_again() {
    let project = project();
    let workspace = permissive().root(project.path()).linux(|s| s.timeout(std::time::Duration::from_secs(1)));
    let workspace = workspace.build().unwrap();
    assert_eq!(workspace.read_bytes("notes.md").await.unwrap(), "remember\n");
    assert!(!workspace.has_started());
    workspace.start().await.unwrap();
    assert!(workspace.has_started());
    assert_eq!(workspace.execute("sleep 60", None).await.unwrap().exit_code(), 124);
    workspace.stop().await.unwrap();
    assert!(!workspace.has_started());
    assert_eq!(workspace.execute("pwd", None).await.unwrap().output.text(), "/workspace\n");
    workspace.stop().await.unwrap();
}

async fn another_work_directory() {
    let project = project();
    let workspace = permissive().root(project.path()).linux(|s| s.work_dir("/srv/work")).build().unwrap();
    assert_protected(&workspace, "/srv/work", project.path()).await;
    assert_eq!(workspace.execute("pwd", None).await.unwrap().output.text(), "/srv/work\n");
    workspace.stop().await.unwrap();
}

fn keepers_are_found_or_named() {
    let nowhere = workden::HostEnvironment::default();
    assert_eq!(KeeperProgram::find(&nowhere).unwrap(), KeeperProgram::this_program());
}
