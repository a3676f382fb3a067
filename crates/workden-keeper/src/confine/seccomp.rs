//! The seccomp filters: calls that programs need are allowed, some only with certain arguments; dangerous calls are
//! refused; every other call answers that it does not exist.
//!
//! Calls of another architecture (32 bit) kill the process; those of x32 are not in the tables.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, apply_filter};
use workden_core::{Error, ErrorKind};

use super::{
    errors::ASK_DOCTOR,
    filter::{
        ArgumentTest::{self, HasAny, HasUpper, Is, IsNot, Masked},
        SyscallAction, compile,
    },
    syscalls::{FCHMODAT2, NEEDED, REFUSED},
};

const BTRFS_SNAPSHOT: u32 = 0x5000_9401;
const BTRFS_SNAPSHOT_2: u32 = 0x5000_9417;

pub(super) type SyscallTable = BTreeMap<libc::c_long, SyscallAction>;

/// Installs the filter for this process and its descendants.
pub(super) fn install() -> Result<(), Error> {
    let program = compile(&PLAIN, &table(), &SyscallAction::Fail(libc::ENOSYS));
    apply_filter(&program).map_err(|_| {
        Error::new(ErrorKind::Unsupported, "the sandbox cannot start: the kernel refuses the seccomp filter")
            .hint(ASK_DOCTOR)
    })
}

/// Returns the additional filter of commands. `clone3` and `openat2` hide their arguments in memory, where a filter
/// cannot see them: the one could make namespaces, the other a setuid file. Programs do without them; the keeper
/// needs both. The filter also fixes the limit of core dumps.
pub(super) fn for_commands() -> BpfProgram {
    compile(&[], &table_for_commands(), &SyscallAction::Allow)
}

/// Returns both filters in one, for a one-shot command: installing each takes time.
pub(super) fn for_one_command() -> BpfProgram {
    let mut table = SyscallTable::from(hidden());
    // The second filter takes precedence over the first.
    refuse(&mut table, 0, cores());
    refuse(&mut table, libc::EPERM, by_argument());
    compile(&PLAIN, &table, &SyscallAction::Fail(libc::ENOSYS))
}

/// Returns the additional filter of commands as a table.
pub(super) fn table_for_commands() -> SyscallTable {
    let mut table = SyscallTable::from(hidden());
    refuse(&mut table, 0, cores());
    table
}

fn hidden() -> [(libc::c_long, SyscallAction); 2] {
    [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, SyscallAction::Fail(libc::ENOSYS)))
}

/// Refuses calls with these arguments.
pub(super) fn refuse(table: &mut SyscallTable, errno: libc::c_int, calls: Vec<(libc::c_long, Vec<ArgumentTest>)>) {
    for (call, tests) in calls {
        match table.get_mut(&call) {
            Some(SyscallAction::FailIf(lists)) => lists.push((errno, tests)),
            _ => drop(table.insert(call, SyscallAction::FailIf(vec![(errno, tests)]))),
        }
    }
}

fn table() -> SyscallTable {
    let mut table = SyscallTable::new();
    refuse(&mut table, libc::EPERM, by_argument());
    table
}

/// All calls whose action does not depend on arguments, sorted at compile time: sorting some hundred calls would
/// delay a one-shot command.
static PLAIN: [(u32, &SyscallAction); count(&NEEDED) + count(&REFUSED)] = in_order();

static NEEDED_ONE: SyscallAction = SyscallAction::Allow;
static REFUSED_ONE: SyscallAction = SyscallAction::Fail(libc::EPERM);

const fn count(groups: &[&[libc::c_long]]) -> usize {
    let (mut all, mut group) = (0, 0);
    while group < groups.len() {
        all += groups[group].len();
        group += 1;
    }
    all
}

