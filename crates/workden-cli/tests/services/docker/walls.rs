//! Attempts to escape that apply to a container, made from inside: as the container's root, and as an ordinary user.
//! Each prints `held` or `escaped`; any other output is a broken attempt and also fails. All are harmless if they
//! succeed.

use std::{
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
};

use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, MountAccess},
};
use workden_sandboxes::docker::{ContainerUser, DockerSandboxBuilder};

use crate::docker::places::{PYTHON, container};

/// Makes a system call; prints `held` when the kernel refuses the call itself.
const CALL: &str = "import ctypes, errno, sys\n\
    libc = ctypes.CDLL(None, use_errno=True)\n\
    number, *rest = [int(word, 0) for word in sys.argv[1:]]\n\
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in rest])\n\
    print('held' if done < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.EACCES) else 'escaped')\n";

/// System calls have their x86-64 numbers.
const ATTEMPTS: &[(&str, &str)] = &[
    ("read a file of the host", "grep -qs workden-host-secret $HOST_DIR/secret && echo escaped || echo held"),
    (
        "read it through the root of process 1",
        "grep -qs workden-host-secret /proc/1/root$HOST_DIR/secret && echo escaped || echo held",
    ),
    (
        "find the daemon's socket",
        "ls /var/run/docker.sock /run/docker.sock /run/containerd /run/podman 2>/dev/null | grep -q . && echo escaped || echo held",
    ),
    ("write to a read-only volume", "touch /given/probe 2>/dev/null && echo escaped || echo held"),
    ("make it writable", "mount -o remount,rw,bind /given 2>/dev/null && echo escaped || echo held"),
    ("change the keeper's program", "(echo x >> /.workden/bin/keeper) 2>/dev/null && echo escaped || echo held"),
    ("remove the keeper's program", "rm -f /.workden/bin/keeper 2>/dev/null && echo escaped || echo held"),
    (
        "find the token in the keeper's arguments",
        "tr '\\0' '\\n' < /proc/1/cmdline | grep -q \"$TOKEN\" && echo escaped || echo held",
    ),
    (
        "find the token in any environment",
        "t=$TOKEN; unset TOKEN; cat /proc/1/environ /proc/self/environ 2>/dev/null | tr '\\0' '\\n' | grep -v ^TOKEN= | grep -q \"$t\" && echo escaped || echo held",
    ),
    (
        "kill the keeper",
        "kill -9 1; kill -TERM 1; kill -INT 1; kill -HUP 1; sleep 0.2; test -e /proc/1/stat && echo held || echo escaped",
    ),
    ("stop the keeper", "kill -STOP 1; sleep 0.1; grep -q '^State:.*T' /proc/1/status && echo escaped || echo held"),
    ("read the keeper's memory", "head -c 1 /proc/1/mem >/dev/null 2>&1 && echo escaped || echo held"),
    ("see what the keeper has open", "readlink /proc/1/fd/* 2>/dev/null | grep -q . && echo escaped || echo held"),
    ("trace the keeper", "python3 call.py 101 16 1 0 0"),
    ("seize the keeper", "python3 call.py 101 0x4206 1 0 0"),
    ("read its memory by system call", "python3 call.py 310 1 0 0 0 0 0"),
    ("see processes of the host", "test $(ls -d /proc/[0-9]* 2>/dev/null | wc -l) -lt 30 && echo held || echo escaped"),
    ("mount a tmpfs", "mount -t tmpfs none /tmp 2>/dev/null && echo escaped || echo held"),
    ("mount", "python3 call.py 165 0 0 0 0 0"),
    ("unmount", "python3 call.py 166 0 0"),
    ("change the root", "python3 call.py 155 0 0"),
    ("chroot", "python3 call.py 161 0"),
    ("a user namespace", "python3 call.py 272 0x10000000"),
    ("a mount namespace", "python3 call.py 272 0x00020000"),
    ("join a namespace", "python3 call.py 308 -1 0"),
    ("load a program into the kernel", "python3 call.py 321 0 0 0"),
    ("use the kernel's keys", "python3 call.py 250 0 -3 0 0 0"),
    ("watch the processor", "python3 call.py 298 0 0 -1 -1 0"),
    ("load a module", "python3 call.py 175 0 0 0"),
    ("load another kernel", "python3 call.py 246 0 0 0 -1"),
    ("reboot", "python3 call.py 169 0 0 0 0"),
    ("turn the clock", "python3 call.py 227 0 0"),
    ("read the kernel's log", "python3 call.py 103 10 0 0"),
    ("open by handle", "python3 call.py 304 -1 0 0"),
    ("name the host", "python3 call.py 170 0 1"),
    ("make a device node", "mknod d b 7 0 2>/dev/null && echo escaped || echo held"),
    ("see disks of the host", "ls /dev | grep -Eq '^(sd|vd|nvme|mem|kmsg|loop|kvm|port)' && echo escaped || echo held"),
    (
        "change a kernel setting",
        "(cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness) 2>/dev/null && echo escaped || echo held",
    ),
    (
        "change how cores are dumped",
        "(cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern) 2>/dev/null && echo escaped || echo held",
    ),
    ("press the system request key", "(echo h > /proc/sysrq-trigger) 2>/dev/null && echo escaped || echo held"),
    ("read the kernel's memory", "head -c 1 /proc/kcore 2>/dev/null | grep -q . && echo escaped || echo held"),
    (
        "set a release agent",
        "for f in $(find /sys/fs/cgroup -name release_agent 2>/dev/null); do (cat $f > $f) 2>/dev/null && echo escaped; done; echo held",
    ),
    (
        "raise the limits of the container",
        "for f in $(find /sys/fs/cgroup -name 'memory.max' -o -name memory.limit_in_bytes 2>/dev/null); do (cat $f > $f) 2>/dev/null && echo escaped; done; echo held",
    ),
    ("a raw socket", "python3 call.py 41 2 3 1"),
    ("a packet socket", "python3 call.py 41 17 3 768"),
    ("see interfaces of the host", "grep -v '^ *lo:' /proc/net/dev | grep -q ': ' && echo escaped || echo held"),
    (
        "reach a service on the host's loopback",
        "python3 -c \"import socket; s = socket.socket(); s.settimeout(2); print('held' if s.connect_ex(('127.0.0.1', $HOST_PORT)) else 'escaped')\"",
    ),
    (
        "reach a socket of the host by its abstract name",
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); print('held' if s.connect_ex('\\\\0$HOST_ABSTRACT') else 'escaped')\"",
    ),
    ("gain privileges later", "grep -q '^NoNewPrivs:.*1' /proc/self/status && echo held || echo escaped"),
    ("do without a filter", "grep -q '^Seccomp:.*2' /proc/self/status && echo held || echo escaped"),
    (
        "hold a capability that reaches out",
        "python3 -c \"bits = int(open('/proc/self/status').read().split('CapBnd:')[1].split()[0], 16); print('held' if bits & ~0xeb == 0 else 'escaped')\"",
    ),
];

