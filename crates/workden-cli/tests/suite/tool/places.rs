//! The directories of a workspace and their permissions: the same for tools and for commands.

use serde_json::{Value, json};

use crate::project::Project;

fn text(answer: &Value) -> &str {
    answer["text"].as_str().unwrap()
}

#[test]
fn mounts_are_at_the_same_place_for_tools_and_commands() {
    let project = Project::with_secret();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("data.csv"), "1,2\n").unwrap();
    let mount = |access: &str| format!("/data={}{access}", other.path().display());
    let mut talk = project.jsonl(&["--policy", "permissive", "--mount", &mount(":ro")]);
    let mut call = |tool: &str, args: Value| talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
    assert_eq!(text(&call("read_file", json!({ "path": "/data/data.csv" }))), "     1\t1,2");
    assert_eq!(text(&call("execute", json!({ "command": "cat /data/data.csv" }))), "1,2\n");
    for refused in [
        call("write_file", json!({ "path": "/data/data.csv", "content": "" })),
        call("edit_file", json!({ "path": "/data/data.csv", "old_string": "1", "new_string": "2" })),
    ] {
        assert_eq!((&refused["ok"], &refused["kind"]), (&json!(false), &json!("read_only")), "{refused}");
    }
    let walled = call("execute", json!({ "command": "touch /data/new" }));
    assert!(text(&walled).contains("Read-only file system"), "{walled}");
    drop(talk);
    let mut talk = project.jsonl(&["--policy", "permissive", "--mount", &mount("")]);
    let mut call = |tool: &str, args: Value| talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
    assert_eq!(call("write_file", json!({ "path": "/data/by-tool", "content": "t" }))["ok"], true);
    call("execute", json!({ "command": "cp /data/by-tool /data/by-command" }));
    assert_eq!(std::fs::read_to_string(other.path().join("by-command")).unwrap(), "t");
}

#[test]
fn what_git_would_run_outside_cannot_be_left_behind() {
    let project = Project::with_secret();
    std::fs::create_dir_all(project.at(".git/hooks")).unwrap();
    std::fs::write(project.at(".git/config"), "[core]\n").unwrap();
    std::os::unix::fs::symlink(".git/hooks", project.at("innocent")).unwrap();
    let all = ["--yes", "--policy", "permissive", "--extra-tools", "delete_file,move_file,copy_file"];
    for sandbox in ["linux", "none"] {
        let mut talk = project.jsonl(&[&all[..], &["--sandbox", sandbox]].concat());
        let mut call = |tool: &str, args: Value| talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
        for (tool, args) in [
            ("write_file", json!({ "path": ".git/hooks/pre-commit", "content": "evil" })),
            ("write_file", json!({ "path": "innocent/pre-commit", "content": "evil" })),
            ("write_file", json!({ "path": ".git/config", "content": "evil" })),
            ("edit_file", json!({ "path": ".git/config", "old_string": "[core]", "new_string": "evil" })),
            ("copy_file", json!({ "source": "notes.md", "destination": ".git/hooks/pre-commit" })),
            ("move_file", json!({ "source": "notes.md", "destination": ".git/hooks/pre-commit" })),
        ] {
            let refused = call(tool, args.clone());
            assert_eq!((&refused["ok"], &refused["kind"]), (&json!(false), &json!("read_only")), "{args}: {refused}");
        }
        assert_eq!(call("write_file", json!({ "path": ".git/description", "content": "mine" }))["ok"], true);
    }
    assert_eq!(std::fs::read_dir(project.at(".git/hooks")).unwrap().count(), 0);
    assert_eq!(project.read(".git/config"), "[core]\n");
}

/// Runs git in a directory, as its owner would on the host, and ignores the result.
fn git(directory: &std::path::Path, words: &[&str]) {
    let _ = std::process::Command::new("git").args(words).current_dir(directory).output().unwrap();
}

/// Returns every file below a directory, by name and content.
fn content(directory: &std::path::Path) -> std::collections::BTreeMap<String, String> {
    let mut all = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(content(&entry.path()));
        } else {
            let text = std::fs::read(entry.path()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            all.insert(entry.path().display().to_string(), text.unwrap_or_default());
        }
    }
    all
}

