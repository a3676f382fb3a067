//! Where the keeper and the files of a pod come from: an image of the keeper, and claims.

use serde_json::json;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::WorkspaceVolume;

use crate::places::{BUSYBOX, KEEPER, Namespace, apply, pod};

async fn said(sandbox: &dyn Sandbox, command: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(command)).await.unwrap().output.text()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keeper_from_an_image_serves_a_pod_and_commands_cannot_replace_it() {
    let sandbox = pod(BUSYBOX).keeper_image(KEEPER).build().unwrap();
    assert_eq!(said(&sandbox, "cat /proc/1/comm; id -u").await, "keeper\n1000\n");
    let tried = said(&sandbox, "rm -f /.workden/bin/keeper; echo x > /.workden/bin/keeper; ls /.workden/bin").await;
    assert!(tried.contains("Read-only file system") && tried.ends_with("keeper\n"), "{tried}");
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_a_claim_outlive_their_pod() {
    let namespace = Namespace::of("base", "claim", &[]);
    apply(
        &json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "files", "namespace": namespace.0},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}},
        })
        .to_string(),
    );
    let claimed = || pod(BUSYBOX).cluster(namespace.cluster()).workspace(WorkspaceVolume::Claim("files".to_owned()));
    let first = claimed().build().unwrap();
    assert_eq!(said(&first, "echo one > note; pwd").await, "/workspace\n");
    first.stop().await.unwrap();
    let second = claimed().build().unwrap();
    assert_eq!(said(&second, "cat note").await, "one\n");
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_a_template_ends_with_its_pod() {
    let namespace = Namespace::of("base", "template", &[]);
    let volume = WorkspaceVolume::ClaimTemplate { bytes: 10 << 20, storage_class: Some("standard".to_owned()) };
    let sandbox = pod(BUSYBOX).cluster(namespace.cluster()).workspace(volume).build().unwrap();
    assert_eq!(said(&sandbox, "echo one > note; cat note").await, "one\n");
    let size = ["get", "pvc", "--output", "jsonpath={.items[*].spec.resources.requests.storage}"];
    assert_eq!(namespace.kubectl(&size), (10 << 20).to_string());
    sandbox.stop().await.unwrap();
    namespace.kubectl(&["wait", "pvc", "--all", "--for=delete", "--timeout=240s"]);
}
