//! `DockerSandboxBuilder`: what a container is to be given.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use workden_core::{
    VirtualPath,
    sandbox::{Mount, MountAccess},
};

use super::{
    BuildProgress, ContainerKeepers, ContainerUser, Daemon, DockerSandbox, Init, Privileges, RootAccess, WhenItEnds,
    container::{Container, ImageOptions, Wanted},
    covers::{self, Covers},
    plan::{ImageChoice, NO_NETWORK, Plan, Volume, VolumeSource},
};
use crate::{GitFiles, runtimes::RuntimeConfig};

/// Processes and threads, when nothing is said.
const PROCESSES: u64 = 512;
/// How long a container lives without anybody connected: one that somebody named, and any other.
const LEASE_OF_NAMED: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(120);

/// What a [`DockerSandbox`] is to be given.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `build`"]
pub struct DockerSandboxBuilder {
    pub(super) daemon: Daemon,
    pub(super) keepers: ContainerKeepers,
    pub(super) plan: Plan,
    images: ImageOptions,
    lease: Option<Duration>,
}

impl DockerSandboxBuilder {
    pub(super) fn new(daemon: Daemon, image: String) -> Self {
        let plan = Plan {
            image: ImageChoice::Image(image),
            work_dir: None,
            volumes: Vec::new(),
            covers: Covers::default(),
            network: NO_NETWORK.to_owned(),
            name: None,
            when_it_ends: WhenItEnds::RemoveUnlessNamed,
            labels: BTreeMap::new(),
            variables: BTreeMap::new(),
            memory: None,
            swap: None,
            cpus: None,
            processes: PROCESSES,
            tmpfs: BTreeMap::new(),
            privileges: Privileges::default(),
            user: ContainerUser::default(),
            root: RootAccess::default(),
            init: Init::default(),
            oci_runtime: None,
            lease: LEASE,
        };
        Self { daemon, keepers: ContainerKeepers::default(), plan, images: ImageOptions::default(), lease: None }
    }

    /// Which programs are keepers of containers.
    pub fn keepers(mut self, keepers: ContainerKeepers) -> Self {
        self.keepers = keepers;
        self
    }

    /// A runtime instead of an image.
    pub fn runtime(mut self, runtime: RuntimeConfig) -> Self {
        self.plan.image = ImageChoice::Runtime(Box::new(runtime));
        self
    }

    /// Where commands start and files are: `/workspace`, or what the runtime says.
    pub fn work_dir(mut self, directory: impl Into<String>) -> Self {
        self.plan.work_dir = Some(directory.into());
        self
    }

    /// A file or directory of the machine that the daemon is on.
    pub fn volume(mut self, source: impl Into<PathBuf>, at: impl Into<String>, access: MountAccess) -> Self {
        self.plan.volumes.push(Volume { source: VolumeSource::Host(source.into()), at: at.into(), access });
        self
    }

    /// A volume of the daemon, by its name; it is made if it is not there.
    pub fn named_volume(mut self, name: impl Into<String>, at: impl Into<String>, access: MountAccess) -> Self {
        self.plan.volumes.push(Volume { source: VolumeSource::Named(name.into()), at: at.into(), access });
        self
    }

    /// A place that commands may read but not change, in what is mounted from the host.
    pub fn read_only(mut self, at: VirtualPath) -> Self {
        self.plan.covers.read_only.push(at);
        self
    }

    /// A place that commands may neither read nor change, in what is mounted from the host: a file without
    /// content is there instead, or an empty directory.
    pub fn masked(mut self, at: VirtualPath) -> Self {
        self.plan.covers.masked.push(at);
        self
    }

    /// Places that commands may neither read nor change: what a policy denies, as `workden::masks` finds it.
    pub fn mask(mut self, places: impl IntoIterator<Item = VirtualPath>) -> Self {
        self.plan.covers.masked.extend(places);
        self
    }

    /// Whether commands may change what git runs by itself; they may not unless told. A `.git` that is a link
    /// can be replaced in a container, and [`isolation`](workden_core::Sandbox::isolation) says so.
    pub fn git_files(mut self, git_files: GitFiles) -> Self {
        self.plan.covers.git_files = git_files;
        self
    }

    /// The files of the host that commands will be shown, and where.
    #[must_use]
    pub fn shown_files(&self) -> Vec<Mount> {
        covers::shown_files(&self.plan.volumes)
    }

    /// What can be reached: `none` unless told; `bridge`, `host`, or the name of a network of the daemon.
    pub fn network(mut self, mode: impl Into<String>) -> Self {
        self.plan.network = mode.into();
        self
    }

    /// A name by which the container is found again. One of this name that runs is used, one that does not is
    /// started.
    pub fn container_name(mut self, name: impl Into<String>) -> Self {
        self.plan.name = Some(name.into());
        self
    }

    /// What becomes of the container when it ends: it is removed, unless it has a name.
    pub fn when_it_ends(mut self, what: WhenItEnds) -> Self {
        self.plan.when_it_ends = what;
        self
    }

    /// A label of the container. All of ours have `workden` besides.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.plan.labels.insert(name.into(), value.into());
        self
    }

    /// A variable of commands.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.plan.variables.insert(name.into(), value.into());
        self
    }

    /// Bytes of memory of all commands together.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.plan.memory = Some(bytes);
        self
    }

    /// Bytes of swap besides; none when only memory is limited.
    pub fn swap(mut self, bytes: u64) -> Self {
        self.plan.swap = Some(bytes);
        self
    }

    /// Processors: 1.5 is one and a half.
    pub fn cpus(mut self, cpus: f64) -> Self {
        self.plan.cpus = Some(cpus);
        self
    }

    /// Processes and threads of all commands together; 512 unless told.
    pub fn processes(mut self, most: u64) -> Self {
        self.plan.processes = most;
        self
    }

    /// A place in memory that holds so many bytes: `/tmp`, for one.
    pub fn tmpfs(mut self, at: impl Into<String>, bytes: u64) -> Self {
        self.plan.tmpfs.insert(at.into(), bytes);
        self
    }

    /// What commands may become.
    pub fn privileges(mut self, privileges: Privileges) -> Self {
        self.plan.privileges = privileges;
        self
    }

    /// Who commands run as.
    pub fn user(mut self, user: ContainerUser) -> Self {
        self.plan.user = user;
        self
    }

    /// What may be done to the files of the image.
    pub fn root_access(mut self, access: RootAccess) -> Self {
        self.plan.root = access;
        self
    }

    /// Who is the first process.
    pub fn init(mut self, init: Init) -> Self {
        self.plan.init = init;
        self
    }

    /// Which OCI runtime runs it, where the daemon has another: `runsc` (gVisor), `kata`.
    pub fn oci_runtime(mut self, name: impl Into<String>) -> Self {
        self.plan.oci_runtime = Some(name.into());
        self
    }

    /// How long the container lives without anybody connected: two minutes, or an hour if it has a name.
    pub fn lease(mut self, time: Duration) -> Self {
        self.lease = Some(time);
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

    /// The sandbox. Nothing is started before somebody needs it; [`DockerSandbox::start`] does it now.
    pub fn build(self) -> DockerSandbox {
        let mut plan = self.plan;
        let usual = if plan.name.is_some() { LEASE_OF_NAMED } else { LEASE };
        plan.lease = self.lease.unwrap_or(usual);
        DockerSandbox::of(Container::new(self.daemon, self.keepers, self.images, Wanted::Made(Arc::new(plan))))
    }
}
