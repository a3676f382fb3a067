//! Pods whose node is lost, or has no memory left. The tests invent the node, since the cluster has one that all other
//! tests use: they report its status as a kubelet does, and the controllers of the cluster do the rest.

use std::time::Duration;

use serde_json::{Value, json};
use workden_core::ErrorKind;

use crate::{
    impostors::{Impostor, report},
    places::{BUSYBOX, apply, kubectl},
    processes::eventually,
};

/// A node without a kubelet. It is deleted when this value is dropped.
struct InventedNode(String);

impl InventedNode {
    /// Creates a node that reports once that it is ready.
    fn create(test: &str) -> Self {
        let node = Self(format!("workden-{test}-{}", std::process::id()));
        let name = &node.0;
        apply(
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": true}})
                .to_string(),
        );
        report("node", name, &json!({"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}));
        node
    }

    /// Creates a pod that runs on this node, as it seems, and is deleted this long after the node is lost.
    async fn pod(&self, test: &str, deleted_after: Duration) -> Impostor {
        let tolerated = |key: &str| {
            json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": deleted_after.as_secs()})
        };
        let spec = json!({"nodeName": self.0, "containers": [{"name": "workden", "image": BUSYBOX}],
            "tolerations": [tolerated("unreachable"), tolerated("not-ready")]});
        let pod = Impostor::create(test, &spec).await;
        pod.report(&running());
        pod
    }
}

impl Drop for InventedNode {
    fn drop(&mut self) {
        kubectl(&["delete", "node", &self.0, "--wait=false"]);
    }
}

/// Returns the status of a pod that runs. Its address is of a range for documentation.
fn running() -> Value {
    json!({"phase": "Running", "podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
        "containerStatuses": [{"name": "workden", "image": BUSYBOX, "imageID": "", "ready": true, "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_node_is_named_and_so_is_the_reason_why_its_pod_is_deleted() {
    let node = InventedNode::create("lost");
    let kept = node.pod("lost", Duration::from_secs(3600)).await;
    let deleted = node.pod("deleted", Duration::from_secs(1)).await;
    let field = |pod: &Impostor, field: &str| kubectl(&["get", "pod", &pod.name, "--output", field]);
    // The node controller marks a node that has been silent for 50 s, and its pods.
    eventually("the cluster does not notice that the node is lost", || {
        field(&kept, "jsonpath={.status.conditions[?(@.type=='Ready')].status}") == "False"
    });
    let (error, took) = kept.adopt().await;
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    let expected = format!("the node `{}` of the pod `{}` no longer reports to the cluster", node.0, kept.name);
    assert_eq!(error.sentence(), expected);
    assert!(took < Duration::from_secs(40), "{took:?}");

    eventually("the cluster does not delete the pod", || {
        !field(&deleted, "jsonpath={.metadata.deletionTimestamp}").is_empty()
    });
    let (error, took) = deleted.adopt().await;
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(error.sentence().contains("has ended: DeletionByTaintManager"), "{error}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// The kubelet of the test cluster evicts for full disks only, which `escapes` tests: short of memory, it would evict
/// the pods of all other tests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_is_evicted_for_memory_is_gone_and_the_kubelet_is_quoted() {
    let node = InventedNode::create("memory");
    let pod = node.pod("memory", Duration::from_secs(3600)).await;
    let said = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi.";
    pod.report(&json!({"phase": "Failed", "reason": "Evicted", "message": said}));
    let (error, took) = pod.adopt().await;
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert_eq!(error.sentence(), format!("the sandbox is gone: its pod `{}` has ended: Evicted: {said}", pod.name));
    assert!(took < Duration::from_secs(10), "{took:?}");
}
