//! The control group that this process is in: its counters and its limits. In a container there is no other: commands
//! and keeper share the group that the container runtime made.

use std::{fs, path::Path};

use rustix::fs::OFlags;
use serde_json::Number;
use workden_core::{
    sandbox::{Enforcement, Limit, LimitName, LimitReport, Limits},
    show_size,
};

use super::{
    counters::{Counter, GroupCounters},
    group::open,
    hierarchies::{Hierarchies, OwnGroups},
};

/// Version 1 reports numbers from here on for "no limit".
const NO_LIMIT: u64 = 1 << 60;

/// The group that this process is in.
#[derive(Debug, Default)]
pub(crate) struct OwnGroup {
    pub(crate) watch: GroupCounters,
    pub(crate) limits: Limits,
}

impl OwnGroup {
    /// Reads the group. Counters and limits that cannot be read stay empty.
    pub(crate) fn read() -> Self {
        let Ok(hierarchies) = OwnGroups::read().and_then(|own| own.hierarchies()) else { return Self::default() };
        if hierarchies.unified_limits() { unified(&hierarchies) } else { version1(&hierarchies) }
    }

    /// Returns the limits for the isolation report.
    pub(crate) fn reports(&self) -> Vec<LimitReport> {
        let report =
            |limit, value, amount: Option<Number>| LimitReport::new(limit, value, Enforcement::Cgroup).amount(amount);
        let Limits { memory, cpus, processes, .. } = &self.limits;
        let memory =
            memory.as_ref().map(|limit| report(LimitName::Memory, show_size(limit.value), Some(limit.value.into())));
        let cpus =
            cpus.as_ref().map(|limit| report(LimitName::Cpus, limit.value.to_string(), Number::from_f64(limit.value)));
        let processes = processes
            .as_ref()
            .map(|limit| report(LimitName::Processes, limit.value.to_string(), Some(limit.value.into())));
        memory.into_iter().chain(cpus).chain(processes).collect()
    }
}

fn unified(hierarchies: &Hierarchies) -> OwnGroup {
    let Some(at) = hierarchies.unified() else { return OwnGroup::default() };
    let read = |file| open(&at, file, OFlags::RDONLY).ok();
    let watch = GroupCounters {
        memory: read("memory.current").map(Counter::number),
        memory_peak: read("memory.peak").map(Counter::number),
        memory_kills: read("memory.events").map(|file| Counter::keyed(file, "oom_kill")),
        processes: read("pids.current").map(Counter::number),
        refused_processes: read("pids.events").map(|file| Counter::keyed(file, "max")),
        cpu: read("cpu.stat").map(|file| Counter::microseconds(file, "usage_usec")),
    };
    let quota = text(&at, "cpu.max").and_then(|line| {
        let (quota, period) = line.split_once(' ')?;
        processors(quota, period)
    });
    OwnGroup { watch, limits: limits(number(&at, "memory.max"), number(&at, "pids.max"), quota) }
}

fn version1(hierarchies: &Hierarchies) -> OwnGroup {
    let mut own = OwnGroup::default();
    let (mut memory, mut processes, mut quota) = (None, None, None);
    if let Some(at) = hierarchies.version1("memory") {
        let read = |file| open(&at, file, OFlags::RDONLY).ok();
        own.watch.memory = read("memory.usage_in_bytes").map(Counter::number);
        own.watch.memory_peak = read("memory.max_usage_in_bytes").map(Counter::number);
        own.watch.memory_kills = read("memory.oom_control").map(|file| Counter::keyed(file, "oom_kill"));
        memory = number(&at, "memory.limit_in_bytes");
    }
    if let Some(at) = hierarchies.version1("pids") {
        let read = |file| open(&at, file, OFlags::RDONLY).ok();
        own.watch.processes = read("pids.current").map(Counter::number);
        own.watch.refused_processes = read("pids.events").map(|file| Counter::keyed(file, "max"));
        processes = number(&at, "pids.max");
    }
    if let Some(at) = hierarchies.version1("cpuacct") {
        own.watch.cpu = open(&at, "cpuacct.usage", OFlags::RDONLY).ok().map(Counter::nanoseconds);
    }
    if let Some(at) = hierarchies.version1("cpu") {
        let of = |file| text(&at, file);
        quota =
            of("cpu.cfs_quota_us").zip(of("cpu.cfs_period_us")).and_then(|(quota, period)| processors(&quota, &period));
    }
    own.limits = limits(memory, processes, quota);
    own
}

fn limits(memory: Option<u64>, processes: Option<u64>, cpus: Option<f64>) -> Limits {
    Limits {
        memory: memory.filter(|bytes| *bytes < NO_LIMIT).map(Limit::best_effort),
        processes: processes.map(Limit::best_effort),
        cpus: cpus.map(Limit::best_effort),
        ..Limits::default()
    }
}

fn text(at: &Path, file: &str) -> Option<String> {
    fs::read_to_string(at.join(file)).ok().map(|text| text.trim().to_owned())
}

fn number(at: &Path, file: &str) -> Option<u64> {
    text(at, file)?.parse().ok()
}

/// Converts a quota per period into a number of processors.
fn processors(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u32, u32) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| f64::from(quota) / f64::from(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_numbers_of_processors_or_none() {
        for (quota, period, wanted) in
            [("150000", "100000", Some(1.5)), ("-1", "100000", None), ("max", "100000", None), ("1", "0", None)]
        {
            assert_eq!(processors(quota, period), wanted);
        }
    }

    #[test]
    fn what_is_no_limit_is_not_told_as_one() {
        assert_eq!(limits(Some(9_223_372_036_854_771_712), None, None), Limits::default());
        let own = OwnGroup { limits: limits(Some(64 << 20), Some(100), Some(0.5)), ..OwnGroup::default() };
        let told: Vec<String> = own.reports().into_iter().map(|report| report.value).collect();
        assert_eq!(told, ["64 MB", "0.5", "100"]);
    }
}
