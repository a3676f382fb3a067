//! Version 2: one group with two below it, one for the keeper and a limited one for commands. The user of the
//! commands may move processes between the two, so that the keeper can clone a command from one into the other, but
//! may not change the limits.

use std::{
    fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::{
    counters::Counter,
    group::{Group, GroupLimits, LimitOutcome, open, set},
    hierarchies::Hierarchies,
    v1::quota,
};
use crate::config::CgroupJoin;

const PERIOD: u64 = 100_000;

/// Creates the groups and sets the limits.
pub(super) fn fill(group: &mut Group, hierarchies: &Hierarchies, name: &str, wanted: GroupLimits, owner: u32) {
    let placed = place(group, hierarchies, name, owner);
    group.memory = wanted.memory.map(|bytes| memory(group, placed.as_deref().map_err(Clone::clone)?, bytes));
    group.processes = wanted.processes.map(|most| processes(group, placed.as_deref().map_err(Clone::clone)?, most));
    group.cpus = wanted.cpus.map(|cpus| processors(group, placed.as_deref().map_err(Clone::clone)?, cpus));
}

/// Creates the groups, and opens them for joining.
fn place(group: &mut Group, hierarchies: &Hierarchies, name: &str, owner: u32) -> Result<PathBuf, String> {
    let own = hierarchies.unified().ok_or("the control groups are not mounted")?;
    // Only the root group may hold both processes and groups. Any other group with processes gets a sibling.
    let above = if own.join("cgroup.type").exists() { own.parent().unwrap_or(&own) } else { &own };
    let top = above.join(name);
    let (keeper, commands) = (top.join("keeper"), top.join("commands"));
    group.made.directory(&top)?;
    let controllers = fs::read_to_string(top.join("cgroup.controllers")).unwrap_or_default();
    for controller in
        ["memory", "pids", "cpu"].into_iter().filter(|name| controllers.split_whitespace().any(|has| has == *name))
    {
        set(&top, "cgroup.subtree_control", &format!("+{controller}"))?;
    }
    group.made.directory(&keeper)?;
    group.made.directory(&commands)?;
    for directory in [&top, &keeper, &commands] {
        hand_over(directory, owner);
    }
    group.keeper = Some(open(&keeper, ".", OFlags::PATH | OFlags::DIRECTORY)?);
    group.join = CgroupJoin::CloneInto(open(&commands, ".", OFlags::PATH | OFlags::DIRECTORY)?);
    Ok(commands)
}

/// Lets the user of the commands move processes into a group. An ordinary user may already.
fn hand_over(directory: &Path, owner: u32) {
    let _ = chown(directory.join("cgroup.procs"), Some(owner), None);
}

fn memory(group: &mut Group, commands: &Path, bytes: u64) -> LimitOutcome {
    set(commands, "memory.max", &bytes.to_string())?;
    if commands.join("memory.swap.max").exists() {
        set(commands, "memory.swap.max", "0")?;
    }
    let read = |file| open(commands, file, OFlags::RDONLY).ok();
    group.watch.memory = group.usage(commands, "memory.current").map(Counter::number);
    group.watch.memory_peak = group.usage(commands, "memory.peak").map(Counter::number);
    group.watch.memory_kills = read("memory.events").map(|file| Counter::keyed(file, "oom_kill"));
    Ok(())
}

fn processes(group: &mut Group, commands: &Path, most: u64) -> LimitOutcome {
    set(commands, "pids.max", &most.to_string())?;
    let read = |file| open(commands, file, OFlags::RDONLY).ok();
    group.watch.processes = group.usage(commands, "pids.current").map(Counter::number);
    group.watch.refused_processes = read("pids.events").map(|file| Counter::keyed(file, "max"));
    Ok(())
}

fn processors(group: &mut Group, commands: &Path, cpus: f64) -> LimitOutcome {
    set(commands, "cpu.max", &format!("{} {PERIOD}", quota(cpus, PERIOD)))?;
    group.watch.cpu =
        open(commands, "cpu.stat", OFlags::RDONLY).ok().map(|file| Counter::microseconds(file, "usage_usec"));
    Ok(())
}
