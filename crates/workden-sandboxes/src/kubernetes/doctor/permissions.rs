//! The permissions that workden needs in a namespace, what each is for, and whether the caller has them. The Role in
//! `deploy/kubernetes/base/rbac.yaml` grants the same ones.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{Api, Client, api::PostParams};
use workden_core::sandbox::{Finding, Need, Outcome};

use super::{SETUP, answered, lacking};

const LEASES: &str = "coordination.k8s.io";

/// A verb on a resource.
pub(super) struct Permission {
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
    need: Need,
    purpose: &'static str,
}

const fn core(resource: &'static str, verb: &'static str, need: Need, purpose: &'static str) -> Permission {
    Permission { group: "", resource, verb, need, purpose }
}

const fn leases(verb: &'static str, purpose: &'static str) -> Permission {
    Permission { group: LEASES, resource: "leases", verb, need: Need::Sessions, purpose }
}

/// All permissions.
pub(super) const ALL: [Permission; 19] = [
    core("pods", "create", Need::Sandbox, "starts a sandbox"),
    core("pods", "get", Need::Sandbox, "finds the address and the state of a pod"),
    core("pods", "list", Need::Sandbox, "waits for a pod, and finds the pods of sessions"),
    core("pods", "watch", Need::Sandbox, "waits until a pod runs"),
    core("pods", "delete", Need::Sandbox, "ends a sandbox"),
    core("pods/exec", "get", Need::Sandbox, "brings the keeper into a pod, before Kubernetes 1.35"),
    core("pods/exec", "create", Need::Sandbox, "brings the keeper into a pod, since Kubernetes 1.35"),
    core("pods/portforward", "get", Need::Optional, "reaches a keeper by a port-forward, before Kubernetes 1.35"),
    core("pods/portforward", "create", Need::Optional, "reaches a keeper by a port-forward, since Kubernetes 1.35"),
    core("events", "list", Need::Optional, "explains why a pod did not start, or ended"),
    core("pods", "patch", Need::Sessions, "gives a spare pod to a session"),
    core("secrets", "create", Need::Sessions, "shares the pod of a session with other processes"),
    core("secrets", "get", Need::Sessions, "opens a session that another process created"),
    leases("create", "records when a session was used"),
    leases("get", "reads when a session was used"),
    leases("list", "finds idle sessions"),
    leases("watch", "notices sessions of other processes"),
    leases("patch", "records that a session is in use"),
    leases("delete", "removes the record of a session"),
];

impl Permission {
    /// Asks the cluster whether the caller has it.
    pub(super) async fn check(&self, client: &Client) -> Finding {
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((self.resource, ""));
        let attributes = ResourceAttributes {
            group: Some(self.group.to_owned()),
            namespace: Some(client.default_namespace().to_owned()),
            resource: Some(resource.to_owned()),
            subresource: Some(subresource.to_owned()),
            verb: Some(self.verb.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
        let params = PostParams::default();
        let outcome = match answered("review a permission", reviews.create(&params, &review)).await {
            Ok(review) if review.status.as_ref().is_some_and(|status| status.allowed) => {
                Outcome::Works(self.purpose.to_owned())
            }
            Ok(_) => lacking(
                format!("not permitted: it {}", self.purpose),
                format!("grant it as deploy/kubernetes/base/rbac.yaml does: {SETUP}"),
            ),
            Err(refusal) => refusal.unknown(),
        };
        let name = format!("{}_{}", self.resource.replace('/', "_"), self.verb);
        Finding::new(name, format!("{} {}", self.verb, self.resource), self.need, outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api::rbac::v1::Role;

    use super::*;

    #[test]
    fn the_role_grants_exactly_what_is_checked() {
        let text = include_str!("../../../../../deploy/kubernetes/base/rbac.yaml");
        let role = text.split("\n---\n").find(|part| part.contains("kind: Role\n")).unwrap();
        let role: Role = serde_saphyr::from_str(role).unwrap();
        let mut granted = BTreeSet::new();
        for rule in role.rules.unwrap_or_default() {
            for group in rule.api_groups.iter().flatten() {
                for resource in rule.resources.iter().flatten() {
                    granted.extend(rule.verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
                }
            }
        }
        let owned = |all: &Permission| (all.group.to_owned(), all.resource.to_owned(), all.verb.to_owned());
        assert_eq!(granted, ALL.iter().map(owned).collect());
    }
}
