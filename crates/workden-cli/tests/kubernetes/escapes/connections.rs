//! Connections to the keeper without its token, from inside the pod.

use std::time::{Duration, Instant};

use workden_core::{
    Sandbox,
    sandbox::{Command, SpawnRequest},
};
use workden_sandboxes::kubernetes::Reach;

use super::{python, said};
use crate::places::{PYTHON, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_without_the_token_is_told_nothing() {
    let sandbox = pod(PYTHON).build().unwrap();
    let attempts = r#"
import socket, ssl
def answer(send, tls=False, family=socket.AF_INET, at=("127.0.0.1", 27183)):
    got = b""
    try:
        peer = socket.socket(family)
        peer.settimeout(8)
        peer.connect(at)
        if tls:
            context = ssl._create_unverified_context()
            context.set_alpn_protocols(["h2"])
            peer = context.wrap_socket(peer)
        peer.sendall(send)
        while len(got) < 100000:
            more = peer.recv(65536)
            if not more:
                break
            got += more
    except OSError:
        pass
    return got
h2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
for family, at in ((socket.AF_INET, ("127.0.0.1", 27183)), (socket.AF_UNIX, "/.workden/run/keeper.sock")):
    for send, tls in ((b"GET / HTTP/1.1\r\n\r\n", False), (h2, False), (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", True),
                      (h2 + b"\0\1\0\1\5\0\0\0\1" + b"\x82" * 256, True), (b"\0" * 100000, False), (b"\x16\x03\x01\xff\xff" + b"a" * 70000, False)):
        got = answer(send, tls, family, at)
        for word in (b"workspace", b"token", b"PRIVATE", b"200"):
            if word in got:
                print(send[:10], tls, got[:200])
    got = answer(b'{"protocol":1}\n', False, family, at)
    print(b"another launcher" in got)
"#;
    assert_eq!(python(&sandbox, attempts).await, "True\nTrue\n");
    assert_eq!(said(&sandbox, "echo still").await, "still\n");
    sandbox.stop().await.unwrap();
}

/// Opens connections as fast as it can, and keeps the last thousand.
const FLOOD: &str = r#"
import collections, os, socket, sys
kept = collections.deque(maxlen=1000)
print("floods", flush=True)
while True:
    try:
        peer = socket.socket()
        peer.setblocking(False)
        peer.connect_ex(("127.0.0.1", 27183))
        kept.append(peer)
    except OSError:
        kept.clear()
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_connections_does_not_keep_clients_out() {
    let name = format!("workden-flood-{}", std::process::id());
    let sandbox = pod(PYTHON).pod_name(&name).cpus(2.0).build().unwrap();
    said(&sandbox, &format!("cat > flood.py <<'EOF'\n{FLOOD}\nEOF")).await;
    let mut floods = Vec::new();
    for _ in 0..2 {
        floods.push(sandbox.spawn(&SpawnRequest::piped(Command::Shell("python3 flood.py".to_owned()))).await.unwrap());
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    // The queue of the port is full of connections of the flood. The socket of the relay has another one.
    for (way, named) in [("any way", None), ("the relay", Some(Reach::Exec)), ("any way again", None)] {
        let client = pod(PYTHON).pod_name(&name).cpus(2.0);
        let client = match named {
            Some(named) => client.reach(named),
            None => client,
        };
        let began = Instant::now();
        assert_eq!(said(&client.build().unwrap(), "echo in").await, "in\n", "{way}");
        println!("{way}: {:?}", began.elapsed());
    }
    assert_eq!(said(&sandbox, "echo still").await, "still\n");
    sandbox.stop().await.unwrap();
}
