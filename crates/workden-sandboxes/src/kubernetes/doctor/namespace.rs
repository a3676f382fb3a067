//! Checks what a cluster has for pods: the namespace, its Pod Security level, and a runtime class.

use k8s_openapi::api::{core::v1::Namespace, node::v1::RuntimeClass};
use kube::{Api, Client};
use workden_core::sandbox::{Finding, Need, Outcome};

use super::{SETUP, answered, lacking};

/// The label with the Pod Security level that the API server enforces.
const LEVEL: &str = "pod-security.kubernetes.io/enforce";
/// The level that the pods of workden satisfy.
const RESTRICTED: &str = "restricted";

/// Checks the namespace and its level.
pub(super) async fn check(client: &Client) -> Vec<Finding> {
    let name = client.default_namespace().to_owned();
    let finding = |outcome| Finding::new("namespace", "namespace", Need::Sandbox, outcome);
    let level = |outcome| Finding::new("pod_security", "Pod Security level", Need::Wall, outcome);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    match answered(&format!("read the namespace `{name}`"), namespaces.get(&name)).await {
        Ok(namespace) => {
            let labels = namespace.metadata.labels.unwrap_or_default();
            vec![finding(Outcome::Works(format!("`{name}` exists"))), level(enforced(&name, labels.get(LEVEL)))]
        }
        Err(refusal) if refusal.code == Some(404) => {
            let fix = format!("kubectl create namespace {name}\nor, with everything else: {SETUP}");
            vec![finding(lacking(format!("`{name}` not found"), fix))]
        }
        Err(refusal) => {
            let outcome = refusal.unknown();
            vec![finding(outcome.clone()), level(outcome)]
        }
    }
}

/// Checks that a runtime class exists.
pub(super) async fn runtime_class(client: &Client, name: &str) -> Finding {
    let classes: Api<RuntimeClass> = Api::all(client.clone());
    let outcome = match answered(&format!("read the runtime class `{name}`"), classes.get(name)).await {
        Ok(class) => Outcome::Works(format!("`{name}` exists, with the handler `{}`", class.handler)),
        Err(refusal) if refusal.code == Some(404) => lacking(
            format!("`{name}` not found"),
            "`kubectl get runtimeclasses` lists them; install the runtime on the nodes, and create its RuntimeClass",
        ),
        Err(refusal) => refusal.unknown(),
    };
    Finding::new("runtime_class", "runtime class", Need::Sandbox, outcome)
}

fn enforced(namespace: &str, level: Option<&String>) -> Outcome {
    match level.map(String::as_str) {
        Some(RESTRICTED) => Outcome::Works("`restricted` is enforced".to_owned()),
        other => {
            let why = match other {
                Some(other) => format!("`{other}` is enforced, so that a pod template could weaken a sandbox"),
                None => "none is enforced, so that a pod template could weaken a sandbox".to_owned(),
            };
            lacking(why, format!("kubectl label namespace {namespace} {LEVEL}={RESTRICTED} --overwrite"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_restricted_is_a_wall() {
        assert!(matches!(enforced("a", Some(&"restricted".to_owned())), Outcome::Works(_)));
        for level in [None, Some(&"baseline".to_owned()), Some(&"privileged".to_owned())] {
            let Outcome::Lacking { fix: Some(fix), .. } = enforced("a", level) else { panic!("{level:?}") };
            assert_eq!(fix, "kubectl label namespace a pod-security.kubernetes.io/enforce=restricted --overwrite");
        }
    }
}
