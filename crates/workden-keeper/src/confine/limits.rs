//! How each limit is enforced: by a control group, by the kernel for each process, by a file system, by the keeper,
//! or not at all. A required limit that cannot be enforced is an error.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Number;
use workden_core::{
    Error, ErrorKind,
    sandbox::{Enforcement, Limit, LimitName, LimitReport, Limits, Strength},
    show_size,
};

use crate::cgroup::{Group, GroupLimits, LimitOutcome};

/// Processes of the keeper, which count towards the user's processes as well.
const OF_KEEPER: u64 = 16;

/// Bytes of a core dump. One, not zero: nothing is written, and the host's core handler is not started either.
pub(super) const CORE_BYTES: u64 = 1;

/// The resource limits of each process, and the report about all limits.
#[derive(Debug, Default)]
pub(super) struct EnforcedLimits {
    pub(super) rlimits: Vec<(Resource, u64)>,
    pub(super) reports: Vec<LimitReport>,
}

/// Returns the limits that only a control group can enforce.
pub(super) fn for_group(limits: &Limits) -> GroupLimits {
    GroupLimits {
        memory: limits.memory.map(|limit| limit.value),
        cpus: limits.cpus.map(|limit| limit.value),
        processes: limits.processes.map(|limit| limit.value),
    }
}

/// Decides how each limit is enforced.
pub(super) fn enforce(limits: &Limits, group: &Group) -> Result<EnforcedLimits, Error> {
    let mut enforced = EnforcedLimits::default();
    enforced.rlimits.push((Resource::Core, CORE_BYTES));
    if let Some(limit) = limits.memory {
        let value = limit.value;
        let instead = |enforced: &mut EnforcedLimits, _: &str| {
            enforced.rlimits.push((Resource::Data, value));
            Enforcement::EachProcess
        };
        enforced.by_group(LimitName::Memory, limit, bytes(value), group.memory.as_ref(), instead)?;
    }
    if let Some(limit) = limits.cpus {
        let not_enforced = |_: &mut EnforcedLimits, reason: &str| Enforcement::NotEnforced(reason.to_owned());
        let shown = ShownLimit(format!("{}", limit.value), Number::from_f64(limit.value));
        enforced.by_group(LimitName::Cpus, limit, shown, group.cpus.as_ref(), not_enforced)?;
    }
    if let Some(limit) = limits.processes {
        let enforcement = match group.processes.as_ref() {
            Some(Ok(())) => Enforcement::Cgroup,
            // The kernel counts the processes of a user per user namespace, and this sandbox has its own.
            _ => {
                enforced.rlimits.push((Resource::Nproc, limit.value.saturating_add(OF_KEEPER)));
                Enforcement::UserNamespace
            }
        };
        enforced.report(LimitName::Processes, count(limit.value), enforcement);
    }
    if let Some(limit) = limits.open_files {
        enforced.each_process(Resource::Nofile, limit.value);
        enforced.report(LimitName::OpenFiles, count(limit.value), Enforcement::EachProcess);
    }
    if let Some(limit) = limits.file_size {
        enforced.each_process(Resource::Fsize, limit.value);
        enforced.report(LimitName::FileSize, bytes(limit.value), Enforcement::EachProcess);
    }
    if let Some(limit) = limits.tmp_size {
        enforced.report(LimitName::TmpSize, bytes(limit.value), Enforcement::FileSystem);
    }
    for (name, limit) in [(LimitName::WallClock, limits.wall_clock), (LimitName::Idle, limits.idle)] {
        if let Some(limit) = limit {
            let seconds = limit.value.as_secs_f64();
            enforced.report(name, ShownLimit(format!("{seconds} s"), Number::from_f64(seconds)), Enforcement::Keeper);
        }
    }
    Ok(enforced)
}

impl EnforcedLimits {
    /// Records a limit that only a group can enforce for all commands together.
    fn by_group<T: Copy>(
        &mut self,
        name: LimitName,
        limit: Limit<T>,
        shown: ShownLimit,
        held: Option<&LimitOutcome>,
        instead: impl FnOnce(&mut Self, &str) -> Enforcement,
    ) -> Result<(), Error> {
        let enforcement = match held {
            Some(Ok(())) => Enforcement::Cgroup,
            other => {
                let reason =
                    other.and_then(|held| held.as_ref().err()).map_or("no control group was created", String::as_str);
                if limit.strength == Strength::Required {
                    return Err(not_enforced(name, &shown.0, reason));
                }
                instead(self, reason)
            }
        };
        self.report(name, shown, enforcement);
        Ok(())
    }

    /// Records a limit of each process, never above the current maximum.
    fn each_process(&mut self, resource: Resource, value: u64) {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        self.rlimits.push((resource, value.min(most)));
    }

    pub(super) fn report(&mut self, limit: LimitName, ShownLimit(value, amount): ShownLimit, enforcement: Enforcement) {
        self.reports.push(LimitReport::new(limit, value, enforcement).amount(amount));
    }
}

/// The value of a limit in words and as a number.
pub(super) struct ShownLimit(pub(super) String, pub(super) Option<Number>);

pub(super) fn bytes(value: u64) -> ShownLimit {
    ShownLimit(show_size(value), Some(value.into()))
}

pub(super) fn count(value: u64) -> ShownLimit {
    ShownLimit(value.to_string(), Some(value.into()))
}

pub(super) fn not_enforced(name: LimitName, value: &str, reason: &str) -> Error {
    let sentence = format!("the sandbox cannot start: cannot enforce the {} of {value}: {reason}", name.words());
    Error::new(ErrorKind::LimitNotHeld, sentence).hint(
        "start it in a delegated control group (`systemd-run --user --scope -p Delegate=yes ...`), or make the limit \
         best effort; run `workden doctor` for details",
    )
}

/// Raises the hard limit for core dumps to the one byte that commands get: with zero the kernel starts the host's
/// core handler for a command that crashes. A process that may not raise it could start that handler anyway.
pub(super) fn raise_ceiling_for_cores() {
    let one = Some(CORE_BYTES);
    if getrlimit(Resource::Core).maximum.is_some_and(|most| most < CORE_BYTES) {
        let _ = setrlimit(Resource::Core, Rlimit { current: one, maximum: one });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_limit_that_cannot_be_enforced_is_refused_and_another_is_reported() {
        let mut none = Group::default();
        none.memory = Some(Err("it may not".to_owned()));
        let required = Limits { memory: Some(Limit::required(1 << 20)), ..Limits::default() };
        let error = enforce(&required, &none).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitNotHeld);
        assert!(error.sentence().ends_with("cannot enforce the memory limit of 1 MB: it may not"), "{error}");

        let effort = Limits { memory: Some(Limit::best_effort(1 << 20)), ..Limits::default() };
        let enforced = enforce(&effort, &none).unwrap();
        assert_eq!(enforced.reports[0].enforcement, Enforcement::EachProcess);
        assert!(enforced.rlimits.contains(&(Resource::Data, 1 << 20)));
    }

    #[test]
    fn processes_without_a_group_are_counted_by_user() {
        let limits = Limits { processes: Some(Limit::required(10)), ..Limits::default() };
        let enforced = enforce(&limits, &Group::default()).unwrap();
        assert_eq!(enforced.reports[0].enforcement, Enforcement::UserNamespace);
    }
}
