//! The command line with `--sandbox daytona`: commands, tools and sessions.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use workden_daytona_stub::{Fault, FaultKind, Stub};

use crate::places::stub;

/// The program `workden` at a stub, with a directory for the records of sessions.
pub(crate) struct Program {
    pub(crate) stub: Stub,
    state: TempDir,
}

impl Program {
    pub(crate) async fn new() -> Self {
        Self { stub: stub().await, state: tempfile::tempdir().unwrap() }
    }

    async fn workden(&self, words: &[&str]) -> Output {
        self.workden_with(words, &[]).await
    }

    pub(crate) async fn workden_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(words).current_dir(self.state.path()).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.state.path()).env("DAYTONA_API_URL", self.stub.url());
        command.env("DAYTONA_API_KEY", self.stub.api_key()).envs(variables.iter().copied());
        command.output().await.unwrap()
    }

    /// Waits until Daytona has this many sandboxes. It deletes them after it has answered.
    pub(crate) async fn is_left_with(&self, sandboxes: usize) {
        for _ in 0..600 {
            if self.stub.counters().known == sandboxes {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("there are not {sandboxes} sandboxes: {:?}", self.stub.counters());
    }

    /// Returns what a command prints that succeeds.
    async fn printed(&self, words: &[&str]) -> String {
        let done = self.workden(words).await;
        assert!(done.status.success(), "{words:?}: {}", told(&done));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

pub(crate) fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

const AT_DAYTONA: [&str; 2] = ["--sandbox", "daytona"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_has_its_streams_and_its_exit_code_and_leaves_nothing() {
    let program = Program::new().await;
    let line = "pwd; echo $MODE; echo oops >&2; exit 3";
    let ran =
        program.workden(&[&["run"], &AT_DAYTONA[..], &["--env", "MODE=test", "--", "sh", "-c", line]].concat()).await;
    assert_eq!(ran.status.code(), Some(3), "{}", told(&ran));
    assert_eq!((ran.stdout.as_slice(), ran.stderr.as_slice()), (&b"/home/daytona\ntest\n"[..], &b"oops\n"[..]));
    let words = [&["run"], &AT_DAYTONA[..], &["--json", "--isolation", "--net", "internet", "--", "true"]].concat();
    let json: Value = serde_json::from_str(&program.printed(&words).await).unwrap();
    assert!(json["isolation"]["reached_by"].as_str().unwrap().contains("keeper"), "{json:#}");
    program.is_left_with(0).await;
    program.stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_found_again_and_ends() {
    let program = Program::new().await;
    let open = [&["sessions", "open", "mine"], &AT_DAYTONA[..]].concat();
    let said = program.printed(&open).await;
    assert_eq!(said, "The session `mine` is open; its files are in its sandbox, at `/home/daytona`\n");
    program.printed(&["sessions", "exec", "mine", "--", "sh", "-c", "echo one > note"]).await;
    assert!(program.printed(&open).await.contains("was open already"));
    assert_eq!(program.printed(&["sessions", "exec", "mine", "--", "cat", "note"]).await, "one\n");
    let listed: Value = serde_json::from_str(&program.printed(&["sessions", "list", "--json"]).await).unwrap();
    assert_eq!((&listed[0]["kind"], &listed[0]["state"]), (&"daytona".into(), &"running".into()), "{listed:#}");
    program.is_left_with(1).await;
    program.printed(&["sessions", "release", "mine"]).await;
    program.is_left_with(0).await;
    program.stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_work_at_daytona() {
    let program = Program::new().await;
    let call = async |name: &str, arguments: Value| {
        let arguments = arguments.to_string();
        let words = [&["tool", name, &arguments, "--yes"], &AT_DAYTONA[..]].concat();
        program.printed(&words).await
    };
    assert!(call("write_file", json!({ "path": "a", "content": "b\n" })).await.contains("/home/daytona/a"));
    assert_eq!(call("execute", json!({ "command": "pwd" })).await, "/home/daytona\n");
    program.is_left_with(0).await;
    program.stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_checks_an_account_and_leaves_nothing() {
    let program = Program::new().await;
    let examined = async |words: &[&str], key: &str| {
        let words = [&["doctor"], &AT_DAYTONA[..], &["--json"], words].concat();
        let ran = program.workden_with(&words, &[("DAYTONA_API_KEY", key)]).await;
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", told(&ran)));
        let findings = document["findings"].as_array().unwrap().iter();
        let works =
            findings.map(|found| (found["name"].as_str().unwrap().to_owned(), found["outcome"]["works"].is_string()));
        let works: Vec<(String, bool)> = works.collect();
        (ran.status.code(), document["verdict"].as_str().unwrap().to_owned(), works)
    };
    let named = |all: &[(&str, bool)]| all.iter().map(|(name, works)| ((*name).to_owned(), *works)).collect::<Vec<_>>();
    let key = program.stub.api_key();
    let short = [("account", true), ("keepers", true)];
    assert_eq!(examined(&[], key).await, (Some(0), "full".to_owned(), named(&short)));
    assert_eq!(program.stub.counters().created, 0);
    let whole = [&short[..], &[("start", true), ("keeper", true), ("deletion", true)]].concat();
    assert_eq!(examined(&["--image", "debian:12"], key).await, (Some(0), "full".to_owned(), named(&whole)));
    // Without sessions the toolbox serves, and that is told.
    program.stub.add_fault(Fault::always("POST /toolbox/*/process/session", FaultKind::status(403)));
    let served = [&short[..], &[("start", true), ("keeper", false), ("deletion", true)]].concat();
    assert_eq!(examined(&["--snapshot", "s"], key).await, (Some(0), "full".to_owned(), named(&served)));
    let wrong = [("account", false), ("keepers", true)];
    assert_eq!(examined(&["--image", "debian:12"], "dtn_wrong").await, (Some(1), "none".to_owned(), named(&wrong)));
    program.is_left_with(0).await;
    program.stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_of_other_sandboxes_are_refused_by_name_and_the_key_is_not_shown() {
    let program = Program::new().await;
    for (option, says) in [
        (&["--root", "."][..], "`--root` is not supported with `--sandbox daytona`"),
        (&["--mount", ".:/x"], "`--mount` is not supported"),
        (&["--pids", "9"], "`--pids` is not supported"),
        (&["--runtime", "python-web"], "`--runtime` is not supported"),
        (&["--context", "x"], "`--context` requires `--sandbox kubernetes`"),
    ] {
        let refused = program.workden(&[&["run"], &AT_DAYTONA[..], option, &["--", "true"]].concat()).await;
        assert_eq!(refused.status.code(), Some(2), "{option:?}: {}", told(&refused));
        assert!(told(&refused).contains(says), "{option:?}: {}", told(&refused));
    }
    for words in [&["run", "--snapshot", "x", "--", "true"][..], &["sessions", "open", "a", "--snapshot", "x"]] {
        let refused = program.workden(words).await;
        assert!(told(&refused).contains("`--snapshot` requires `--sandbox daytona`"), "{}", told(&refused));
    }
    let net = program.workden(&[&["run"], &AT_DAYTONA[..], &["--net", "host", "--", "true"]].concat()).await;
    assert!(told(&net).contains("`--net internet`"), "{}", told(&net));
    let mut unknown = Command::new(env!("CARGO_BIN_EXE_workden"));
    unknown.args(["run", "--sandbox", "daytona", "--", "true"]).env("DAYTONA_API_URL", program.stub.url());
    let without = unknown.env_remove("DAYTONA_API_KEY").output().await.unwrap();
    assert!(told(&without).contains("set DAYTONA_API_KEY"), "{}", told(&without));
    let wrong = unknown.env("DAYTONA_API_KEY", "dtn_wrong_key").output().await.unwrap();
    assert_eq!(wrong.status.code(), Some(125), "{}", told(&wrong));
    assert!(!told(&wrong).contains("dtn_wrong_key"), "{}", told(&wrong));
    program.stub.stop().await;
}
