//! Counters of a control group, read through descriptors that were opened while the process still had the rights for
//! it.

use std::{borrow::Cow, os::fd::OwnedFd, time::Duration};

use rustix::io::pread;

use crate::config::{LimitCounts, LimitWatch, ResourceUse};

/// The counters of a group. A counter that the kernel does not offer is `None`.
#[derive(Debug, Default)]
pub(crate) struct GroupCounters {
    pub(super) memory: Option<Counter>,
    pub(super) memory_peak: Option<Counter>,
    pub(super) memory_kills: Option<Counter>,
    pub(super) processes: Option<Counter>,
    pub(super) refused_processes: Option<Counter>,
    pub(super) cpu: Option<Counter>,
}

impl LimitWatch for GroupCounters {
    fn hits(&self) -> LimitCounts {
        LimitCounts {
            memory: read(&self.memory_kills).unwrap_or(0),
            processes: read(&self.refused_processes).unwrap_or(0),
        }
    }

    fn used(&self) -> ResourceUse {
        ResourceUse {
            memory: read(&self.memory),
            memory_peak: read(&self.memory_peak),
            cpu: read(&self.cpu).map(Duration::from_nanos),
            processes: read(&self.processes),
        }
    }
}

fn read(source: &Option<Counter>) -> Option<u64> {
    source.as_ref().and_then(Counter::read)
}

/// A number in a file of a group.
#[derive(Debug)]
pub(super) struct Counter {
    file: OwnedFd,
    /// The key before the number, in a file with several.
    key: Option<Cow<'static, str>>,
    /// The factor that turns the number into the unit of the caller.
    unit: u64,
}

impl Counter {
    /// Splits the counter into its file, its key and its unit.
    pub(super) fn into_parts(self) -> (OwnedFd, Option<Cow<'static, str>>, u64) {
        (self.file, self.key, self.unit)
    }

    /// Builds the counter from the parts of [`Self::into_parts`].
    pub(super) fn from_parts(file: OwnedFd, key: Option<Cow<'static, str>>, unit: u64) -> Self {
        Self { file, key, unit }
    }

    pub(super) fn number(file: OwnedFd) -> Self {
        Self { file, key: None, unit: 1 }
    }

    pub(super) fn nanoseconds(file: OwnedFd) -> Self {
        Self::number(file)
    }

    pub(super) fn keyed(file: OwnedFd, key: &'static str) -> Self {
        Self { file, key: Some(key.into()), unit: 1 }
    }

    pub(super) fn microseconds(file: OwnedFd, key: &'static str) -> Self {
        Self { file, key: Some(key.into()), unit: 1_000 }
    }

    fn read(&self) -> Option<u64> {
        let mut buffer = [0; 1024];
        let length = pread(&self.file, &mut buffer, 0).ok()?;
        let text = str::from_utf8(buffer.get(..length)?).ok()?;
        number_in(text, self.key.as_deref())?.checked_mul(self.unit)
    }
}

/// Returns the number of a file that holds one, or the number behind a key in a file that holds several.
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
