//! Sandboxes of an account that lacks one permission: the error names what is not permitted, and nothing is left.

use serde_json::Value;
use workden_core::{Error, ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::{Cluster, Reach};

use crate::{
    places::{BUSYBOX, Namespace, apply, pod, with_token},
    rights::{self, PERMISSIONS},
};

/// The permissions that a named pod needs, by each way to its keeper. Without any other one it works.
const NEEDED: [(&str, &str); 8] = [
    ("pods", "create"),
    ("pods", "list"),
    ("pods", "watch"),
    ("pods", "patch"),
    ("pods", "delete"),
    ("pods/exec", "get"),
    ("secrets", "create"),
    ("secrets", "get"),
];

async fn used(cluster: Cluster, name: &str) -> Result<String, Error> {
    let sandbox = pod(BUSYBOX).cluster(cluster).pod_name(name).reach(Reach::Exec).build().unwrap();
    let done = sandbox.execute(&ExecuteRequest::shell("echo hi")).await;
    let stopped = sandbox.stop().await;
    let done = done?;
    stopped.map(|()| done.output.text())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_without_a_permission_says_which() {
    let namespace = Namespace::of("base", "rights", &[]);
    for (nth, (resource, verb)) in PERMISSIONS.iter().enumerate() {
        let account = format!("without-{nth}");
        apply(&rights::all_but(nth, &account, &namespace.0).to_string());
        let token = namespace.kubectl(&["create", "token", &account]);
        let file = with_token(&token);
        let cluster = Cluster::kubeconfig(file.path()).namespace(&namespace.0);
        let done = used(cluster, &account).await;
        if NEEDED.contains(&(*resource, *verb)) {
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{verb} {resource}: {error}");
            let named = error.sentence().contains(&format!("cannot {verb} resource"))
                || error.sentence().contains("the cluster does not permit it");
            assert!(named, "{verb} {resource}: {error}");
            assert!(error.hint_text().unwrap().contains("doctor"), "{error}");
        } else {
            assert_eq!(done.unwrap(), "hi\n", "{verb} {resource}");
        }
        let left = ["get", "pods,secrets", "--output", "json", "--selector", "app.kubernetes.io/managed-by=workden"];
        let left: Value = serde_json::from_str(&namespace.kubectl(&left)).unwrap();
        let is_left = |object: &&Value| object["metadata"]["deletionTimestamp"].is_null();
        let pods = left["items"].as_array().unwrap().iter().filter(|object| object["kind"] == "Pod").filter(is_left);
        // Without the right to delete, the pod ends with its keeper.
        let expected = usize::from((*resource, *verb) == ("pods", "delete"));
        assert_eq!(pods.count(), expected, "{verb} {resource}: {left:#}");
        namespace.kubectl(&["delete", "pods", "--all", "--wait=true"]);
    }
}
