//! `kill -9` of workden: nothing that it started outlives it.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::Project;

/// Whether a process has this word among its arguments.
fn is_running(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word)
    })
}

#[test]
fn killing_workden_without_a_word_ends_the_sandbox() {
    let project = Project::new();
    for (sandbox, mark) in [("linux", "8640021"), ("host", "8640022")] {
        let script = format!("setsid sleep {mark} & echo ready; sleep {mark}");
        let mut child =
            project.command(&["--sandbox", sandbox, "--", "sh", "-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child.kill().unwrap();
        child.wait().unwrap();
        let began = Instant::now();
        while is_running(mark) {
            assert!(began.elapsed() < Duration::from_secs(10), "something of the command is left in {sandbox}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
