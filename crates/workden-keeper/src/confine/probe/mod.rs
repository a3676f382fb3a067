//! Checks which isolation this machine supports: a whole sandbox is set up and a program runs in it, and each part is
//! checked alone, so that the report names the missing one and how to enable it.

mod dry_run;
mod landlock_level;

use std::fs;

use rustix::{
    io::Errno,
    process::{WaitOptions, waitpid},
};
use workden_core::sandbox::{Finding, MountAccess, Need, Outcome};

use self::dry_run::{finding, lacking};
use super::{
    detached_mounts::{clone_of, map_ids},
    ids::{Ids, OwnerNamespaces, why_no_user_namespace},
    landlock::NEWEST_VERSION,
};
use crate::{
    cgroup::{Counted, GroupLimits, GroupPlan, LimitOutcome},
    sys::{
        confine::{self, CloneSide, clone_process, new},
        exit_now,
    },
};

/// Runs all checks. Must be called before any thread is started: it forks.
#[must_use]
pub fn probe() -> Vec<Finding> {
    let mut findings = vec![dry_run::whole(), kernel(), user_namespaces()];
    findings.extend(id_mapped_mounts());
    findings.extend([seccomp(), landlock()]);
    findings.extend(control_groups());
    findings.push(landlock_level::probe());
    findings
}

/// The first kernel with all mount calls that are used.
const OLDEST_KERNEL: (u32, u32) = (5, 12);

fn kernel() -> Finding {
    let release = kernel_release();
    let outcome = if kernel_version(&release) >= OLDEST_KERNEL {
        Outcome::Works(format!("Linux {release}"))
    } else {
        lacking(format!("Linux {release} is too old"), "use Linux 5.12 or newer, 5.14 for all limits".to_owned())
    };
    finding("kernel", "the kernel", Need::Sandbox, outcome)
}

fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn kernel_version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Reads a kernel setting.
fn sysctl(path: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/{path}")).ok().map(|text| text.trim().to_owned())
}

fn user_namespaces() -> Finding {
    let is = |path, value: &str| sysctl(path).as_deref() == Some(value);
    let outcome = if matches!(Ids::of_this_process(), Ok(Ids::OfSandbox(_))) {
        Outcome::Works("available to root".to_owned())
    } else if is("user/max_user_namespaces", "0") {
        lacking("the kernel allows none", "sysctl -w user.max_user_namespaces=10000".to_owned())
    } else if is("kernel/unprivileged_userns_clone", "0") {
        lacking("the kernel allows none for ordinary users", "sysctl -w kernel.unprivileged_userns_clone=1".to_owned())
    } else {
        match clone_process(new::USER, None) {
            Ok(CloneSide::Child) => exit_now(0),
            Ok(CloneSide::Parent(pid, _process)) => {
                let _ = waitpid(Some(pid), WaitOptions::empty());
                if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
                    lacking("AppArmor restricts them for ordinary users", apparmor_profile())
                } else {
                    Outcome::Works("available to ordinary users".to_owned())
                }
            }
            Err(errno) => {
                let error = why_no_user_namespace(errno);
                lacking(error.sentence(), error.hint_text().map(str::to_owned))
            }
        }
    };
    finding("user_namespaces", "user namespaces", Need::Sandbox, outcome)
}

/// Returns an AppArmor profile that lets this program make user namespaces. The check of the whole sandbox shows
/// whether it is needed.
fn apparmor_profile() -> String {
    let program =
        std::env::current_exe().map_or("/usr/local/bin/workden".to_owned(), |path| path.display().to_string());
    format!(
        "if the whole sandbox does not work, write this to /etc/apparmor.d/workden:\n\
         abi <abi/4.0>,\n\
         include <tunables/global>\n\
         profile workden {program} flags=(unconfined) {{\n  userns,\n  include if exists <local/workden>\n}}\n\
         and run: apparmor_parser -r /etc/apparmor.d/workden"
    )
}

