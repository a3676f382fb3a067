//! Accounts that lack one permission each.

use serde_json::{Value, json};

/// Every permission that workden uses: the resource and the verb.
pub(crate) const PERMISSIONS: [(&str, &str); 19] = [
    ("pods", "create"),
    ("pods", "get"),
    ("pods", "list"),
    ("pods", "watch"),
    ("pods", "delete"),
    ("pods", "patch"),
    ("pods/exec", "get"),
    ("pods/exec", "create"),
    ("pods/portforward", "get"),
    ("pods/portforward", "create"),
    ("events", "list"),
    ("secrets", "create"),
    ("secrets", "get"),
    ("leases", "create"),
    ("leases", "get"),
    ("leases", "list"),
    ("leases", "watch"),
    ("leases", "patch"),
    ("leases", "delete"),
];

/// Returns an account that has all permissions but the nth, as objects for `kubectl`.
pub(crate) fn all_but(nth: usize, account: &str, namespace: &str) -> Value {
    let group = |resource: &str| if resource == "leases" { "coordination.k8s.io" } else { "" };
    let others = PERMISSIONS.iter().enumerate().filter(|(other, _)| *other != nth);
    let rules: Vec<Value> = others
        .map(
            |(_, (resource, verb))| json!({ "apiGroups": [group(resource)], "resources": [resource], "verbs": [verb] }),
        )
        .collect();
    let metadata = json!({ "name": account, "namespace": namespace });
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account });
    let subject = json!({ "kind": "ServiceAccount", "name": account, "namespace": namespace });
    let rbac = "rbac.authorization.k8s.io/v1";
    let items = json!([
        { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata },
        { "apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": rules },
        { "apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject] },
    ]);
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}
