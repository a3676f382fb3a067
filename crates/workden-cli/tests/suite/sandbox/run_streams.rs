//! `workden run`: streams, signals, timeouts and terminals.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use crate::{
    processes::{ended, eventually, is_running, mark},
    project::Project,
};

#[test]
fn streams_come_apart_and_all_of_them() {
    let project = Project::new();
    let ran = project.run(&["--", "sh", "-c", "echo out; echo err >&2; echo more"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("out\nmore\n", "err\n"));
    let megabytes = project.run(&["--", "sh", "-c", "yes 0123456 | head -c 3000000"]).printed();
    assert!(megabytes.len() == 3_000_000 && megabytes.ends_with("0123456\n"));
}

#[test]
fn input_is_passed_on_to_its_end() {
    let project = Project::new();
    let long = "line\n".repeat(200_000);
    assert_eq!(project.run_fed(&["--", "wc", "-c"], long.as_bytes()).printed().trim(), "1000000");
    assert_eq!(project.run_fed(&["--", "cat"], b"one\ntwo").printed(), "one\ntwo");
    assert_eq!(project.run_fed(&["--", "true"], long.as_bytes()).printed(), "");
}

#[test]
fn output_comes_while_the_command_runs() {
    let project = Project::new();
    let mut child = project
        .run_command(&["--", "sh", "-c", "echo first; read answer; echo got $answer"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"it\n").unwrap();
    line.clear();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "got it\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_timeout_ends_everything_and_keeps_what_was_printed() {
    let (project, mark) = (Project::new(), mark());
    let script = format!("(setsid sleep {mark} &); echo before; sleep {mark}");
    // A busy machine may need longer to start the command.
    for timeout in ["0.4", "4", "40"] {
        let ran = project.run(&["--timeout", timeout, "--", "sh", "-c", &script]);
        assert!(!is_running(&mark), "something that it started is left");
        let told =
            format!("error: the command timed out after {timeout} s and was stopped, with all that it started\n");
        assert_eq!((ran.code, ran.err), (Some(124), told));
        if ran.out == "before\n" {
            return;
        }
    }
    panic!("its output is missing");
}

#[test]
fn a_timeout_is_told_even_if_many_processes_ignore_its_signal() {
    let (project, mark) = (Project::new(), mark());
    let script = format!("trap '' TERM; for i in $(seq 60); do sleep {mark} & done; while :; do sleep 0.1; done");
    let ran = project.run(&["--timeout", "1", "--pids", "100", "--", "sh", "-c", &script]);
    assert!(!is_running(&mark), "something that it started is left");
    let told = "error: the command timed out after 1 s and was stopped, with all that it started\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(124), told));
}

#[test]
fn a_reader_that_does_not_read_does_not_hold_up_a_timeout() {
    let project = Project::new();
    let mut child = project
        .run_command(&["--timeout", "0.4", "--", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let code = ended(&mut child).code();
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(code, Some(124), "{complaint}");
}

#[test]
fn a_reader_that_goes_ends_the_run() {
    let project = Project::new();
    let mut child = project.run_command(&["--", "yes"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut start = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(ended(&mut child).code(), Some(141));
}

#[test]
fn a_signal_to_us_ends_the_command_which_hears_of_it() {
    let project = Project::new();
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let script = format!("trap 'echo heard > {signal}; exit' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut child = project
            .run_command(&["--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(ended(&mut child).code(), Some(code), "{signal}");
        assert_eq!(std::fs::read_to_string(project.at(signal)).unwrap(), "heard\n");
    }
}

#[test]
fn a_background_process_does_not_hold_up_the_run_and_does_not_outlive_it() {
    let (project, mark) = (Project::new(), mark());
    let mut command = project.run_command(&["--", "sh", "-c", &format!("sleep {mark} & echo hi")]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    assert!(ended(&mut child).success());
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "hi\n");
    eventually("the background process is left", || !is_running(&mark));
}

/// Runs `workden run -t` in a terminal; returns what the terminal shows, and the exit code.
fn in_terminal(project: &Project, line: &str) -> (String, Option<i32>) {
    let workden = env!("CARGO_BIN_EXE_workden");
    let script = format!("stty rows 33 cols 99; {workden} run -t -- {line}; code=$?; stty -a; exit $code");
    let mut shown = Command::new("script");
    shown.args(["--quiet", "--return", "--command", &script, "/dev/null"]);
    let output = shown.current_dir(project.path()).stdin(Stdio::null()).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).replace('\r', ""), output.status.code())
}

#[test]
fn a_terminal_is_one_to_the_command_and_ours_is_as_before() {
    let project = Project::new();
    let (shown, code) = in_terminal(&project, "sh -c 'test -t 0 && test -t 1 && stty size; exit 7'");
    assert_eq!(code, Some(7), "{shown}");
    assert!(shown.contains("33 99\n"), "{shown}");
    let after = shown.split_once("33 99\n").unwrap().1;
    assert!(after.contains(" icanon ") && after.contains(" echo "), "the terminal is still raw: {after}");
}

#[test]
fn without_a_terminal_there_is_none_to_give() {
    let ran = Project::new().run(&["-t", "--", "true"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.starts_with("error: `-t` requires a terminal on standard input\n"), "{ran:?}");
}
