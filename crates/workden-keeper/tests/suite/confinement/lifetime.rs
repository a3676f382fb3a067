//! The end of a sandbox: for whatever reason, nothing of it is left.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use workden_core::sandbox::{Confinement, Limit, Limits};

use super::run::{TestSandbox, starters};
use crate::common::PATIENCE;

/// Returns a length of sleep that no other process has.
fn mark(number: u32) -> String {
    format!("{}", 8_000_000 + 10 * std::process::id() + number)
}

fn sleeps(mark: &str) -> bool {
    let line = format!("sleep\0{mark}\0");
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|process| std::fs::read(process.path().join("cmdline")).is_ok_and(|read| read == line.as_bytes()))
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a sandbox with limits, in which a process sleeps that has left its parent.
fn started(sandbox: &TestSandbox, mark: &str) -> Child {
    let limits = Limits { processes: Some(Limit::best_effort(50)), ..Limits::default() };
    let confinement = Confinement { limits, ..sandbox.confinement() };
    let line = format!("setsid sleep {mark} & sleep 600");
    let child = sandbox.command(&confinement, &line).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the command runs", || sleeps(mark));
    child
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

fn groups_of(supervisor: u32) -> Vec<String> {
    fn walk(directory: &Path, found: &mut Vec<String>, start: &str) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(start) {
                    found.push(entry.path().display().to_string());
                }
                walk(&entry.path(), found, start);
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("/sys/fs/cgroup"), &mut found, &format!("workden-{supervisor}-"));
    found
}

#[test]
fn a_sandbox_whose_supervisor_is_told_to_end_leaves_nothing() {
    for (number, starter) in (0..).zip(starters()) {
        let sandbox = TestSandbox::new(starter);
        let mut child = started(&sandbox, &mark(number));
        kill_process(pid(&child), Signal::TERM).unwrap();
        child.wait().unwrap();
        assert!(!sleeps(&mark(number)), "started by {starter:?}");
        assert_eq!(groups_of(child.id()), Vec::<String>::new(), "started by {starter:?}");
    }
}

#[test]
fn a_sandbox_whose_supervisor_is_killed_ends_as_well() {
    for (number, starter) in (2..).zip(starters()) {
        let sandbox = TestSandbox::new(starter);
        let mut child = started(&sandbox, &mark(number));
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("all of it ended", || !sleeps(&mark(number)));
        // The next supervisors remove the groups that a killed one left, as soon as its last process is no more.
        wait_until("its groups are swept up", || {
            let mut next = started(&sandbox, &mark(number + 2));
            kill_process(pid(&next), Signal::TERM).unwrap();
            next.wait().unwrap();
            groups_of(child.id()).is_empty()
        });
    }
}

#[test]
fn a_sandbox_whose_owner_is_killed_ends_as_well() {
    for (number, starter) in (6..).zip(starters()) {
        let sandbox = TestSandbox::new(starter);
        let line = format!("setsid sleep {} & sleep 600", mark(number));
        let inner = sandbox.command(&sandbox.confinement(), &line);
        let mut owner = Command::new("sh");
        owner.args(["-c", "\"$@\" & wait", "sh"]).arg(inner.get_program()).args(inner.get_args()).stdout(Stdio::null());
        let mut owner = owner.spawn().unwrap();
        wait_until("the command runs", || sleeps(&mark(number)));
        owner.kill().unwrap();
        owner.wait().unwrap();
        wait_until("all of it ended", || !sleeps(&mark(number)));
    }
}
