//! `DockerSandboxBuilder`: what a container is to be given.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Mount, MountAccess, Network},
};

use super::{
    BuildProgress, ContainerKeepers, ContainerUser, Daemon, DockerSandbox, Init, Privileges, RootAccess, WhenItEnds,
    container::{Container, ContainerChoice, ImageOptions},
    plan::{ImageChoice, NO_NETWORK, Plan, Volume, VolumeSource},
    protected_paths::{self, ProtectedPaths},
};
use crate::{ByteSize, SandboxOptions, options::common_options, runtimes::RuntimeConfig};

/// Processes and threads, when nothing is said.
const PROCESSES: u64 = 512;
/// Where commands start, when neither an option nor the runtime names it.
const WORKSPACE: &str = "/workspace";
/// How long a container lives without anybody connected: one that somebody named, and any other.
const LEASE_OF_NAMED: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(120);

/// What a [`DockerSandbox`] is given: the options that all sandboxes have, and its own.
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
    /// The daemon; the one that the environment names by default.
    pub fn daemon(mut self, daemon: Daemon) -> Self {
        self.daemon = Some(daemon);
        self
    }

    /// The static keepers that go into containers; found by default: see [`ContainerKeepers::found`].
    pub fn keepers(mut self, keepers: ContainerKeepers) -> Self {
        self.keepers = Some(keepers);
        self
    }

    /// The image of the container, pulled when the daemon does not have it.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(ImageChoice::Image(image.into()));
        self
    }

    /// A runtime instead of an image, built when the daemon does not have it.
    pub fn runtime(mut self, runtime: RuntimeConfig) -> Self {
        self.image = Some(ImageChoice::Runtime(Box::new(runtime)));
        self
    }

    /// Shows a volume of the daemon at a path; the daemon creates it when it does not exist.
    pub fn named_volume(mut self, at: impl Into<String>, name: impl Into<String>, access: MountAccess) -> Self {
        self.named_volumes.push(Volume { source: VolumeSource::Named(name.into()), at: at.into(), access });
        self
    }

    /// A network of the daemon, by its name: `bridge`, or one of your own. It replaces `network`.
    pub fn network_name(mut self, name: impl Into<String>) -> Self {
        self.network_name = Some(name.into());
        self
    }

    /// A name by which the container is found again. One of this name that runs is used, one that does not is
    /// started.
    pub fn container_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What becomes of the container when it ends: it is removed, unless it has a name.
    pub fn when_it_ends(mut self, what: WhenItEnds) -> Self {
        self.when_it_ends = what;
        self
    }

    /// A label of the container. All of ours have `workden` besides.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Bytes of swap besides; none when only memory is limited.
    pub fn swap(mut self, bytes: impl ByteSize) -> Self {
        self.swap = self.options.take(bytes.bytes());
        self
    }

    /// A place in memory that holds so many bytes: `/tmp`, for one.
    pub fn tmpfs(mut self, at: impl Into<String>, bytes: impl ByteSize) -> Self {
        if let Some(bytes) = self.options.take(bytes.bytes()) {
            self.tmpfs.insert(at.into(), bytes);
        }
        self
    }

    /// What commands may become.
    pub fn privileges(mut self, privileges: Privileges) -> Self {
        self.privileges = privileges;
        self
    }

    /// Who commands run as.
    pub fn user(mut self, user: ContainerUser) -> Self {
        self.user = user;
        self
    }

    /// What may be done to the files of the image.
    pub fn root_access(mut self, access: RootAccess) -> Self {
        self.root_access = access;
        self
    }

    /// Who is the first process.
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// Which OCI runtime runs it, where the daemon has another: `runsc` (gVisor), `kata`.
    pub fn oci_runtime(mut self, name: impl Into<String>) -> Self {
        self.oci_runtime = Some(name.into());
        self
    }

    /// The network of an image that has to be built first; without it, what the daemon does.
    pub fn build_network(mut self, mode: impl Into<String>) -> Self {
        self.images.build_network = Some(mode.into());
        self
    }

    /// Who hears of an image that has to be pulled or built first.
    pub fn on_progress(mut self, told: impl Fn(BuildProgress) + Send + Sync + 'static) -> Self {
        self.images.progress = Some(Arc::new(told));
        self
    }

    /// Where commands start and files are: the named work directory, the runtime's, or `/workspace`.
    #[must_use]
    pub fn directory(&self) -> String {
        match (&self.options.work_dir, &self.image) {
            (Some(named), _) => named.to_string(),
            (None, Some(ImageChoice::Runtime(runtime))) => runtime.work_dir.clone(),
            (None, _) => WORKSPACE.to_owned(),
        }
    }

    /// The files of the host that commands will be shown, and where.
    #[must_use]
    pub fn shown_files(&self) -> Vec<Mount> {
        protected_paths::shown_files(&self.volumes())
    }

    /// The sandbox. The container starts with the first call; [`DockerSandbox::start`] starts it now.
    ///
    /// # Errors
    ///
    /// When neither an image nor a runtime is named, a value cannot be read, or the environment names no daemon.
    pub fn build(self) -> Result<DockerSandbox> {
        let plan = self.plan()?;
        let (daemon, keepers) = (self.daemon_or_usual()?, self.keepers_or_found());
        let choice = ContainerChoice::New(Arc::new(plan));
        Ok(DockerSandbox::of(Container::new(daemon, keepers, self.images, choice)))
    }

    /// Checks what can be known before the start.
    ///
    /// # Errors
    ///
    /// The first value that cannot be read; and when neither an image nor a runtime is named.
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

    /// What the container will be, as data.
    pub(super) fn plan(&self) -> Result<Plan> {
        let options = &self.options;
        options.check()?;
        let image = self.image.clone().ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "a Docker sandbox needs an image or a runtime")
                .hint("name one: `.image(\"debian:12\")`, or `--image debian:12`")
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
