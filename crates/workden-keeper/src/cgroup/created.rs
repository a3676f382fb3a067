//! The directories of control groups that a sandbox made, and their removal.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

/// Directories of control groups that this process created and has to remove.
#[derive(Debug, Default)]
pub(crate) struct CreatedGroups(Vec<PathBuf>);

/// How long the kernel may report an empty group as busy.
const REMOVING: Duration = Duration::from_secs(5);
const NAME: &str = "workden-";

impl CreatedGroups {
    pub(super) fn directory(&mut self, path: &Path) -> Result<(), String> {
        fs::create_dir(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => "no permission to create a control group".to_owned(),
            std::io::ErrorKind::ReadOnlyFilesystem => "the control groups are read-only".to_owned(),
            _ => "the kernel refuses to create a control group".to_owned(),
        })?;
        self.0.insert(0, path.to_owned());
        Ok(())
    }

    /// Removes the groups, and kills processes that are still in them.
    pub(crate) fn remove(self) {
        for directory in self.0 {
            let (mut waited, mut pause) = (Duration::ZERO, Duration::from_micros(500));
            while fs::remove_dir(&directory).is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound) {
                if waited >= REMOVING {
                    break;
                }
                // All processes have exited; the kernel notices a little later.
                if waited > Duration::from_millis(20) {
                    end_all_in(&directory);
                }
                thread::sleep(pause);
                waited += pause;
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
    }

    /// Removes empty groups beside ours that were left by supervisors that no longer run.
    pub(crate) fn sweep(&self) {
        let parents = self.0.iter().filter(|path| file_name(path).starts_with(NAME)).filter_map(|path| path.parent());
        for entry in parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
            let path = entry.path();
            let pid = file_name(&path).strip_prefix(NAME).and_then(|rest| rest.split('-').next()?.parse().ok());
            let Some(pid) = pid.and_then(Pid::from_raw) else { continue };
            if is_gone(pid) {
                for leaf in ["keeper", "commands"] {
                    let _ = fs::remove_dir(path.join(leaf));
                }
                let _ = fs::remove_dir(&path);
            }
        }
    }
}

/// Returns whether a process has exited, reaped or not.
fn is_gone(pid: Pid) -> bool {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            let mut watched = [PollFd::new(&process, PollFlags::IN)];
            poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ended| ended > 0)
        }
        Err(errno) => errno == Errno::SRCH,
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Kills every process in a group.
fn end_all_in(directory: &Path) {
    let inside = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    for pid in inside.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Returns a new name, `workden-<pid>-<random>`: `<pid>` is the process that removes the group.
pub(super) fn new_name() -> String {
    let mut random = [0; 4];
    // Without random bytes the process id alone has to make the name unique.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    format!("{NAME}{}-{:08x}", rustix::process::getpid().as_raw_pid(), u32::from_ne_bytes(random))
}
