//! A process and its descendants: their ids, their open files, the memory of the `workden` processes among them, and
//! the control groups that they created.

use std::{
    collections::BTreeSet,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Returns the process and its descendants.
pub(crate) fn family(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        at += 1;
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    all
}

/// Counts the processes and their open files.
pub(crate) fn held(root: u32) -> (usize, usize) {
    let family = family(root);
    let open = |pid: &u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    (family.len(), family.iter().map(open).sum())
}

/// Returns the anonymous memory of the `workden` processes in bytes: the keepers, not the commands. File-backed memory
/// does not count: each process that runs the program counts its share, which grows when another test ends.
pub(crate) fn own_memory(root: u32) -> u64 {
    family(root).into_iter().filter(|pid| is_workden(*pid)).map(anonymous).sum()
}

fn is_workden(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program.ends_with("workden"))
}

fn anonymous(pid: u32) -> u64 {
    let all = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = all.lines().find_map(|line| line.strip_prefix("Pss_Anon:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The control groups of sandboxes that there were before a test: those of a supervisor that was killed stay, and the
/// number of its process, which is in their names, is given to another process in time.
pub(crate) struct OlderGroups(BTreeSet<PathBuf>);

impl OlderGroups {
    pub(crate) fn now() -> Self {
        let mut found = BTreeSet::new();
        collect(Path::new("/sys/fs/cgroup"), &mut found);
        Self(found)
    }

    /// Returns the control groups that these running processes have created since. Their names say so: the process id,
    /// and the PID namespace in which it has that, because other programs and containers have groups, too.
    pub(crate) fn newer_of(&self, processes: &[u32]) -> Vec<PathBuf> {
        let namespace = std::fs::metadata("/proc/self/ns/pid").unwrap().ino();
        let owners: Vec<String> = processes.iter().map(|pid| format!("workden-{pid}-{namespace:x}-")).collect();
        let is_theirs = |group: &PathBuf| {
            let name = group.file_name().unwrap_or_default().to_string_lossy();
            owners.iter().any(|owner| name.starts_with(owner))
        };
        Self::now().0.difference(&self.0).filter(|group| is_theirs(group)).cloned().collect()
    }
}

fn collect(below: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with("workden-") {
                found.insert(entry.path());
            }
            collect(&entry.path(), found);
        }
    }
}