/// A git setting that runs a program on the host: it leaves a file behind.
const EVIL: &str =
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch ran; false\"\n";

#[test]
fn no_file_call_makes_git_or_a_client_run_something() {
    let all = ["--yes", "--policy", "permissive", "--jobs", "1", "--extra-tools", "delete_file,move_file,copy_file"];
    for sandbox in ["linux", "none"] {
        let project = Project::with_secret();
        git(project.path(), &["init", "-q", "."]);
        git(project.path(), &["init", "-q", "sub"]);
        git(project.path(), &["init", "-q", "--bare", "bare"]);
        // One repository behind a symlink, one behind a `.git` file.
        for name in ["linked", "filed"] {
            git(project.path(), &["init", "-q", name]);
            std::fs::rename(project.at(&format!("{name}/.git")), project.at(&format!("{name}/real"))).unwrap();
        }
        std::os::unix::fs::symlink("real", project.at("linked/.git")).unwrap();
        std::fs::write(project.at("filed/.git"), "gitdir: real\n").unwrap();
        let before = content(project.path());

        let mut talk = project.jsonl(&[&all[..], &["--sandbox", sandbox]].concat());
        let mut call = |tool: &str, args: Value| talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
        let mut refuse = |tool: &str, args: Value| {
            let refused = call(tool, args.clone());
            assert_eq!((&refused["ok"], &refused["kind"]), (&json!(false), &json!("read_only")), "{args}: {refused}");
        };
        for file in [
            ".git/commondir",
            ".git/config.worktree",
            ".git/modules/a/config",
            ".git/worktrees/a/commondir",
            "sub/.git/hooks/pre-commit",
            "sub/.git/config",
            "sub/.git/commondir",
            "linked/.git",
            "linked/real/hooks/pre-commit",
            "linked/real/config",
            "linked/real/commondir",
            "filed/.git",
            "filed/real/hooks/pre-commit",
            "filed/real/config",
            "bare/hooks/pre-commit",
            "bare/config",
            "new/.git",
            "new/.git/config",
            "new/.GIT/hooks/pre-commit",
            "new/HEAD",
            ".mcp.json",
            ".cursor/mcp.json",
            ".vscode/mcp.json",
            ".claude/settings.json",
            "deep/down/.claude/settings.local.json",
        ] {
            refuse("write_file", json!({ "path": file, "content": EVIL }));
            refuse("copy_file", json!({ "source": "notes.md", "destination": file }));
            refuse("move_file", json!({ "source": "notes.md", "destination": file }));
        }
        for moved in ["linked/.git", "filed/.git", "bare/HEAD"] {
            refuse("move_file", json!({ "source": moved, "destination": "away" }));
        }
        assert_eq!(content(project.path()), before, "{sandbox}");

        let fine = json!({ "path": ".vscode/extensions.json", "content": "{}" });
        assert_eq!(talk.ask(json!({ "id": 1, "tool": "write_file", "args": fine }))["ok"], true);
    }
}

/// The complete attack: settings beside the repository, and a file in it that names them.
#[test]
fn git_status_outside_runs_nothing_that_file_calls_have_left() {
    for sandbox in ["none", "linux"] {
        let project = Project::with_secret();
        git(project.path(), &["init", "-q", "."]);
        let mut talk = project.jsonl(&["--yes", "--policy", "permissive", "--sandbox", sandbox]);
        let mut write = |path: &str, content: &str| {
            let args = json!({ "path": path, "content": content });
            talk.ask(json!({ "id": 1, "tool": "write_file", "args": args }))["ok"] == true
        };
        assert!(write("evil/config", EVIL) && write("evil/objects/x", "") && write("evil/refs/heads/x", ""));
        assert!(!write(".git/commondir", "../evil\n"));
        git(project.path(), &["status"]);
        assert!(!project.at("ran").exists());
        // Control: the attack works without the sandbox.
        std::fs::write(project.at(".git/commondir"), "../evil\n").unwrap();
        git(project.path(), &["status"]);
        assert!(project.at("ran").exists());
    }
}

