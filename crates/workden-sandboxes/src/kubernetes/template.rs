//! Reads a pod template: the text of a Pod in YAML or JSON.
//!
//! Invariant: a field that no pod has is an error. The API types ignore such fields, and a misspelled one would have no
//! effect.

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use workden_core::{Error, ErrorKind, Result};

use super::errors;

/// Returns the pod of this text. JSON is YAML.
pub(super) fn parse(text: &str) -> Result<Pod> {
    let given: Value = serde_saphyr::from_str(text).map_err(|error| invalid(&error.without_snippet().to_string()))?;
    if !given.is_object() {
        return Err(invalid("it is not a pod"));
    }
    let pod: Pod = serde_json::from_value(given.clone()).map_err(|error| invalid(&error.to_string()))?;
    let kept = serde_json::to_value(&pod).map_err(|error| invalid(&error.to_string()))?;
    match unknown(&given, &kept) {
        Some(field) => Err(invalid(&format!("unknown field `{field}`"))),
        None => Ok(pod),
    }
}

/// Returns the path of the first given field that was not kept.
fn unknown(given: &Value, kept: &Value) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given.iter().find_map(|(name, value)| match kept.get(name) {
            _ if value.is_null() => None,
            None => Some(name.clone()),
            Some(kept) => unknown(value, kept).map(|below| format!("{name}.{below}")),
        }),
        (Value::Array(given), Value::Array(kept)) => {
            let mut pairs = given.iter().zip(kept).enumerate();
            pairs.find_map(|(nth, (given, kept))| unknown(given, kept).map(|below| format!("{nth}.{below}")))
        }
        _ => None,
    }
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("invalid pod template: {}", errors::shown(why)))
        .hint("use the YAML or JSON of a Pod: `kubectl explain pod.spec` describes its fields")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_yaml_or_json() {
        let yaml = "apiVersion: v1\nkind: Pod\nspec:\n  priorityClassName: low\n  containers:\n  - name: workden\n    \
                    volumeMounts: [{name: a, mountPath: /a}]\n  volumes: [{name: a, emptyDir: {}}]\n";
        let pod = parse(yaml).unwrap();
        assert_eq!(pod.spec.unwrap().priority_class_name.as_deref(), Some("low"));
        let json = r#"{"spec": {"nodeName": "one", "containers": [], "tolerations": null}}"#;
        assert_eq!(parse(json).unwrap().spec.unwrap().node_name.as_deref(), Some("one"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("spec:\n  containers:\n  - name: workden\n    imagee: x\n", "unknown field `spec.containers.0.imagee`"),
            ("spec: {priority: high}", "invalid type"),
            ("spec: [", "invalid pod template: "),
            ("apiVersion: v1\nkind: Service\n", "Service"),
            ("- a", "it is not a pod"),
            ("", "it is not a pod"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.sentence().contains(says) && !error.sentence().contains('\n'), "{text}: {error}");
        }
    }
}
