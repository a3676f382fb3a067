//! A server started in the background answers a later command.

use workden_conformance::python_checks;
use workden_core::sandbox::{Ended, ExecuteRequest, JobRequest, Network};

use crate::{
    checks::hold,
    conformance::places::{Kind, Places},
    processes::PATIENCE,
};

const SERVE: &str = "
import http.server, os
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
open('port.new', 'w').write(str(server.server_port))
os.rename('port.new', 'port')
server.serve_forever()
";

#[tokio::test]
async fn in_a_linux_sandbox() {
    let places = Places::new();
    hold(python_checks(), async || places.linux().await).await;
}

#[tokio::test]
async fn in_a_linux_sandbox_without_namespaces_that_has_the_hosts_network() {
    let places = Places::new();
    hold(python_checks(), async || places.landlock(Network::Host).await).await;
}

#[tokio::test]
async fn in_a_host_sandbox() {
    let places = Places::new();
    hold(python_checks(), async || places.host().await).await;
}

#[tokio::test]
async fn curl_fetches_from_localhost() {
    let places = Places::new();
    for kind in [Kind::Linux, Kind::Host] {
        let sandbox = places.start(kind).await;
        sandbox.execute(&ExecuteRequest::shell("echo served > page.txt")).await.unwrap();
        sandbox.start_job(&JobRequest::shell(format!("exec python3 -c \"{SERVE}\""))).await.unwrap();
        let up = ExecuteRequest::shell("until [ -s port ]; do sleep 0.05; done").timeout(PATIENCE);
        assert_eq!(sandbox.execute(&up).await.unwrap().ended, Ended::Exited(0), "{kind:?}");
        let fetch = ExecuteRequest::shell("curl -sS --max-time 60 http://localhost:$(cat port)/page.txt 2>&1");
        let fetched = sandbox.execute(&fetch).await.unwrap();
        assert_eq!((fetched.output.text().as_str(), fetched.ended), ("served\n", Ended::Exited(0)), "{kind:?}");
    }
}

#[tokio::test]
async fn every_linux_sandbox_has_a_localhost_of_its_own() {
    let places = Places::new();
    let (one, other) = (places.start(Kind::Linux).await, places.start(Kind::Linux).await);
    let serve = JobRequest::shell("mkdir www; echo mine > www/page.txt; exec python3 -m http.server -d www 8000");
    one.start_job(&serve).await.unwrap();
    let fetch = ExecuteRequest::shell("until curl -sS localhost:8000/page.txt 2>/dev/null; do sleep 0.1; done");
    assert_eq!(one.execute(&fetch).await.unwrap().output.text(), "mine\n");
    let refused = other.execute(&ExecuteRequest::shell("curl -sS localhost:8000/page.txt")).await.unwrap();
    assert_eq!(refused.ended, Ended::Exited(7), "curl could connect: {refused:?}");
}
