//! The level `landlock`: further attempts, attempts of the corpus that cannot use `/proc`, and the gaps that
//! SECURITY.md lists.

use super::{Attempt, attempt};

/// Attempts of the corpus that use their own `/proc` entries, which are hidden here, or that need a socket first: the
/// same by other means.
pub(crate) const OTHERWISE: &[Attempt] = &[
    attempt(
        "gain privileges later",
        "perl -e 'print syscall($ENV{SYS_prctl}, 39, 0, 0, 0, 0) == 1 ? \"held\" : \"escaped\"'",
    ),
    attempt("do without a filter", "perl -e 'print syscall($ENV{SYS_prctl}, 21) == 2 ? \"held\" : \"escaped\"'"),
    attempt(
        "have the host's root take a core",
        "ulimit -c 0 2>/dev/null; perl -e 'my $none = pack(\"QQ\", 0, 0); syscall($ENV{SYS_prlimit64}, 0, 4, $none, 0); \
         my $is = pack(\"QQ\", 7, 7); syscall($ENV{SYS_prlimit64}, 0, 4, 0, $is); \
         print join(\",\", unpack(\"QQ\", $is)) eq \"1,1\" ? \"held\" : \"escaped\"'",
    ),
    attempt("reach a socket of the host by its path", "perl ./try socket 1 1 0"),
    attempt("reach a socket of the host by its abstract name", "perl ./try socket 1 2 0"),
    attempt("reach an abstract socket with the host's network", "perl ./try socket 1 1 0").with(&["--net", "host"]),
    attempt("type into a terminal", "perl ./try ioctl 0 0x5412 0"),
];

