//! Checks that a NetworkPolicy closes the network of pods that ask for none.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::networking::v1::{NetworkPolicy, NetworkPolicySpec},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{Api, Client, api::ListParams};
use workden_core::sandbox::{Finding, Need, Outcome};

use super::{super::labels, SETUP, answered, lacking};

/// Checks the policies of the namespace.
pub(super) async fn check(client: &Client) -> Finding {
    let policies: Api<NetworkPolicy> = Api::default_namespaced(client.clone());
    let outcome = match answered("list network policies", policies.list(&ListParams::default())).await {
        Ok(all) => closed(&all.items),
        Err(refusal) => refusal.unknown(),
    };
    Finding::new("network_policy", "closed network", Need::Wall, outcome)
}

/// Whether these policies let a pod without a network connect nowhere. Policies add up: each may open it.
fn closed(policies: &[NetworkPolicy]) -> Outcome {
    let mut labels = labels::ours();
    labels.insert(labels::NETWORK.to_owned(), "none".to_owned());
    let of_pod = policies.iter().filter_map(|policy| {
        let spec = policy.spec.as_ref().filter(|spec| is_of_egress(spec))?;
        let is_selected = spec.pod_selector.as_ref().is_none_or(|selector| selects(selector, &labels));
        is_selected.then(|| (policy.metadata.name.clone().unwrap_or_default(), spec))
    });
    let of_pod: Vec<(String, &NetworkPolicySpec)> = of_pod.collect();
    let opens = of_pod.iter().find(|(_, spec)| spec.egress.as_ref().is_some_and(|rules| !rules.is_empty()));
    let selector = format!("pods labelled {}=none", labels::NETWORK);
    match (of_pod.first(), opens) {
        (_, Some((name, _))) => {
            let why = format!("the network policy `{name}` lets {selector} connect");
            lacking(why, format!("exclude them in `kubectl edit networkpolicy {name}`"))
        }
        (None, None) => {
            lacking(format!("no network policy closes the network of {selector}: they may connect anywhere"), SETUP)
        }
        (Some((name, _)), None) => Outcome::Works(format!(
            "the network policy `{name}` closes it, if the network plugin of the cluster enforces policies"
        )),
    }
}

/// Whether a policy is about connections of the pod to others.
fn is_of_egress(spec: &NetworkPolicySpec) -> bool {
    match &spec.policy_types {
        Some(types) if !types.is_empty() => types.iter().any(|name| name == "Egress"),
        _ => spec.egress.is_some(),
    }
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let mut named = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    named.all(|(name, value)| labels.get(name) == Some(value))
        && expressions.all(|wanted| {
            let value = labels.get(&wanted.key);
            let is_among = value.is_some_and(|value| wanted.values.iter().flatten().any(|one| one == value));
            match wanted.operator.as_str() {
                "In" => is_among,
                "NotIn" => !is_among,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(spec: &str) -> NetworkPolicy {
        serde_saphyr::from_str(&format!("metadata: {{name: one}}\nspec: {spec}")).unwrap()
    }

    #[test]
    fn policies_add_up() {
        let shut = "{podSelector: {}, policyTypes: [Egress]}";
        let ours = "{podSelector: {matchExpressions: [{key: workden.dev/network, operator: NotIn, values: [cluster]}]}, \
                    policyTypes: [Egress], egress: []}";
        let ingress = "{podSelector: {}, policyTypes: [Ingress]}";
        let others = "{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress]}";
        let open = "{podSelector: {}, policyTypes: [Egress], egress: [{}]}";
        for (specs, is_closed) in [
            (&[shut][..], true),
            (&[ours, ingress], true),
            (&[], false),
            (&[ingress, others], false),
            (&[ours, open], false),
        ] {
            let policies: Vec<NetworkPolicy> = specs.iter().map(|spec| policy(spec)).collect();
            assert_eq!(matches!(closed(&policies), Outcome::Works(_)), is_closed, "{specs:?}");
        }
    }

    #[test]
    fn the_policies_of_the_base_close_it() {
        let text = include_str!("../../../../../deploy/kubernetes/base/network-policy.yaml");
        let all: Vec<NetworkPolicy> = text.split("\n---\n").map(|part| serde_saphyr::from_str(part).unwrap()).collect();
        assert!(matches!(closed(&all), Outcome::Works(_)));
    }
}
