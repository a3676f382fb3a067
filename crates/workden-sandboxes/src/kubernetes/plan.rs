//! `PodPlan`: a pod as data, and as a request for the cluster. This module does no I/O.
//!
//! Invariant: without a template the pod satisfies the Pod Security Standard `restricted`, and its first process is
//! the keeper, or a shell that becomes the keeper. A template cannot change the latter.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    DeepMerge,
    api::core::v1::{
        Capabilities, Container, EmptyDirVolumeSource, EnvVar, EphemeralVolumeSource, LocalObjectReference,
        PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource, Pod,
        PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile, SecurityContext, Toleration, Volume,
        VolumeMount, VolumeResourceRequirements,
    },
    apimachinery::pkg::api::resource::Quantity,
};
use kube::api::ObjectMeta;
use sha2::{Digest, Sha256};
use workden_core::{Error, ErrorKind, Result, sandbox::Network};

use super::{
    http_mode::{self, HttpMode},
    labels,
    launching::{KeeperSource, LaunchPlan},
};
use crate::container_keepers::KeeperFile;

/// The name of the container in which commands run.
pub(super) const CONTAINER: &str = "workden";
/// The port of the keeper.
pub(super) const PORT: u16 = 27183;
/// The directory of the keeper program.
const PROGRAM_DIRECTORY: &str = "/.workden/bin";
/// The keeper program.
pub(super) const PROGRAM: &str = "/.workden/bin/keeper";
/// The directory of the keeper's socket.
const RUN_DIRECTORY: &str = "/.workden/run";
/// The socket of the keeper.
const SOCKET: &str = "/.workden/run/keeper.sock";
/// A pipe on which the shell of a pool's pod waits for the keeper.
const READY: &str = "/.workden/run/ready";
/// How long a keeper waits for its launcher, in seconds.
const LAUNCH_SECONDS: &str = "120";
/// The user and the group of commands.
const USER: i64 = 1000;
/// How long the processes of a pod have to end, in seconds.
const GRACE_SECONDS: i64 = 5;
/// The default limit of `/tmp`, in bytes.
const TMP_BYTES: u64 = 256 << 20;
/// The default size of a work directory without a claim, in bytes.
pub(super) const WORKSPACE_BYTES: u64 = 1 << 30;
/// The limit of the directories of the keeper, in bytes.
const KEEPER_BYTES: u64 = 64 << 20;
/// Room on a disk for keepers that are being brought: processes that open a session at once bring one each, and a pod
/// that exceeds its room is evicted.
const ARRIVING_BYTES: u64 = 256 << 20;
/// The default memory of a pod, in bytes: what is reserved, and the limit.
const MEMORY_REQUEST: u64 = 256 << 20;
const MEMORY: u64 = 768 << 20;
/// The default processors of a pod: what is reserved, and the limit.
const CPU_REQUEST: f64 = 0.1;
const CPU: f64 = 1.0;

/// Where the files of a pod's work directory are.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkspaceVolume {
    /// In the pod: they end with it. This many bytes at most.
    EmptyDir(u64),
    /// In an existing claim of this name, which outlives the pod.
    Claim(String),
    /// In a new claim, which the cluster creates for the pod and deletes with it.
    ClaimTemplate {
        /// The size that is asked for, in bytes.
        bytes: u64,
        /// The storage class; by default that of the cluster.
        storage_class: Option<String>,
    },
}

impl Default for WorkspaceVolume {
    fn default() -> Self {
        Self::EmptyDir(WORKSPACE_BYTES)
    }
}

/// The plan of a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct PodPlan {
    pub(super) image: String,
    pub(super) keeper_image: Option<String>,
    pub(super) work_dir: String,
    pub(super) workspace: WorkspaceVolume,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) memory: Option<u64>,
    pub(super) cpus: Option<f64>,
    pub(super) network: Network,
    pub(super) service_account: Option<String>,
    pub(super) node_selector: BTreeMap<String, String>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) runtime_class: Option<String>,
    pub(super) pull_secrets: Vec<String>,
    pub(super) template: Option<Pod>,
    /// How long the pod lives without a connection.
    pub(super) lease: Duration,
    /// For a pod that serves the HTTP protocol itself, and has no keeper.
    pub(super) http: Option<HttpMode>,
}

impl PodPlan {
    /// Returns the pod.
    pub(super) fn pod(&self, name: &str) -> Result<Pod> {
        if let Some(mode) = &self.http {
            return http_mode::pod(self, mode, name);
        }
        let mut pod = self.hardened();
        if let Some(template) = &self.template {
            pod.merge_from(template.clone());
        }
        self.insist(&mut pod, name)?;
        Ok(pod)
    }

