//! Sandboxes and sessions of an account that lacks one permission: the error soon names what is not permitted, and
//! nothing is left.

use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::NamedTempFile;
use workden_core::{Error, ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::{Cluster, KubernetesLauncher, Reach};
use workden_sessions::{ClusterStore, SessionManager};

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

/// How long an error may take, on a slow machine.
const SOON: Duration = Duration::from_secs(40);

/// Creates an account without the nth permission. Returns a kubeconfig with its token.
fn without(nth: usize, account: &str, namespace: &Namespace) -> NamedTempFile {
    apply(&rights::all_but(nth, account, &namespace.0).to_string());
    with_token(&namespace.kubectl(&["create", "token", account]))
}

/// Checks that an error names a permission and what to do about it.
fn names(error: &Error, resource: &str, verb: &str) {
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{verb} {resource}: {error}");
    assert!(error.sentence().contains(&format!("cannot {verb} resource \"{resource}\"")), "{verb} {resource}: {error}");
    assert!(error.hint_text().unwrap().contains("doctor"), "{error}");
}

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
        let file = without(nth, &account, &namespace);
        let cluster = Cluster::kubeconfig(file.path()).namespace(&namespace.0);
        let began = Instant::now();
        let done = used(cluster, &account).await;
        assert!(began.elapsed() < SOON, "{verb} {resource}: {:?}", began.elapsed());
        if NEEDED.contains(&(*resource, *verb)) {
            names(&done.unwrap_err(), resource, verb);
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

/// What a manager does with a session from its start to its end, by an account without one permission.
async fn managed(cluster: Cluster, owner: &str) -> Result<(), Error> {
    let launcher = KubernetesLauncher::new(pod(BUSYBOX).cluster(cluster), owner)?;
    let manager = SessionManager::builder(launcher.clone()).store(ClusterStore::new(launcher)).start().await?;
    let id = "user".parse().unwrap();
    manager.get_or_create(&id, None).await?;
    manager.list_stored().await?;
    // A watch that is refused is known some time after the first list.
    tokio::time::sleep(Duration::from_secs(1)).await;
    manager.list_stored().await?;
    manager.release(&id).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_of_sessions_without_a_permission_says_which() {
    let namespace = Namespace::of("base", "lease-rights", &[]);
    for (nth, (resource, verb)) in PERMISSIONS.iter().enumerate() {
        if *resource != "leases" {
            continue;
        }
        let account = format!("without-{nth}");
        let file = without(nth, &account, &namespace);
        let cluster = Cluster::kubeconfig(file.path()).namespace(&namespace.0);
        let began = Instant::now();
        let error = managed(cluster, &account).await.expect_err(verb);
        names(&error, resource, verb);
        assert!(began.elapsed() < SOON, "{verb} {resource}: {:?}", began.elapsed());
        namespace.kubectl(&["delete", "pods,leases", "--all", "--wait=true"]);
    }
}
