//! What a SandboxTemplate must say so that its pods can be used: the keeper is the first process of the container
//! `workden`.

use k8s_openapi::api::core::v1::Pod;
use workden_core::{Error, ErrorKind, Result};

use crate::kubernetes::{launching::KeeperSource, plan};

/// Returns how the keeper comes into a pod of a pool.
///
/// # Errors
///
/// `Unsupported` when its template does not start a keeper.
pub(in super::super) fn keeper_source(pod: &Pod) -> Result<KeeperSource> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let Some(container) = containers.iter().find(|container| container.name == plan::CONTAINER) else {
        return Err(unsuitable(name, &format!("it has no container `{}`", plan::CONTAINER)));
    };
    let words = container.command.iter().chain(&container.args).flatten();
    let words: Vec<&str> = words.map(String::as_str).collect();
    match words[..] {
        [plan::PROGRAM, "pod", ..] => Ok(KeeperSource::InPod),
        _ if words.iter().any(|word| word.contains(plan::PROGRAM)) => Ok(KeeperSource::Streamed),
        _ => Err(unsuitable(name, &format!("its first process is not `{} pod`", plan::PROGRAM))),
    }
}

fn unsuitable(pod: &str, why: &str) -> Error {
    let sentence = format!("the template of the pod `{pod}` is not for workden: {why}");
    Error::new(ErrorKind::Unsupported, sentence)
        .hint("print one that is: `kubectl kustomize deploy/kubernetes/overlays/agent-sandbox`")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn source(container: &Value) -> Result<KeeperSource> {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
        keeper_source(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn a_template_without_a_keeper_is_an_error_that_says_what_it_needs() {
        let ours = json!({"name": "workden", "command": [plan::PROGRAM, "pod", "--socket", "/s"]});
        assert_eq!(source(&ours).unwrap(), KeeperSource::InPod);
        let shell =
            json!({"name": "workden", "command": ["sh", "-c"], "args": [format!("exec {} pod", plan::PROGRAM)]});
        assert_eq!(source(&shell).unwrap(), KeeperSource::Streamed);
        for (other, why) in [
            (json!({"name": "main"}), "container `workden`"),
            (json!({"name": "workden", "command": ["sleep", "9"]}), "first process"),
            (json!({"name": "workden"}), "first process"),
        ] {
            let error = source(&other).unwrap_err();
            assert!(error.sentence().contains(why), "{error}");
            assert!(error.hint_text().unwrap().contains("overlays/agent-sandbox"), "{error}");
        }
    }
}