    /// Returns what the keeper of the pod is launched with.
    pub(super) fn launch(&self) -> LaunchPlan {
        LaunchPlan {
            directory: self.work_dir.clone(),
            // They are those of its container.
            variables: BTreeMap::new(),
            lease: self.lease,
            keeper: if self.keeper_image.is_some() { KeeperSource::InPod } else { KeeperSource::Streamed },
        }
    }

    /// Returns a hash of everything that makes a difference to commands.
    pub(super) fn fingerprint(&self) -> Result<String> {
        let pod = serde_json::to_vec(&self.pod("any")?)
            .map_err(|error| Error::new(ErrorKind::Io, format!("cannot serialise a pod: {error}")))?;
        Ok(Sha256::digest(pod).iter().take(8).fold(String::new(), |digits, byte| digits + &format!("{byte:02x}")))
    }

    /// Returns the pod that satisfies the standard `restricted`.
    pub(super) fn hardened(&self) -> Pod {
        let optional = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone());
        let mut all_labels = labels::ours();
        let network = if self.network == Network::None { "none" } else { "cluster" };
        all_labels.insert(labels::NETWORK.to_owned(), network.to_owned());
        all_labels.extend(self.labels.clone());
        Pod {
            metadata: ObjectMeta {
                labels: Some(all_labels),
                annotations: optional(&self.annotations),
                ..ObjectMeta::default()
            },
            spec: Some(PodSpec {
                containers: vec![self.container()],
                init_containers: self.keeper_image.as_deref().map(|image| vec![Self::keeper_installation(image)]),
                volumes: Some(self.volumes()),
                restart_policy: Some("Never".to_owned()),
                automount_service_account_token: Some(false),
                enable_service_links: Some(false),
                service_account_name: self.service_account.clone(),
                hostname: Some("workden".to_owned()),
                termination_grace_period_seconds: Some(GRACE_SECONDS),
                node_selector: optional(&self.node_selector),
                tolerations: (!self.tolerations.is_empty()).then(|| self.tolerations.clone()),
                runtime_class_name: self.runtime_class.clone(),
                image_pull_secrets: (!self.pull_secrets.is_empty()).then(|| {
                    self.pull_secrets.iter().map(|name| LocalObjectReference { name: name.clone() }).collect()
                }),
                security_context: Some(PodSecurityContext {
                    run_as_non_root: Some(true),
                    run_as_user: Some(USER),
                    run_as_group: Some(USER),
                    fs_group: Some(USER),
                    seccomp_profile: Some(default_seccomp()),
                    ..PodSecurityContext::default()
                }),
                ..PodSpec::default()
            }),
            status: None,
        }
    }

    fn container(&self) -> Container {
        let mut variables = BTreeMap::from([("HOME".to_owned(), "/tmp".to_owned())]);
        variables.extend(self.variables.clone());
        let variable = |(name, value)| EnvVar { name, value: Some(value), value_from: None };
        Container {
            name: CONTAINER.to_owned(),
            env: Some(variables.into_iter().map(variable).collect()),
            working_dir: Some(self.work_dir.clone()),
            resources: Some(self.resources()),
            volume_mounts: Some(vec![
                mount("workspace", &self.work_dir),
                mount("tmp", "/tmp"),
                VolumeMount {
                    read_only: self.keeper_image.is_some().then_some(true),
                    ..mount("workden-bin", PROGRAM_DIRECTORY)
                },
                mount("workden-run", RUN_DIRECTORY),
            ]),
            security_context: Some(no_privileges()),
            ..Container::default()
        }
    }

    /// Returns the container that copies the keeper out of its image.
    fn keeper_installation(image: &str) -> Container {
        Container {
            name: "workden-keeper".to_owned(),
            image: Some(image.to_owned()),
            args: Some(vec!["install".to_owned(), PROGRAM.to_owned()]),
            resources: Some(ResourceRequirements {
                requests: Some(quantities(CPU_REQUEST, 32 << 20)),
                limits: Some(quantities(CPU, 64 << 20)),
                ..ResourceRequirements::default()
            }),
            volume_mounts: Some(vec![mount("workden-bin", PROGRAM_DIRECTORY)]),
            security_context: Some(no_privileges()),
            ..Container::default()
        }
    }

    fn resources(&self) -> ResourceRequirements {
        let (memory, cpus) = (self.memory.unwrap_or(MEMORY), self.cpus.unwrap_or(CPU));
        ResourceRequirements {
            requests: Some(quantities(CPU_REQUEST.min(cpus), MEMORY_REQUEST.min(memory))),
            limits: Some(quantities(cpus, memory)),
            ..ResourceRequirements::default()
        }
    }

    fn volumes(&self) -> Vec<Volume> {
        let workspace = match &self.workspace {
            WorkspaceVolume::EmptyDir(bytes) => empty("workspace", *bytes),
            WorkspaceVolume::Claim(name) => Volume {
                name: "workspace".to_owned(),
                persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                    claim_name: name.clone(),
                    read_only: None,
                }),
                ..Volume::default()
            },
            WorkspaceVolume::ClaimTemplate { bytes, storage_class } => Volume {
                name: "workspace".to_owned(),
                ephemeral: Some(EphemeralVolumeSource {
                    volume_claim_template: Some(claim_template(*bytes, storage_class.clone())),
                }),
                ..Volume::default()
            },
        };
        // The keeper shares the memory limit of commands. From a disk, its own code would be evicted whenever they use
        // all of it, and the keeper would do nothing but read it again.
        let program = in_memory(empty("workden-bin", KEEPER_BYTES));
        vec![workspace, empty("tmp", TMP_BYTES), program, empty("workden-run", ARRIVING_BYTES)]
    }

    /// Sets what a template must not change.
    fn insist(&self, pod: &mut Pod, name: &str) -> Result<()> {
        let container = self.insist_on_image(pod, name)?;
        container.command = Some(self.first_process());
        container.args = None;
        // Restarts and probes would run commands in the pod, or end it.
        container.liveness_probe = None;
        container.startup_probe = None;
        container.lifecycle = None;
        container.stdin = None;
        container.tty = None;
        let ours: Vec<Volume> =
            self.volumes().into_iter().filter(|volume| volume.name.starts_with("workden-")).collect();
        let volumes = pod.spec.get_or_insert_default().volumes.get_or_insert_default();
        volumes.retain(|volume| ours.iter().all(|our| our.name != volume.name));
        volumes.extend(ours);
        Ok(())
    }

    /// Sets what a template must not change in any pod. Returns the container in which commands run.
    pub(super) fn insist_on_image<'a>(&self, pod: &'a mut Pod, name: &str) -> Result<&'a mut Container> {
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.generate_name = None;
        // The namespace is that of the cluster's configuration.
        pod.metadata.namespace = None;
        pod.status = None;
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.extend(labels::ours());
        let spec = pod.spec.get_or_insert_default();
        // A keeper that starts again would be another one, without its token.
        spec.restart_policy = Some("Never".to_owned());
        let container = spec.containers.iter_mut().find(|container| container.name == CONTAINER);
        let container = container.ok_or_else(|| template_wrong("the container `workden` is missing"))?;
        if !self.image.is_empty() {
            container.image = Some(self.image.clone());
        }
        if container.image.as_deref().unwrap_or_default().is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a Kubernetes sandbox needs an image")
                .hint("set one: `.image(\"debian:12\")`, or `--image debian:12`"));
        }
        Ok(container)
    }

    /// Returns the command of the first process.
    fn first_process(&self) -> Vec<String> {
        let keeper = [PROGRAM, "pod", "--socket", SOCKET, "--wait", LAUNCH_SECONDS];
        if self.keeper_image.is_some() {
            return keeper.map(str::to_owned).to_vec();
        }
        // A shell that waits until the keeper was streamed in, and becomes it. Not every `sleep` takes fractions.
        let script = format!(
            "trap 'exit 143' TERM; i=0; until [ -x {PROGRAM} ]; do i=$((i+1)); [ $i -gt 4000 ] && exit 70; \
             sleep 0.03 2>/dev/null || sleep 1; done; exec {}",
            keeper.join(" ")
        );
        vec!["sh".to_owned(), "-c".to_owned(), script]
    }
}

