//! Nothing that `workden` started survives a `kill -9` of it.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::{
    processes::{eventually, is_running, mark},
    project::Project,
};

#[test]
fn killing_workden_without_a_word_ends_the_sandbox() {
    let project = Project::new();
    for sandbox in ["linux", "host"] {
        let mark = mark();
        let script = format!("setsid sleep {mark} & echo ready; sleep {mark}");
        let mut command = project.run_command(&["--sandbox", sandbox, "--", "sh", "-c", &script]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child.kill().unwrap();
        child.wait().unwrap();
        eventually(&format!("something of the command is left in {sandbox}"), || !is_running(&mark));
    }
}