/// Attempts that apply only here, because commands share the machine's namespaces.
pub(crate) const MORE: &[Attempt] = &[
    attempt("write a file that all may write", "(echo x >> \"$HOST_DIR/open/file\") 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt("make a file where all may", "touch \"$HOST_DIR/open/new\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt("remove a file where all may", "touch \"$HOST_DIR/open/gone\" 2>/dev/null; rm \"$HOST_DIR/open/file2\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt("shorten a file that all may write", "perl -e 'print truncate(\"$ENV{HOST_DIR}/open/file\", 0) ? \"escaped\" : \"held\"'")
        .escapes_unconfined(),
    attempt("move a file of one's own out", "touch m; mv m \"$HOST_DIR/open/moved\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt("move a file in", "mv \"$HOST_DIR/open/file3\" in 2>/dev/null && echo escaped || echo held").escapes_unconfined(),
    attempt("give a program of the machine a name that can be written", "ln /usr/bin/true named 2>/dev/null && echo escaped || echo held"),
    attempt(
        "give a file of a read-only mount a name that can be written",
        "ln \"$HOST_DIR/given/of-user\" named 2>/dev/null && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt(
        "write a file of a read-only mount that is one's own",
        "(echo x >> \"$HOST_DIR/given/of-user\") 2>/dev/null && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt(
        "open it again for writing",
        "perl -e 'open(my $f, \"<\", \"$ENV{HOST_DIR}/given/of-user\") or die; \
         print open(my $w, \">>\", \"/proc/self/fd/\" . fileno($f)) ? \"escaped\" : \"held\"'",
    )
    .escapes_unconfined(),
    attempt("go there and read", "cd \"$HOST_DIR\" && grep -qs workden-host-secret secret && echo escaped || echo held")
        .escapes_unconfined(),
    attempt(
        "read by a descriptor that only names the place",
        "perl -MFcntl -e 'sysopen(my $d, $ENV{HOST_DIR}, 0x200000) or die; \
         print open(my $f, \"<\", \"/proc/self/fd/\" . fileno($d) . \"/secret\") ? \"escaped\" : \"held\"'",
    )
    .escapes_unconfined(),
    attempt("run a program of the host's that was not given", "\"$HOST_DIR/open/program\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt("list temporary files of others", "ls /tmp 2>/dev/null | grep -q . && echo escaped || echo held").escapes_unconfined(),
    attempt("write among temporary files of others", "touch /tmp/workden-probe-$$ 2>/dev/null && echo escaped || echo held"),
    attempt("write to memory that is shared with others", "touch /dev/shm/workden-probe 2>/dev/null && echo escaped || echo held"),
    attempt("open the terminals of others", "ls /dev/pts 2>/dev/null | grep -q . && echo escaped || echo held"),
    attempt("see the logs of other commands", "ls \"$HOME/../logs\" 2>/dev/null && echo escaped || echo held"),
    attempt("read a process of the host", "grep -qs . \"/proc/$HOST_PID/cmdline\" && echo escaped || echo held").escapes_unconfined(),
    attempt("list the processes", "ls /proc 2>/dev/null | grep -q '^[0-9]' && echo escaped || echo held").escapes_unconfined(),
    attempt("signal a process of the same user", "kill -0 \"$OWN_PID\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt(
        "signal it by its descriptor",
        "perl -e '$p = syscall($ENV{SYS_pidfd_open}, $ENV{OWN_PID} + 0, 0); \
         print $p >= 0 && syscall($ENV{SYS_pidfd_send_signal}, $p, 0, 0, 0) == 0 ? \"escaped\" : \"held\"'",
    )
    .escapes_unconfined(),
    attempt("read its environment", "grep -qs own-secret \"/proc/$OWN_PID/environ\" && echo escaped || echo held").escapes_unconfined(),
    attempt("reach files by its root", "cat \"/proc/$OWN_PID/root$HOST_DIR/secret\" 2>/dev/null && echo escaped || echo held")
        .escapes_unconfined(),
    attempt("see where it is", "readlink \"/proc/$OWN_PID/cwd\" && echo escaped || echo held").escapes_unconfined(),
    attempt("slow it down", "renice -n 19 -p \"$OWN_PID\" >/dev/null 2>&1 && echo escaped || echo held").escapes_unconfined(),
    attempt("take processors from it", "taskset -p 1 \"$OWN_PID\" >/dev/null 2>&1 && echo escaped || echo held").escapes_unconfined(),
    attempt("limit it", "prlimit --nofile=512:512 -p \"$OWN_PID\" 2>/dev/null && echo escaped || echo held").escapes_unconfined(),
    attempt("stop all processes, and all of its group", "kill -STOP -1 2>/dev/null; kill -STOP -- -\"$OWN_PID\" 2>/dev/null; echo held"),
    attempt("signal it when there is something to read", SIGNAL_OF_DESCRIPTOR),
    attempt("own a file of the host's otherwise", "perl ./try fchownat -100 0 -1 -1 0"),
    attempt("give a file of the host's an attribute", "setfattr -n user.x -v y \"$HOST_DIR/open/file\" 2>/dev/null && echo escaped || echo held"),
    attempt("watch a directory of the host's", "perl ./try inotify_init1 0"),
    attempt("use shared memory of the machine", "perl ./try shmget 0 4096 01777"),
    attempt("use message queues of the machine", "perl ./try mq_open 0 0 0 0"),
    attempt("use semaphores of the machine", "perl ./try semget 0 1 01777"),
    attempt("a pair of sockets that sends to paths", "perl ./try socketpair 1 2 0 0"),
    attempt("a raw pair of sockets that sends to paths", "perl ./try socketpair 1 3 0 0"),
    attempt("a socket of the Internet", "perl ./try socket 2 1 0"),
    attempt("a datagram socket of the Internet", "perl ./try socket 10 2 0"),
    attempt("a socket that lists interfaces", "perl ./try socket 16 3 0"),
];

/// The kernel would send a `STOP` to a process of the host when there is something to read; it must not.
const SIGNAL_OF_DESCRIPTOR: &str = "perl -MSocket -MFcntl -e '\
    socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; \
    fcntl($a, 8, $ENV{OWN_PID} + 0); fcntl($a, 10, 19) or die; fcntl($a, F_SETFL, O_ASYNC | O_NONBLOCK) or die; \
    syswrite($b, \"x\"); sleep 1; print \"held\"'";

/// The names of attempts that succeed here and not at the level `namespaces`.
pub(crate) const GAPS: &[&str] = &[
    // Nothing inside the workspace can be read-only.
    "plant a git hook",
    "move the git hooks away",
    "put another git directory in the place of the real one",
    // It asks only whether the file exists and has a size.
    "read passwords",
    // A device node that a privileged user has put into the workspace.
    "use a device node that lies in the workspace",
    // No limit covers files on a disk.
    "fill the home",
];

/// An attempt that asks only whether files exist, which commands may learn here.
pub(crate) const EXISTENCE: &str = "read keys and tokens";

/// Further attempts that succeed here.
pub(crate) const MORE_GAPS: &[Attempt] = &[
    attempt("ask how large a file is", "test -s \"$HOST_DIR/secret\" && echo escaped || echo held"),
    attempt(
        "change the mode of a file of one's own",
        "chmod 640 \"$HOST_DIR/own\" 2>/dev/null && echo escaped || echo held",
    ),
    attempt(
        "change the time of a file of one's own",
        "perl -e 'print utime(1, 1, \"$ENV{HOST_DIR}/own\") ? \"escaped\" : \"held\"'",
    ),
];
