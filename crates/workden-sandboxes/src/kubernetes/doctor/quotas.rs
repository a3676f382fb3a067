//! Checks what the quotas of the namespace leave.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::ResourceQuota, apimachinery::pkg::api::resource::Quantity};
use kube::{Api, Client, api::ListParams};
use workden_core::sandbox::{Finding, Need, Outcome};

use super::{answered, lacking};

/// The resources that a sandbox takes.
const TAKEN: [&str; 8] =
    ["pods", "count/pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// Checks the quotas of the namespace.
pub(super) async fn check(client: &Client) -> Finding {
    let quotas: Api<ResourceQuota> = Api::default_namespaced(client.clone());
    let outcome = match answered("list resource quotas", quotas.list(&ListParams::default())).await {
        Ok(all) => left(&all.items),
        Err(refusal) => refusal.unknown(),
    };
    Finding::new("resource_quota", "resource quota", Need::Limits, outcome)
}

/// Says what the quotas leave, and whether one is used up.
fn left(quotas: &[ResourceQuota]) -> Outcome {
    let mut used_up = Vec::new();
    let mut all = Vec::new();
    for quota in quotas {
        let none = BTreeMap::new();
        let status = quota.status.as_ref();
        let hard = status.and_then(|status| status.hard.as_ref()).unwrap_or(&none);
        let used = status.and_then(|status| status.used.as_ref()).unwrap_or(&none);
        for (name, most) in hard.iter().filter(|(name, _)| TAKEN.contains(&name.as_str())) {
            let now = used.get(name).cloned().unwrap_or_else(|| Quantity("0".to_owned()));
            let told = format!("{name} {} of {}", now.0, most.0);
            match (amount(&now), amount(most)) {
                (Some(now), Some(most)) if now >= most => used_up.push(told),
                _ => all.push(told),
            }
        }
    }
    match (used_up.is_empty(), all.is_empty()) {
        (false, _) => lacking(
            format!("used up: {}", used_up.join(", ")),
            "end sandboxes: `workden sessions release`, `kubectl get pods`; or raise it: `kubectl edit resourcequota`",
        ),
        (true, true) => lacking(
            "there is none: sandboxes may use the whole cluster",
            "kubectl create quota sandboxes --hard=pods=100,limits.cpu=100,limits.memory=100Gi",
        ),
        (true, false) => Outcome::Works(format!("in use: {}", all.join(", "))),
    }
}

/// Returns the number of a quantity; `None` for one that is not understood.
fn amount(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.trim();
    let digits = text.find(|character: char| character.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(status: &str) -> ResourceQuota {
        serde_saphyr::from_str(&format!("status: {status}")).unwrap()
    }

    #[test]
    fn a_quota_that_is_used_up_is_named() {
        let some = quota("{hard: {pods: '10', limits.memory: 1Gi, services: '1'}, used: {pods: '9', services: '1'}}");
        assert_eq!(left(&[some]), Outcome::Works("in use: limits.memory 0 of 1Gi, pods 9 of 10".to_owned()));
        let full = quota("{hard: {limits.memory: 1Gi, pods: '3'}, used: {limits.memory: 1024Mi, pods: '1'}}");
        let Outcome::Lacking { why, .. } = left(&[full]) else { panic!("it is used up") };
        assert_eq!(why, "used up: limits.memory 1024Mi of 1Gi");
        assert!(matches!(left(&[]), Outcome::Lacking { .. }));
    }

    #[test]
    fn quantities_are_numbers() {
        for (text, number) in [("1", 1.0), ("250m", 0.25), ("1Ki", 1024.0), ("1.5G", 1.5e9)] {
            assert_eq!(amount(&Quantity(text.to_owned())), Some(number), "{text}");
        }
        assert_eq!(amount(&Quantity("1e3".to_owned())), None);
    }
}