/// Returns the command that relays its standard streams to the keeper.
pub(super) fn relay_words() -> Vec<String> {
    [PROGRAM, "connect", "--socket", SOCKET].map(str::to_owned).to_vec()
}

/// Returns the command that says the machine of its node, receives the keeper for it on its standard input, checks it,
/// puts it where the first process waits for it, and then relays to it.
pub(super) fn installation_words(keepers: &[KeeperFile]) -> Vec<String> {
    let cases = keepers.iter().map(|keeper| {
        let (machine, bytes, hash) = (keeper.machine(), keeper.content.len(), &keeper.hash);
        format!("{machine}) n={bytes}; h={hash};;")
    });
    let cases: Vec<String> = cases.collect();
    // Processes that launch the pod at once have a file each, on a disk; one of them copies its file into the memory that
    // all processes of the pod share. A pipe that is opened in both directions does not wait for its other end.
    let script = format!(
        "umask 077; m=$(uname -m); echo $m; case $m in {} *) exit 1;; esac; cd {RUN_DIRECTORY} && \
         head -c $n > .keeper.$$ && chmod 500 .keeper.$$ && [ \"$(./.keeper.$$ checksum)\" = $h ] && \
         {{ [ -x {PROGRAM} ] || if mkdir .copying 2>/dev/null; then \
         cp .keeper.$$ {PROGRAM}.new && mv -f {PROGRAM}.new {PROGRAM}; \
         else until [ -x {PROGRAM} ]; do sleep 0.05 2>/dev/null || sleep 1; done; fi; }} && rm -f .keeper.$$ && \
         {{ [ ! -p {READY} ] || echo 1<>{READY}; }} && echo installed && exec {PROGRAM} connect --socket {SOCKET}",
        cases.join(" ")
    );
    vec!["sh".to_owned(), "-c".to_owned(), script]
}