const fn in_order<const ALL: usize>() -> [(u32, &'static SyscallAction); ALL] {
    let needed = add(&NEEDED, &NEEDED_ONE, ([(0, &NEEDED_ONE); ALL], 0));
    add(&REFUSED, &REFUSED_ONE, needed).0
}

/// Inserts calls in order.
const fn add<const ALL: usize>(
    groups: &[&[libc::c_long]],
    verdict: &'static SyscallAction,
    (mut calls, mut there): ([(u32, &'static SyscallAction); ALL], usize),
) -> ([(u32, &'static SyscallAction); ALL], usize) {
    let mut group = 0;
    while group < groups.len() {
        let mut call = 0;
        while call < groups[group].len() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of a call is small")]
            let number = groups[group][call] as u32;
            let mut at = there;
            while at > 0 && calls[at - 1].0 > number {
                calls[at] = calls[at - 1];
                at -= 1;
            }
            calls[at] = (number, verdict);
            there += 1;
            call += 1;
        }
        group += 1;
    }
    (calls, there)
}

/// Returns the calls that are refused when all their tests hold.
fn by_argument() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    let mut refused = new_namespaces();
    refused.extend(sockets());
    refused.extend(setuid_files());
    refused.extend(keeper());
    // Typing into a terminal, and console requests.
    refused.extend(
        [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCCONS].map(|request| (libc::SYS_ioctl, vec![Is(1, request as u32)])),
    );
    // A btrfs snapshot shows the whole volume of a file, whatever part of it is mounted.
    refused.extend([BTRFS_SNAPSHOT, BTRFS_SNAPSHOT_2].map(|request| (libc::SYS_ioctl, vec![Is(1, request)])));
    // All but Linux, 32-bit Linux, version 2.6, no address randomisation, and the query.
    let known = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];
    refused.push((libc::SYS_personality, known.map(|value| IsNot(0, value)).into()));
    refused
}

/// New processes with namespaces of their own.
fn new_namespaces() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    let flags = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let any = flags.into_iter().fold(0, |all, flag| all | flag.cast_unsigned());
    vec![(libc::SYS_clone, vec![HasAny(0, any)])]
}

/// Sockets other than Unix, Internet and route netlink; and raw ones.
fn sockets() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(libc::c_int::unsigned_abs);
    let [local, internet, internet6, netlink] = families;
    let raw = |family| vec![Is(0, family), Masked { argument: 1, mask: 0xf, bits: libc::SOCK_RAW.unsigned_abs() }];
    vec![
        (libc::SYS_socket, families.map(|family| IsNot(0, family)).into()),
        (libc::SYS_socket, vec![Is(0, netlink), IsNot(2, libc::NETLINK_ROUTE.unsigned_abs())]),
        (libc::SYS_socket, raw(internet)),
        (libc::SYS_socket, raw(internet6)),
        (libc::SYS_socketpair, vec![IsNot(0, local)]),
    ]
}

/// Files with a setuid or setgid bit: they would belong to the host, and be honoured there.
fn setuid_files() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    let either = |argument| HasAny(argument, libc::S_ISUID | libc::S_ISGID);
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "other architectures lack the older calls"))]
    let mut refused = vec![
        (libc::SYS_fchmod, vec![either(1)]),
        (libc::SYS_fchmodat, vec![either(2)]),
        (FCHMODAT2, vec![either(2)]),
        (libc::SYS_mknodat, vec![either(2)]),
        (libc::SYS_openat, vec![has(2, libc::O_CREAT), either(3)]),
        (libc::SYS_openat, vec![has(2, libc::O_TMPFILE), either(3)]),
    ];
    #[cfg(target_arch = "x86_64")]
    refused.extend([
        (libc::SYS_chmod, vec![either(1)]),
        (libc::SYS_mknod, vec![either(1)]),
        (libc::SYS_creat, vec![either(1)]),
        (libc::SYS_open, vec![has(1, libc::O_CREAT), either(2)]),
        (libc::SYS_open, vec![has(1, libc::O_TMPFILE), either(2)]),
    ]);
    refused
}

/// Attempts to slow down or limit the keeper, which has the same user: limits and priorities of any other process. The
/// threads of the keeper have numbers of their own, so that only a caller's own, which is 0, is allowed.
fn keeper() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    const PRIO_USER: u32 = 2;
    const IOPRIO_WHO_USER: u32 = 3;
    vec![
        (libc::SYS_prlimit64, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setaffinity, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setscheduler, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setparam, vec![IsNot(0, 0)]),
        (libc::SYS_sched_setattr, vec![IsNot(0, 0)]),
        (libc::SYS_setpriority, vec![IsNot(1, 0)]),
        (libc::SYS_setpriority, vec![Is(0, PRIO_USER)]),
        (libc::SYS_ioprio_set, vec![IsNot(1, 0)]),
        (libc::SYS_ioprio_set, vec![Is(0, IOPRIO_WHO_USER)]),
    ]
}

/// Changes of the core dump limit. With a limit of zero the kernel would start the host's core handler as the host's
/// root; the initial limit of commands prevents that. Programs with secrets set it to zero and exit when that fails,
/// so the call pretends to succeed.
fn cores() -> Vec<(libc::c_long, Vec<ArgumentTest>)> {
    // `RLIMIT_CORE`, which has another type in each libc.
    const CORES: u32 = 4;
    vec![
        (libc::SYS_setrlimit, vec![Is(0, CORES)]),
        (libc::SYS_prlimit64, vec![Is(1, CORES), IsNot(2, 0)]),
        (libc::SYS_prlimit64, vec![Is(1, CORES), HasUpper(2)]),
    ]
}

/// Returns a test that all of these bits are set.
fn has(argument: u8, bits: libc::c_int) -> ArgumentTest {
    let bits = bits.cast_unsigned();
    Masked { argument, mask: bits, bits }
}

#[cfg(test)]
mod tests {
    use super::{
        super::filter::{ARCHITECTURE, tests::answer},
        *,
    };

    #[test]
    fn the_programs_are_small() {
        assert!(compile(&PLAIN, &table(), &SyscallAction::Fail(libc::ENOSYS)).len() < 600);
        assert!(for_commands().len() < 48);
        assert!(for_one_command().len() < 256);
    }

    #[test]
    fn one_filter_says_what_two_say() {
        let (first, second) = (compile(&PLAIN, &table(), &SyscallAction::Fail(libc::ENOSYS)), for_commands());
        let both = for_one_command();
        let interesting =
            [0, 1, 2, 4, 0x8, 0x10, 0x800, 0x803, 0xffff_ffff, u64::from(u32::MAX) + 1, 0o6000, 0x1000_0000];
        let mut compared = 0;
        for number in 0..600 {
            for one in interesting {
                for two in interesting {
                    let arguments = [one, two, one ^ two, two, 0, 0];
                    let answer = |program| answer(program, ARCHITECTURE, number, arguments);
                    let wanted = match (answer(&second), answer(&first)) {
                        (libc::SECCOMP_RET_ALLOW, first) => first,
                        (second, _) => second,
                    };
                    assert_eq!(answer(&both), wanted, "{number} {arguments:x?}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 600 * 144);
    }

    #[test]
    fn a_call_refused_by_its_arguments_is_needed_otherwise() {
        for (call, _) in by_argument().into_iter().chain(cores()) {
            assert!(NEEDED.into_iter().flatten().any(|needed| *needed == call), "{call}");
        }
    }
}
