//! Who holds which limit: a control group, the kernel for each process, a file system, the keeper,
//! or nobody. One that the caller requires and nobody holds is an error.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workden_core::{
    Error, ErrorKind,
    sandbox::{Enforcement, Limit, LimitName, LimitReport, Limits, Strength},
    show_size,
};

use crate::cgroup::{Group, GroupLimits, LimitOutcome};

/// Processes of the keeper that count as well where the user's are counted.
const OF_KEEPER: u64 = 16;

/// Bytes that a core may have. One, not none: nothing is written, and no helper of the host is
/// started either.
pub(super) const CORE_BYTES: u64 = 1;

/// What the kernel is told for each process, and the report about all limits.
#[derive(Debug, Default)]
pub(super) struct EnforcedLimits {
    pub(super) rlimits: Vec<(Resource, u64)>,
    pub(super) reports: Vec<LimitReport>,
}

/// What only a control group can hold.
pub(super) fn for_group(limits: &Limits) -> GroupLimits {
    GroupLimits {
        memory: limits.memory.map(|limit| limit.value),
        cpus: limits.cpus.map(|limit| limit.value),
        processes: limits.processes.map(|limit| limit.value),
    }
}

/// Decides who holds each limit.
pub(super) fn hold(limits: &Limits, group: &Group) -> Result<EnforcedLimits, Error> {
    let mut holding = EnforcedLimits::default();
    holding.rlimits.push((Resource::Core, CORE_BYTES));
    if let Some(limit) = limits.memory {
        let value = limit.value;
        let instead = |holding: &mut EnforcedLimits, _: &str| {
            holding.rlimits.push((Resource::Data, value));
            Enforcement::EachProcess
        };
        holding.by_group(LimitName::Memory, limit, show_size(value), group.memory.as_ref(), instead)?;
    }
    if let Some(limit) = limits.cpus {
        let nobody = |_: &mut EnforcedLimits, reason: &str| Enforcement::Nobody(reason.to_owned());
        holding.by_group(LimitName::Cpus, limit, format!("{}", limit.value), group.cpus.as_ref(), nobody)?;
    }
    if let Some(limit) = limits.processes {
        let enforcement = match group.processes.as_ref() {
            Some(Ok(())) => Enforcement::Cgroup,
            // The kernel counts the processes of a user in each user namespace, and this sandbox
            // has one of its own.
            _ => {
                holding.rlimits.push((Resource::Nproc, limit.value.saturating_add(OF_KEEPER)));
                Enforcement::UserNamespace
            }
        };
        holding.report(LimitName::Processes, limit.value.to_string(), enforcement);
    }
    if let Some(limit) = limits.open_files {
        holding.each_process(Resource::Nofile, limit.value);
        holding.report(LimitName::OpenFiles, limit.value.to_string(), Enforcement::EachProcess);
    }
    if let Some(limit) = limits.file_size {
        holding.each_process(Resource::Fsize, limit.value);
        holding.report(LimitName::FileSize, show_size(limit.value), Enforcement::EachProcess);
    }
    if let Some(limit) = limits.tmp_size {
        holding.report(LimitName::TmpSize, show_size(limit.value), Enforcement::FileSystem);
    }
    for (name, limit) in [(LimitName::WallClock, limits.wall_clock), (LimitName::Idle, limits.idle)] {
        if let Some(limit) = limit {
            holding.report(name, format!("{} s", limit.value.as_secs_f64()), Enforcement::Keeper);
        }
    }
    Ok(holding)
}

impl EnforcedLimits {
    /// A limit that a group holds, or nobody holds for all commands together.
    fn by_group<T: Copy>(
        &mut self,
        name: LimitName,
        limit: Limit<T>,
        value: String,
        held: Option<&LimitOutcome>,
        instead: impl FnOnce(&mut Self, &str) -> Enforcement,
    ) -> Result<(), Error> {
        let enforcement = match held {
            Some(Ok(())) => Enforcement::Cgroup,
            other => {
                let reason =
                    other.and_then(|held| held.as_ref().err()).map_or("no control group was made", String::as_str);
                if limit.strength == Strength::Required {
                    return Err(nobody_holds(name, &value, reason));
                }
                instead(self, reason)
            }
        };
        self.report(name, value, enforcement);
        Ok(())
    }

    /// What the kernel holds for each process; never more than it does already.
    fn each_process(&mut self, resource: Resource, value: u64) {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        self.rlimits.push((resource, value.min(most)));
    }

    pub(super) fn report(&mut self, limit: LimitName, value: String, enforcement: Enforcement) {
        self.reports.push(LimitReport { limit, value, enforcement });
    }
}

pub(super) fn nobody_holds(name: LimitName, value: &str, reason: &str) -> Error {
    let sentence = format!("the sandbox cannot start: nobody can hold the {} of {value}: {reason}", name.words());
    Error::new(ErrorKind::LimitNotHeld, sentence).hint(
        "start it below a control group of yours (`systemd-run --user --scope -p Delegate=yes ...`), or make the limit \
         best effort; `workden doctor` says more",
    )
}

/// Makes room for the one byte that commands get: with none at all, the kernel starts the host's
/// helper for a command that crashes. Whoever may not raise it may start that helper as well.
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
    fn a_required_limit_that_nobody_holds_is_refused_and_another_is_reported() {
        let mut nobody = Group::default();
        nobody.memory = Some(Err("it may not".to_owned()));
        let required = Limits { memory: Some(Limit::required(1 << 20)), ..Limits::default() };
        let error = hold(&required, &nobody).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitNotHeld);
        assert!(error.sentence().ends_with("nobody can hold the memory limit of 1 MB: it may not"), "{error}");

        let effort = Limits { memory: Some(Limit::best_effort(1 << 20)), ..Limits::default() };
        let holding = hold(&effort, &nobody).unwrap();
        assert_eq!(holding.reports[0].enforcement, Enforcement::EachProcess);
        assert!(holding.rlimits.contains(&(Resource::Data, 1 << 20)));
    }

    #[test]
    fn processes_without_a_group_are_counted_by_user() {
        let limits = Limits { processes: Some(Limit::required(10)), ..Limits::default() };
        let holding = hold(&limits, &Group::default()).unwrap();
        assert_eq!(holding.reports[0].enforcement, Enforcement::UserNamespace);
    }
}
