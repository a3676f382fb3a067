//! What the policies of `deploy/kubernetes/base` close: the API server, kubelets, the metadata of clouds, other pods.

use workden_core::Sandbox;

use super::python;
use crate::places::{Namespace, PYTHON, kubectl, pod};

/// Returns which of these addresses accept a connection from a sandbox.
async fn reached(sandbox: &dyn Sandbox, addresses: &[String]) -> String {
    let program = format!(
        r#"
import concurrent.futures, socket
def tried(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
        return address
    except OSError:
        return None
addresses = {addresses:?}
with concurrent.futures.ThreadPoolExecutor(len(addresses)) as pool:
    print(" ".join(filter(None, pool.map(tried, addresses))))
"#
    );
    python(sandbox, &program).await.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policies_of_the_base_close_the_network_of_commands() {
    let namespace = Namespace::of("base", "closed", &[]);
    let inside = || pod(PYTHON).cluster(namespace.cluster());
    let (sandbox, neighbour) = (inside().build().unwrap(), inside().build().unwrap());
    sandbox.start().await.unwrap();
    neighbour.start().await.unwrap();
    let node = kubectl(&["get", "nodes", "-o", "jsonpath={.items[0].status.addresses[0].address}"]);
    let service = kubectl(&["-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"]);
    let other = neighbour.pod_name().unwrap();
    let other = namespace.kubectl(&["get", "pod", &other, "-o", "jsonpath={.status.podIP}"]);
    let addresses = [
        format!("{service}:443"),
        format!("{node}:6443"),
        format!("{node}:10250"),
        "169.254.169.254:80".to_owned(),
        format!("{other}:27183"),
    ];
    assert_eq!(reached(&sandbox, &addresses).await, "");
    // Without the policies of the base the same attempts reach what is there: the test itself works.
    let open = pod(PYTHON).build().unwrap();
    let seen = reached(&open, &addresses).await;
    assert!(seen.contains(":443") && seen.contains(":10250"), "{seen}");
    // The keepers of the namespace accept connections only from namespaces with the label.
    assert!(!seen.contains(&other), "{seen}");
    for sandbox in [sandbox, neighbour, open] {
        sandbox.stop().await.unwrap();
    }
}
