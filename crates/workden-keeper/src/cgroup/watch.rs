//! What a group has counted, read by descriptors that were opened while that was still allowed.

use std::{os::fd::OwnedFd, time::Duration};

use rustix::io::pread;
use workden_core::sandbox::Usage;

/// What a group counts, as far as anybody counts it.
#[derive(Debug, Default)]
pub struct Watch {
    pub(super) memory: Option<Source>,
    pub(super) memory_peak: Option<Source>,
    pub(super) memory_kills: Option<Source>,
    pub(super) processes: Option<Source>,
    pub(super) refused_processes: Option<Source>,
    pub(super) cpu: Option<Source>,
}

/// How often limits have been hit so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Processes that were killed because the memory limit was reached.
    pub memory_kills: u64,
    /// Processes that were not started because the process limit was reached.
    pub refused_processes: u64,
}

impl Watch {
    /// How often limits have been hit so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            memory_kills: read(&self.memory_kills).unwrap_or(0),
            refused_processes: read(&self.refused_processes).unwrap_or(0),
        }
    }

    /// Fills in what the commands use at the moment; what nobody counts is left as it is.
    pub fn fill(&self, usage: &mut Usage) {
        usage.memory = read(&self.memory).or(usage.memory);
        usage.memory_peak = read(&self.memory_peak).or(usage.memory_peak);
        usage.processes = read(&self.processes).or(usage.processes);
        usage.cpu = read(&self.cpu).map(Duration::from_nanos).or(usage.cpu);
    }
}

fn read(source: &Option<Source>) -> Option<u64> {
    source.as_ref().and_then(Source::read)
}

/// A number in a file of a group.
#[derive(Debug)]
pub(super) struct Source {
    file: OwnedFd,
    /// The word that stands before it, if it is one of several.
    key: Option<&'static str>,
    /// By what it is multiplied.
    unit: u64,
}

impl Source {
    pub(super) fn number(file: OwnedFd) -> Self {
        Self { file, key: None, unit: 1 }
    }

    pub(super) fn nanoseconds(file: OwnedFd) -> Self {
        Self::number(file)
    }

    pub(super) fn keyed(file: OwnedFd, key: &'static str) -> Self {
        Self { file, key: Some(key), unit: 1 }
    }

    pub(super) fn microseconds(file: OwnedFd, key: &'static str) -> Self {
        Self { file, key: Some(key), unit: 1_000 }
    }

    fn read(&self) -> Option<u64> {
        let mut buffer = [0; 1024];
        let length = pread(&self.file, &mut buffer, 0).ok()?;
        let text = str::from_utf8(buffer.get(..length)?).ok()?;
        number_in(text, self.key)?.checked_mul(self.unit)
    }
}

/// The number of a file that has one, or the one behind a word of a file that has several.
fn number_in(text: &str, key: Option<&str>) -> Option<u64> {
    match key {
        None => text.trim().parse().ok(),
        Some(key) => text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_word() {
        let oom = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        for (text, key, wanted) in [
            ("4096\n", None, Some(4096)),
            ("max\n", None, None),
            (oom, Some("oom_kill"), Some(3)),
            ("max 7\n", Some("max"), Some(7)),
            ("low 0\nmax 1\noom 2\noom_kill 5\noom_group_kill 9\n", Some("oom_kill"), Some(5)),
            ("", Some("max"), None),
        ] {
            assert_eq!(number_in(text, key), wanted, "{key:?} in {text:?}");
        }
    }
}
