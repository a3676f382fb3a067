//! The pod of HTTP mode: the hardened pod without the parts of the keeper, and with what the server in it needs.

use k8s_openapi::{
    DeepMerge,
    api::core::v1::{Container, ContainerPort, EnvVar, HTTPGetAction, Pod, Probe},
    apimachinery::pkg::util::intstr::IntOrString,
};
use workden_core::Result;

use super::{
    super::plan::{self, PodPlan},
    HttpMode,
};

/// The variable with the token.
pub(super) const TOKEN: &str = "SANDBOX_EXEC_TOKEN";

/// Returns the pod.
pub(in super::super) fn pod(plan: &PodPlan, mode: &HttpMode, name: &str) -> Result<Pod> {
    let mut pod = plan.hardened();
    let spec = pod.spec.get_or_insert_default();
    spec.init_containers = None;
    spec.volumes.get_or_insert_default().retain(|volume| !volume.name.starts_with("workden-"));
    for container in &mut spec.containers {
        serving(container, mode);
    }
    if let Some(template) = &plan.template {
        pod.merge_from(template.clone());
    }
    plan.insist_on_image(&mut pod, name)?;
    Ok(pod)
}

/// Returns the plan with this mode, whose token is known.
pub(super) fn with_token(plan: &PodPlan, mode: HttpMode) -> PodPlan {
    PodPlan { http: Some(mode), ..plan.clone() }
}

/// Returns the token of a pod. Any process that may read the pod can use it.
pub(super) fn token(pod: &Pod) -> Option<String> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let own = containers.into_iter().find(|container| container.name == plan::CONTAINER)?;
    own.env.iter().flatten().find(|variable| variable.name == TOKEN)?.value.clone()
}

fn serving(container: &mut Container, mode: &HttpMode) {
    // The server starts in the directory of its image.
    container.working_dir = None;
    container.volume_mounts.get_or_insert_default().retain(|mount| !mount.name.starts_with("workden-"));
    let variables = container.env.get_or_insert_default();
    let told = [
        (TOKEN, mode.token.clone()),
        ("SANDBOX_PORT", Some(mode.port.to_string())),
        ("PYTHONUNBUFFERED", Some("1".to_owned())),
    ];
    for (name, value) in told {
        if variables.iter().all(|variable| variable.name != name) {
            variables.push(EnvVar { name: name.to_owned(), value, value_from: None });
        }
    }
    let port = i32::from(mode.port);
    container.ports =
        Some(vec![ContainerPort { container_port: port, name: Some("exec".to_owned()), ..ContainerPort::default() }]);
    container.readiness_probe = Some(Probe {
        http_get: Some(HTTPGetAction {
            path: Some("/health".to_owned()),
            port: IntOrString::Int(port),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(1),
        period_seconds: Some(2),
        failure_threshold: Some(5),
        ..Probe::default()
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_server_gets_its_token_and_keeps_its_command() {
        let template = json!({"spec": {"containers": [{"name": "workden", "command": ["serve"]}]}});
        let plan = PodPlan {
            image: "served:1".to_owned(),
            work_dir: "/workspace".to_owned(),
            template: Some(serde_json::from_value(template).unwrap()),
            ..PodPlan::default()
        };
        let pod = pod(&plan, &HttpMode::new().port(9000).token("secret"), "one").unwrap();
        assert_eq!(token(&pod).as_deref(), Some("secret"));
        let told = serde_json::to_value(&pod).unwrap();
        let container = &told["spec"]["containers"][0];
        assert_eq!(container["command"], json!(["serve"]));
        assert_eq!(container["image"], "served:1");
        assert_eq!(container["workingDir"], Value::Null);
        assert_eq!(container["readinessProbe"]["httpGet"], json!({"path": "/health", "port": 9000}));
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert!(!told.to_string().contains("workden-"), "{told}");
    }
}
