//! The limits of a sandbox as its builder collects them: explicit limits are required, defaults are best effort.

use std::time::Duration;

use workden_core::sandbox::{Limit, Limits, Strength};

/// Default limit of processes and threads.
const PROCESSES: u64 = 512;
/// Default limit of open files per process.
const OPEN_FILES: u64 = 4096;
/// Default size of /tmp in bytes.
const TMP_BYTES: u64 = 512 * 1024 * 1024;

/// The explicit limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamedLimits {
    pub(crate) memory: Option<u64>,
    pub(crate) cpus: Option<f64>,
    pub(crate) processes: Option<u64>,
    pub(crate) open_files: Option<u64>,
    pub(crate) file_size: Option<u64>,
    pub(crate) tmp_size: Option<u64>,
    pub(crate) wall_clock: Option<Duration>,
    pub(crate) idle: Option<Duration>,
}

impl NamedLimits {
    /// Returns all limits of a sandbox on a machine with this much memory.
    ///
    /// | limit | default |
    /// |---|---|
    /// | memory | half of the machine's |
    /// | cpus | none |
    /// | processes | 512 |
    /// | open files of a process | 4,096 |
    /// | file size | none |
    /// | size of /tmp | 512 MB |
    /// | wall clock | none |
    /// | idle | none |
    pub(crate) fn with_defaults(&self, strength: Strength, memory_of_machine: Option<u64>) -> Limits {
        let half = memory_of_machine.map(|all| all / 2);
        Limits {
            memory: limit(self.memory, half, strength),
            cpus: limit(self.cpus, None, strength),
            processes: limit(self.processes, Some(PROCESSES), strength),
            open_files: limit(self.open_files, Some(OPEN_FILES), strength),
            file_size: limit(self.file_size, None, strength),
            tmp_size: limit(self.tmp_size, Some(TMP_BYTES), strength),
            wall_clock: limit(self.wall_clock, None, strength),
            idle: limit(self.idle, None, strength),
        }
    }
}

fn limit<T>(named: Option<T>, default: Option<T>, strength: Strength) -> Option<Limit<T>> {
    match (named, default) {
        (Some(value), _) => Some(Limit { value, strength }),
        (None, Some(value)) => Some(Limit::best_effort(value)),
        (None, None) => None,
    }
}

/// Returns the bytes of memory of this machine.
#[cfg(target_os = "linux")]
pub(crate) fn memory_of_machine() -> Option<u64> {
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit.max(1));
    (info.totalram as u64).checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// Sandboxes start on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn memory_of_machine() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_required_and_defaults_are_best_effort() {
        let named = NamedLimits { memory: Some(100), cpus: Some(1.5), ..NamedLimits::default() };
        let limits = named.with_defaults(Strength::Required, Some(4000));
        assert_eq!(limits.memory, Some(Limit::required(100)));
        assert_eq!(limits.cpus, Some(Limit::required(1.5)));
        assert_eq!(limits.processes, Some(Limit::best_effort(512)));
        assert_eq!((limits.file_size, limits.wall_clock, limits.idle), (None, None, None));
        let easy = named.with_defaults(Strength::BestEffort, Some(4000));
        assert_eq!(easy.memory, Some(Limit::best_effort(100)));
    }

    #[test]
    fn without_a_word_a_sandbox_gets_half_of_the_memory() {
        let named = NamedLimits::default();
        assert_eq!(named.with_defaults(Strength::Required, Some(4000)).memory, Some(Limit::best_effort(2000)));
        assert_eq!(named.with_defaults(Strength::Required, None).memory, None);
        assert!(memory_of_machine().unwrap() > 64 * 1024 * 1024);
    }
}
