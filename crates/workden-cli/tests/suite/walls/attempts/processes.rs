//! Processes: the host's, and the keeper.

use super::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "see a process of the host",
        "n=workden-host-; grep -lqs \"${n}process\" /proc/[0-9]*/cmdline && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt("signal a process of the host", "kill -0 \"$HOST_PID\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt(
        "read the host's environment",
        "cat /proc/*/environ 2>/dev/null | grep -qs workden-host-environment && echo escaped || echo held",
    ),
    attempt(
        "find the host's environment in one's own",
        "env | grep -q workden-host-environment && echo escaped || echo held",
    ),
    attempt("trace a process of the host", "perl ./try ptrace 16 \"$HOST_PID\" 0 0"),
    attempt("trace the keeper", "perl ./try ptrace 16 1 0 0"),
    attempt("seize the keeper", "perl ./try ptrace 0x4206 1 0 0"),
    attempt("read the keeper's memory", "head -c 1 /proc/1/mem >/dev/null 2>&1 && echo escaped || echo held"),
    attempt("read the keeper's map", "grep -q . /proc/1/maps 2>/dev/null && echo escaped || echo held"),
    attempt("read the keeper's environment", "grep -q . /proc/1/environ 2>/dev/null && echo escaped || echo held"),
    attempt("see what the keeper has open", "ls /proc/1/fd 2>/dev/null | grep -q . && echo escaped || echo held"),
    attempt("read the keeper's memory by system call", "perl ./try process_vm_readv 1 0 0 0 0 0"),
    attempt("write the keeper's memory by system call", "perl ./try process_vm_writev 1 0 0 0 0 0"),
    attempt(
        "take a descriptor of the keeper",
        "perl -e '$p = syscall($ENV{SYS_pidfd_open}, 1, 0); $d = $p < 0 ? -1 : syscall($ENV{SYS_pidfd_getfd}, $p, 0, 0); print $d < 0 ? \"held\" : \"escaped\"'",
    ),
    attempt("choke the keeper by its limits", "perl ./try prlimit64 1 7 0 0"),
    attempt(
        "slow down a thread of the keeper",
        "perl -e 'my ($slow, $mask) = (0, \"\\1\" . \"\\0\" x 7); for my $t (1 .. 64) { $slow++ if syscall($ENV{SYS_setpriority}, 0, $t, 19) == 0 || syscall($ENV{SYS_ioprio_set}, 1, $t, 3 << 13) == 0 || syscall($ENV{SYS_sched_setaffinity}, $t, 8, $mask) == 0 } print $slow ? \"escaped: $slow\" : \"held\"'",
    ),
    attempt("compare the keeper's secrets", "perl ./try kcmp 1 1 0 0 0"),
    attempt(
        "inherit something that was open",
        "for fd in /proc/self/fd/*; do case ${fd##*/} in 0|1|2|3|10|255) ;; *) test -e \"$fd\" && echo escaped-$fd ;; esac; done; echo held",
    ),
    attempt(
        "kill the keeper",
        "kill -9 1 2>/dev/null; kill -TERM 1 2>/dev/null; kill -INT 1 2>/dev/null; sleep 0.2; test -e /proc/1/stat && echo held || echo escaped",
    ),
    attempt("end the keeper by a signal that hides its sender", FORGED_SIGNAL),
    attempt("end the keeper by a signal about a descriptor", SIGNAL_OF_DESCRIPTOR),
    attempt(
        "have the host's root take a core",
        "ulimit -c 0 2>/dev/null; perl -e 'my $none = pack(\"QQ\", 0, 0); syscall($ENV{SYS_prlimit64}, 0, 4, $none, 0)'; grep -q '^Max core file size *1  *1 ' /proc/self/limits && echo held || echo escaped",
    )
    .escapes_unconfined(),
    attempt(
        "stop the keeper",
        "kill -STOP 1 2>/dev/null; sleep 0.1; grep -q '^State:.*T' /proc/1/status && echo escaped || echo held",
    ),
];

/// `sigqueue` by hand: a TERM whose record names no sender. A keeper that ends takes this command with it, before it
/// prints anything.
const FORGED_SIGNAL: &str = "perl -e '\
    my $no_sender = pack(\"iiix4ii\", 15, 0, -1, 0, 0) . \"\\0\" x 104; \
    syscall($ENV{SYS_rt_sigqueueinfo}, 1, 15, $no_sender); sleep 1; print \"held\"'";

/// The kernel itself sends a TERM to the keeper when there is something to read.
const SIGNAL_OF_DESCRIPTOR: &str = "perl -MSocket -MFcntl -e '\
    socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; \
    fcntl($a, 8, 1); fcntl($a, 10, 15) or die; fcntl($a, F_SETFL, O_ASYNC | O_NONBLOCK) or die; \
    syswrite($b, \"x\"); sleep 1; print \"held\"'";
