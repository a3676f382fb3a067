//! The seccomp filter of commands without namespaces: it refuses what Landlock does not cover and what namespaces
//! would separate otherwise.

use rustix::process::Pid;
use seccompiler::BpfProgram;
use workden_core::sandbox::Network;

use crate::confine::{
    filter::{
        ArgumentTest::{self, Is, IsNot, Masked},
        SyscallAction, compile,
    },
    seccomp::{SyscallTable, refuse, table_for_commands},
    syscalls::MESSAGES,
};

/// Returns the filter for the commands of this keeper.
pub(super) fn for_commands(network: Network, keeper: Pid) -> BpfProgram {
    compile(&[], &table(network, keeper), &SyscallAction::Allow)
}

fn table(network: Network, keeper: Pid) -> SyscallTable {
    let mut table = table_for_commands();
    let mut answer = |calls: &[libc::c_long], errno| {
        for call in calls {
            table.insert(*call, SyscallAction::Fail(errno));
        }
    };
    // System V objects and message queues are shared by all processes of the user.
    answer(MESSAGES, libc::ENOSYS);
    // Watching would reveal the names of files that may not be listed.
    answer(WATCHING, libc::ENOSYS);
    // Owners and attributes by path would also reach files that may not be opened. By descriptor they can be changed.
    answer(ATTRIBUTES, libc::EOPNOTSUPP);
    answer(OWNERS, libc::EPERM);
    refuse(&mut table, libc::EPERM, other_processes());
    refuse(&mut table, libc::EPERM, signals(keeper));
    sockets(&mut table, network);
    table
}

const WATCHING: &[libc::c_long] = &[
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
];

const ATTRIBUTES: &[libc::c_long] =
    &[libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_removexattr, libc::SYS_lremovexattr];

const OWNERS: &[libc::c_long] = &[
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// The priority and the processors of other processes, which are all of the user's on this machine.
fn other_processes() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    vec![
        (libc::SYS_sched_setaffinity, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setscheduler, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setparam, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setattr, vec![IsNot(0, 0)]),
        (libc::SYS_setpriority, vec![IsNot(1, 0)]),
        (libc::SYS_ioprio_set, vec![IsNot(1, 0)]),
    ]
}

/// Signals to the keeper, by its id or to all processes. This prevents accidents, not attacks: the ids of its threads
/// are not known here.
fn signals(keeper: Pid) -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    const SET_OWNER: u32 = 8;
    const SET_OWNER_OF_ANY_KIND: u32 = 15;
    let keeper = keeper.as_raw_pid();
    let (itself, group, all) = (keeper.cast_unsigned(), (-keeper).cast_unsigned(), u32::MAX);
    let by_number = [libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo];
    let mut refused: Vec<_> = by_number.map(|call| (call, vec![Is(0, itself)])).into();
    refused.push((libc::SYS_pidfd_open, vec![Is(0, itself)]));
    refused.extend([itself, group, all].map(|whom| (libc::SYS_kill, vec![Is(0, whom)])));
    refused.extend([itself, group].map(|whom| (libc::SYS_fcntl, vec![Is(1, SET_OWNER), Is(2, whom)])));
    refused.push((libc::SYS_fcntl, vec![Is(1, SET_OWNER_OF_ANY_KIND)]));
    refused
}

/// Landlock lets a process connect to any Unix socket with a path: a desktop, Docker, a bus that starts programs. So
/// Unix sockets are refused except pairs, and datagram pairs, which could send to a path later, as well. Without a
/// network all other sockets are refused, too.
fn sockets(table: &mut SyscallTable, network: Network) {
    match network {
        Network::None => drop(table.insert(libc::SYS_socket, SyscallAction::Fail(libc::EPERM))),
        Network::Host => {
            refuse(table, libc::EPERM, vec![(libc::SYS_socket, vec![Is(0, libc::AF_UNIX.unsigned_abs())])])
        }
    }
    let datagrams = Masked { argument: 1, mask: 0xf, bits: libc::SOCK_DGRAM.unsigned_abs() };
    let raw = Masked { argument: 1, mask: 0xf, bits: libc::SOCK_RAW.unsigned_abs() };
    refuse(table, libc::EPERM, vec![(libc::SYS_socketpair, vec![datagrams]), (libc::SYS_socketpair, vec![raw])]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_small() {
        for network in [Network::None, Network::Host] {
            let length = for_commands(network, Pid::INIT).len();
            assert!(length < 250, "{length}");
        }
    }

    #[test]
    fn what_the_other_filter_refuses_stays_refused() {
        let (all, others) = (table(Network::Host, Pid::INIT), table_for_commands());
        for (call, verdict) in others {
            assert_eq!(all[&call], verdict, "{call}");
        }
    }
}
