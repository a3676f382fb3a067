//! Attempts to get out, look out, or take over.

use super::run::{TestSandbox, starters};

/// Attempts in shell: each must fail, and print nothing of the host.
const IN_SHELL: &[(&str, &str)] = &[
    ("reading the passwords", "cat /etc/shadow"),
    ("reading root's home", "ls /root/"),
    ("reading other homes", "ls -d /home/* | grep -v '^/home/agent$'"),
    ("seeing /var", "ls /var"),
    ("seeing /sys", "ls /sys"),
    ("seeing the Docker socket", "ls /var/run/docker.sock /run/docker.sock"),
    ("seeing the host's /tmp", "ls /tmp | grep ."),
    ("reading the keeper's environment", "cat /proc/1/environ"),
    ("reading the keeper's memory", "head -c1 /proc/1/mem"),
    ("listing the keeper's files", "ls /proc/1/fd"),
    ("going by the keeper's root", "ls /proc/1/root/"),
    ("going by the keeper's directory", "ls /proc/1/cwd/"),
    ("the host's secret in the own environment", "env | grep sesame"),
    ("killing the keeper", "kill -9 1; sleep 0.2; exit 1"),
    ("stopping the keeper", "kill -STOP 1; sleep 0.2; exit 1"),
    ("seeing more than the own processes", "ls -d /proc/[0-9]* | wc -l | grep -E '[0-9]{2}'"),
    ("writing /usr", "touch /usr/bin/x"),
    ("writing /etc", "touch /etc/x"),
    ("writing /", "mkdir /x"),
    ("changing who is who", "echo x >> /etc/passwd"),
    ("remounting the root", "mount -o remount,rw /"),
    ("mounting", "mount -t tmpfs none /tmp"),
    ("unmounting", "umount /usr"),
    ("a user namespace", "unshare -U true"),
    ("a mount namespace with a user namespace", "unshare -Um true"),
    ("entering the keeper's namespaces", "nsenter -t 1 -m true"),
    ("chroot", "chroot / true || exit 1"),
    ("a setting of the kernel", "echo x > /proc/sys/kernel/core_pattern"),
    ("a name for the machine", "hostname other"),
    ("sysrq", "echo h > /proc/sysrq-trigger"),
    ("a device node", "mknod /tmp/d b 254 0"),
    ("a setuid file", "cp /bin/true /workspace/t && chmod u+s /workspace/t"),
    ("a setgid file", "cp /bin/true /workspace/t && chmod g+s /workspace/t"),
    ("a setuid program of the host's", "find / -xdev -perm -4000 -exec sh -c 'test -O \"$0\"' {} \\; -print | grep ."),
    ("another user", "setpriv --reuid 0 true"),
    ("a capability", "grep -E 'Cap(Prm|Eff|Bnd|Inh|Amb):.*[1-9a-f]' /proc/self/status"),
    ("the kernel's log", "dmesg"),
    ("the keeper's limits", "prlimit --pid 1 --nofile=1"),
    ("the keeper's priority", "renice 19 -p 1"),
    ("the keeper's processors", "taskset -p 1 1"),
    ("the keys of others", "cat /proc/keys"),
    ("addresses of the kernel", "cat /proc/kallsyms"),
    ("a network", "grep -v -E 'lo:|Inter|face' /proc/net/dev"),
    ("release_agent", "find / -name release_agent 2>/dev/null | grep ."),
    ("the logs of others", "ls /run/ | grep -v -E '^(workden|nothing|empty)$'"),
];