/// Checks whether root can show the files of a directory as the sandbox's own.
fn id_mapped_mounts() -> Option<Finding> {
    let ids = Ids::of_this_process().ok()?;
    let Ids::OfSandbox(_) = ids else { return None };
    let (owners, _makers) = OwnerNamespaces::for_all(vec![(0, 0)], ids).unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let mapped = clone_of(&here, MountAccess::ReadOnly)
        .and_then(|tree| owners.find((0, 0)).map_or(Err(Errno::PERM), |mapping| map_ids(&tree, mapping)));
    let outcome = match mapped {
        Ok(()) => Outcome::Works("supported by the file system of this directory".to_owned()),
        _ => lacking(
            "not supported by the file system of this directory, or by one mounted below it",
            "start the sandbox as the user who owns the files, or put them on ext4, xfs, btrfs or tmpfs".to_owned(),
        ),
    };
    Some(finding("id_mapped_mounts", "id-mapped mounts, for sandboxes that root starts", Need::Sandbox, outcome))
}

fn seccomp() -> Finding {
    let outcome = match sysctl("kernel/seccomp/actions_avail") {
        Some(actions) if actions.contains("errno") => Outcome::Works("available".to_owned()),
        _ => lacking("not supported by this kernel", None),
    };
    finding("seccomp", "seccomp", Need::Sandbox, outcome)
}

fn landlock() -> Finding {
    let outcome = match confine::landlock_version() {
        Ok(version) if version >= NEWEST_VERSION => {
            Outcome::Works(format!("version {version}: files, signals and abstract sockets"))
        }
        Ok(version) => lacking(
            format!("version {version}: files, but neither signals nor abstract sockets"),
            "use Linux 6.12 or newer".to_owned(),
        ),
        Err(Errno::OPNOTSUPP) => lacking("disabled", "start the kernel with `lsm=landlock,...`".to_owned()),
        Err(_) => lacking("not supported by this kernel", "use Linux 6.12 or newer".to_owned()),
    };
    finding("landlock", "Landlock, the second wall", Need::Wall, outcome)
}

/// Returns the Landlock version of this kernel, if Landlock is enabled.
#[must_use]
pub fn landlock_version() -> Option<u32> {
    confine::landlock_version().ok()
}

/// Checks limits for all commands together: groups are created, and removed again.
fn control_groups() -> [Finding; 3] {
    let wanted = GroupLimits { memory: Some(1 << 26), cpus: Some(1.0), processes: Some(64) };
    let owner = Ids::of_this_process().map_or(0, |ids| ids.on_host().0);
    let mut group = GroupPlan::new(wanted, Counted::Hits, owner).make();
    group.take_made().remove();
    let told = |name, title, held: Option<&LimitOutcome>, instead: &str| {
        let outcome = match held {
            Some(Ok(())) => Outcome::Works("enforced by a control group".to_owned()),
            Some(Err(reason)) => lacking(format!("{reason}; {instead}"), delegation()),
            None => lacking(instead, delegation()),
        };
        finding(name, title, Need::Limits, outcome)
    };
    [
        told("memory_limit", "memory limit", group.memory.as_ref(), "only each process alone can be limited"),
        told("cpu_limit", "CPU limit", group.cpus.as_ref(), "nothing else can enforce it"),
        process_limit(group.processes.as_ref()),
    ]
}

/// The first kernel that counts the processes of a user per user namespace.
const COUNTS_BY_NAMESPACE: (u32, u32) = (5, 14);

/// Checks the one limit for all commands together that needs no group.
fn process_limit(held: Option<&LimitOutcome>) -> Finding {
    let outcome = match held {
        Some(Ok(())) => Outcome::Works("enforced by a control group".to_owned()),
        _ if kernel_version(&kernel_release()) >= COUNTS_BY_NAMESPACE => {
            Outcome::Works("enforced by the user namespace".to_owned())
        }
        _ => lacking("this kernel counts the processes of a user, not those of a sandbox", delegation()),
    };
    finding("process_limit", "process limit", Need::Limits, outcome)
}

fn delegation() -> String {
    "systemd-run --user --scope -p Delegate=yes workden ...".to_owned()
}
