//! Pods that look like those of sessions to workden, and whose first process is another program, or none.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use workden_core::Error;
use workden_sandboxes::{LaunchRequest, Launcher, kubernetes::KubernetesLauncher};

use crate::places::{BUSYBOX, apply, kubectl, pod};

/// Such a pod. It is deleted when this value is dropped.
pub(crate) struct Impostor {
    pub(crate) name: String,
    launcher: KubernetesLauncher,
}

impl Impostor {
    /// Creates a pod with this specification, and with the Secret of a keeper of another pod.
    pub(crate) async fn create(test: &str, spec: &Value) -> Self {
        let owner = format!("{test}-{}", std::process::id());
        let launcher = KubernetesLauncher::new(pod(BUSYBOX), &owner).unwrap();
        let order = LaunchRequest { session: Some("real".parse().unwrap()), ..LaunchRequest::default() };
        let real = launcher.create(&order).await.unwrap();
        let secret =
            kubectl(&["get", "secret", &format!("workden-{}", uid(&real.name)), "--output", "jsonpath={.data}"]);
        launcher.remove(&real.name).await.unwrap();
        let name = format!("workden-{owner}");
        apply(
            &json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
                "metadata": {"name": name, "namespace": "default", "labels": {"workden.dev/owner": owner},
                    "annotations": {"workden.dev/launched": "true"}}})
            .to_string(),
        );
        let impostor = Self { name, launcher };
        let name = &impostor.name;
        apply(
            &json!({"apiVersion": "v1", "kind": "Secret", "data": serde_json::from_str::<Value>(&secret).unwrap(),
                "metadata": {"name": format!("workden-{}", uid(name)), "namespace": "default",
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid(name)}]}})
            .to_string(),
        );
        impostor
    }

    /// Uses the pod as another process would, and returns the error and the time until it came.
    pub(crate) async fn adopt(&self) -> (Error, Duration) {
        let found = self.launcher.find().await.unwrap().into_iter().find(|found| found.name == self.name).unwrap();
        let began = Instant::now();
        let error = self.launcher.adopt(&found).await.unwrap_err();
        (error, began.elapsed())
    }

    /// Sets the status of the pod.
    pub(crate) fn report(&self, status: &Value) {
        report("pod", &self.name, status);
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        kubectl(&["delete", "pod", &self.name, "--ignore-not-found", "--grace-period=0", "--force"]);
    }
}

fn uid(pod: &str) -> String {
    kubectl(&["get", "pod", pod, "--output", "jsonpath={.metadata.uid}"])
}

/// Sets the status of an object, as a kubelet does.
pub(crate) fn report(kind: &str, name: &str, status: &Value) {
    let patch = json!({ "status": status }).to_string();
    kubectl(&["patch", kind, name, "--subresource=status", "--type=merge", "--patch", &patch]);
}