fn claim_template(bytes: u64, storage_class_name: Option<String>) -> PersistentVolumeClaimTemplate {
    PersistentVolumeClaimTemplate {
        metadata: None,
        spec: PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([("storage".to_owned(), Quantity(bytes.to_string()))])),
                limits: None,
            }),
            storage_class_name,
            ..PersistentVolumeClaimSpec::default()
        },
    }
}

fn mount(volume: &str, at: &str) -> VolumeMount {
    VolumeMount { name: volume.to_owned(), mount_path: at.to_owned(), ..VolumeMount::default() }
}

fn empty(name: &str, bytes: u64) -> Volume {
    let source = EmptyDirVolumeSource { size_limit: Some(Quantity(bytes.to_string())), medium: None };
    Volume { name: name.to_owned(), empty_dir: Some(source), ..Volume::default() }
}

fn in_memory(mut volume: Volume) -> Volume {
    if let Some(directory) = &mut volume.empty_dir {
        directory.medium = Some("Memory".to_owned());
    }
    volume
}

fn quantities(cpus: f64, memory: u64) -> BTreeMap<String, Quantity> {
    let milli = (cpus * 1000.0).ceil();
    BTreeMap::from([
        ("cpu".to_owned(), Quantity(format!("{milli}m"))),
        ("memory".to_owned(), Quantity(memory.to_string())),
    ])
}

fn no_privileges() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        read_only_root_filesystem: Some(true),
        run_as_non_root: Some(true),
        seccomp_profile: Some(default_seccomp()),
        ..SecurityContext::default()
    }
}

fn default_seccomp() -> SeccompProfile {
    SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }
}

fn template_wrong(why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("invalid pod template: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn planned(template: Option<Value>) -> Result<Value> {
        let template = template.map(|template| serde_json::from_value(template).unwrap());
        let plan = PodPlan {
            image: "debian:12".to_owned(),
            work_dir: "/workspace".to_owned(),
            memory: Some(512 << 20),
            template,
            ..PodPlan::default()
        };
        Ok(serde_json::to_value(plan.pod("one")?).unwrap())
    }

    #[test]
    fn the_default_pod_is_hardened() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&planned(None).unwrap()).unwrap());
    }

    #[test]
    fn a_template_is_merged_and_cannot_replace_the_keeper() {
        let pod = planned(Some(json!({
            "metadata": {"name": "other", "labels": {"team": "a", "app.kubernetes.io/managed-by": "other"}},
            "spec": {
                "restartPolicy": "Always",
                "priorityClassName": "low",
                "volumes": [{"name": "workden-bin", "hostPath": {"path": "/"}}, {"name": "data", "emptyDir": {}}],
                "containers": [
                    {"name": "workden", "command": ["evil"], "env": [{"name": "A", "value": "b"}]},
                    {"name": "sidecar", "image": "proxy:1"},
                ],
            },
        })))
        .unwrap();
        let spec = &pod["spec"];
        assert_eq!((&pod["metadata"]["name"], &spec["restartPolicy"]), (&json!("one"), &json!("Never")));
        assert_eq!((&pod["metadata"]["labels"]["team"], &spec["priorityClassName"]), (&json!("a"), &json!("low")));
        assert_eq!(pod["metadata"]["labels"]["app.kubernetes.io/managed-by"], "workden");
        let container = &spec["containers"][0];
        assert_eq!((&container["image"], &container["command"][0]), (&json!("debian:12"), &json!("sh")));
        assert!(container["env"].as_array().unwrap().contains(&json!({"name": "A", "value": "b"})), "{container}");
        assert_eq!(spec["containers"][1]["name"], "sidecar");
        let volumes = spec["volumes"].as_array().unwrap();
        let of = |name: &str| volumes.iter().filter(|volume| volume["name"] == name).collect::<Vec<_>>();
        assert!(matches!(of("workden-bin")[..], [only] if only["emptyDir"].is_object()), "{volumes:?}");
        assert_eq!(of("data").len(), 1);
    }

    #[test]
    fn an_image_is_needed() {
        let plan = PodPlan { work_dir: "/workspace".to_owned(), ..PodPlan::default() };
        assert_eq!(plan.pod("one").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
