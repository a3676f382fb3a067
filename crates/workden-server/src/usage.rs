//! What sessions and the machine used lately: a bounded ring of samples for each session that this process has opened, and
//! one for the machine. Sampling starts no sandbox, and is no use of one.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use serde::Serialize;
use utoipa::ToSchema;
use workden::Sandbox;

use crate::{clock::Moment, service::Service, sessions::LiveSession};

/// How often a sample is taken.
pub(crate) const EVERY: Duration = Duration::from_secs(5);
/// Samples of a session: an hour.
const KEPT: usize = 720;
/// How long a sandbox may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Sandboxes that are asked at a time.
const AT_A_TIME: usize = 16;

/// What a session used at a moment.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct UsageSample {
    at: Moment,
    /// Bytes of memory of all commands together.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    /// Seconds of processor time since the sandbox started.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    /// Processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u64>,
    /// Background jobs that run.
    jobs: u64,
}

/// What the machine used at a moment. What the system does not tell is absent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct HostSample {
    at: Moment,
    /// Bytes of memory in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    /// Bytes of memory of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_total: Option<u64>,
    /// Seconds that processors worked since the machine started, of all processors together.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    /// Processors.
    processors: usize,
    /// Bytes of memory of this process of the service.
    service_memory: i64,
    /// Sessions that this process has opened.
    open_sessions: usize,
}

/// The samples of the last hour.
#[derive(Debug, Default)]
pub(crate) struct UsageHistory {
    sessions: Mutex<HashMap<String, VecDeque<UsageSample>>>,
    host: Mutex<VecDeque<HostSample>>,
}

impl UsageHistory {
    /// Returns the samples of a session, oldest first.
    pub(crate) fn of(&self, session: &str) -> Vec<UsageSample> {
        self.last_of(session, KEPT)
    }

    /// Returns the last samples of a session, oldest first.
    pub(crate) fn last_of(&self, session: &str, most: usize) -> Vec<UsageSample> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ring) = sessions.get(session) else { return Vec::new() };
        ring.iter().skip(ring.len().saturating_sub(most)).cloned().collect()
    }

    /// Returns the samples of the machine, oldest first.
    pub(crate) fn host(&self) -> Vec<HostSample> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn keep(&self, session: &str, sample: UsageSample) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        push(sessions.entry(session.to_owned()).or_default(), sample);
    }

    fn keep_host(&self, sample: HostSample) {
        push(&mut self.host.lock().unwrap_or_else(PoisonError::into_inner), sample);
    }

    /// Forgets the sessions that are not open any more.
    fn retain(&self, open: &HashSet<&str>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session, _| open.contains(session.as_str()));
    }
}

fn push<T>(ring: &mut VecDeque<T>, sample: T) {
    if ring.len() >= KEPT {
        ring.pop_front();
    }
    ring.push_back(sample);
}

/// Takes samples until the service ends.
pub(crate) async fn sample(service: Arc<Service>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let open = service.all_live();
        service.usage.retain(&open.iter().map(|live| live.id.as_str()).collect());
        service.usage.keep_host(host_sample(open.len()));
        let samples = stream::iter(open).map(sample_of).buffer_unordered(AT_A_TIME);
        samples
            .for_each(async |sampled| {
                if let Some((session, sample)) = sampled {
                    service.usage.keep(&session, sample);
                }
            })
            .await;
    }
}

/// Returns what a session uses, if its sandbox runs and answers.
async fn sample_of(live: Arc<LiveSession>) -> Option<(String, UsageSample)> {
    let sandbox = live.unrecorded().lazy()?.sandbox()?;
    let usage = tokio::time::timeout(PATIENCE, sandbox.usage()).await.ok()?.ok()?;
    let cpu_seconds = usage.cpu.map(|cpu| cpu.as_secs_f64());
    let (memory, processes, jobs) = (usage.memory, usage.processes, usage.jobs);
    Some((live.id.clone(), UsageSample { at: Moment::now(), memory, cpu_seconds, processes, jobs }))
}

fn host_sample(open_sessions: usize) -> HostSample {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let total = kilobytes(&memory, "MemTotal:");
    HostSample {
        at: Moment::now(),
        memory: total.zip(kilobytes(&memory, "MemAvailable:")).map(|(total, free)| total.saturating_sub(free)),
        memory_total: total,
        cpu_seconds: worked(&read("/proc/stat")),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        service_memory: crate::operations::resident_bytes(),
        open_sessions,
    }
}

/// Returns the bytes of a line of `/proc/meminfo`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Returns the seconds that processors worked, of the first line of `/proc/stat`: user, nice, system, idle, waiting for
/// the disk, and further work, in hundredths.
fn worked(text: &str) -> Option<f64> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line.split_ascii_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    // What guests use is counted as user time, too.
    Some((ticks.iter().take(8).sum::<f64>() - idle) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_read_as_it_writes() {
        let memory = "MemTotal:       24066576 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(kilobytes(memory, "MemAvailable:"), Some(20_480_000_000));
        assert_eq!(kilobytes("", "MemTotal:"), None);
        assert_eq!(worked("cpu  100 10 40 5000 300 0 50 0 0 0\ncpu0 1 1\n"), Some(2.0));
        assert_eq!(worked(""), None);
    }

    #[test]
    fn a_ring_keeps_the_last_samples_of_open_sessions() {
        let history = UsageHistory::default();
        let sample = |at| UsageSample { at: Moment(at), memory: None, cpu_seconds: None, processes: None, jobs: 0 };
        for at in 0..1000 {
            history.keep("a", sample(at));
        }
        assert_eq!(history.of("a").len(), KEPT);
        assert_eq!(history.last_of("a", 2).iter().map(|sample| sample.at.0).collect::<Vec<_>>(), [998, 999]);
        history.retain(&HashSet::from(["b"]));
        assert!(history.of("a").is_empty());
    }
}
