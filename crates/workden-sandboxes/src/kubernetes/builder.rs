//! `KubernetesSandboxBuilder`: the options of a pod.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{Pod, Toleration};
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{CommandFacts, Network},
};

use super::{
    Cluster, HttpMode, KubernetesSandbox, Reach, WhenStopped, WorkspaceVolume,
    agent_sandbox::{ClaimOrigin, ClaimPlan},
    http_mode::HttpPod,
    plan::PodPlan,
    pod::{PodChoice, PodSettings, SandboxPod},
    starting::StartTimes,
    template,
};
use crate::{SandboxOptions, container_keepers::ContainerKeepers, options::common_options, runtimes::RuntimeConfig};

/// Where commands start when no option sets a directory.
const WORKSPACE: &str = "/workspace";
/// How long a pod lives without a connection: a named one, and any other.
const LEASE_OF_NAMED: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(120);
/// How long a pod may take to start.
const START_TIME: Duration = Duration::from_secs(60);
/// How long a pod may wait for a node.
const SCHEDULE_TIME: Duration = Duration::from_secs(5);

/// The options of a [`KubernetesSandbox`]: those that all sandboxes have, and its own.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing happens before `build`"]
pub struct KubernetesSandboxBuilder {
    pub(crate) options: SandboxOptions,
    cluster: Option<Cluster>,
    keepers: Option<ContainerKeepers>,
    keeper_image: Option<String>,
    pool: Option<String>,
    pub(super) image: Option<String>,
    pub(super) template: Option<Pod>,
    pub(super) name: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    service_account: Option<String>,
    node_selector: BTreeMap<String, String>,
    tolerations: Vec<Toleration>,
    pub(super) runtime_class: Option<String>,
    workspace: WorkspaceVolume,
    pull_secrets: Vec<String>,
    start_timeout: Option<Duration>,
    scheduling_timeout: Option<Duration>,
    reach: Option<Reach>,
    when_stopped: WhenStopped,
    http_mode: Option<HttpMode>,
}

common_options!(KubernetesSandboxBuilder);

impl KubernetesSandboxBuilder {
    /// Sets the cluster and the namespace. By default the environment selects them.
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Sets the static keepers that are streamed into pods. By default [`ContainerKeepers::found`] finds them.
    pub fn keepers(mut self, keepers: ContainerKeepers) -> Self {
        self.keepers = Some(keepers);
        self
    }

    /// Sets an image whose entry point is the keeper. An init container copies it from there, and no keeper is
    /// streamed in: the image of the commands then needs no shell.
    pub fn keeper_image(mut self, image: impl Into<String>) -> Self {
        self.keeper_image = Some(image.into());
        self
    }

    /// Claims a pod from a SandboxWarmPool of agent-sandbox, in the namespace of the cluster, instead of creating one.
    ///
    /// The template of the pool decides about its image and limits, and must make the keeper the first process, as
    /// `deploy/kubernetes/overlays/agent-sandbox` does. Labels and annotations are those of the claim, and
    /// [`pod_name`](Self::pod_name) is the name of the claim: opened again, a suspended sandbox resumes.
    pub fn pool(mut self, name: impl Into<String>) -> Self {
        self.pool = Some(name.into());
        self
    }

    /// Sets the image in which commands run.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Merges a pod over the default one. Its container of the name `workden` is the one in which commands run; what
    /// makes the keeper the first process stays.
    pub fn pod_template(mut self, template: Pod) -> Self {
        self.template = Some(template);
        self
    }

    /// Merges a pod that is given as text, in YAML or JSON.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` when the text is not a pod, or has a field that no pod has.
    pub fn pod_template_text(self, text: &str) -> Result<Self> {
        Ok(self.pod_template(template::parse(text)?))
    }

