//! Enforces limits without namespaces: by a control group where there is one, and by the kernel for each process.
//! There is no user namespace to count processes in, and no file system for /tmp.

use workden_core::{
    Error, ErrorKind,
    sandbox::{Enforcement, Limit, LimitName, Limits, Strength},
};

use crate::{
    cgroup::Group,
    confine::limits::{self, EnforcedLimits, bytes, count, not_enforced},
};

/// Decides how each limit is enforced.
pub(super) fn enforce(limits: &Limits, group: &Group) -> Result<EnforcedLimits, Error> {
    let mut held_by_others = limits.clone();
    let mut unheld = Vec::new();
    if let (Some(limit), false) = (limits.processes, matches!(group.processes, Some(Ok(())))) {
        let reason = group.processes.as_ref().and_then(|held| held.as_ref().err());
        let reason = reason.map_or("no control group was created", String::as_str);
        let value = count(limit.value);
        refuse_required(limit, || not_enforced(LimitName::Processes, &value.0, reason))?;
        unheld.push((LimitName::Processes, value, reason.to_owned()));
        held_by_others.processes = None;
    }
    if let Some(limit) = limits.tmp_size {
        let value = bytes(limit.value);
        refuse_required(limit, no_size_of_tmp)?;
        unheld.push((LimitName::TmpSize, value, "temporary files are in a directory of the host".to_owned()));
        held_by_others.tmp_size = None;
    }
    let mut enforced = limits::enforce(&held_by_others, group)?;
    for (name, value, reason) in unheld {
        enforced.report(name, value, Enforcement::NotEnforced(reason));
    }
    Ok(enforced)
}

fn refuse_required<T>(limit: Limit<T>, refusal: impl FnOnce() -> Error) -> Result<(), Error> {
    match limit.strength {
        Strength::Required => Err(refusal()),
        Strength::BestEffort => Ok(()),
    }
}

fn no_size_of_tmp() -> Error {
    let sentence = "the sandbox cannot start: a size limit of /tmp is not supported at the level `landlock`";
    Error::new(ErrorKind::LimitNotHeld, sentence)
        .hint("leave it out, make the limit best effort, or choose the level `namespaces`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_namespaces_hold_is_refused_when_it_is_named_and_reported_when_not() {
        let none = Group::default();
        for required in [
            Limits { processes: Some(Limit::required(64)), ..Limits::default() },
            Limits { tmp_size: Some(Limit::required(64)), ..Limits::default() },
        ] {
            assert_eq!(enforce(&required, &none).unwrap_err().kind(), ErrorKind::LimitNotHeld);
        }
        let effort = Limits {
            processes: Some(Limit::best_effort(64)),
            tmp_size: Some(Limit::best_effort(64)),
            open_files: Some(Limit::required(64)),
            ..Limits::default()
        };
        let reports = enforce(&effort, &none).unwrap().reports;
        let unheld = |name| {
            let mut of_limit = reports.iter().filter(|report| report.limit == name);
            of_limit.next().is_some_and(|report| matches!(report.enforcement, Enforcement::NotEnforced(_)))
        };
        assert!(unheld(LimitName::Processes) && unheld(LimitName::TmpSize), "{reports:?}");
        assert!(!unheld(LimitName::OpenFiles) && reports.len() == 3, "{reports:?}");
    }
}
