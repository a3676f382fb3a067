//! Many sandboxes start, work and end, half of them because their owner is killed: nothing of them stays.
//!
//! Leftovers are distinguished from those of other tests: this test has its own copy of the program, its own temporary
//! directory and its own mount namespace, and notes the control groups of its processes while they run.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{KeeperProgram, LinuxSandbox};

use crate::{
    counts::times,
    family::{OlderGroups, family},
    own_process::alone_by,
    processes::{PATIENCE, is_running, mark},
};

/// Starts a process in a mount namespace that shares mounts with the namespaces below it, and none with the one above.
const OWN_MOUNTS: &[&str] =
    &["unshare", "--mount", "--propagation", "private", "sh", "-c", "mount --make-rshared / && exec \"$0\" \"$@\""];

/// The sandboxes of this test, and how to find what they leave.
struct Sandboxes {
    directory: TempDir,
    mark: String,
    older: OlderGroups,
    /// Every control group that they made.
    groups: BTreeSet<PathBuf>,
}

impl Sandboxes {
    fn new() -> Self {
        // Not in the temporary directory, whose files are counted.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_workden"), directory.path().join("workden")).unwrap();
        Self { directory, mark: mark(), older: OlderGroups::now(), groups: BTreeSet::new() }
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("workden")
    }

    /// Starts a sandbox and kills its owner while a command runs.
    fn killed(&mut self) {
        let mark = &self.mark;
        let mut owner = Command::new(self.program())
            .args(["run", "--memory", "64M", "--pids", "32", "--root", "/usr/share/doc/base-files", "--"])
            .args(["sh", "-c", &format!("setsid sleep {mark} & (trap '' TERM; sleep {mark}) & echo up; sleep {mark}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        self.groups.extend(self.older.newer_of(&family(owner.id())));
        owner.kill().unwrap();
        owner.wait().unwrap();
    }

    /// Starts a sandbox, uses it and drops it.
    async fn dropped(&mut self) {
        let program = KeeperProgram::at(self.program());
        let sandbox = LinuxSandbox::builder().keeper(program).memory(64 << 20).pids(32).start().await.unwrap();
        let line = format!("setsid sleep {} & echo up", self.mark);
        let executed = sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap();
        assert_eq!(executed.output.head, "up\n");
        let groups = self.older.newer_of(&family(std::process::id()));
        assert!(!groups.is_empty(), "its groups are not found by its processes");
        self.groups.extend(groups);
    }

    /// Returns what is left of them, by name.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let program = fs::metadata(self.program()).unwrap();
        // By inode, because a sandbox sees the program under another name.
        let runs_it = |it: fs::Metadata| (it.dev(), it.ino()) == (program.dev(), program.ino());
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            if fs::metadata(entry.path().join("exe")).is_ok_and(runs_it) {
                left.push(format!("process {}", entry.file_name().display()));
            }
        }
        if is_running(&self.mark) {
            left.push("a command".to_owned());
        }
        let groups = self.groups.iter().filter(|group| group.exists());
        left.extend(groups.map(|group| format!("group {}", group.display())));
        let temporary = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        left.extend(temporary.map(|entry| format!("file {}", entry.path().display())));
        left
    }
}

fn mounts() -> BTreeSet<String> {
    fs::read_to_string("/proc/self/mountinfo").unwrap().lines().map(str::to_owned).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn nothing_is_left_of_sandboxes_that_are_dropped_or_whose_owner_is_killed() {
    alone_by(OWN_MOUNTS, || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut all = Sandboxes::new();
        runtime.block_on(all.dropped());
        nothing_stays(|| all.left());
        let (before, open) = (mounts(), descriptors());
        for _ in 0..times(10, 100) {
            runtime.block_on(all.dropped());
            all.killed();
        }
        nothing_stays(|| {
            let mounted = mounts().difference(&before).map(|mount| format!("mount {mount}")).collect();
            let opened = (open..descriptors()).map(|_| "a descriptor".to_owned()).collect();
            [all.left(), mounted, opened].concat()
        });
    });
}

/// Waits until nothing is left.
fn nothing_stays(left: impl Fn() -> Vec<String>) {
    let started = Instant::now();
    loop {
        let left = left();
        if left.is_empty() {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "left behind: {left:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
