//! The filter of system calls. Two programs for the kernel: the first lets pass what programs need
//! and denies that there is anything else, the second refuses what is dangerous, some of it by its
//! arguments. Where both speak, the one installed last is heard.
//!
//! Calls of another architecture (32 bit) end the process; those of x32 are in neither table.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use workden_core::{Error, ErrorKind};

use super::calls::{NEEDED, REFUSED};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
/// An argument by its index, how it is compared, and with what.
type Test = (u8, Is, u64);

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

const SETUID_BITS: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Installs the filter for this process and all that come from it.
pub(super) fn install() -> Result<(), Error> {
    let needed = compile(needed(), SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow);
    let refused =
        refusals().and_then(|rules| compile(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32)));
    needed
        .and_then(|needed| apply_filter(&needed))
        .and_then(|()| refused)
        .and_then(|refused| apply_filter(&refused))
        .map_err(|_| failed())
}

/// The filter that each command gets besides. Its calls hide their arguments in memory, where no
/// filter can see them, and every program does without: `clone3` could make namespaces, `openat2` a
/// file with a setuid bit. The keeper itself needs both.
pub(super) fn for_commands() -> Result<BpfProgram, Error> {
    let rules = [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new()));
    let action = SeccompAction::Errno(libc::ENOSYS as u32);
    compile(Rules::from(rules), SeccompAction::Allow, action).map_err(|_| failed())
}

fn failed() -> Error {
    Error::new(ErrorKind::Unsupported, "the sandbox cannot start: the kernel takes no filter of system calls")
        .hint(super::errors::ASK_DOCTOR)
}

fn compile(rules: Rules, otherwise: SeccompAction, matching: SeccompAction) -> Result<BpfProgram, seccompiler::Error> {
    Ok(SeccompFilter::new(rules, otherwise, matching, ARCHITECTURE)?.try_into()?)
}

fn needed() -> Rules {
    NEEDED.into_iter().flatten().map(|call| (*call, Vec::new())).collect()
}

/// What is refused: whole calls, and calls with such arguments.
fn refusals() -> Result<Rules, seccompiler::Error> {
    let mut rules: Rules = REFUSED.into_iter().flatten().map(|call| (*call, Vec::new())).collect();
    for (call, tests) in by_argument() {
        let conditions =
            tests.into_iter().map(|(index, is, value)| SeccompCondition::new(index, Length::Dword, is, value));
        let rule = SeccompRule::new(conditions.collect::<Result<_, _>>()?)?;
        rules.entry(call).or_default().push(rule);
    }
    Ok(rules)
}

/// Calls that are refused when all of these are so.
fn by_argument() -> Vec<(i64, Vec<Test>)> {
    let mut refused = new_namespaces();
    refused.extend(sockets());
    refused.extend(setuid_files());
    refused.extend(keeper());
    // Typing into a terminal, and what a console understands.
    refused.extend(
        [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCCONS].map(|request| (libc::SYS_ioctl, vec![(1, Is::Eq, request)])),
    );
    // Anything but Linux, Linux with 32 bits, the version 2.6, no random addresses, and asking.
    let known = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];
    refused.push((libc::SYS_personality, known.map(|value| (0, Is::Ne, value)).into()));
    refused
}

/// New processes with namespaces of their own.
fn new_namespaces() -> Vec<(i64, Vec<Test>)> {
    let flags = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    flags.map(|flag| (libc::SYS_clone, vec![has(0, flag as u64)])).into()
}

/// Sockets of other kinds than local ones, the Internet's, and the one that lists interfaces; and
/// raw ones.
fn sockets() -> Vec<(i64, Vec<Test>)> {
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|family| family as u64);
    let [_, internet, internet6, netlink] = families;
    let raw = |family| vec![(0, Is::Eq, family), (1, Is::MaskedEq(0xf), libc::SOCK_RAW as u64)];
    vec![
        (libc::SYS_socket, families.map(|family| (0, Is::Ne, family)).into()),
        (libc::SYS_socket, vec![(0, Is::Eq, netlink), (2, Is::Ne, libc::NETLINK_ROUTE as u64)]),
        (libc::SYS_socket, raw(internet)),
        (libc::SYS_socket, raw(internet6)),
        (libc::SYS_socketpair, vec![(0, Is::Ne, libc::AF_UNIX as u64)]),
    ]
}

/// Files with a setuid or setgid bit: they would be the host's, and honoured there.
fn setuid_files() -> Vec<(i64, Vec<Test>)> {
    let mut refused = Vec::new();
    for bit in SETUID_BITS.map(u64::from) {
        refused.extend([
            (libc::SYS_fchmod, vec![has(1, bit)]),
            (libc::SYS_fchmodat, vec![has(2, bit)]),
            (libc::SYS_fchmodat2, vec![has(2, bit)]),
            (libc::SYS_mknodat, vec![has(2, bit)]),
            (libc::SYS_openat, vec![has(2, libc::O_CREAT as u64), has(3, bit)]),
            (libc::SYS_openat, vec![has(2, libc::O_TMPFILE as u64), has(3, bit)]),
        ]);
        #[cfg(target_arch = "x86_64")]
        refused.extend([
            (libc::SYS_chmod, vec![has(1, bit)]),
            (libc::SYS_mknod, vec![has(1, bit)]),
            (libc::SYS_creat, vec![has(1, bit)]),
            (libc::SYS_open, vec![has(1, libc::O_CREAT as u64), has(2, bit)]),
            (libc::SYS_open, vec![has(1, libc::O_TMPFILE as u64), has(2, bit)]),
        ]);
    }
    refused
}

/// Slowing down or limiting the keeper, which has the same user: limits of any other process (every
/// thread of it has a number), and the priority of PID 1 or of all processes of the user.
fn keeper() -> Vec<(i64, Vec<Test>)> {
    const PRIO_USER: u64 = libc::PRIO_USER as u64;
    const IOPRIO_WHO_USER: u64 = 3;
    vec![
        (libc::SYS_prlimit64, vec![(0, Is::Ne, 0)]),
        (libc::SYS_sched_setaffinity, vec![(0, Is::Eq, 1)]),
        (libc::SYS_sched_setscheduler, vec![(0, Is::Eq, 1)]),
        (libc::SYS_sched_setparam, vec![(0, Is::Eq, 1)]),
        (libc::SYS_sched_setattr, vec![(0, Is::Eq, 1)]),
        (libc::SYS_setpriority, vec![(1, Is::Eq, 1)]),
        (libc::SYS_setpriority, vec![(0, Is::Eq, PRIO_USER)]),
        (libc::SYS_ioprio_set, vec![(1, Is::Eq, 1)]),
        (libc::SYS_ioprio_set, vec![(0, Is::Eq, IOPRIO_WHO_USER)]),
    ]
}

/// All of these bits are set.
fn has(argument: u8, bits: u64) -> Test {
    (argument, Is::MaskedEq(bits), bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_programs_compile_within_the_size_that_the_kernel_takes() {
        let allow = || SeccompAction::Allow;
        let errno = || SeccompAction::Errno(1);
        assert!(compile(needed(), errno(), allow()).unwrap().len() < 4096);
        assert!(compile(refusals().unwrap(), allow(), errno()).unwrap().len() < 4096);
        assert!(for_commands().unwrap().len() < 32);
    }

    #[test]
    fn a_call_refused_by_its_arguments_is_needed_otherwise() {
        let needed = needed();
        for (call, _) in by_argument() {
            assert!(needed.contains_key(&call), "{call}");
        }
    }
}
