//! Version 1: one hierarchy per controller, one group in each that is needed, and in each a `tasks` file into which a
//! command writes itself.

use std::{os::fd::OwnedFd, path::PathBuf};

use rustix::fs::OFlags;

use super::{
    counters::Counter,
    group::{Group, GroupLimits, LimitOutcome, open, set},
    hierarchies::Hierarchies,
};
use crate::config::CgroupJoin;

/// The period of a CPU quota, in microseconds.
const PERIOD: u64 = 100_000;

/// Creates a group for each limit.
pub(super) fn fill(group: &mut Group, hierarchies: &Hierarchies, name: &str, wanted: GroupLimits) {
    let mut tasks = Vec::new();
    group.memory = wanted.memory.map(|bytes| memory(group, hierarchies, name, bytes, &mut tasks));
    group.processes = wanted.processes.map(|most| processes(group, hierarchies, name, most, &mut tasks));
    group.cpus = wanted.cpus.map(|cpus| processors(group, hierarchies, name, cpus, &mut tasks));
    if !tasks.is_empty() {
        group.join = CgroupJoin::Tasks(tasks);
    }
}

fn memory(group: &mut Group, found: &Hierarchies, name: &str, bytes: u64, tasks: &mut Vec<OwnedFd>) -> LimitOutcome {
    let directory = make(group, found, name, "memory")?;
    set(&directory, "memory.limit_in_bytes", &bytes.to_string())?;
    // The file is missing when the kernel does not count swap; memory over the limit is then swapped out.
    let swap = directory.join("memory.memsw.limit_in_bytes");
    if swap.exists() {
        set(&directory, "memory.memsw.limit_in_bytes", &bytes.to_string())?;
    } else if std::fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1) {
        return Err("the kernel does not count swap".to_owned());
    }
    let read = |file| open(&directory, file, OFlags::RDONLY).ok();
    group.watch.memory = group.usage(&directory, "memory.usage_in_bytes").map(Counter::number);
    group.watch.memory_peak = group.usage(&directory, "memory.max_usage_in_bytes").map(Counter::number);
    group.watch.memory_kills = read("memory.oom_control").map(|file| Counter::keyed(file, "oom_kill"));
    tasks.push(open(&directory, "tasks", OFlags::WRONLY)?);
    Ok(())
}

fn processes(group: &mut Group, found: &Hierarchies, name: &str, most: u64, tasks: &mut Vec<OwnedFd>) -> LimitOutcome {
    let directory = make(group, found, name, "pids")?;
    set(&directory, "pids.max", &most.to_string())?;
    let read = |file| open(&directory, file, OFlags::RDONLY).ok();
    group.watch.processes = group.usage(&directory, "pids.current").map(Counter::number);
    group.watch.refused_processes = read("pids.events").map(|file| Counter::keyed(file, "max"));
    tasks.push(open(&directory, "tasks", OFlags::WRONLY)?);
    Ok(())
}

fn processors(group: &mut Group, found: &Hierarchies, name: &str, cpus: f64, tasks: &mut Vec<OwnedFd>) -> LimitOutcome {
    let directory = make(group, found, name, "cpu")?;
    set(&directory, "cpu.cfs_period_us", &PERIOD.to_string())?;
    set(&directory, "cpu.cfs_quota_us", &quota(cpus, PERIOD).to_string())?;
    group.watch.cpu = open(&directory, "cpuacct.usage", OFlags::RDONLY).ok().map(Counter::nanoseconds);
    tasks.push(open(&directory, "tasks", OFlags::WRONLY)?);
    Ok(())
}

/// Creates a group in the hierarchy of a controller.
fn make(group: &mut Group, found: &Hierarchies, name: &str, controller: &str) -> Result<PathBuf, String> {
    let own = found.version1(controller).ok_or_else(|| format!("control group with `{controller}` not found"))?;
    let directory = own.join(name);
    group.made.directory(&directory)?;
    Ok(directory)
}

/// Returns the microseconds of CPU time in each period. The kernel accepts no less than a thousand.
pub(super) fn quota(cpus: f64, period: u64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a cast saturates, and no machine has that many processors"
    )]
    let quota = (cpus * period as f64) as u64;
    quota.max(1_000)
}
