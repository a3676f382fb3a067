//! Attempts that need no network: credentials, the keeper's memory, the root file system, privileges.

use workden_core::{Sandbox, sandbox::ExecuteRequest};

use super::{python, said};
use crate::places::{PYTHON, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_have_no_credentials_and_gain_no_privileges() {
    let sandbox = pod(PYTHON).build().unwrap();
    for (attempt, expected) in [
        // The token of a service account is in no place where clusters mount it.
        ("ls -d /var/run/secrets /run/secrets 2>/dev/null; grep -c serviceaccount /proc/mounts", "0\n"),
        (
            "touch /x /etc/x /usr/x /bin/x /.workden/x /dev/x 2>/dev/null; ls /x /etc/x /usr/x /bin/x /.workden/x 2>/dev/null",
            "",
        ),
        (
            "mount -o remount,rw / 2>/dev/null; mount -t tmpfs none /mnt 2>/dev/null; echo x > /etc/passwd; tail -c2 /etc/passwd | grep -c x",
            "0\n",
        ),
        // A copy that is setuid runs as its owner, who is the user of commands; no program gains privileges.
        ("cp /bin/sh s; chmod 4755 s; ./s -c 'id -u'", "1000\n"),
        (
            "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t' ' ' | sort -u",
            "CapAmb: 0000000000000000\nCapBnd: 0000000000000000\nCapEff: 0000000000000000\nCapInh: 0000000000000000\n\
          CapPrm: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n",
        ),
        // Without a new user namespace there are no others.
        (
            "for kind in --user --mount --net --pid --ipc; do unshare $kind --fork true 2>/dev/null && echo $kind; done",
            "",
        ),
        (
            "su -c id 2>/dev/null; chroot / true 2>/dev/null && echo chroot; mknod d b 8 0 2>/dev/null && echo device",
            "",
        ),
        (
            "find /sys/kernel/security /sys/firmware -type f | head -3; head -c 100 /proc/kcore; cat /proc/keys /proc/timer_list 2>/dev/null | head -3; \
          echo b > /proc/sysrq-trigger; echo 1 > /proc/sys/kernel/panic; head -c 10 /dev/mem /dev/kmsg 2>/dev/null",
            "",
        ),
    ] {
        let seen = said(&sandbox, &format!("{{ {attempt}; }} 2>/dev/null")).await;
        assert_eq!(seen, expected, "{attempt}");
    }
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_cannot_look_into_the_keeper_or_end_it() {
    let sandbox = pod(PYTHON).build().unwrap();
    let attempts = r#"
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
for name in "mem environ maps fd/0 exe cwd root stack auxv".split():
    try:
        os.open("/proc/1/" + name, os.O_RDONLY)
        print("opened", name)
    except OSError:
        pass
for request in (16, 0x4206):
    print("traced") if libc.ptrace(request, 1, 0, 0) == 0 else None
buffer = ctypes.create_string_buffer(16)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
there = (ctypes.c_void_p * 2)(0x400000, 16)
print("read") if libc.process_vm_readv(1, vector, 1, there, 1, 0) >= 0 else None
try:
    print("descriptor") if os.pidfd_open(1) and libc.syscall(438, os.pidfd_open(1), 0, 0) >= 0 else None
except OSError:
    pass
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV):
    try:
        os.kill(1, number)
    except OSError:
        pass
for name, value in ("oom_score_adj", "1000"), ("coredump_filter", "0xff"), ("comm", "other"):
    try:
        open("/proc/1/" + name, "w").write(value)
        print("wrote", name)
    except OSError:
        pass
print("done")
"#;
    assert_eq!(python(&sandbox, attempts).await, "done\n");
    // Everything but the keeper: also the process between it and this command.
    let _ = sandbox.execute(&ExecuteRequest::shell("kill -9 -1")).await;
    assert_eq!(said(&sandbox, "cat /proc/1/comm").await, "keeper\n");
    assert_eq!(said(&sandbox, "echo still").await, "still\n");
    sandbox.stop().await.unwrap();
}
