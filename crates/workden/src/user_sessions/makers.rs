//! The launchers of sessions: one that creates the sandbox of a record, and one that finds the sandboxes of a place.

use workden_core::{Error, ErrorKind, Result, sandbox::Network};
#[cfg(feature = "daytona")]
use workden_sandboxes::daytona::{DaytonaLauncher, DaytonaSandbox};
#[cfg(feature = "docker")]
use workden_sandboxes::docker::{DockerLauncher, DockerSandbox, DockerSandboxBuilder};
#[cfg(feature = "kubernetes")]
use workden_sandboxes::kubernetes::{KubernetesLauncher, KubernetesSandbox};
use workden_sandboxes::{LinuxLauncher, LinuxSandbox};
#[cfg(feature = "kubernetes")]
use workden_sessions::{ClusterStore, PointerStore};
use workden_sessions::{SessionManager, SessionManagerBuilder, SessionRecord};

#[cfg(feature = "kubernetes")]
use super::START;
use super::{SessionKind, SessionPlace, TOOLCHAIN, UserSessions, limits::set_options};

/// The owner of pods: every user of a namespace who opens the same id with the same options has the same session.
#[cfg(feature = "kubernetes")]
const POD_OWNER: &str = "workden";

impl UserSessions {
    /// Returns the manager that creates the sandbox of this session.
    pub(super) fn maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        match record.kind.as_str() {
            kind if kind == SessionKind::Docker.name() => Ok(self.with_store(self.docker_maker(record)?)),
            kind if kind == SessionKind::Kubernetes.name() => self.kubernetes_maker(record),
            kind if kind == SessionKind::Daytona.name() => Ok(self.with_store(self.daytona_maker(record)?)),
            _ => Ok(self.with_store(self.linux_maker(record)?)),
        }
    }

    /// Returns the manager that finds and ends the sessions of a place.
    pub(super) fn finder(&self, place: &SessionPlace) -> Result<SessionManagerBuilder> {
        match place.kind.as_str() {
            kind if kind == SessionKind::Docker.name() => Ok(self.with_store(self.docker_finder()?)),
            kind if kind == SessionKind::Kubernetes.name() => self.kubernetes_finder(place),
            kind if kind == SessionKind::Daytona.name() => Ok(self.with_store(self.daytona_finder()?)),
            _ => {
                let launcher = LinuxLauncher::new(LinuxSandbox::builder(), self.store.leases());
                Ok(self.with_store(SessionManager::builder(launcher)))
            }
        }
    }

    fn linux_maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        let named = record.options.get("--net").map(String::as_str);
        let network = match named {
            None | Some("none") => Network::None,
            Some("host") => Network::Host,
            Some(name) => return Err(not_a_network(name)),
        };
        let template = LinuxSandbox::builder().environment_of(self.host.clone()).network(network);
        let named = record.options.get(TOOLCHAIN).map_or("", String::as_str);
        let named = named.split(',').filter(|name| !name.is_empty());
        let template = named.fold(template, |template, name| template.toolchain(name));
        let template = template.with(set_options(record)?).work_dir(&record.directory);
        let template = template.mask(record.masked.clone()).hold(record.read_only.clone());
        Ok(SessionManager::builder(LinuxLauncher::new(template, self.store.leases())))
    }

    #[cfg(feature = "docker")]
    fn docker_maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        let said = |name: &str| record.options.get(name);
        let mut template: DockerSandboxBuilder = DockerSandbox::builder().environment_of(self.host.clone());
        if let Some(image) = said("--image") {
            template = template.image(image);
        }
        match said("--runtime") {
            Some(runtime) => template = template.runtime(super::runtime_named(runtime)?),
            // Named only where it is not the default: a container is found again by all that was named.
            None if record.directory.as_str() != super::WORKSPACE => template = template.work_dir(&record.directory),
            None => {}
        }
        if let Some(name) = said("--net") {
            template = template.network_name(name);
        }
        if let Some(progress) = self.progress.clone() {
            template = template.on_progress(move |news| progress(news));
        }
        template = template.with(set_options(record)?).mask(record.masked.clone()).hold(record.read_only.clone());
        template.check()?;
        Ok(SessionManager::builder(DockerLauncher::new(template, &self.store.owner()?)?))
    }

    #[cfg(feature = "docker")]
    fn docker_finder(&self) -> Result<SessionManagerBuilder> {
        let template = DockerSandbox::builder().environment_of(self.host.clone());
        Ok(SessionManager::builder(DockerLauncher::new(template, &self.store.owner()?)?))
    }

    #[cfg(feature = "kubernetes")]
    fn kubernetes_maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        let said = |name: &str| record.options.get(name);
        let mut template = KubernetesSandbox::builder().environment_of(self.host.clone());
        template = super::ClusterSpec::of(record).set(template, &self.host)?;
        if let Some(image) = said("--image") {
            template = template.image(image);
        }
        if let Some(runtime) = said("--runtime") {
            template = template.runtime(&super::runtime_named(runtime)?)?;
        }
        if let Some(name) = said("--net") {
            template = template.network(super::cluster::network(name)?);
        }
        template = template.with(set_options(record)?);
        template.check()?;
        Ok(self.with_cluster_store(KubernetesLauncher::new(template, POD_OWNER)?))
    }

    #[cfg(feature = "kubernetes")]
    fn kubernetes_finder(&self, place: &SessionPlace) -> Result<SessionManagerBuilder> {
        let template = KubernetesSandbox::builder().environment_of(self.host.clone());
        let mut spec = super::ClusterSpec::default();
        (spec.context, spec.namespace) = (place.context.clone(), place.namespace.clone());
        Ok(self.with_cluster_store(KubernetesLauncher::new(spec.set(template, &self.host)?, POD_OWNER)?))
    }

    #[cfg(feature = "daytona")]
    fn daytona_maker(&self, record: &SessionRecord) -> Result<SessionManagerBuilder> {
        let said = |name: &str| record.options.get(name).map(String::as_str);
        let mut template = super::DaytonaSpec::of(record).set(DaytonaSandbox::builder(), &self.host);
        if let Some(image) = said("--image") {
            template = template.image(image);
        }
        let network = super::DaytonaSpec::network(said("--net"))?;
        let template = template.network(network).with(set_options(record)?);
        template.check()?;
        Ok(SessionManager::builder(DaytonaLauncher::new(template, &self.store.owner()?)?))
    }

    #[cfg(feature = "daytona")]
    fn daytona_finder(&self) -> Result<SessionManagerBuilder> {
        let template = super::DaytonaSpec::default().set(DaytonaSandbox::builder(), &self.host);
        Ok(SessionManager::builder(DaytonaLauncher::new(template, &self.store.owner()?)?))
    }

    /// The records of pods are in their cluster, where every machine that uses a session sees them.
    #[cfg(feature = "kubernetes")]
    fn with_cluster_store(&self, launcher: KubernetesLauncher) -> SessionManagerBuilder {
        let store = PointerStore::new(self.store.clone(), ClusterStore::new(launcher.clone()));
        SessionManager::builder(launcher).store(store).start_deadline(START)
    }
}

