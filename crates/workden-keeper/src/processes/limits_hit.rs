//! The limits that a command hit, as messages.

use workden_core::{
    sandbox::{Ended, LimitHit, LimitName, Limits},
    show_size,
};

use crate::config::LimitCounts;

const SIGKILL: i32 = 9;
const SIGXFSZ: i32 = 25;

/// Returns the limits that were hit between two counts, by a command that ended in this way.
pub(crate) fn between(before: LimitCounts, after: LimitCounts, ended: Ended, limits: &Limits) -> Vec<LimitHit> {
    let mut hits = Vec::new();
    let mut hit = |limit: LimitName, what: &str, value: Option<String>| {
        let value = value.map_or_else(String::new, |value| format!(" {value}"));
        hits.push(LimitHit::new(limit, format!("{what}: {}{value}", limit.words())));
    };
    let by = |signal: i32| ended.exit_code() == 128 + signal;
    if after.memory > before.memory {
        let what = if by(SIGKILL) { "killed" } else { "a process was killed" };
        hit(LimitName::Memory, what, limits.memory.map(|limit| show_size(limit.value)));
    }
    if after.processes > before.processes {
        let value = limits.processes.map(|limit| limit.value.to_string());
        hit(LimitName::Processes, "a process could not be started", value);
    }
    if let (true, Some(limit)) = (by(SIGXFSZ), limits.file_size) {
        hit(LimitName::FileSize, "killed", Some(show_size(limit.value)));
    }
    hits
}

#[cfg(test)]
mod tests {
    use workden_core::sandbox::Limit;

    use super::*;

    #[test]
    fn what_was_hit_is_said() {
        let limits = Limits {
            memory: Some(Limit::required(512 << 20)),
            processes: Some(Limit::required(64)),
            file_size: Some(Limit::required(1000)),
            ..Limits::default()
        };
        let counts = |memory, processes| LimitCounts { memory, processes };
        for (after, ended, sentences) in [
            (counts(3, 7), Ended::Exited(0), &[][..]),
            (counts(4, 7), Ended::Signalled(9), &["killed: memory limit 512 MB"]),
            (counts(4, 7), Ended::Exited(137), &["killed: memory limit 512 MB"]),
            (counts(4, 7), Ended::Exited(0), &["a process was killed: memory limit 512 MB"]),
            (counts(3, 9), Ended::Exited(2), &["a process could not be started: process limit 64"]),
            (counts(3, 7), Ended::Signalled(25), &["killed: file size limit 1000 bytes"]),
        ] {
            let hits = between(counts(3, 7), after, ended, &limits);
            let said: Vec<&str> = hits.iter().map(|hit| hit.sentence.as_str()).collect();
            assert_eq!(said, sentences);
        }
    }
}
