//! Sockets: the host's network, its local sockets, and kinds of sockets that no command needs.

use super::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("reach a service on the host's loopback", TCP).escapes_unconfined(),
    attempt("reach a socket of the host by its path", PATH_SOCKET).escapes_unconfined(),
    attempt("reach a socket of the host by its abstract name", ABSTRACT_SOCKET).escapes_unconfined(),
    attempt("reach an abstract socket with the host's network", ABSTRACT_SOCKET).with(&["--net", "host"]),
    attempt("see interfaces of the host", "grep -v '^ *lo:' /proc/net/dev | grep -q ': ' && echo escaped || echo held"),
    attempt("have a route out", "tail -n +2 /proc/net/route | grep -q . && echo escaped || echo held"),
    attempt(
        "find the Docker socket",
        "ls /var/run/docker.sock /run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock 2>/dev/null | grep -q . && echo escaped || echo held",
    ),
    attempt("a raw socket", "perl ./try socket 2 3 1"),
    attempt("a raw socket of version 6", "perl ./try socket 10 3 58"),
    attempt("a packet socket", "perl ./try socket 17 3 768"),
    attempt("a socket to a virtual machine's host", "perl ./try socket 40 1 0"),
    attempt("a socket of the kernel's cryptography", "perl ./try socket 38 5 0"),
    attempt("a socket to the audit", "perl ./try socket 16 3 9"),
    attempt("a socket to the firewall", "perl ./try socket 16 3 12"),
    attempt("a key socket", "perl ./try socket 15 3 2"),
    attempt("a Bluetooth socket", "perl ./try socket 31 3 1"),
];

const TCP: &str = "perl -MIO::Socket::INET -e '\
    print IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $ENV{HOST_PORT}, Timeout => 2) ? \"escaped\" : \"held\"'";

const PATH_SOCKET: &str = "perl -MSocket -e '\
    socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; \
    print connect($s, sockaddr_un(\"$ENV{HOST_DIR}/socket\")) ? \"escaped\" : \"held\"'";

const ABSTRACT_SOCKET: &str = "perl -MSocket -e '\
    socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; \
    print connect($s, sockaddr_un(\"\\0$ENV{HOST_ABSTRACT}\")) ? \"escaped\" : \"held\"'";
