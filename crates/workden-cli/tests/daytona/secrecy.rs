//! The key goes to the API and to the toolbox, and to nothing inside a sandbox.

use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_daytona_stub::{Fault, FaultKind};

use crate::{
    cli::{Program, told},
    places::{kept, printed, stub},
};

/// Takes the keeper's port, and keeps what comes.
const IMPOSTOR: &str = r#"
import socket
servers = [socket.create_server(("127.0.0.1", 27183)), socket.create_server(("::1", 27183), family=socket.AF_INET6)]
open("/tmp/ready", "w")
while True:
    client, _ = servers[0].accept()
    seen = client.recv(65536)
    open("/tmp/seen", "ab").write(seen)
    client.close()
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_never_reaches_a_port_inside() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    let to_ports = |request: &&workden_daytona_stub::SeenRequest| request.path.contains("/preview/");
    let requests = stub.requests();
    let to_ports: Vec<_> = requests.iter().filter(to_ports).collect();
    assert!(!to_ports.is_empty(), "the keeper is reached over a port");
    for request in to_ports {
        let told = format!("{request:?}");
        assert!(request.header("authorization").is_none() && !told.contains(stub.api_key()), "{told}");
        assert!(request.header("x-daytona-preview-token").is_some(), "{told}");
    }
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_takes_the_port_of_a_killed_keeper_gets_neither_key_nor_call() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    let take = format!("printf '%s' '{IMPOSTOR}' > /tmp/impostor.py; pkill -KILL -f 'keeper-.* serve'");
    // The keeper dies during the call.
    let _ = sandbox.execute(&ExecuteRequest::shell(take.replace("pkill", "(setsid sh -c 'while pgrep -f \"keeper-.* serve\" >/dev/null; do sleep 0.05; done; exec python3 /tmp/impostor.py' >/dev/null 2>&1 &); sleep 0.3; pkill"))).await;
    // The next call finds the impostor, and starts a keeper at another port.
    assert_eq!(
        printed(&sandbox, "for i in $(seq 100); do [ -s /tmp/seen ] && break; sleep 0.1; done; echo alive").await,
        "alive\n"
    );
    let seen = printed(&sandbox, "cat /tmp/seen 2>/dev/null || true").await;
    assert!(!seen.contains(stub.api_key()) && !seen.contains("alive"), "{seen}");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_is_in_no_log_although_the_service_repeats_it() {
    let program = Program::new().await;
    let key = program.stub.api_key().to_owned();
    let repeats =
        |status| FaultKind::Status { status, retry_after: None, body: Some(format!("{{\"message\":\"{key}\"}}")) };
    for fault in [
        Fault::once("POST /sandbox", FaultKind::LostAnswer),
        Fault::once("GET /sandbox/*", repeats(503)),
        Fault::once("GET /sandbox/*/ports/*/preview-url", repeats(500)),
        Fault::once("POST /toolbox/*/process/session/*/command/*/input", repeats(404)),
        Fault::once("DELETE /sandbox/*", repeats(429)),
    ] {
        program.stub.add_fault(fault);
    }
    let words = ["run", "--sandbox", "daytona", "--", "true"];
    let ran = program.workden_with(&words, &[("WORKDEN_LOG", "debug")]).await;
    assert!(told(&ran).contains("[key]") && !told(&ran).contains(&key), "{}", told(&ran));
    for status in [400, 401] {
        program.stub.add_fault(Fault::once("POST /sandbox", repeats(status)));
        let refused = program.workden_with(&words, &[("WORKDEN_LOG", "debug")]).await;
        assert!(!refused.status.success() && told(&refused).contains("[key]"), "{}", told(&refused));
        assert!(!told(&refused).contains(&key), "{}", told(&refused));
    }
    program.is_left_with(0).await;
    program.stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_find_neither_key_nor_secret() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    // What is searched for is given in halves, so that the search does not find itself.
    let (first, second) = stub.api_key().split_at(5);
    let search = format!(
        "k={first}; k=${{k}}{second}; s=sec; s=${{s}}ret; q='\"'; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline \
         2>/dev/null | tr '\\0' '\\n' > /tmp/all; while read -r line; do case $line in *$k*|*$q$s$q*) echo found; esac; \
         done < /tmp/all; rm /tmp/all; echo searched"
    );
    assert_eq!(printed(&sandbox, &search).await, "searched\n");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}