    /// Uses the image, the variables and the work directory of a runtime.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a runtime that has to be built, or that names a user: clusters build no images, and commands
    /// run as an unprivileged user.
    pub fn runtime(mut self, runtime: &RuntimeConfig) -> Result<Self> {
        let refused = |why: &str, hint: String| {
            let sentence = format!("the runtime `{}` is not supported with a Kubernetes sandbox: {why}", runtime.name);
            Err(Error::new(ErrorKind::Unsupported, sentence).hint(hint))
        };
        let Some(image) = &runtime.image else {
            let build = format!("build it with `workden runtimes build {}`", runtime.name);
            return refused("it has to be built", format!("{build}, push the image, and use it with `--image`"));
        };
        if runtime.user.is_some() {
            return refused("it names a user", "leave out `user`, or use a pod template".to_owned());
        }
        self.image = Some(image.clone());
        runtime.env_vars.iter().for_each(|(name, value)| self.options.set_env(name, value));
        if runtime.work_dir != WORKSPACE {
            self.options.work_dir = Some(VirtualPath::parse(&runtime.work_dir)?);
        }
        Ok(self)
    }

    /// Sets a name by which the pod is found again. An existing pod of this name is used.
    pub fn pod_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a label to the pod.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Adds an annotation to the pod.
    pub fn annotation(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(name.into(), value.into());
        self
    }

    /// Sets the service account of the pod. Its token is not mounted.
    pub fn service_account(mut self, name: impl Into<String>) -> Self {
        self.service_account = Some(name.into());
        self
    }

    /// Selects nodes with this label.
    pub fn node_selector(mut self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.node_selector.insert(label.into(), value.into());
        self
    }

    /// Tolerates a taint of nodes.
    pub fn toleration(mut self, toleration: Toleration) -> Self {
        self.tolerations.push(toleration);
        self
    }

    /// Sets the runtime class, such as that of gVisor or Kata.
    pub fn runtime_class(mut self, name: impl Into<String>) -> Self {
        self.runtime_class = Some(name.into());
        self
    }

    /// Sets where the files of the work directory are.
    pub fn workspace(mut self, volume: WorkspaceVolume) -> Self {
        self.workspace = volume;
        self
    }

    /// Adds a secret with credentials for the registry of the image.
    pub fn image_pull_secret(mut self, name: impl Into<String>) -> Self {
        self.pull_secrets.push(name.into());
        self
    }

    /// Sets how long the pod may take to start, and its keeper after that; 60 s by default.
    pub fn start_timeout(mut self, most: Duration) -> Self {
        self.start_timeout = Some(most);
        self
    }

    /// Sets how long the pod may wait until a node can take it; 5 s by default. A cluster that adds nodes on demand
    /// needs minutes.
    pub fn scheduling_timeout(mut self, most: Duration) -> Self {
        self.scheduling_timeout = Some(most);
        self
    }

    /// Sets the only way by which the keeper is reached. By default it is the first that works.
    pub fn reach(mut self, way: Reach) -> Self {
        self.reach = Some(way);
        self
    }

    /// Sets what happens to the pod when the sandbox is stopped. By default it is deleted.
    pub fn when_stopped(mut self, what: WhenStopped) -> Self {
        self.when_stopped = what;
        self
    }

    /// Uses the HTTP server of the image instead of a keeper. The image starts as it is, and must serve the protocol
    /// of pydantic-ai-backend's `KubernetesPodSandbox`.
    pub fn http_mode(mut self, mode: HttpMode) -> Self {
        self.http_mode = Some(mode);
        self
    }

    /// Returns where commands start and files are.
    #[must_use]
    pub fn directory(&self) -> String {
        self.options.work_dir.as_ref().map_or_else(|| WORKSPACE.to_owned(), ToString::to_string)
    }

    /// Returns what a model should know about commands in this sandbox.
    #[must_use]
    pub fn facts(&self) -> CommandFacts {
        // Policies of the cluster decide what commands reach.
        CommandFacts::new().network(None)
    }

    /// Returns the sandbox. The pod starts with the first call; [`KubernetesSandbox::start`] starts it now.
    ///
    /// # Errors
    ///
    /// When no image is set, or a value is invalid or not supported in a pod.
    pub fn build(self) -> Result<KubernetesSandbox> {
        let choice = match &self.pool {
            Some(pool) => PodChoice::Claimed(Arc::new(self.claim_plan(pool)?)),
            None => PodChoice::New { plan: Arc::new(self.plan()?), name: self.name.clone() },
        };
        self.sandbox(choice)
    }

