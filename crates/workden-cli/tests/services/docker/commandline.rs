//! Containers from the command line: `run`, `tool` and `mcp` with `--sandbox docker`, and sessions in containers.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    docker::places::{BUSYBOX, docker, unique},
    processes::{ended, eventually},
};

/// A directory to work in, and one for the records of sessions.
struct Place {
    work: TempDir,
    state: TempDir,
}

impl Place {
    fn new() -> Self {
        let state = tempfile::Builder::new().prefix("wd").tempdir_in("/tmp").unwrap();
        Self { work: tempfile::tempdir().unwrap(), state }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(words).current_dir(self.work.path()).env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn workden(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().unwrap()
    }

    fn printed(&self, words: &[&str]) -> String {
        let output = self.workden(words);
        assert!(output.status.success(), "{words:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, options: &[&str], command: &[&str]) -> Output {
        self.workden(&[&["run", "--sandbox", "docker", "--image", BUSYBOX], options, &["--"], command].concat())
    }

    /// Returns the containers that mount this directory.
    fn containers(&self) -> String {
        docker(&["ps", "-aq", "--filter", &format!("volume={}", self.work.path().display())])
    }
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

#[test]
fn a_command_in_a_container_has_its_streams_its_exit_code_and_what_it_was_given() {
    let place = Place::new();
    fs::write(place.work.path().join("here"), "mine").unwrap();
    let ended = place.run(&[], &["sh", "-c", "cat here; echo made > new; echo oops >&2; exit 3"]);
    assert_eq!(ended.status.code(), Some(3), "{}", told(&ended));
    assert_eq!((ended.stdout.as_slice(), ended.stderr.as_slice()), (&b"mine"[..], &b"oops\n"[..]));
    assert_eq!(fs::read_to_string(place.work.path().join("new")).unwrap(), "made\n");

    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("x"), "data").unwrap();
    let mount = format!("{}:/data:ro", data.path().display());
    let given = place.run(
        &["--env", "MODE=test", "--mount", &mount, "--memory", "64M", "--cpus", "1", "--pids", "30"],
        &["sh", "-c", "echo $MODE; cat /data/x; touch /data/y || echo; tail -n +3 /proc/net/dev | wc -l"],
    );
    assert_eq!(String::from_utf8_lossy(&given.stdout), "test\ndata\n1\n", "{}", told(&given));

    let mut fed = place.command(&["run", "--sandbox", "docker", "--image", BUSYBOX, "--", "cat"]);
    let mut fed = fed.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    fed.stdin.take().unwrap().write_all(b"passed on").unwrap();
    assert_eq!(fed.wait_with_output().unwrap().stdout, b"passed on");

    let ran = place.run(&["--json", "--isolation"], &["sh", "-c", "echo j; exit 2"]);
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&json["output"], &json["exit_code"]), (&"j\n".into(), &2.into()));
    assert_eq!(json["isolation"]["level"], "container");
    assert_eq!(place.run(&["--timeout", "300ms"], &["sleep", "60"]).status.code(), Some(124));
    assert_eq!(place.run(&[], &["no-such-program"]).status.code(), Some(127));
    assert_eq!(place.containers(), "");
}

#[test]
fn an_interrupted_command_leaves_no_container() {
    let place = Place::new();
    let script = "touch started; sleep 60";
    let mut running = place.command(&["run", "--sandbox", "docker", "--image", BUSYBOX, "--", "sh", "-c", script]);
    let mut running = running.stdin(Stdio::null()).spawn().unwrap();
    eventually("it does not start", || place.work.path().join("started").exists());
    assert_ne!(place.containers(), "");
    interrupt(&running);
    assert_eq!(ended(&mut running).code(), Some(130));
    assert_eq!(place.containers(), "");
    // Also at any moment of the start.
    for milliseconds in [30, 100, 200, 300] {
        let mut starting = place.command(&["run", "--sandbox", "docker", "--image", BUSYBOX, "--", "sleep", "60"]);
        let mut starting = starting.stdin(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        interrupt(&starting);
        ended(&mut starting);
        assert_eq!(place.containers(), "", "{milliseconds}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let place = Place::new();
    for (words, says) in [
        (&["run", "--sandbox", "docker", "--", "true"][..], "needs an `--image` or a `--runtime`"),
        (&["run", "--sandbox", "docker", "--image", "a", "--runtime", "b", "--", "true"], "leave out one of them"),
        (&["run", "--image", "a", "--", "true"], "`--image` requires `--sandbox docker`"),
        (&["run", "--net", "bridge", "--", "true"], "`--net bridge` requires `--sandbox docker`"),
        (
            &["run", "--sandbox", "docker", "--image", "a", "--level", "landlock", "--", "true"],
            "`--level` is not supported",
        ),
        (
            &["run", "--sandbox", "docker", "--image", "a", "--toolchain", "go", "--", "true"],
            "`--toolchain` is not supported",
        ),
        (&["tool", "--sandbox", "docker"], "needs an `--image` or a `--runtime`"),
        (&["tool", "--runtime", "python-web"], "`--runtime` requires `--sandbox docker`"),
        (&["tool", "--sandbox", "docker", "--image", "a", "--toolchain", "go"], "`--toolchain` is not supported"),
    ] {
        let output = place.workden(words);
        let complaint = told(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {complaint}");
        assert!(complaint.contains(says), "{words:?}: {complaint}");
    }
}

#[test]
fn what_the_policy_denies_is_hidden_from_commands_and_what_git_runs_cannot_be_written() {
    let place = Place::new();
    let at = |path: &str| place.work.path().join(path);
    fs::create_dir_all(at(".git/hooks")).unwrap();
    fs::create_dir_all(at("deep/er")).unwrap();
    for (file, content) in [(".git/HEAD", ""), (".git/config", "x"), (".env", "SECRET=1"), ("deep/er/.env", "SECRET=2")]
    {
        fs::write(at(file), content).unwrap();
    }
    let script = "cat .e* deep/er/.e*; echo x > .git/hooks/x; echo y > .git/config; mv .git other; mv deep away; \
                  for f in .e*; do rm -f $f; done; echo fine > new; ls -a";
    let arguments = serde_json::json!({ "command": script }).to_string();
    let output = place.workden(&["tool", "execute", &arguments, "--yes", "--sandbox", "docker", "--image", BUSYBOX]);
    let text = told(&output);
    assert!(!text.contains("SECRET"), "{text}");
    assert!(text.contains("Read-only file system") && text.contains("new"), "{text}");
    assert!(!at(".git/hooks/x").exists() && at("deep/er/.env").exists() && at("new").exists());
    assert_eq!(fs::read_to_string(at(".git/config")).unwrap(), "x");
    assert_eq!(fs::read_to_string(at(".env")).unwrap(), "SECRET=1");
    assert_eq!(place.containers(), "");
}

#[test]
fn mcp_runs_commands_in_a_container_and_leaves_none() {
    let place = Place::new();
    let options = ["mcp", "--sandbox", "docker", "--image", BUSYBOX, "--yes"];
    let mut server = place.command(&options).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"command":"ls /bin/busybox; touch ran"}}}"#,
    ];
    let mut input = server.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    eventually("the command does not run", || place.work.path().join("ran").exists());
    drop(input);
    let output = server.wait_with_output().unwrap();
    assert!(told(&output).contains("/bin/busybox"), "{}", told(&output));
    assert_eq!(place.containers(), "");
}

