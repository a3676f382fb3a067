//! Full logs of commands: a command can read a log at the path that the answer names, and cannot change it.

use workden_core::{
    BackendExt, ErrorKind, Expect, Sandbox, VirtualPath,
    limits::{LOG_BYTES, LOGS_KEPT},
    sandbox::{ExecuteRequest, JobRead, JobRequest},
};
use workden_sandboxes::{HostSandbox, KeeperProgram, LinuxSandbox};

use crate::{
    processes::{PATIENCE, soon},
    project::Project,
};

fn keeper() -> KeeperProgram {
    KeeperProgram::at(env!("CARGO_BIN_EXE_workden"))
}

async fn linux() -> LinuxSandbox {
    LinuxSandbox::builder().keeper(keeper()).start().await.unwrap()
}

/// Returns the log of a command whose output is longer than its answer.
async fn log_of(sandbox: &dyn Sandbox, line: &str) -> Option<VirtualPath> {
    let request = ExecuteRequest::shell(line).most_chars(100);
    let done = sandbox.execute(&request).await.unwrap();
    let log = done.output.left_out.clone().unwrap().log.unwrap();
    let told = log.path.as_ref().map_or(format!("can be read as `{}`", log.id), |path| format!("is in `{path}`"));
    assert!(done.output.text().contains(&told), "{}", done.output.text());
    log.path
}

async fn printed(sandbox: &dyn Sandbox, line: &str) -> (String, i32) {
    let done = sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap();
    (done.output.text(), done.exit_code())
}

#[tokio::test]
async fn commands_and_file_calls_read_the_log_at_the_path_that_the_answer_names() {
    let sandbox = linux().await;
    let log = log_of(&sandbox, "seq 1 5000").await.unwrap();
    let (found, code) = printed(&sandbox, &format!("wc -l < {log}; grep -n '^4711$' {log}")).await;
    assert_eq!((found.as_str(), code), ("5000\n4711:4711\n", 0));
    let bytes = sandbox.read_bytes(&log).await.unwrap();
    assert!(bytes.starts_with(b"1\n2\n") && bytes.ends_with(b"\n5000\n"));
}

#[tokio::test]
async fn no_command_changes_a_log_or_takes_its_room() {
    let sandbox = linux().await;
    let log = log_of(&sandbox, "seq 1 5000").await.unwrap();
    let before = sandbox.read_bytes(&log).await.unwrap();
    for attempt in [
        "echo forged > LOG",
        "echo forged >> LOG",
        "rm -f LOG",
        "mv LOG /tmp/log",
        "mv /tmp/mine LOG",
        "ln -f /tmp/mine LOG",
        "ln -sf /tmp/mine LOG",
        "chmod 666 LOG",
        "chmod 777 /run/workden",
        "truncate -s 0 LOG",
        "touch -d yesterday LOG",
        "touch /run/workden/mine",
        "mkdir /run/workden/mine",
        "dd if=/dev/zero of=/run/workden/room bs=1M count=300",
        "mv /run/workden /run/other",
        "perl -e 'open(F, q{<}, q{LOG}); open(G, q{>>}, q{/proc/self/fd/} . fileno(F)) or exit 1; print G q{forged}'",
        "umount /run/workden",
        "ls /run/workden | grep .",
        "echo /run/workden/* | grep exec",
        "touch $(dirname LOG)/mine",
        "mv $(dirname LOG) /tmp/logs",
        "chmod 700 $(dirname LOG)",
        "ls -l /proc/*/fd | grep /run/workden",
    ] {
        let line = format!("echo mine > /tmp/mine; {}", attempt.replace("LOG", log.as_str()));
        let (said, code) = printed(&sandbox, &line).await;
        assert_ne!(code, 0, "{attempt}: {said}");
        assert_eq!(sandbox.read_bytes(&log).await.unwrap(), before, "{attempt}");
    }
    let written = sandbox.write_path(&log, "forged".into(), Expect::Anything).await.unwrap_err();
    assert_eq!(written.kind(), ErrorKind::ReadOnly, "{written}");
    assert!(log_of(&sandbox, "seq 1 5000").await.is_some());
}

#[tokio::test]
async fn a_log_that_has_lost_its_beginning_has_no_path() {
    let sandbox = linux().await;
    let flood = |bytes: u64| format!("head -c {bytes} /dev/zero | tr '\\0' x");
    let whole = log_of(&sandbox, &flood(LOG_BYTES)).await.unwrap();
    assert_eq!(printed(&sandbox, &format!("wc -c < {whole}")).await.0, format!("{LOG_BYTES}\n"));
    assert_eq!(log_of(&sandbox, &flood(LOG_BYTES + 1)).await, None);
}

#[tokio::test]
async fn what_is_printed_later_is_in_the_log_and_one_that_overflows_goes() {
    let sandbox = linux().await;
    let line = "seq 1 5000; (while ! test -e go; do sleep 0.02; done; echo later; head -c 17000000 /dev/zero) &";
    let log = log_of(&sandbox, line).await.unwrap();
    assert_eq!(printed(&sandbox, &format!("tail -n 1 {log}")).await.0, "5000\n");
    printed(&sandbox, "touch go").await;
    let is_gone = async || sandbox.read_bytes(&log).await.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    soon("the log stays", is_gone).await;
}

#[tokio::test]
async fn old_logs_go_and_logs_of_jobs_are_read_by_their_id_alone() {
    let sandbox = linux().await;
    let first = log_of(&sandbox, "seq 1 500").await.unwrap();
    for _ in 0..LOGS_KEPT {
        assert!(sandbox.read_bytes(&first).await.is_ok());
        log_of(&sandbox, "seq 1 500").await.unwrap();
    }
    assert_eq!(sandbox.read_bytes(&first).await.unwrap_err().kind(), ErrorKind::NotFound);
    let job = sandbox.start_job(&JobRequest::shell("seq 1 500")).await.unwrap();
    let read = JobRead::from(0).wait(PATIENCE);
    assert!(sandbox.read_job(&job.id, &read).await.unwrap().text.starts_with("1\n2\n"));
}

#[tokio::test]
async fn on_the_host_logs_are_read_by_their_id_alone() {
    let project = Project::new();
    let sandbox = HostSandbox::builder().root(project.path()).keeper(keeper()).start().await.unwrap();
    assert_eq!(log_of(&sandbox, "seq 1 5000").await, None);
}

#[test]
fn a_document_names_no_log_of_a_sandbox_that_is_gone() {
    for kind in ["linux", "host"] {
        let ran = Project::new().run(&["--sandbox", kind, "--json", "--", "seq", "1", "50000"]);
        let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(document["left_out"]["log"], serde_json::Value::Null);
        let output = document["output"].as_str().unwrap();
        let told = output.lines().find(|line| line.starts_with("[...")).unwrap();
        assert!(told.ends_with("lines) left out ...]"), "{told}");
    }
}
