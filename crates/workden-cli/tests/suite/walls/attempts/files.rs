//! Files of the host: reading what is not shared, writing what is read-only.

use super::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "read a file of the host by its path",
        "grep -qs workden-host-secret \"$HOST_DIR/secret\" && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt(
        "read it by climbing out",
        "grep -qs workden-host-secret \"../../../../../..$HOST_DIR/secret\" && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt(
        "read it through a link of one's own",
        "ln -sf \"$HOST_DIR/secret\" l; grep -qs workden-host-secret l && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt(
        "read it through a link that was there",
        "grep -qs workden-host-secret host-link && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt("give it a second name", "ln \"$HOST_DIR/secret\" hard 2>/dev/null && echo escaped || echo held"),
    attempt(
        "read it through the root of process 1",
        "grep -qs workden-host-secret \"/proc/1/root$HOST_DIR/secret\" && echo escaped || echo held",
    ),
    attempt(
        "read it through one's own root",
        "grep -qs workden-host-secret \"/proc/self/root/../..$HOST_DIR/secret\" && echo escaped || echo held",
    ),
    attempt("read passwords", "test -s /etc/shadow && echo escaped || echo held"),
    attempt("read root's home", "ls -A /root 2>/dev/null | grep -q . && echo escaped || echo held"),
    attempt("read other homes", "ls -A /home 2>/dev/null | grep -qv '^agent$' && echo escaped || echo held"),
    attempt(
        "read keys and tokens",
        "ls -d ~root/.ssh /home/*/.ssh ~root/.aws ~root/.docker /var/run/secrets /run/secrets /etc/ssl/private /etc/ssh 2>/dev/null | grep -q . && echo escaped || echo held",
    ),
    attempt(
        "find the host's runtime and state",
        "ls -A /run /var 2>/dev/null | grep -Eq 'docker|containerd|systemd|lib|log|spool' && echo escaped || echo held",
    ),
    attempt(
        "see devices of the host",
        "ls /dev | grep -Eq '^(sd|vd|nvme|mem|kmsg|loop|fuse|kvm|port|mapper)' && echo escaped || echo held",
    ),
    attempt("see /sys", "ls -A /sys 2>/dev/null | grep -q . && echo escaped || echo held"),
    attempt("write to /usr", "touch /usr/workden-probe 2>/dev/null && echo escaped || echo held"),
    attempt("write to /etc", "touch /etc/workden-probe 2>/dev/null && echo escaped || echo held"),
    attempt("write to the root", "touch /workden-probe 2>/dev/null && echo escaped || echo held"),
    attempt("write to /bin through its link", "touch /bin/workden-probe 2>/dev/null && echo escaped || echo held"),
    attempt("write to a read-only mount", "touch /given/probe 2>/dev/null && echo escaped || echo held"),
    attempt(
        "write through the source of a read-only mount",
        "(echo x > \"$HOST_DIR/given/probe\") 2>/dev/null && echo escaped || echo held",
    ),
    attempt(
        "make a read-only mount writable",
        "mount -o remount,rw,bind /given 2>/dev/null && touch /given/probe 2>/dev/null && echo escaped || echo held",
    ),
    attempt(
        "plant a git hook",
        "mkdir -p .git/hooks 2>/dev/null; (echo 'echo hi' > .git/hooks/pre-commit) 2>/dev/null && echo escaped || echo held",
    ),
    attempt("move the git hooks away", "mv .git/hooks .git/elsewhere 2>/dev/null && echo escaped || echo held"),
    attempt(
        "put another git directory in the place of the real one",
        "mv .git elsewhere 2>/dev/null && mkdir -p .git/hooks && echo escaped || echo held",
    )
    .escapes_unconfined(),
    attempt(
        "run a program that is set-user-id root",
        "test \"$(./suid-id -u 2>/dev/null)\" = 0 && echo escaped || echo held",
    ),
    attempt(
        "become root with the system's own programs",
        "for p in su sudo pkexec newgrp; do echo | timeout 2 $p -c 'touch /usr/x' 2>/dev/null; done; test -e /usr/x && echo escaped || echo held",
    ),
    attempt(
        "use a device node that lies in the workspace",
        "head -c 1 ./device-zero >/dev/null 2>&1 && echo escaped || echo held",
    ),
    attempt("make a device node", "mknod d b 7 0 2>/dev/null && echo escaped || echo held"),
    attempt(
        "own a file as root",
        "touch mine; chown 0:0 mine 2>/dev/null && test \"$(stat -c %u mine)\" = 0 && echo escaped || echo held",
    ),
    attempt("read the kernel's memory", "head -c 1 /proc/kcore >/dev/null 2>&1 && echo escaped || echo held"),
    attempt(
        "read the kernel's keys and timers",
        "cat /proc/keys /proc/timer_list 2>/dev/null | grep -q . && echo escaped || echo held",
    ),
    attempt(
        "change how cores are dumped",
        "(cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern) 2>/dev/null && echo escaped || echo held",
    ),
    attempt(
        "change a kernel setting",
        "(cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness) 2>/dev/null && echo escaped || echo held",
    ),
    attempt("press the system request key", "(echo h > /proc/sysrq-trigger) 2>/dev/null && echo escaped || echo held"),
    attempt(
        "find a release agent",
        "find / -xdev -name release_agent 2>/dev/null | grep -q . && echo escaped || echo held",
    ),
    attempt(
        "leave the limits of the process",
        "ls -A /sys/fs/cgroup 2>/dev/null | grep -q . && echo escaped || echo held",
    ),
];
