//! `DockerSandboxBuilder`: the options of a container.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{CommandFacts, Mount, MountAccess, Network},
};

use super::{
    BuildProgress, ContainerKeepers, ContainerUser, Daemon, DockerSandbox, Init, Privileges, RootAccess, WhenItEnds,
    container::{Container, ContainerChoice, ImageOptions},
    plan::{ImageChoice, NO_NETWORK, Plan},
    protected_paths::ProtectedPaths,
    volumes::{self, Volume, VolumeSource},
};
use crate::{ByteSize, SandboxOptions, git_identity, options::common_options, runtimes::RuntimeConfig};

/// Default limit of processes and threads.
const PROCESSES: u64 = 512;
/// Where commands start when neither an option nor the runtime sets a directory.
const WORKSPACE: &str = "/workspace";
/// How long a container lives without a connection: a named one, and any other.
const LEASE_OF_NAMED: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(120);

/// The options of a [`DockerSandbox`]: those that all sandboxes have, and its own.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing happens before `build`"]
pub struct DockerSandboxBuilder {
    pub(crate) options: SandboxOptions,
    daemon: Option<Daemon>,
    keepers: Option<ContainerKeepers>,
    image: Option<ImageChoice>,
    named_volumes: Vec<Volume>,
    network_name: Option<String>,
    name: Option<String>,
    when_it_ends: WhenItEnds,
    labels: BTreeMap<String, String>,
    swap: Option<u64>,
    tmpfs: BTreeMap<String, u64>,
    privileges: Privileges,
    user: ContainerUser,
    root_access: RootAccess,
    init: Init,
    oci_runtime: Option<String>,
    images: ImageOptions,
}

common_options!(DockerSandboxBuilder);

impl DockerSandboxBuilder {
    /// Sets the daemon. By default the environment selects it.
    pub fn daemon(mut self, daemon: Daemon) -> Self {
        self.daemon = Some(daemon);
        self
    }

    /// Sets the static keepers for containers. By default [`ContainerKeepers::found`] finds them.
    pub fn keepers(mut self, keepers: ContainerKeepers) -> Self {
        self.keepers = Some(keepers);
        self
    }