async fn nothing_gets_out(builder: DockerSandboxBuilder) {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("secret"), "workden-host-secret\n").unwrap();
    let given = host.path().join("given");
    std::fs::create_dir(&given).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let abstract_name = crate::docker::places::unique("abstract");
    let address = SocketAddr::from_abstract_name(abstract_name.as_bytes());
    let _socket = UnixListener::bind_addr(&address.unwrap()).unwrap();
    let sandbox = builder.mount("/given", &given, MountAccess::ReadOnly).build().unwrap();
    sandbox.start().await.unwrap();
    let id = sandbox.container_id().unwrap();
    let token =
        crate::docker::places::docker(&["inspect", "--format", "{{index .Config.Labels \"workden.token\"}}", &id]);
    assert_eq!(token.len(), 64);
    let script = format!("cat > call.py <<'END'\n{CALL}END\n");
    sandbox.execute(&ExecuteRequest::shell(script)).await.unwrap();
    let mut failures = Vec::new();
    for (name, script) in ATTEMPTS {
        let mut request = ExecuteRequest::shell(*script);
        request.environment = [
            ("HOST_DIR", host.path().display().to_string()),
            ("HOST_PORT", port.local_addr().unwrap().port().to_string()),
            ("HOST_ABSTRACT", abstract_name.clone()),
            ("TOKEN", token.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let done = sandbox.execute(&request).await.unwrap();
        if done.output.text().trim() != "held" {
            failures.push(format!("{name}: {}", done.output.text()));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), ATTEMPTS.len(), failures.join("\n"));
    sandbox.stop().await.unwrap();
    assert!(std::fs::read_dir(&given).unwrap().next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_gets_out_of_a_container_as_its_root() {
    nothing_gets_out(container(PYTHON)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_gets_out_of_a_container_as_an_ordinary_user() {
    nothing_gets_out(container(PYTHON).user(ContainerUser::Ids { user: 48_231, group: 48_231 })).await;
}
