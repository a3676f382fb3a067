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
    ///
    /// Only those of supervisors in our PID namespace: the process id of another one says nothing here, and its group
    /// may be empty because its first command has not started yet.
    pub(crate) fn sweep(&self) {
        let Some(namespace) = pid_namespace() else { return };
        let parents = self.0.iter().filter(|path| file_name(path).starts_with(NAME)).filter_map(|path| path.parent());
        for entry in parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
            let path = entry.path();
            let Some((pid, of)) = supervisor(file_name(&path)) else { continue };
            if of == namespace && is_gone(pid) {
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

/// Returns a new name, `workden-<pid>-<namespace>-<random>`: `<pid>` is the process that removes the group, in that PID
/// namespace.
pub(super) fn new_name() -> String {
    let mut random = [0; 4];
    // Without random bytes the process id alone has to make the name unique.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let (pid, namespace) = (rustix::process::getpid().as_raw_pid(), pid_namespace().unwrap_or_default());
    format!("{NAME}{pid}-{namespace:x}-{:08x}", u32::from_ne_bytes(random))
}

/// Returns the supervisor of a group by its name: its process id, and the PID namespace in which it has that.
fn supervisor(name: &str) -> Option<(Pid, u64)> {
    let mut words = name.strip_prefix(NAME)?.split('-');
    let pid = Pid::from_raw(words.next()?.parse().ok()?)?;
    Some((pid, u64::from_str_radix(words.next()?, 16).ok()?))
}

/// Returns the number of this process's PID namespace, if the kernel tells it.
fn pid_namespace() -> Option<u64> {
    rustix::fs::stat("/proc/self/ns/pid").ok().map(|namespace| namespace.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_process_removes_the_group() {
        let own = pid_namespace().map(|namespace| (rustix::process::getpid(), namespace));
        assert_eq!(supervisor(&new_name()), own);
        for other in ["workden-", "workden-x-1-1", "workden-0-1-1", "workden-12", "workden-landlock-12-1", "12-1-1"] {
            assert_eq!(supervisor(other), None, "{other}");
        }
    }
}