#[cfg(not(feature = "docker"))]
impl UserSessions {
    fn docker_maker(&self, _: &SessionRecord) -> Result<SessionManagerBuilder> {
        Err(without("docker"))
    }

    fn docker_finder(&self) -> Result<SessionManagerBuilder> {
        Err(without("docker"))
    }
}

#[cfg(not(feature = "daytona"))]
impl UserSessions {
    fn daytona_maker(&self, _: &SessionRecord) -> Result<SessionManagerBuilder> {
        Err(without("daytona"))
    }

    fn daytona_finder(&self) -> Result<SessionManagerBuilder> {
        Err(without("daytona"))
    }
}

#[cfg(not(feature = "kubernetes"))]
impl UserSessions {
    fn kubernetes_maker(&self, _: &SessionRecord) -> Result<SessionManagerBuilder> {
        Err(without("kubernetes"))
    }

    fn kubernetes_finder(&self, _: &SessionPlace) -> Result<SessionManagerBuilder> {
        Err(without("kubernetes"))
    }
}

#[cfg(not(all(feature = "daytona", feature = "docker", feature = "kubernetes")))]
pub(super) fn without(feature: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("this program was built without the feature `{feature}`"))
}

fn not_a_network(name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("`--net {name}` would be a network of a Docker daemon"))
        .hint("`none` or `host`, or `--sandbox docker` as well")
}
