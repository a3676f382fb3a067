//! Many sandboxes made, used and dropped, half of them by killing their owner: nothing of them stays.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{KeeperProgram, LinuxSandbox};

const PROGRAM: &str = env!("CARGO_BIN_EXE_workden");

/// What sandboxes could leave behind, by name.
fn traces() -> BTreeSet<String> {
    let mut traces = BTreeSet::new();
    for line in fs::read_to_string("/proc/self/mountinfo").unwrap().lines() {
        traces.insert(format!("mount {line}"));
    }
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if command.starts_with(PROGRAM.as_bytes()) {
            traces.insert(format!("process {}", entry.file_name().display()));
        }
    }
    for line in fs::read_to_string("/proc/self/cgroup").unwrap().lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap(), parts.next().unwrap());
        for hierarchy in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new) {
            let below = hierarchy.join(controllers).join(path.trim_start_matches('/'));
            ours(&below, &mut traces);
        }
    }
    ours(&std::env::temp_dir(), &mut traces);
    traces
}

/// Directories with our name.
fn ours(directory: &Path, traces: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Not those of other tests, and of other levels in them.
        if name.starts_with("workden-")
            && !["walls-", "docker-", "landlock-"].iter().any(|of| name[8..].starts_with(of))
        {
            traces.insert(format!("directory {}", entry.path().display()));
        }
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A sandbox whose owner is killed while a command runs in it.
fn killed() {
    let mut owner = Command::new(PROGRAM)
        .args(["run", "--memory", "64M", "--pids", "32", "--root", "/usr/share/doc/base-files", "--"])
        .args(["sh", "-c", "setsid sleep 77 & (trap '' TERM; sleep 77) & echo up; sleep 77"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    owner.kill().unwrap();
    owner.wait().unwrap();
}

/// A sandbox that is used and dropped.
async fn dropped() {
    let program = KeeperProgram::at(PROGRAM);
    let sandbox = LinuxSandbox::builder().keeper(program).memory(64 << 20).processes(32).start().await.unwrap();
    let executed = sandbox.execute(&ExecuteRequest::shell("setsid sleep 77 & echo up")).await.unwrap();
    assert_eq!(executed.output.head, "up\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_two_hundred_sandboxes() {
    dropped().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (before, open) = (traces(), descriptors());
    for _ in 0..100 {
        dropped().await;
        killed();
    }
    let began = Instant::now();
    let mut left: Vec<String>;
    loop {
        left = traces().difference(&before).cloned().collect();
        if left.is_empty() && descriptors() <= open {
            return;
        }
        // Other tests have processes of this program as well, for as long as they run.
        assert!(began.elapsed() < Duration::from_secs(150), "left behind: {left:#?}, {} descriptors", descriptors());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
