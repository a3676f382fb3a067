//! The files of the keeper in a pod belong to the user of commands: its socket, and its program where it was streamed
//! in. Commands that change them make the relay fail, and learn nothing.

use std::time::Duration;

use workden_core::{ErrorKind, Sandbox};
use workden_sandboxes::kubernetes::Reach;

use super::{python, said};
use crate::places::{PYTHON, kubectl, pod};

/// Takes the place of the relay or of the keeper's socket, and records what arrives.
const RELAY: &str =
    "cd /.workden/bin && printf '#!/bin/sh\\nexec cat >> /workspace/recorded\\n' > k && chmod 755 k && mv -f k keeper";
const SOCKET: &str = r#"
import os, socket
at = "/.workden/run/keeper.sock"
os.remove(at)
listener = socket.socket(socket.AF_UNIX)
listener.bind(at)
listener.listen(64)
if os.fork() == 0:
    while True:
        peer, _ = listener.accept()
        open("/workspace/recorded", "ab").write(peer.recv(100000))
        peer.send(b'{"ready":true}\n')
        open("/workspace/recorded", "ab").write(peer.recv(100000))
        peer.close()
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_relay_or_socket_learns_nothing_and_other_ways_work() {
    let name = format!("workden-replaced-{}", std::process::id());
    let reached_by = |way| pod(PYTHON).pod_name(&name).reach(way).build().unwrap();
    let sandbox = reached_by(Reach::Direct);
    sandbox.start().await.unwrap();
    let secret = format!("workden-{}", kubectl(&["get", "pod", &name, "-o", "jsonpath={.metadata.uid}"]));
    let encoded = kubectl(&["get", "secret", &secret, "-o", "jsonpath={.data.token}"]);

    for attempt in ["socket", "relay"] {
        match attempt {
            "socket" => python(&sandbox, SOCKET).await,
            _ => said(&sandbox, RELAY).await,
        };
        let over_exec = tokio::time::timeout(Duration::from_secs(60), reached_by(Reach::Exec).start()).await.unwrap();
        let error = over_exec.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{attempt}: {error}");
        for way in [Reach::Direct, Reach::PortForward] {
            assert_eq!(said(&reached_by(way), "echo works").await, "works\n", "{attempt}, {way}");
        }
    }
    // The relay was given the start of a TLS connection, without the token.
    let search = format!("test -s recorded && echo recorded; t=$(echo {encoded} | base64 -d); grep -caF $t recorded");
    assert_eq!(said(&sandbox, &search).await, "recorded\n0\n");
    // By default the first way that works is used.
    assert_eq!(said(&pod(PYTHON).pod_name(&name).build().unwrap(), "echo works").await, "works\n");
    sandbox.stop().await.unwrap();
}