/// Attempts by system calls: each must return an error.
const BY_CALL: &[(&str, &str)] = &[
    ("ptrace of the keeper", "c(101, 16, 1, 0, 0)"),
    ("reading the keeper's memory", "c(310, 1, 0, 0, 0, 0, 0)"),
    ("bpf", "c(321, 0, 0, 0)"),
    ("keyctl", "c(250, 0, -3, 0)"),
    ("add_key", "c(248, b'user', b'x', b'y', 1, -3)"),
    ("perf", "c(298, b'x'*128, 0, -1, -1, 0)"),
    ("userfaultfd", "c(323, 1)"),
    ("io_uring", "c(425, 1, b'\\0'*128)"),
    ("kexec", "c(246, 0, 0, 0, 0)"),
    ("a module", "c(175, b'', 0, b'')"),
    ("setns", "c(308, 0, 0)"),
    ("unshare of everything", "c(272, 0x7e020000)"),
    ("clone with a user namespace", "c(56, 0x10000000|17, 0, 0, 0, 0)"),
    ("clone3", "c(435, b'\\0'*64, 64)"),
    ("openat2, by which a setuid file could be made", "c(437, -100, b'/tmp/x', b'\\0'*24, 24)"),
    ("pivot_root", "c(155, b'/', b'/')"),
    ("open_tree", "c(428, -100, b'/', 1)"),
    ("fsopen", "c(430, b'tmpfs', 0)"),
    ("a file by its handle", "c(304, -100, b'\\0'*64, 0)"),
    ("the clock", "c(164, b'\\0'*16, 0)"),
    ("swap", "c(167, b'/tmp/x', 0)"),
    ("reboot", "c(169, 0, 0, 0, 0)"),
    ("ports", "c(172, 3)"),
    ("x32", "c(0x40000000 + 39)"),
    ("a raw socket", "c(41, 2, 3, 1)"),
    ("a packet socket", "c(41, 17, 3, 0)"),
    ("a socket to the hypervisor", "c(41, 40, 1, 0)"),
    ("netlink of the audit", "c(41, 16, 3, 9)"),
    ("a socket of the kernel's ciphers", "c(41, 38, 5, 0)"),
    ("typing into a terminal", "c(16, os.openpty()[1], 0x5412, b'x')"),
    ("a setuid file at once", "c(257, -100, b'/workspace/s', 0o101, 0o4755)"),
    ("another personality", "c(135, 0x0400000)"),
    ("setuid 0", "c(105, 0)"),
];

#[test]
fn nothing_gets_out_by_the_shell() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let confinement = sandbox.confinement();
        for (attempt, line) in IN_SHELL {
            let ran = sandbox.run(&confinement, line);
            // Not a missing program, a missing sandbox or a killed keeper either.
            assert!((1..125).contains(&ran.code), "{attempt}, started by {starter:?}: {ran:?}");
        }
        let after = sandbox.run(&confinement, "echo fine");
        assert_eq!(after.output, "fine\n", "{after:?}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn nothing_gets_out_by_a_system_call() {
    let attempts: String = BY_CALL.iter().map(|(attempt, call)| format!("t({attempt:?}, lambda: {call})\n")).collect();
    let script = format!(
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         def c(*a):\n    return libc.syscall(*[x if isinstance(x, bytes) else ctypes.c_long(x) for x in a])\n\
         def t(name, f):\n    r = f()\n    print('held' if r == -1 else 'ESCAPED', name, flush=True)\n    \
         if r == 0 and 'clone' in name: os._exit(0)\n\
         {attempts}"
    );
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        sandbox.write("attempts.py", &script);
        let ran = sandbox.run(&sandbox.confinement(), "/usr/bin/python3 /workspace/attempts.py");
        let held = ran.output.lines().filter(|line| line.starts_with("held ")).count();
        assert_eq!(held, BY_CALL.len(), "started by {starter:?}: {ran:?}");
    }
}

#[test]
fn commands_are_no_user_of_the_host_and_the_files_they_make_are_the_owners() {
    use std::os::unix::fs::MetadataExt;
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let ran = sandbox.run(&sandbox.confinement(), "id -u; id -G; echo x > made; cat made");
        assert_eq!(ran.output, "1000\n1000\nx\n", "started by {starter:?}: {ran:?}");
        let owner = sandbox.workspace.path().metadata().unwrap();
        let made = sandbox.workspace.path().join("made").metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()));
    }
}

#[test]
fn what_is_left_running_ends_with_the_sandbox() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let mark = format!("{}", 7_000_000 + std::process::id());
        let ran = sandbox.run(&sandbox.confinement(), &format!("setsid sleep {mark} >/dev/null 2>&1 & echo started"));
        assert_eq!(ran.output, "started\n", "{ran:?}");
        let left = std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            std::fs::read(process.path().join("cmdline"))
                .is_ok_and(|line| line == format!("sleep\0{mark}\0").as_bytes())
        });
        assert!(!left, "started by {starter:?}");
    }
}

#[test]
fn ordinary_programs_work() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        for line in [
            "bash -c 'cat <(echo x)' | grep x",
            "/usr/bin/python3 -c 'import subprocess, threading, ssl; subprocess.check_call([\"true\"])'",
            "/usr/bin/python3 -c 'import multiprocessing as m; m.Lock(); m.Pool(2).map(abs, [1])'",
            "git init -q r && cd r && git -c user.email=a@b -c user.name=a commit -q --allow-empty -m x && git log | grep x",
            "echo 'int main(){return 0;}' > /tmp/a.c && cc /tmp/a.c -o /tmp/a && /tmp/a",
            "script -qc 'test -t 0' /dev/null",
            "test \"$HOME\" = /home/agent && touch ~/x && touch /tmp/x && touch /dev/shm/x",
        ] {
            let ran = sandbox.run(&sandbox.confinement(), line);
            assert_eq!(ran.code, 0, "{line}, started by {starter:?}: {ran:?}");
        }
    }
}