    /// Returns the sandbox in this pod.
    pub(super) fn sandbox(&self, choice: PodChoice) -> Result<KubernetesSandbox> {
        let (cluster, settings) = (self.cluster_or_usual(), self.settings());
        let Some(mode) = self.http_mode.clone() else {
            return Ok(KubernetesSandbox::of(SandboxPod::new(cluster, self.keepers_or_found(), choice, settings)));
        };
        let work_dir = VirtualPath::parse(&self.directory())?;
        Ok(KubernetesSandbox::served(HttpPod::new(cluster, (choice, settings), mode, work_dir)))
    }

    /// Checks the options as far as possible before the start.
    ///
    /// # Errors
    ///
    /// The first invalid value; also when no image is set.
    pub fn check(&self) -> Result<()> {
        match &self.pool {
            Some(pool) => self.claim_plan(pool).map(drop),
            None => self.plan().map(drop),
        }
    }

    pub(super) fn has_keeper(&self) -> bool {
        self.http_mode.is_none()
    }

    pub(super) fn cluster_or_usual(&self) -> Cluster {
        self.cluster.clone().unwrap_or_else(|| Cluster::of_environment(&self.options.host))
    }

    pub(super) fn keepers_or_found(&self) -> ContainerKeepers {
        let found = || ContainerKeepers::found(&self.options.host, &std::env::current_exe().unwrap_or_default());
        self.keepers.clone().unwrap_or_else(found)
    }

    pub(super) fn settings(&self) -> PodSettings {
        PodSettings {
            times: StartTimes {
                start: self.start_timeout.unwrap_or(START_TIME),
                schedule: self.scheduling_timeout.unwrap_or(SCHEDULE_TIME),
            },
            reach: self.reach,
            when_stopped: self.when_stopped,
        }
    }

    /// Returns the pool, if pods are claimed.
    pub(super) fn pool_name(&self) -> Option<&str> {
        self.pool.as_deref()
    }

    /// Returns a hash of everything that makes a difference to commands.
    pub(super) fn fingerprint(&self) -> Result<String> {
        match &self.pool {
            Some(pool) => Ok(self.claim_plan(pool)?.fingerprint()),
            None => self.plan()?.fingerprint(),
        }
    }

