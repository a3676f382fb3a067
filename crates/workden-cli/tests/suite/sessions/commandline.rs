//! `workden sessions` with Linux sandboxes, each call in a new process.

use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::processes::eventually;

pub(crate) struct State(TempDir);

impl State {
    pub(crate) fn new() -> Self {
        Self(tempfile::Builder::new().prefix("wd").tempdir_in("/tmp").unwrap())
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(words).current_dir(self.0.path()).env("XDG_STATE_HOME", self.0.path()).stdin(Stdio::null());
        // There is no daemon, so containers are skipped.
        command.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
        command
    }

    pub(crate) fn workden(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub(crate) fn printed(&self, words: &[&str]) -> String {
        let output = self.workden(words);
        assert!(output.status.success(), "{words:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns a path in the directory of the sessions.
    pub(crate) fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join("workden").join(path)
    }

    /// Counts the sandboxes that have a lease.
    pub(crate) fn leases(&self) -> usize {
        std::fs::read_dir(self.0.path().join("workden/sessions")).map_or(0, Iterator::count)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let listed = self.workden(&["sessions", "list", "--json"]).stdout;
        let sessions: Vec<Value> = serde_json::from_slice(&listed).unwrap_or_default();
        for session in sessions {
            self.workden(&["sessions", "release", session["id"].as_str().unwrap_or_default()]);
        }
    }
}

pub(crate) fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_session_outlives_the_command_line_and_is_found_again() {
    let state = State::new();
    let both: Vec<Child> =
        (0..4).map(|_| state.command(&["sessions", "open", "mine"]).stdout(Stdio::piped()).spawn().unwrap()).collect();
    let answers: Vec<String> = both.into_iter().map(|child| told(&child.wait_with_output().unwrap())).collect();
    assert_eq!(answers.iter().filter(|answer| answer.contains("is open")).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.contains("was open already")).count(), 3, "{answers:?}");
    assert_eq!(state.leases(), 1);

    let ended = state.workden(&["sessions", "exec", "mine", "--", "sh", "-c", "echo x > /tmp/x; echo y > y; exit 4"]);
    assert_eq!(ended.status.code(), Some(4), "{}", told(&ended));
    assert_eq!(
        state.printed(&["run", "--session", "mine", "--env", "A=b", "--", "sh", "-c", "cat /tmp/x; echo $A"]),
        "x\nb\n"
    );
    assert!(
        state.printed(&["tool", "execute", r#"{"command": "cat /tmp/x"}"#, "--yes", "--session", "mine"]).contains('x')
    );
    assert_eq!(state.printed(&["tool", "read_file", r#"{"path": "y"}"#, "--session", "mine"]).trim(), "1\ty");
    assert!(state.printed(&["sessions", "files", "mine"]).contains("y  2 bytes"));
    let file = state.0.path().join("in");
    std::fs::write(&file, "put").unwrap();
    state.printed(&["sessions", "files", "mine", "put", file.to_str().unwrap(), "z"]);
    assert_eq!(state.printed(&["sessions", "files", "mine", "get", "z"]), "put");
    assert!(state.printed(&["sessions", "list"]).contains("mine  linux  -          running"));
    assert_eq!(state.leases(), 1);

    assert_eq!(state.printed(&["sessions", "release", "mine"]), "released mine\n");
    assert_eq!(state.leases(), 0);
    assert!(state.0.path().join("workden/workspaces/mine/workspace/y").exists());
    state.printed(&["sessions", "open", "mine"]);
    assert_eq!(state.printed(&["sessions", "exec", "mine", "--", "cat", "y"]), "y\n");
    let removed = state.printed(&["sessions", "release", "mine", "--purge"]);
    assert_eq!(removed, "released mine, and removed its files\n");
    assert!(!state.0.path().join("workden/workspaces/mine").exists());
    assert_eq!(state.workden(&["sessions", "release", "mine"]).status.code(), Some(1));
}

#[test]
fn a_new_session_that_does_not_work_in_this_directory_says_so() {
    let state = State::new();
    let told_once = told(&state.workden(&["tool", "ls", r#"{"path": "."}"#, "--session", "new"]));
    let note = "note: the session `new` has a directory of its own; to work in this one, add `--root .`";
    assert!(told_once.contains(note), "{told_once}");
    state.printed(&["sessions", "open", "new"]);
    let again = told(&state.workden(&["tool", "ls", r#"{"path": "."}"#, "--session", "new"]));
    assert!(!again.contains("note: "), "{again}");
    state.printed(&["sessions", "release", "new"]);
}

#[test]
fn what_is_idle_ends_and_what_is_used_does_not() {
    let state = State::new();
    state.printed(&["sessions", "open", "idle"]);
    state.printed(&["sessions", "open", "used"]);
    let mut user =
        state.command(&["sessions", "exec", "used", "--", "sh", "-c", "touch up; sleep 900"]).spawn().unwrap();
    eventually("it is not used", || state.at("workspaces/used/workspace/up").exists());
    let would = state.printed(&["sessions", "prune", "--idle", "1ms", "--dry-run"]);
    assert!(would.contains("would remove the session `idle`") && !would.contains("used"), "{would}");
    assert_eq!(state.leases(), 2);
    let pruned = state.printed(&["sessions", "prune", "--idle", "1ms"]);
    assert!(pruned.contains("removed the session `idle`") && !pruned.contains("used"), "{pruned}");
    assert_eq!(state.leases(), 1);
    user.kill().unwrap();
    user.wait().unwrap();
    // The sandbox needs time to notice that its client has disconnected.
    eventually("it is used for ever", || state.printed(&["sessions", "prune", "--idle", "1ms"]).contains("used"));
    assert_eq!(state.leases(), 0);
    assert_eq!(state.printed(&["sessions", "prune"]), "There is nothing to end or remove.\n");
}

#[test]
fn a_session_is_what_it_was_opened_as() {
    let state = State::new();
    state.printed(&["sessions", "open", "mine", "--memory", "256M"]);
    for (words, says) in [
        (
            &["sessions", "open", "mine", "--sandbox", "docker", "--image", "x"][..],
            "is of the kind `linux`, not `docker`",
        ),
        (&["sessions", "open", "mine", "--memory", "512M"], "has `--memory 256M`, not `512M`"),
        (
            &["tool", "execute", r#"{"command": "true"}"#, "--session", "mine", "--memory", "1G"],
            "has `--memory 256M`, not `1G`",
        ),
        (
            &["tool", "execute", r#"{"command": "true"}"#, "--session", "mine", "--env", "A=b"],
            "was made without `--env A`",
        ),
        (&["run", "--session", "mine", "--toolchain", "python", "--", "true"], "was made without `--toolchain python`"),
        (&["run", "--session", "mine", "--net", "host", "--", "true"], "was made without `--net host`"),
        (
            &["run", "--session", "mine", "--mount", "/etc:/x", "--", "true"],
            "`--mount` is not supported with `--session`",
        ),
        (&["sessions", "exec", "none", "--", "true"], "session `none` not found"),
        (&["sessions", "open", "new", "--image", "x"], "`--image` requires `--sandbox docker`"),
        (&["sessions", "open", "new", "--sandbox", "docker"], "needs an `--image` or a `--runtime`"),
        (&["tool", "--session", "mine", "--sandbox", "none"], "`--session` is not supported with `--sandbox none`"),
    ] {
        let output = state.workden(words);
        assert!(!output.status.success() && told(&output).contains(says), "{words:?}: {}", told(&output));
    }
    for not_an_id in ["../x", "", "-x", "a/b"] {
        assert_eq!(state.workden(&["sessions", "open", "--", not_an_id]).status.code(), Some(2), "{not_an_id}");
    }
    // A session that was opened without a policy must not show what the policy denies.
    std::fs::write(state.0.path().join("workden/workspaces/mine/workspace/.env"), "SECRET").unwrap();
    let output = state.workden(&["tool", "execute", r#"{"command": "cat .e*"}"#, "--yes", "--session", "mine"]);
    assert!(told(&output).contains("can read `/workspace/.env`, which is denied"), "{}", told(&output));
    state.printed(&["sessions", "release", "mine"]);
    let output = state.workden(&["tool", "execute", r#"{"command": "cat .e*"}"#, "--yes", "--session", "mine"]);
    assert!(!told(&output).contains("SECRET") && !told(&output).contains("which is denied"), "{}", told(&output));
}

#[test]
fn options_of_a_session_are_those_of_its_commands_and_are_listed() {
    let state = State::new();
    let words = ["--memory", "256M", "--cpus", "1.5", "--pids", "64", "--env", "A=b"];
    state.printed(&[&["sessions", "open", "mine"], &words[..]].concat());
    state.printed(&["sessions", "open", "other"]);
    assert_eq!(state.printed(&["sessions", "exec", "mine", "--", "sh", "-c", "echo $A"]), "b\n");
    let tool = ["tool", "execute", r#"{"command": "echo $A"}"#, "--yes", "--session", "mine"];
    assert_eq!(state.printed(&[&tool[..], &words[..]].concat()), "b\n");
    let table = state.printed(&["sessions", "list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with("  network  limits                   directory"), "{table}");
    let directory = |id: &str| state.at(&format!("workspaces/{id}/workspace")).display().to_string();
    assert!(lines[1].ends_with(&format!("  none     256M, 1.5 cpus, 64 pids  {}", directory("mine"))), "{table}");
    assert!(lines[2].ends_with(&format!("  none     -                        {}", directory("other"))), "{table}");
    let listed: Value = serde_json::from_str(&state.printed(&["sessions", "list", "--json"])).unwrap();
    assert_eq!(listed[0]["limits"], serde_json::json!({"memory": 256 << 20, "cpus": 1.5, "pids": 64}));
    assert_eq!((&listed[0]["network"], &listed[1]["limits"]), (&"none".into(), &serde_json::json!({})));

    assert_eq!(state.workden(&["sessions", "release"]).status.code(), Some(2));
    assert_eq!(state.workden(&["sessions", "release", "--all", "mine"]).status.code(), Some(2));
    assert_eq!(state.printed(&["sessions", "rm", "other"]), "released other\n");
    for alias in ["close", "stop"] {
        let output = state.workden(&["sessions", alias, "other"]);
        assert!(told(&output).contains("session `other` not found"), "{}", told(&output));
    }
    state.printed(&["sessions", "open", "third"]);
    assert_eq!(state.printed(&["sessions", "release", "--all"]), "released mine\nreleased third\n");
    assert_eq!(state.leases(), 0);
    assert_eq!(state.printed(&["sessions", "release", "--all"]), "There are no sessions.\n");
}

#[test]
fn files_and_directories_are_copied_both_ways() {
    let state = State::new();
    let here = state.0.path().join("here");
    std::fs::create_dir_all(here.join("in/sub")).unwrap();
    std::fs::write(here.join("in/a"), "A").unwrap();
    std::fs::write(here.join("in/sub/b"), "B").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", here.join("in/link")).unwrap();
    let files = |words: &[&str]| {
        let all = [&["sessions", "files", "mine"], words].concat();
        state.command(&all).current_dir(&here).output().unwrap()
    };
    let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    state.printed(&["sessions", "open", "mine"]);
    let put = files(&["put", "in", "work"]);
    assert!(
        put.status.success() && told(&put).contains("not copied") && told(&put).contains("`/link`"),
        "{}",
        told(&put)
    );
    assert_eq!(
        state.printed(&["sessions", "exec", "mine", "--", "sh", "-c", "cd work; cat a sub/b; ls"]),
        "ABa\nsub\n"
    );

    // To a new name, over an existing file, into a directory, with a new parent.
    std::fs::write(here.join("old"), "old").unwrap();
    std::fs::create_dir(here.join("there")).unwrap();
    for (destination, found) in
        [("new", "new"), ("old", "old"), ("there", "there/a"), ("there/x", "there/x"), ("made/x", "made/x"), (".", "a")]
    {
        let got = files(&["get", "work/a", destination]);
        assert!(got.status.success() && told(&got).is_empty(), "{destination}: {}", told(&got));
        assert_eq!(read(found), "A", "{destination}");
    }
    for (destination, found) in [("copy", "copy/sub/b"), ("copy", "copy/work/sub/b"), ("./out/", "out/work/sub/b")] {
        let got = files(&["get", "work", destination]);
        assert!(got.status.success(), "{destination}: {}", told(&got));
        assert_eq!(read(found), "B", "{destination}");
    }
    let got = files(&["get", "work"]);
    assert!(!got.status.success() && told(&got).contains("is a directory\nhint: "), "{}", told(&got));
    assert_eq!(told(&files(&["get", "work/a", "-"])), "A");
    // Links of the session lead to its own files.
    state.printed(&["sessions", "exec", "mine", "--", "ln", "-s", "work", "link"]);
    assert_eq!(told(&files(&["put", "new", "link"])), "");
    assert_eq!(state.printed(&["sessions", "exec", "mine", "--", "cat", "work/new"]), "A");
    assert_eq!(files(&["get", "a", "b", "c"]).status.code(), Some(2));
    let missing = files(&["put", "nowhere", "x"]);
    assert_eq!(told(&missing), "error: file `nowhere` not found\n");
}

#[test]
fn a_copy_follows_no_link_that_a_command_made() {
    let state = State::new();
    let (here, outside) = (state.0.path().join("here"), state.0.path().join("outside"));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&outside).unwrap();
    let root = here.to_str().unwrap();
    // The session works in the directory into which its files are copied.
    state.printed(&["sessions", "open", "mine", "--root", root]);
    let script = "mkdir d; echo x > d/f; ln -s ../f d/link; mkfifo d/pipe; ln -s ../outside out; ln -s ../outside/f file; \
                  ln -s d near";
    state.printed(&["sessions", "exec", "mine", "--", "sh", "-c", script]);
    let get = |source: &str, destination: &str| {
        state.command(&["sessions", "files", "mine", "get", source, destination]).current_dir(&here).output().unwrap()
    };
    for (source, destination) in
        [("d", "out"), ("d", "out/x"), ("d/f", "out"), ("d/f", "file"), ("d/f", "out/new"), ("d/f", "near/g")]
    {
        let got = get(source, destination);
        assert_eq!(got.status.code(), Some(1), "{destination}: {}", told(&got));
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    let got = get("d", "copy");
    assert!(told(&got).contains("`/workspace/d/link`, `/workspace/d/pipe`"), "{}", told(&got));
    let copied: Vec<_> =
        std::fs::read_dir(here.join("copy")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(copied, ["f"]);
}

#[test]
fn names_of_files_move_no_cursor_and_fake_no_entries() {
    let state = State::new();
    state.printed(&["sessions", "open", "mine"]);
    let files = state.0.path().join("workden/workspaces/mine/workspace");
    std::fs::write(files.join("a\nforged  1 bytes"), "").unwrap();
    std::fs::write(files.join("b\u{1b}[2J\u{202e}"), "12").unwrap();
    std::fs::create_dir(files.join("c\r")).unwrap();
    assert_eq!(
        state.printed(&["sessions", "files", "mine"]),
        "c\\r/\na\\nforged  1 bytes  0 bytes\nb\\u{1b}[2J\\u{202e}  2 bytes\n"
    );
}
