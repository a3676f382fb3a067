//! Pods that start, and pods that cannot: the error comes soon and quotes the cluster.

use std::time::{Duration, Instant};

use serde_json::json;
use workden_core::{ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::{KubernetesSandboxBuilder, Reach};

use crate::places::{BUSYBOX, Namespace, cluster, kubectl, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_runs_and_the_report_names_the_way() {
    let sandbox = pod(BUSYBOX).env("COLOUR", "blue").build().unwrap();
    let done = sandbox.execute(&ExecuteRequest::shell("echo $COLOUR; id -u; pwd; cat /proc/1/comm")).await.unwrap();
    assert_eq!(done.output.text(), "blue\n1000\n/workspace\nkeeper\n");
    let isolation = sandbox.isolation().await.unwrap();
    assert_eq!(isolation.reached_by.as_deref(), Some(Reach::Direct.to_string().as_str()), "{isolation:?}");
    let name = sandbox.pod_name().unwrap();
    sandbox.stop().await.unwrap();
    let left = kubectl(&["get", "pod", &name, "--ignore-not-found", "-o", "jsonpath={.metadata.deletionTimestamp}"]);
    let gone = kubectl(&["get", "pod", &name, "--ignore-not-found"]).is_empty();
    assert!(gone || !left.is_empty(), "the pod is not deleted");
}

/// Starts a pod that cannot start, and returns the error and the time until it came.
async fn fails(builder: KubernetesSandboxBuilder) -> (workden_core::Error, Duration) {
    let began = Instant::now();
    let error = builder.build().unwrap().start().await.unwrap_err();
    (error, began.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_does_not_exist_is_an_error_within_seconds() {
    let (error, took) = fails(pod("workden-test/missing:1")).await;
    assert!(
        error.sentence().contains("workden-test/missing:1") && error.sentence().contains("ErrImagePull"),
        "{error}"
    );
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_without_a_shell_is_an_error_within_seconds() {
    // The cluster's own image, with one program that waits.
    let (error, took) = fails(pod("workden.invalid/pause:1")).await;
    assert!(error.sentence().contains("sh") && error.sentence().contains("not found"), "{error}");
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_quota_is_an_error_in_the_clusters_words() {
    let namespace = Namespace::of("base", "full", &[]);
    namespace.kubectl(&["create", "quota", "none", "--hard=pods=0"]);
    let hard = || namespace.kubectl(&["get", "quota", "none", "--output", "jsonpath={.status.hard.pods}"]);
    crate::processes::eventually("the quota is not counted", || hard() == "0");
    let (error, took) = fails(pod(BUSYBOX).cluster(namespace.cluster())).await;
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.sentence().contains("exceeded quota: none"), "{error}");
    assert!(error.hint_text().unwrap().contains("quota"), "{error}");
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert_eq!(namespace.kubectl(&["get", "pods", "--output", "name"]), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_no_node_can_take_is_an_error_within_seconds() {
    let (error, took) =
        fails(pod(BUSYBOX).node_selector("disk", "golden").scheduling_timeout(Duration::from_secs(10))).await;
    assert!(error.sentence().contains("node affinity/selector"), "{error}");
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_service_account_is_an_error_in_the_clusters_words() {
    let (error, _) = fails(pod(BUSYBOX).service_account("missing")).await;
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.sentence().contains("service account") && error.sentence().contains("missing"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_satisfies_the_standard_restricted_and_a_template_that_does_not_is_refused() {
    let namespace = format!("workden-restricted-{}", std::process::id());
    kubectl(&["create", "namespace", &namespace]);
    kubectl(&["label", "namespace", &namespace, "pod-security.kubernetes.io/enforce=restricted"]);
    // The namespace has no service account yet, which is waited for.
    let inside = || pod(BUSYBOX).cluster(cluster().namespace(&namespace));
    let sandbox = inside().build().unwrap();
    let done = sandbox.execute(&ExecuteRequest::shell("touch /etc/x /usr/x; echo hi > /tmp/x && cat /tmp/x")).await;
    assert!(done.unwrap().output.text().ends_with("hi\n"));
    sandbox.stop().await.unwrap();
    let template = serde_json::from_value(json!({"spec": {"hostNetwork": true, "containers": []}})).unwrap();
    let (error, _) = fails(inside().pod_template(template)).await;
    assert!(error.sentence().contains("violates PodSecurity"), "{error}");
    kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
}
