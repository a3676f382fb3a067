//! The state of a claim, as the controller of agent-sandbox reports it in the condition `Ready`.

use super::resources::{Condition, SandboxClaim};
use crate::kubernetes::{errors, labels};

/// The state of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaimState {
    /// It has no sandbox yet, with the controller's words.
    Waiting(String),
    /// It has the sandbox of this name, whose pod runs or starts.
    Bound(String),
    /// It has the sandbox of this name, which was suspended: its pod is deleted, and its volumes stay.
    Suspended(String),
    /// The controller cannot do what it should, and tries again.
    Failing(String),
    /// Its pool, or the template of that, does not exist.
    Missing(String),
    /// The controller refuses it.
    Refused(String),
    /// Its sandbox has ended, or it is being deleted.
    Over(String),
}

impl ClaimState {
    /// Returns the state of a claim.
    pub(super) fn of(claim: &SandboxClaim) -> Self {
        if claim.metadata.deletion_timestamp.is_some() {
            return Self::Over("it is being deleted".to_owned());
        }
        let status = claim.status.clone().unwrap_or_default();
        let name = status.sandbox.name;
        let is_suspended = claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(labels::SUSPENDED));
        // workden has suspended it. The controller reports its own view of that later.
        if is_suspended && !name.is_empty() {
            return Self::Suspended(name);
        }
        let Some(ready) = ready(&status.conditions) else {
            return Self::bound_or_waiting(name, "the controller of agent-sandbox has not answered".to_owned());
        };
        let said = errors::shown(&format!("{}: {}", ready.reason, ready.message));
        match ready.reason.as_str() {
            "WarmPoolNotFound" | "TemplateNotFound" => Self::Missing(errors::shown(&ready.message)),
            "InvalidMetadata" | "EnvVarsInjectionRejected" | "VolumeClaimTemplatesError" | "InvalidConfiguration" => {
                Self::Refused(said)
            }
            "ClaimExpired" | "SandboxExpired" | "PodFailed" | "PodSucceeded" => Self::Over(said),
            "SandboxSuspended" if !name.is_empty() => Self::Suspended(name),
            "ReconcilerError" | "MultiplePods" => Self::Failing(said),
            _ => Self::bound_or_waiting(name, said),
        }
    }

    /// Whether the pod of a claim runs.
    pub(super) fn is_ready(claim: &SandboxClaim) -> bool {
        let conditions = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        claim.metadata.deletion_timestamp.is_none() && ready(conditions).is_some_and(|ready| ready.status == "True")
    }

    fn bound_or_waiting(name: String, why: String) -> Self {
        if name.is_empty() { Self::Waiting(why) } else { Self::Bound(name) }
    }
}

fn ready(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.kind == "Ready")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(name: &str, reason: &str, message: &str) -> ClaimState {
        let status = if reason == "DependenciesReady" { "True" } else { "False" };
        let claim = json!({
            "metadata": {"name": "c"},
            "spec": {"warmPoolRef": {"name": "p"}},
            "status": {
                "conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message}],
                "sandbox": {"name": name},
            },
        });
        ClaimState::of(&serde_json::from_value(claim).unwrap())
    }

    #[test]
    fn the_controllers_reasons_are_understood() {
        let said = |text: &str| text.to_owned();
        assert_eq!(state("s", "DependenciesReady", ""), ClaimState::Bound(said("s")));
        assert_eq!(state("s", "DependenciesNotReady", "Pod exists"), ClaimState::Bound(said("s")));
        assert_eq!(state("", "SandboxNotReady", "soon"), ClaimState::Waiting(said("SandboxNotReady: soon")));
        assert_eq!(state("s", "SandboxSuspended", ""), ClaimState::Suspended(said("s")));
        assert_eq!(state("", "WarmPoolNotFound", "no `p`"), ClaimState::Missing(said("no `p`")));
        assert_eq!(state("s", "PodFailed", "Pod failed"), ClaimState::Over(said("PodFailed: Pod failed")));
        assert_eq!(state("s", "ReconcilerError", "quota"), ClaimState::Failing(said("ReconcilerError: quota")));
        let mut marked = json!({
            "metadata": {"name": "c", "annotations": {labels::SUSPENDED: "true"}},
            "spec": {"warmPoolRef": {"name": "p"}},
            "status": {
                "conditions": [{"type": "Ready", "status": "False", "reason": "PodSucceeded"}],
                "sandbox": {"name": "s"},
            },
        });
        let claim = |json: &serde_json::Value| ClaimState::of(&serde_json::from_value(json.clone()).unwrap());
        assert_eq!(claim(&marked), ClaimState::Suspended(said("s")));
        marked["metadata"]["annotations"] = json!({});
        assert_eq!(claim(&marked), ClaimState::Over(said("PodSucceeded:")));
        let new = json!({"metadata": {"name": "c"}, "spec": {"warmPoolRef": {"name": "p"}}});
        assert!(matches!(ClaimState::of(&serde_json::from_value(new).unwrap()), ClaimState::Waiting(_)));
    }
}