    /// Returns what is claimed from a pool.
    pub(super) fn claim_plan(&self, pool: &str) -> Result<ClaimPlan> {
        self.check_common()?;
        let options = &self.options;
        SandboxOptions::refuse(
            "`pool`, whose template decides about it",
            &[
                ("image", self.image.is_some()),
                ("keeper_image", self.keeper_image.is_some()),
                ("http_mode", self.http_mode.is_some()),
                ("pod_template", self.template.is_some()),
                ("memory", options.memory.is_some()),
                ("cpus", options.cpus.is_some()),
                ("network", options.network.is_some()),
                ("service_account", self.service_account.is_some()),
                ("node_selector", !self.node_selector.is_empty()),
                ("toleration", !self.tolerations.is_empty()),
                ("runtime_class", self.runtime_class.is_some()),
                ("workspace", self.workspace != WorkspaceVolume::default()),
                ("image_pull_secret", !self.pull_secrets.is_empty()),
            ],
        )?;
        if pool.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "invalid pool: the name is empty")
                .hint("`kubectl get sandboxwarmpools` lists the pools of the namespace"));
        }
        Ok(ClaimPlan {
            pool: pool.to_owned(),
            name: self.name.clone(),
            origin: ClaimOrigin::Created,
            labels: self.labels.clone(),
            annotations: self.annotations.clone(),
            work_dir: self.directory(),
            variables: self.variables()?,
            lease: self.lease_or_usual(),
        })
    }

    /// Checks the options that a pod has in every case.
    fn check_common(&self) -> Result<()> {
        let options = &self.options;
        options.check()?;
        SandboxOptions::refuse(
            "a Kubernetes sandbox",
            &[
                ("root", options.root.is_some()),
                ("mount", !options.mounts.is_empty()),
                ("masked", !options.masked.is_empty()),
                ("read_only", !options.read_only.is_empty()),
                ("pids", options.pids.is_some()),
            ],
        )?;
        if self.http_mode.is_some() {
            self.check_http_mode()?;
        }
        let work_dir = self.directory();
        if work_dir == "/" || work_dir.starts_with("/.workden") || work_dir.contains([':', '\n']) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("invalid work directory `{work_dir}` in a pod"),
            )
            .hint("use an absolute path other than `/`"));
        }
        Ok(())
    }

    fn variables(&self) -> Result<BTreeMap<String, String>> {
        let mut variables = BTreeMap::new();
        self.options.env.add_to(&mut variables, &self.options.host)?;
        Ok(variables)
    }

    fn lease_or_usual(&self) -> Duration {
        let usual = if self.name.is_some() { LEASE_OF_NAMED } else { LEASE };
        self.options.lease.unwrap_or(usual)
    }

    pub(super) fn plan(&self) -> Result<PodPlan> {
        self.check_common()?;
        let options = &self.options;
        let plan = PodPlan {
            image: self.image.clone().unwrap_or_default(),
            keeper_image: self.keeper_image.clone(),
            work_dir: self.directory(),
            workspace: self.workspace.clone(),
            labels: self.labels.clone(),
            annotations: self.annotations.clone(),
            variables: self.variables()?,
            memory: options.memory,
            cpus: options.cpus,
            network: options.network.unwrap_or(Network::None),
            service_account: self.service_account.clone(),
            node_selector: self.node_selector.clone(),
            tolerations: self.tolerations.clone(),
            runtime_class: self.runtime_class.clone(),
            pull_secrets: self.pull_secrets.clone(),
            template: self.template.clone(),
            lease: self.lease_or_usual(),
            http: self.http_mode.clone(),
        };
        plan.pod("any")?;
        Ok(plan)
    }

    /// Rejects what only a keeper can do.
    fn check_http_mode(&self) -> Result<()> {
        SandboxOptions::refuse(
            "the HTTP mode",
            &[
                ("keeper_image", self.keeper_image.is_some()),
                ("lease", self.options.lease.is_some()),
                ("Reach::Exec", self.reach == Some(Reach::Exec)),
            ],
        )?;
        match &self.http_mode {
            Some(mode) if mode.port == 0 => Err(Error::new(ErrorKind::InvalidArgument, "invalid port `0`")
                .hint("use the port at which the image serves, like `8080`")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use workden_core::sandbox::MountAccess;

    use super::*;

    #[test]
    fn what_a_pod_cannot_have_is_refused_by_name() {
        let pod = || KubernetesSandbox::builder().image("debian:12");
        for (builder, name) in [
            (pod().root("/srv"), "root"),
            (pod().mount("/data", "/srv", MountAccess::ReadOnly), "mount"),
            (pod().masked("/x"), "masked"),
            (pod().read_only("/x"), "read_only"),
            (pod().pids(5), "pids"),
        ] {
            let error = builder.check().unwrap_err();
            assert_eq!(error.sentence(), format!("`{name}` is not supported with a Kubernetes sandbox"));
        }
        assert!(pod().check().is_ok());
        let runtime = RuntimeConfig { name: "mine".to_owned(), ..RuntimeConfig::default() };
        let built = RuntimeConfig { base_image: Some("debian:12".to_owned()), ..runtime.clone() };
        assert!(KubernetesSandbox::builder().runtime(&built).unwrap_err().sentence().ends_with("it has to be built"));
        let ready = RuntimeConfig { image: Some("debian:12".to_owned()), work_dir: "/srv".to_owned(), ..runtime };
        assert_eq!(KubernetesSandbox::builder().runtime(&ready).unwrap().directory(), "/srv");
        let pool = || KubernetesSandbox::builder().pool("warm");
        for (builder, name) in [
            (pool().image("debian:12"), "image"),
            (pool().memory("1G"), "memory"),
            (pool().runtime_class("gvisor"), "runtime_class"),
            (pool().workspace(WorkspaceVolume::Claim("files".to_owned())), "workspace"),
            (pool().network(Network::Host), "network"),
        ] {
            let error = builder.check().unwrap_err();
            let expected = format!("`{name}` is not supported with `pool`, whose template decides about it");
            assert_eq!(error.sentence(), expected);
        }
        assert!(pool().env("A", "b").label("team", "a").work_dir("/data").check().is_ok());
        let served = pod().http_mode(HttpMode::new());
        assert!(served.check().is_ok());
        let error = served.reach(Reach::Exec).check().unwrap_err();
        assert_eq!(error.sentence(), "`Reach::Exec` is not supported with the HTTP mode");
        assert_eq!(pod().work_dir("/.workden/run").check().unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
