//! Nothing is left behind by a killed client, a closed output, a signal, or the end of input.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    processes::{ended, eventually, is_running, mark},
    project::Project,
    tool::Conversation,
};

/// Starts a long command, and waits until it runs.
fn busy(project: &Project, mark: &str, words: &[&str]) -> Conversation {
    let mut talk = project.jsonl(&[&["--yes"], words].concat());
    let script = format!("setsid sleep {mark} & sleep {mark}");
    talk.say(json!({ "id": 1, "tool": "execute", "args": { "command": script } }));
    eventually("the command does not start", || is_running(mark));
    talk
}

#[test]
fn killing_workden_ends_its_commands() {
    let project = Project::with_secret();
    for sandbox in ["linux", "host"] {
        let mark = mark();
        let mut talk = busy(&project, &mark, &["--sandbox", sandbox]);
        talk.child.kill().unwrap();
        talk.child.wait().unwrap();
        eventually("something of the command is left", || !is_running(&mark));
    }
}

#[test]
fn a_signal_ends_it_in_order() {
    let (project, mark) = (Project::with_secret(), mark());
    let mut talk = busy(&project, &mark, &[]);
    kill_process(Pid::from_child(&talk.child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut talk.child).code(), Some(128 + 15));
    assert!(!is_running(&mark), "it ended before its command");
}

#[test]
fn a_client_that_is_killed_takes_workden_and_its_commands_with_it() {
    let (project, mark) = (Project::with_secret(), mark());
    let request = json!({ "id": 1, "tool": "execute", "args": { "command": format!("sleep {mark}") } });
    // The client holds both pipes, and waits for the answer.
    let script = "import os, subprocess, sys, time\n\
                  p = subprocess.Popen(sys.argv[1:3] + ['--jsonl', '--yes'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n\
                  p.stdin.write(sys.argv[3].encode() + b'\\n'); p.stdin.flush()\n\
                  print(p.pid, flush=True)\n\
                  p.stdout.readline()\n";
    let mut client = Command::new("python3")
        .args(["-c", script, env!("CARGO_BIN_EXE_workden"), "tool", &request.to_string()])
        .current_dir(project.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(client.stdout.take().unwrap()), &mut line).unwrap();
    eventually("the command does not start", || is_running(&mark));
    client.kill().unwrap();
    client.wait().unwrap();
    eventually("the command is left", || !is_running(&mark));
    let workden = format!("/proc/{}/exe", line.trim());
    eventually("workden is left", || {
        std::fs::read_link(&workden).map_or(true, |program| !program.ends_with("workden"))
    });
}

#[test]
fn a_reader_that_goes_ends_what_it_asked_for() {
    let (project, mark) = (Project::with_secret(), mark());
    let mut talk = busy(&project, &mark, &[]);
    let input = talk.input.take();
    // Only the reading end closes; the writing end stays open.
    let output = std::mem::replace(&mut talk.output, std::io::BufReader::new(spare_output()));
    drop(output);
    assert_eq!(ended(&mut talk.child).code(), Some(1));
    assert!(!is_running(&mark));
    drop(input);
}

/// Returns the output of a process that has ended.
fn spare_output() -> std::process::ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    child.wait().unwrap();
    child.stdout.take().unwrap()
}

#[test]
fn commands_in_the_background_end_with_the_input() {
    let (project, mark) = (Project::with_secret(), mark());
    let mut talk = project.jsonl(&["--yes"]);
    let started =
        talk.ask(json!({ "id": 1, "tool": "run_in_background", "args": { "command": format!("sleep {mark}") } }));
    assert_eq!(started["ok"], true, "{started}");
    eventually("the command does not start", || is_running(&mark));
    assert_eq!(talk.end(), Some(0));
    assert!(!is_running(&mark));
}