    /// Sets the image of the container. A missing image is pulled.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(ImageChoice::Image(image.into()));
        self
    }

    /// Sets a runtime instead of an image. A missing image is built.
    pub fn runtime(mut self, runtime: RuntimeConfig) -> Self {
        self.image = Some(ImageChoice::Runtime(Box::new(runtime)));
        self
    }

    /// Mounts a volume of the daemon at a path. The daemon creates a missing volume.
    pub fn named_volume(mut self, at: impl Into<String>, name: impl Into<String>, access: MountAccess) -> Self {
        self.named_volumes.push(Volume { source: VolumeSource::Named(name.into()), at: at.into(), access });
        self
    }

    /// Sets a network of the daemon by name, such as `bridge`. It replaces `network`.
    pub fn network_name(mut self, name: impl Into<String>) -> Self {
        self.network_name = Some(name.into());
        self
    }

    /// Sets a name by which the container is found again. An existing container of this name is used, and started if
    /// it does not run.
    pub fn container_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what happens to the container when it ends. By default it is removed, unless it has a name.
    pub fn when_it_ends(mut self, what: WhenItEnds) -> Self {
        self.when_it_ends = what;
        self
    }

    /// Adds a label to the container, besides `workden`, which all containers have.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Sets the bytes of swap. Without it, a memory limit allows no swap.
    pub fn swap(mut self, bytes: impl ByteSize) -> Self {
        self.swap = self.options.take(bytes.bytes());
        self
    }

    /// Mounts a file system in memory of this size, for example at `/tmp`.
    pub fn tmpfs(mut self, at: impl Into<String>, bytes: impl ByteSize) -> Self {
        if let Some(bytes) = self.options.take(bytes.bytes()) {
            self.tmpfs.insert(at.into(), bytes);
        }
        self
    }

    /// Sets which privileges commands can gain.
    pub fn privileges(mut self, privileges: Privileges) -> Self {
        self.privileges = privileges;
        self
    }

    /// Sets the user of commands.
    pub fn user(mut self, user: ContainerUser) -> Self {
        self.user = user;
        self
    }

    /// Sets whether commands may change the files of the image.
    pub fn root_access(mut self, access: RootAccess) -> Self {
        self.root_access = access;
        self
    }

    /// Sets the first process of the container.
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// Sets the OCI runtime, where the daemon has another: `runsc` (gVisor), `kata`.
    pub fn oci_runtime(mut self, name: impl Into<String>) -> Self {
        self.oci_runtime = Some(name.into());
        self
    }

    /// Sets the network of image builds. By default the daemon chooses.
    pub fn build_network(mut self, mode: impl Into<String>) -> Self {
        self.images.build_network = Some(mode.into());
        self
    }

    /// Sets a callback for the progress of image pulls and builds.
    pub fn on_progress(mut self, told: impl Fn(BuildProgress) + Send + Sync + 'static) -> Self {
        self.images.progress = Some(Arc::new(told));
        self
    }

    /// Returns where commands start and files are: the work directory of the options, the runtime's, or `/workspace`.
    #[must_use]
    pub fn directory(&self) -> String {
        match (&self.options.work_dir, &self.image) {
            (Some(named), _) => named.to_string(),
            (None, Some(ImageChoice::Runtime(runtime))) => runtime.work_dir.clone(),
            (None, _) => WORKSPACE.to_owned(),
        }
    }

    /// Returns the files of the host that commands will see, and where.
    #[must_use]
    pub fn shown_files(&self) -> Vec<Mount> {
        volumes::shown_files(&self.volumes())
    }

    /// Returns the sandbox. The container starts with the first call; [`DockerSandbox::start`] starts it now.
    ///
    /// # Errors
    ///
    /// When neither an image nor a runtime is set, a value is invalid, or the environment does not name a valid
    /// daemon.
    pub fn build(self) -> Result<DockerSandbox> {
        // Here only: a plan is also made to be checked and compared, and this starts git.
        let plan = Plan { git_identity: git_identity::of(&self.options.host), ..self.plan()? };
        let (daemon, keepers) = (self.daemon_or_usual()?, self.keepers_or_found());
        let choice = ContainerChoice::New(Arc::new(plan));
        Ok(DockerSandbox::of(Container::new(daemon, keepers, self.images, choice)))
    }

    /// Checks the options as far as possible before the start.
    ///
    /// # Errors
    ///
    /// The first invalid value; also when neither an image nor a runtime is set.
    pub fn check(&self) -> Result<()> {
        self.plan().map(drop)
    }

    pub(super) fn daemon_or_usual(&self) -> Result<Daemon> {
        match &self.daemon {
            Some(daemon) => Ok(daemon.clone()),
            None => Daemon::of_environment(&self.options.host),
        }
    }

    pub(super) fn keepers_or_found(&self) -> ContainerKeepers {
        let found = || ContainerKeepers::found(&self.options.host, &std::env::current_exe().unwrap_or_default());
        self.keepers.clone().unwrap_or_else(found)
    }

    /// Returns the plan of the container as data.
    /// Returns what a model should know about commands in this sandbox.
    #[must_use]
    pub fn facts(&self) -> CommandFacts {
        let network = match self.network_name.as_deref() {
            None => Some(self.options.network.unwrap_or_default()),
            Some(NO_NETWORK) => Some(Network::None),
            // A network of the daemon may lead anywhere.
            Some(_) => None,
        };
        CommandFacts::new().network(network)
    }

    pub(super) fn plan(&self) -> Result<Plan> {
        let options = &self.options;
        options.check()?;
        let image = self.image.clone().ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "a Docker sandbox needs an image or a runtime")
                .hint("set one: `.image(\"debian:12\")`, or `--image debian:12`")
        })?;
        let usual = if self.name.is_some() { LEASE_OF_NAMED } else { LEASE };
        let network = self.network_name.clone().unwrap_or_else(|| match options.network.unwrap_or_default() {
            Network::None => NO_NETWORK.to_owned(),
            Network::Host => "host".to_owned(),
        });
        let mut variables = BTreeMap::new();
        options.env.add_to(&mut variables, &options.host)?;
        let plan = Plan {
            image,
            work_dir: options.work_dir.as_ref().map(ToString::to_string),
            volumes: self.volumes(),
            protected: ProtectedPaths {
                masked: options.masked.clone(),
                read_only: options.read_only.clone(),
                git_files: options.git_files,
                expected: options.expected.clone(),
            },
            network,
            name: self.name.clone(),
            when_it_ends: self.when_it_ends,
            labels: self.labels.clone(),
            variables,
            memory: options.memory,
            swap: self.swap,
            cpus: options.cpus,
            processes: options.pids.unwrap_or(PROCESSES),
            tmpfs: self.tmpfs.clone(),
            privileges: self.privileges,
            user: self.user.clone(),
            root: self.root_access,
            init: self.init,
            oci_runtime: self.oci_runtime.clone(),
            lease: options.lease.unwrap_or(usual),
            git_identity: None,
        };
        plan.check()?;
        Ok(plan)
    }

    fn volumes(&self) -> Vec<Volume> {
        let of_host = |Mount { source, at, access }: Mount| Volume {
            source: VolumeSource::Host(source),
            at: at.to_string(),
            access,
        };
        let root = self.options.root().map(|source| Volume {
            source: VolumeSource::Host(source),
            at: self.directory(),
            access: MountAccess::ReadWrite,
        });
        let mounts = self.options.absolute_mounts().map(of_host);
        root.into_iter().chain(mounts).chain(self.named_volumes.iter().cloned()).collect()
    }
}