#[test]
fn a_git_directory_that_is_mounted_read_only_holds_against_commands_as_well() {
    let project = Project::with_secret();
    git(project.path(), &["init", "-q", "."]);
    let mount = format!("/workspace/.git={}:ro", project.at(".git").display());
    let mut talk = project.jsonl(&["--yes", "--policy", "permissive", "--mount", &mount]);
    let mut call = |tool: &str, args: Value| talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
    let script = "echo ../evil > .git/commondir; rm -rf .git; mv .git away; git status --short | head -n 1";
    let ran = call("execute", json!({ "command": script }));
    assert!(text(&ran).contains("Read-only file system") && text(&ran).contains("?? "), "{ran}");
    assert_eq!(call("write_file", json!({ "path": ".git/index", "content": "" }))["kind"], "read_only");
    assert!(project.at(".git/HEAD").exists() && !project.at(".git/commondir").exists());
}

#[test]
fn a_configuration_brings_its_own_directories() {
    let project = Project::with_secret();
    for directory in ["input", "output"] {
        std::fs::create_dir(project.at(directory)).unwrap();
    }
    std::fs::write(project.at("input/a.md"), "given\n").unwrap();
    let config = "extends = \"permissive\"\n\
                  [[mounts]]\nat = \"/workspace/input\"\ndirectory = \"input\"\nmode = \"ro\"\n\
                  [[mounts]]\nat = \"/workspace/output\"\ndirectory = \"output\"\nmode = \"rw\"\n";
    std::fs::write(project.at("workden.toml"), config).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let config = project.at("workden.toml").display().to_string();
    let mut command = project.command(&["tool", "--jsonl", "--yes", "--config", &config]);
    command.current_dir(elsewhere.path());
    let mut talk = crate::tool::Conversation::with(command);
    let mut call = |tool: &str, args: Value| talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
    assert_eq!(text(&call("read_file", json!({ "path": "/workspace/input/a.md" }))), "     1\tgiven");
    let written = call("write_file", json!({ "path": "/workspace/output/b.md", "content": "made\n" }));
    assert_eq!(written["ok"], true, "{written}");
    assert_eq!(call("write_file", json!({ "path": "/workspace/input/b.md", "content": "" }))["kind"], "read_only");
    assert_eq!(call("write_file", json!({ "path": "/elsewhere/b.md", "content": "" }))["ok"], false);
    let ran = call("execute", json!({ "command": "cat /workspace/input/a.md > /workspace/output/c.md" }));
    assert_eq!(ran["ok"], true, "{ran}");
    assert_eq!((project.read("output/b.md").as_str(), project.read("output/c.md").as_str()), ("made\n", "given\n"));
    let both = project.workden(&["tool", "--config", "workden.toml", "--root", "."]);
    assert!(both.code == Some(2) && both.err.contains("`--root` is not supported with a configuration"), "{both:?}");
}

#[test]
fn files_alone_have_their_root_at_the_top() {
    let project = Project::with_secret();
    let listed = project.tool("ls", &json!({ "path": "/" }), &["--sandbox", "none"]).printed();
    assert!(listed.contains("notes.md"), "{listed}");
    let on_host = project.tool("execute", &json!({ "command": "cat notes.md" }), &["--sandbox", "host", "--yes"]);
    assert_eq!(on_host.printed(), "remember\n");
}

#[test]
fn a_sandbox_that_cannot_start_fails_the_command_and_not_the_files() {
    let project = Project::with_secret();
    let requests = [
        json!({ "id": 1, "tool": "execute", "args": { "command": "true" } }),
        json!({ "id": 2, "tool": "read_file", "args": { "path": "notes.md" } }),
    ];
    let input = requests.map(|line| line.to_string() + "\n").concat();
    std::fs::write(project.at("requests"), input).unwrap();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" tool --jsonl --yes --jobs 1 < requests";
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_workden")])
        .current_dir(project.path())
        .output()
        .unwrap();
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(answers[0]["ok"] == false && text(&answers[0]).contains("--sandbox host"), "{}", answers[0]);
    assert!(text(&answers[0]).contains("workden doctor"), "{}", answers[0]);
    assert_eq!(answers[1]["ok"], true);
}
