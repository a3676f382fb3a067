//! Removes what a service may leave when it ends: containers, processes, directories.
//!
//! The service's own processes are recognised by its directory, which is in their command lines. No directory is
//! removed in which something is still mounted: those may be files of another program.

use std::{
    fs,
    path::Path,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use super::docker;
use crate::Outcome;

/// The helper programs of a service, as the kernel names them: fifteen bytes.
const PROGRAMS: &[&str] =
    &["dockerd", "containerd", "containerd-shim", "docker-proxy", "podman", "conmon", "runc", "crun"];

/// How long removal is retried: a killed process releases its files a moment later.
const PATIENCE: Duration = Duration::from_secs(10);

/// The relevant fields of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    name: String,
    command_line: String,
}

/// Removes all containers of a service, so that it does not wait for each to end.
pub(super) fn remove_containers(host: &str) {
    let listed = docker(host).args(["ps", "--all", "--quiet"]).output();
    let listed = listed.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default();
    if !listed.is_empty() {
        let _ = docker(host).args(["rm", "--force", "--volumes"]).args(listed.split_whitespace()).output();
    }
}

/// Kills the processes that a service left running, and their descendants.
pub(super) fn kill_processes(home: &Path) {
    for id in left(&processes(), &format!("{}/", home.display())) {
        let _ = Command::new("kill").args(["-KILL", &id.to_string()]).output();
    }
}

/// Removes a directory, unless something is mounted in it.
pub(super) fn remove_directory(path: &Path) -> Outcome {
    let began = Instant::now();
    loop {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if is_mounted_in(&mounts, path) {
            return Err(format!("cannot remove {}: something is mounted in it", path.display()));
        }
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) if began.elapsed() > PATIENCE => {
                return Err(format!("cannot remove {}: {error}", path.display()));
            }
            // Try again even after a success: the next round confirms that it is removed.
            _ => sleep(Duration::from_millis(50)),
        }
    }
}

/// Returns the processes of a service and their descendants.
fn left(processes: &[Process], home: &str) -> Vec<u32> {
    let is_own = |process: &&Process| PROGRAMS.contains(&&*process.name) && process.command_line.contains(home);
    let mut found: Vec<u32> = processes.iter().filter(is_own).map(|process| process.id).collect();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        let below = processes.iter().filter(|process| process.parent == parent).map(|process| process.id);
        let below: Vec<u32> = below.filter(|id| !found.contains(id)).collect();
        found.extend(below);
        next += 1;
    }
    found
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| read_process(&entry.path())).collect()
}

fn read_process(directory: &Path) -> Option<Process> {
    let id = directory.file_name()?.to_str()?.parse().ok()?;
    let status = fs::read_to_string(directory.join("status")).ok()?;
    let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let command_line = fs::read(directory.join("cmdline")).ok()?;
    Some(Process {
        id,
        parent: value("PPid:")?.parse().ok()?,
        name: value("Name:")?.to_owned(),
        command_line: String::from_utf8_lossy(&command_line).replace('\0', " "),
    })
}

fn is_mounted_in(mounts: &str, directory: &Path) -> bool {
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    places.map(|place| place.replace("\\040", " ")).any(|place| Path::new(&place).starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_the_directory_and_what_is_below_is_left() {
        let process = |id, parent, name: &str, command_line: &str| Process {
            id,
            parent,
            name: name.to_owned(),
            command_line: command_line.to_owned(),
        };
        let all = [
            process(1, 0, "init", "init"),
            process(10, 1, "containerd-shim", "containerd-shim -address /tmp/own-7/exec/containerd.sock"),
            process(12, 11, "sleep", "sleep 60"),
            process(11, 10, "sh", "sh"),
            process(20, 1, "containerd-shim", "containerd-shim -address /tmp/other/containerd.sock"),
            process(21, 20, "sh", "sh"),
            process(22, 1, "containerd", "containerd --config /tmp/own-71/exec/containerd.toml"),
            process(30, 1, "tail", "tail -f /tmp/own-7/log"),
        ];
        assert_eq!(left(&all, "/tmp/own-7/"), [10, 11, 12]);
    }

    #[test]
    fn a_mount_in_the_directory_is_seen_and_one_beside_it_is_none() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/a rw\n23 22 8:1 /x /tmp/a\\040b/data rw - ext4 /dev/a rw\n";
        for (directory, expected) in [("/tmp/a b", true), ("/tmp/a b/data", true), ("/tmp/a", false), ("/var", false)] {
            assert_eq!(is_mounted_in(mounts, Path::new(directory)), expected, "{directory}");
        }
    }

    #[test]
    fn this_process_is_read_with_its_parent() {
        let own = read_process(Path::new("/proc").join(std::process::id().to_string()).as_path()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(processes().contains(&own));
    }
}
