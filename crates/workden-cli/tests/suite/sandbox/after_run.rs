//! `workden run` leaves nothing behind at the moment when it returns.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    counts::times,
    family::family,
    processes::{ended, eventually, mark},
    project::Project,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_workden");

fn shell(script: &str) -> Option<i32> {
    let status = Command::new("sh").args(["-c", script, "sh", PROGRAM]).status().unwrap();
    status.code()
}

/// Returns the control groups of supervisors with small ids, which only a new PID namespace gives.
fn groups_of_small_numbers() -> Vec<String> {
    let hierarchies = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let groups = hierarchies.filter_map(|hierarchy| std::fs::read_dir(hierarchy.path()).ok()).flatten().flatten();
    let small = |name: &str| {
        let number = name.strip_prefix("workden-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        number.is_some_and(|number| number < 20)
    };
    let named = groups.filter(|group| group.file_name().to_str().is_some_and(small));
    named.map(|group| group.path().display().to_string()).collect()
}

#[test]
fn as_the_first_process_of_a_namespace_it_leaves_no_group() {
    let before = groups_of_small_numbers();
    for _ in 0..times(5, 20) {
        assert_eq!(shell("unshare --pid --fork --mount-proc \"$1\" run -- true"), Some(0));
    }
    // A group in use by another program disappears soon; one that was left behind stays.
    let left: Vec<String> = groups_of_small_numbers().into_iter().filter(|group| !before.contains(group)).collect();
    eventually(&format!("groups are left: {left:?}"), || !left.iter().any(|group| Path::new(group).exists()));
}

#[test]
fn what_its_starter_had_open_is_free_when_it_returns() {
    let place = tempfile::tempdir().unwrap();
    let lock = place.path().join("lock");
    let script = format!("exec 9>'{}'; flock -n 9 || exit 3; \"$1\" run -- true", lock.display());
    for _ in 0..times(5, 20) {
        assert_eq!(shell(&script), Some(0), "the lock is still held");
    }
}

/// Starts a shell that runs `before`, becomes `workden run`, and has started its command.
fn running(project: &Project, before: &str, options: &str) -> Child {
    let script = format!("{before}; exec \"$1\" run {options} -- sh -c 'echo up; exec sleep {}'", mark());
    let mut sh = Command::new("sh");
    sh.args(["-c", &script, "sh", PROGRAM]).current_dir(project.path()).stdout(Stdio::piped());
    let mut child = sh.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    child
}

#[test]
fn what_is_left_to_its_processes_is_nothing_of_its_starter() {
    let (project, place) = (Project::new(), tempfile::tempdir().unwrap());
    let held = place.path().join("held");
    let mut run = running(&project, &format!("exec 9>'{}'", held.display()), "");
    let holds = |pid: &u32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok()).any(|file| file == held)
    };
    // `workden run` itself inherited it; neither the supervisor nor PID 1 nor the command may have it. Processes that
    // only set up namespaces may still be ending.
    eventually("another process than `workden run` has it open", || {
        let all = family(run.id());
        all.len() > 2 && all.into_iter().filter(holds).eq([run.id()])
    });
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_timeout_holds_when_its_processes_are_stopped() {
    let project = Project::new();
    let mut run = running(&project, ":", "--timeout 2");
    for pid in family(run.id()).into_iter().filter(|pid| *pid != run.id()) {
        let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::STOP);
    }
    ended(&mut run);
}