#[test]
fn a_session_in_a_container_is_found_again_by_other_processes() {
    let place = Place::new();
    let id = unique("kept");
    let container = ["--sandbox", "docker", "--image", BUSYBOX];
    let open = [&["sessions", "open", &id][..], &container].concat();
    // Two processes at a time open the same session.
    let both: Vec<Child> = (0..2).map(|_| place.command(&open).stdout(Stdio::piped()).spawn().unwrap()).collect();
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
    }
    assert!(place.printed(&open).contains("was open already"));
    let line = ["sessions", "exec", &id, "--", "sh", "-c", "echo kept > /tmp/x; echo file > y; exit 5"];
    assert_eq!(place.workden(&line).status.code(), Some(5));
    let again =
        [&["run"][..], &container, &["--session", &id, "--env", "A=b", "--", "sh", "-c", "cat /tmp/x; echo $A"]];
    assert_eq!(place.printed(&again.concat()), "kept\nb\n");
    let arguments = r#"{"command": "cat /tmp/x"}"#;
    let tool = [&["tool", "execute", arguments, "--yes", "--session", &id][..], &container].concat();
    assert!(place.printed(&tool).contains("kept"));
    assert!(place.printed(&["sessions", "files", &id]).contains("y  5 bytes"));
    assert_eq!(place.printed(&["sessions", "files", &id, "get", "y"]), "file\n");

    let sessions: Value = serde_json::from_str(&place.printed(&["sessions", "list", "--json"])).unwrap();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert_eq!((&sessions[0]["kind"], &sessions[0]["state"]), (&"docker".into(), &"running".into()));
    let workspace = sessions[0]["workspace"].as_str().unwrap().to_owned();
    let count = || docker(&["ps", "-aq", "--filter", &format!("label=workden.session={id}")]).lines().count();
    assert_eq!(count(), 1);
    let other = place.workden(&["sessions", "open", &id]);
    assert!(told(&other).contains("is of the kind `docker`, not `linux`"), "{}", told(&other));

    assert!(place.printed(&["sessions", "prune", "--idle", "1h"]).contains("nothing") || count() == 1);
    assert_eq!(count(), 1);
    assert!(place.printed(&["sessions", "prune", "--idle", "1ms", "--dry-run"]).contains(&id));
    assert_eq!(count(), 1);
    assert!(place.printed(&["sessions", "prune", "--idle", "1ms"]).contains(&id));
    assert_eq!(count(), 0);
    assert!(Path::new(&workspace).join("y").exists(), "files stay");
    place.printed(&open);
    assert_eq!(place.printed(&["sessions", "exec", &id, "--", "cat", "y"]), "file\n");
    place.printed(&["sessions", "release", &id, "--purge"]);
    assert!(count() == 0 && !Path::new(&workspace).exists());
}

#[test]
fn a_container_whose_record_is_damaged_ends_with_the_session() {
    let place = Place::new();
    for (words, says) in [(&["sessions", "release"][..], "released "), (&["sessions", "prune"], "removed the session ")]
    {
        let id = unique("damaged");
        place.printed(&["sessions", "open", &id, "--sandbox", "docker", "--image", BUSYBOX]);
        let count = || docker(&["ps", "-aq", "--filter", &format!("label=workden.session={id}")]).lines().count();
        assert_eq!(count(), 1);
        fs::write(place.state.path().join(format!("workden/ids/{id}.json")), "garbage").unwrap();
        let named: &[&str] = if words.contains(&"release") { &[&id] } else { &[] };
        assert!(place.printed(&[words, named].concat()).contains(says));
        assert_eq!(count(), 0, "{words:?}");
    }
}
