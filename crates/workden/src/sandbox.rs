//! The sandbox of a workspace: which one, the paths of its directories, and how it starts.
//!
//! Invariant: a sandbox that this module starts masks every file that its policies deny to read at that time. It starts
//! with the first call that needs it, at most once at a time.

use std::{collections::BTreeMap, sync::Arc};
#[cfg(feature = "linux")]
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use workden_core::{
    Backend, Error, ErrorKind, Result, Sandbox, VirtualPath,
    sandbox::{CommandFacts, InodeId, Mount, MountAccess, Network, Shell},
};
use workden_files::{OpenMount, open_mounts};
use workden_policy::Policy;
#[cfg(feature = "daytona")]
use workden_sandboxes::daytona::DaytonaSandboxBuilder;
#[cfg(feature = "docker")]
use workden_sandboxes::docker::{DockerSandbox, DockerSandboxBuilder};
#[cfg(feature = "kubernetes")]
use workden_sandboxes::kubernetes::KubernetesSandboxBuilder;
use workden_sandboxes::{Begun, GitFiles, LazySandbox, SessionId};
#[cfg(feature = "linux")]
use workden_sandboxes::{HostSandboxBuilder, LinuxSandboxBuilder};
use workden_sessions::SessionRecord;

#[cfg(feature = "linux")]
use crate::{Packages, PackagesInUse};
use crate::{UserSessions, directories::Mounts, masks::ShownFiles, sandbox_masks::SandboxMasks};

/// Which sandbox commands run in.
#[derive(Clone, Debug)]
pub(crate) enum SandboxKind {
    /// Isolated on this machine.
    #[cfg(feature = "linux")]
    Linux(Box<LinuxSandboxBuilder>, Option<ProjectPackages>),
    /// On this machine, without isolation.
    #[cfg(feature = "linux")]
    Host(Box<HostSandboxBuilder>),
    /// In a container.
    #[cfg(feature = "docker")]
    Docker(Box<DockerSandboxBuilder>),
    /// In a pod of a cluster.
    #[cfg(feature = "daytona")]
    Daytona(Box<DaytonaSandboxBuilder>),
    #[cfg(feature = "kubernetes")]
    Kubernetes(Box<KubernetesSandboxBuilder>),
    /// One that already runs.
    Remote(Arc<dyn Sandbox>),
    /// A session of the user, which goes on afterwards.
    Session(Box<(UserSessions, SessionId, SessionRecord)>),
}

/// The packages of a project, and its directory.
#[cfg(feature = "linux")]
#[derive(Clone, Debug)]
pub(crate) struct ProjectPackages {
    pub(crate) packages: Packages,
    pub(crate) project: PathBuf,
}

/// A sandbox, and the files of its workspace.
pub(crate) struct Assembled {
    pub(crate) sandbox: Arc<dyn Sandbox>,
    /// The same sandbox, if this workspace starts and stops it.
    pub(crate) lazy: Option<LazySandbox>,
    /// Its masks, if it can have any.
    pub(crate) masks: Option<SandboxMasks>,
    /// The files below the mounts.
    pub(crate) files: Arc<dyn Backend>,
}

impl SandboxKind {
    /// The path of the directory to work in.
    pub(crate) fn directory(&self) -> Result<VirtualPath> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.directory(),
            #[cfg(feature = "docker")]
            Self::Docker(builder) => VirtualPath::parse(&builder.directory()),
            #[cfg(feature = "daytona")]
            Self::Daytona(builder) => VirtualPath::parse(&builder.directory()),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(builder) => VirtualPath::parse(&builder.directory()),
            #[cfg(feature = "linux")]
            Self::Host(_) => Ok(VirtualPath::root()),
            Self::Remote(_) => Ok(VirtualPath::root()),
            Self::Session(session) => Ok(session.2.directory.clone()),
        }
    }

    /// The directory in which commands start, if it is known before the sandbox runs.
    pub(crate) fn work_dir(&self, mounts: &Mounts) -> Result<Option<VirtualPath>> {
        let inside = self.directory()?;
        Ok(match self {
            Self::Remote(_) => None,
            #[cfg(feature = "linux")]
            Self::Host(builder) => builder.options().work_dir.clone().or(Some(inside)),
            // Without the default directory, use the only mount.
            _ if !mounts.directories.iter().any(|mount| mount.at == inside) => match mounts.directories.as_slice() {
                [only] => Some(only.at.clone()),
                _ => Some(inside),
            },
            _ => Some(inside),
        })
    }

    /// The shell of commands, if it is known before the sandbox runs.
    pub(crate) fn shell(&self) -> Option<Shell> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.shell(),
            #[cfg(feature = "linux")]
            Self::Host(builder) => Some(builder.shell()),
            // An image may have bash or not.
            #[cfg(feature = "docker")]
            Self::Docker(_) => None,
            #[cfg(feature = "daytona")]
            Self::Daytona(_) => None,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_) => None,
            Self::Remote(_) | Self::Session(_) => None,
        }
    }

    /// The time limit of a command that has none.
    pub(crate) fn timeout(&self) -> Option<std::time::Duration> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.options().timeout,
            #[cfg(feature = "linux")]
            Self::Host(builder) => builder.options().timeout,
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.options().timeout,
            #[cfg(feature = "daytona")]
            Self::Daytona(builder) => builder.options().timeout,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(builder) => builder.options().timeout,
            Self::Remote(_) | Self::Session(_) => None,
        }
    }

    /// What a model should know about commands in this sandbox.
    pub(crate) fn facts(&self) -> CommandFacts {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.facts(),
            #[cfg(feature = "linux")]
            Self::Host(_) => CommandFacts::new().network(Network::Host),
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.facts(),
            #[cfg(feature = "daytona")]
            Self::Daytona(builder) => builder.facts(),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(builder) => builder.facts(),
            Self::Remote(_) | Self::Session(_) => CommandFacts::new(),
        }
    }

    /// Whether programs outside could execute what is written in this sandbox.
    pub(crate) fn git_files(&self) -> GitFiles {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.options().git_files,
            #[cfg(feature = "linux")]
            Self::Host(builder) => builder.options().git_files,
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.options().git_files,
            // No program outside sees the files of a pod.
            #[cfg(feature = "daytona")]
            Self::Daytona(_) => GitFiles::Writable,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_) => GitFiles::Writable,
            Self::Session(session) if !session.2.has_directory() => GitFiles::Writable,
            Self::Remote(_) | Self::Session(_) => GitFiles::Protected,
        }
    }

    /// Where these directories show the program that the sandbox starts on the host.
    pub(crate) fn keeper_inside(&self, shown: &[Mount]) -> Vec<VirtualPath> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.keeper_inside(shown),
            #[cfg(feature = "linux")]
            Self::Host(_) => Vec::new(),
            #[cfg(feature = "docker")]
            Self::Docker(_) => Vec::new(),
            #[cfg(feature = "daytona")]
            Self::Daytona(_) => Vec::new(),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_) => Vec::new(),
            Self::Remote(_) | Self::Session(_) => Vec::new(),
        }
    }

    /// The host directories that the options of the sandbox mount.
    pub(crate) fn shown_files(&self) -> Vec<Mount> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => shown_by(builder),
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.shown_files(),
            #[cfg(feature = "daytona")]
            Self::Daytona(_) => Vec::new(),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_) => Vec::new(),
            #[cfg(feature = "linux")]
            Self::Host(builder) => at_root(builder.options().root()),
            Self::Remote(_) | Self::Session(_) => Vec::new(),
        }
    }

    /// Whether the files that a policy denies are masked in it.
    pub(crate) fn masks_files(&self) -> bool {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.directory().is_ok_and(|at| !at.is_root()),
            #[cfg(feature = "linux")]
            Self::Host(_) => false,
            #[cfg(feature = "docker")]
            Self::Docker(_) => true,
            #[cfg(feature = "daytona")]
            Self::Daytona(_) => false,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_) => false,
            Self::Session(session) => session.2.has_directory(),
            Self::Remote(_) => false,
        }
    }

    /// Adds paths that commands may read but not change, where the sandbox supports it.
    pub(crate) fn holding(self, paths: Vec<VirtualPath>) -> Self {
        match self {
            // Landlock has no read-only paths in a writable directory, and says so.
            #[cfg(feature = "linux")]
            Self::Linux(builder, packages) if builder.directory().is_ok_and(|at| !at.is_root()) => {
                Self::Linux(Box::new(builder.with(|options| options.read_only.extend(paths))), packages)
            }
            #[cfg(feature = "docker")]
            Self::Docker(builder) => Self::Docker(Box::new(builder.with(|options| options.read_only.extend(paths)))),
            other => other,
        }
    }

    /// Adds the packages of the project, where the sandbox supports it.
    #[cfg(feature = "linux")]
    pub(crate) fn keeping(self, packages: Option<ProjectPackages>) -> Self {
        match self {
            Self::Linux(builder, _) => Self::Linux(builder, packages),
            other => other,
        }
    }

    /// Returns the sandbox for these directories. Nothing starts yet.
    pub(crate) fn assemble(
        self,
        mounts: &Mounts,
        git_files: GitFiles,
        policy: &Arc<Policy>,
        durability: Option<workden_files::Durability>,
    ) -> Result<Assembled> {
        let inside = self.directory()?;
        let work_dir = self.work_dir(mounts)?.unwrap_or_else(VirtualPath::root);
        if mounts.has_root() && !self.may_have_root() {
            let sentence = "the sandbox has its own files at `/`, where a directory is mounted as well";
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint(format!(
                "mount it at `{}`, or elsewhere",
                if inside.is_root() { "/files" } else { inside.as_str() }
            )));
        }
        let assembled = match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, packages) => {
                linux((*builder, packages), mounts, git_files, (inside, work_dir), durability)
            }
            #[cfg(feature = "docker")]
            Self::Docker(builder) => docker(*builder, mounts, git_files, (&inside, work_dir), durability),
            #[cfg(feature = "daytona")]
            Self::Daytona(builder) => daytona(*builder, mounts, work_dir, durability),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(builder) => kubernetes(*builder, mounts, work_dir, durability),
            #[cfg(feature = "linux")]
            Self::Host(builder) => host(*builder, mounts, work_dir, durability),
            Self::Session(session) => in_session(*session, mounts, work_dir, durability),
            Self::Remote(sandbox) => {
                let below: Arc<dyn Backend> = Arc::new(Arc::clone(&sandbox));
                Ok(Assembled { files: mounts.opened(Some(below), durability)?, sandbox, lazy: None, masks: None })
            }
        }?;
        if let Some(masks) = &assembled.masks {
            masks.add(policy);
        }
        Ok(assembled)
    }

    /// Whether a directory is all that file calls can see.
    fn may_have_root(&self) -> bool {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.directory().is_ok_and(|at| at.is_root()),
            #[cfg(feature = "linux")]
            Self::Host(_) => true,
            #[cfg(feature = "docker")]
            Self::Docker(_) => false,
            #[cfg(feature = "daytona")]
            Self::Daytona(_) => false,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(_) => false,
            Self::Remote(_) | Self::Session(_) => false,
        }
    }
}

impl Assembled {
    /// Files directly from the directories that commands see; everything else from the running sandbox.
    fn of(
        lazy: LazySandbox,
        mounts: &Mounts,
        opened: &[OpenMount],
        durability: Option<workden_files::Durability>,
    ) -> Result<Self> {
        let below: Arc<dyn Backend> = Arc::new(lazy.clone());
        let files = mounts.combined(opened, Some(below), durability)?;
        Ok(Self { sandbox: Arc::new(lazy.clone()), lazy: Some(lazy), masks: None, files })
    }

    /// Only the directories: this sandbox has no files besides.
    #[cfg(feature = "linux")]
    fn of_files(lazy: LazySandbox, files: Arc<dyn Backend>) -> Self {
        Self { sandbox: Arc::new(lazy.clone()), lazy: Some(lazy), masks: None, files }
    }

    fn masked_by(self, masks: SandboxMasks) -> Self {
        Self { masks: Some(masks), ..self }
    }
}

#[cfg(feature = "linux")]
fn linux(
    (mut builder, packages): (LinuxSandboxBuilder, Option<ProjectPackages>),
    mounts: &Mounts,
    git_files: GitFiles,
    (inside, work_dir): (VirtualPath, VirtualPath),
    durability: Option<workden_files::Durability>,
) -> Result<Assembled> {
    for Mount { source, at, access } in &mounts.directories {
        builder = match (*at == inside, access) {
            (true, MountAccess::ReadWrite) => builder.root(source),
            (true, MountAccess::ReadOnly) => builder.root(source).read_only(at),
            (false, access) => builder.mount(at, source, *access),
        };
    }
    builder = builder.git_files(git_files);
    builder.check()?;
    let opened = open_mounts(&shown_by(&builder))?;
    builder = builder.with(|options| options.expected = identities(&opened));
    let masks = SandboxMasks::new(ShownFiles::of(&opened)?);
    let masked = masks.clone();
    // Held as long as the workspace, which may start its sandbox again.
    let used: Arc<Mutex<Option<PackagesInUse>>> = Arc::default();
    let start = move |_: Begun| {
        let (mut builder, masks, packages, used) =
            (builder.clone(), masked.clone(), packages.clone(), Arc::clone(&used));
        async move {
            if let Some(ProjectPackages { packages, project }) = packages {
                let without = builder.clone();
                let kept = tokio::task::spawn_blocking(move || packages.keep(builder, &project)).await;
                builder = match kept {
                    Ok(kept) => {
                        *used.lock().unwrap_or_else(PoisonError::into_inner) = kept.used;
                        kept.builder
                    }
                    Err(_) => without,
                };
            }
            let walls = masks.at_start().await?;
            let sandbox = builder.mask(walls.masked).hold(walls.read_only).start().await.map_err(with_choices)?;
            Ok(Arc::new(sandbox) as Arc<dyn Sandbox>)
        }
    };
    if mounts.has_root() {
        let files = mounts.combined(&opened, None, durability)?;
        let lazy = LazySandbox::with_files(work_dir, Arc::clone(&files), start);
        return Ok(Assembled::of_files(lazy, files).masked_by(masks));
    }
    Ok(Assembled::of(LazySandbox::new(work_dir, start), mounts, &opened, durability)?.masked_by(masks))
}

#[cfg(feature = "linux")]
fn host(
    mut builder: HostSandboxBuilder,
    mounts: &Mounts,
    work_dir: VirtualPath,
    durability: Option<workden_files::Durability>,
) -> Result<Assembled> {
    builder = match mounts.directories.as_slice() {
        [] => builder,
        [only] if only.at.is_root() => builder.root(&only.source),
        // Host commands see the whole machine, at the same paths as file calls.
        _ if mounts.are_host_paths() => builder.root("/").work_dir(&work_dir),
        _ => {
            let sentence = "`mount` is not supported with a host sandbox: commands would not see it at its path";
            return Err(Error::new(ErrorKind::Unsupported, sentence)
                .hint("leave out the mounts, or use a Linux sandbox or a container"));
        }
    };
    builder.check()?;
    let has_files = !mounts.directories.is_empty();
    let start = move |_: Begun| {
        let builder = builder.clone();
        async move { Ok(Arc::new(builder.start().await?) as Arc<dyn Sandbox>) }
    };
    if has_files {
        let files = mounts.opened(None, durability)?;
        return Ok(Assembled::of_files(LazySandbox::with_files(work_dir, Arc::clone(&files), start), files));
    }
    Assembled::of(LazySandbox::new(work_dir, start), mounts, &[], durability)
}

#[cfg(feature = "docker")]
fn docker(
    mut builder: DockerSandboxBuilder,
    mounts: &Mounts,
    git_files: GitFiles,
    (inside, work_dir): (&VirtualPath, VirtualPath),
    durability: Option<workden_files::Durability>,
) -> Result<Assembled> {
    for Mount { source, at, access } in &mounts.directories {
        builder = builder.mount(at, source, *access);
    }
    builder = builder.git_files(git_files);
    if work_dir != *inside {
        builder = builder.work_dir(&work_dir);
    }
    builder.check()?;
    let opened = open_mounts(&builder.shown_files())?;
    builder = builder.with(|options| options.expected = identities(&opened));
    let masks = SandboxMasks::new(ShownFiles::of(&opened)?);
    let masked = masks.clone();
    let start = move |begun: Begun| {
        let (builder, masks) = (builder.clone(), masked.clone());
        async move {
            let walls = masks.at_start().await?;
            let sandbox: Arc<DockerSandbox> = Arc::new(builder.mask(walls.masked).hold(walls.read_only).build()?);
            begun.set(Arc::clone(&sandbox) as Arc<dyn Sandbox>);
            sandbox.start().await?;
            Ok(sandbox as Arc<dyn Sandbox>)
        }
    };
    Ok(Assembled::of(LazySandbox::new(work_dir, start), mounts, &opened, durability)?.masked_by(masks))
}

/// The files of a pod are in the cluster, so that no directory of this machine can be mounted.
#[cfg(feature = "kubernetes")]
fn kubernetes(
    builder: KubernetesSandboxBuilder,
    mounts: &Mounts,
    work_dir: VirtualPath,
    durability: Option<workden_files::Durability>,
) -> Result<Assembled> {
    if let Some(mount) = mounts.directories.first() {
        let sentence = format!("a directory at `{}` is not supported with a Kubernetes sandbox", mount.at);
        return Err(Error::new(ErrorKind::Unsupported, sentence)
            .hint("the files of a pod are in the cluster: write them with the tools, or use a claim"));
    }
    builder.check()?;
    let start = move |begun: Begun| {
        let builder = builder.clone();
        async move {
            let sandbox = Arc::new(builder.build()?);
            begun.set(Arc::clone(&sandbox) as Arc<dyn Sandbox>);
            sandbox.start().await?;
            Ok(sandbox as Arc<dyn Sandbox>)
        }
    };
    Assembled::of(LazySandbox::new(work_dir, start), mounts, &[], durability)
}

/// The files of the sandbox are at Daytona, so that no directory of this machine can be mounted.
#[cfg(feature = "daytona")]
fn daytona(
    builder: DaytonaSandboxBuilder,
    mounts: &Mounts,
    work_dir: VirtualPath,
    durability: Option<workden_files::Durability>,
) -> Result<Assembled> {
    if let Some(mount) = mounts.directories.first() {
        let sentence = format!("a directory at `{}` is not supported with a Daytona sandbox", mount.at);
        return Err(Error::new(ErrorKind::Unsupported, sentence)
            .hint("the files of the sandbox are at Daytona: write them with the tools, or use a volume"));
    }
    builder.check()?;
    let start = move |begun: Begun| {
        let builder = builder.clone();
        async move {
            let sandbox = Arc::new(builder.build()?);
            begun.set(Arc::clone(&sandbox) as Arc<dyn Sandbox>);
            sandbox.start().await?;
            Ok(sandbox as Arc<dyn Sandbox>)
        }
    };
    Assembled::of(LazySandbox::new(work_dir, start), mounts, &[], durability)
}

fn in_session(
    (sessions, id, record): (UserSessions, SessionId, SessionRecord),
    mounts: &Mounts,
    work_dir: VirtualPath,
    durability: Option<workden_files::Durability>,
) -> Result<Assembled> {
    if !record.has_directory() {
        let start = move |_: Begun| {
            let (sessions, id, record) = (sessions.clone(), id.clone(), record.clone());
            async move { Ok(sessions.open(&id, record).await?.sandbox()) }
        };
        return Assembled::of(LazySandbox::new(work_dir, start), mounts, &[], durability);
    }
    // Commands of a session see its own directory, and no other mount.
    let (source, at) = (record.workspace.clone(), record.directory.clone());
    let opened = open_mounts(&[Mount { source, at, access: MountAccess::ReadWrite }])?;
    let masks = SandboxMasks::new(ShownFiles::of(&opened)?);
    let masked = masks.clone();
    let start = move |_: Begun| {
        let (sessions, id, masks) = (sessions.clone(), id.clone(), masked.clone());
        let mut record = record.clone();
        async move {
            // Rejects a session that shows what the policy denies.
            let walls = masks.at_start().await?;
            record.masked.extend(walls.masked);
            record.masked.sort();
            record.masked.dedup();
            record.read_only.extend(walls.read_only);
            record.read_only.sort();
            record.read_only.dedup();
            Ok(sessions.open(&id, record).await?.sandbox())
        }
    };
    Ok(Assembled::of(LazySandbox::new(work_dir, start), mounts, &opened, durability)?.masked_by(masks))
}

/// Returns the identities of the files that commands will see, which are the same that file calls see.
fn identities(opened: &[OpenMount]) -> BTreeMap<VirtualPath, InodeId> {
    opened.iter().map(|mount| (mount.at().clone(), mount.id())).collect()
}

/// The host files that commands see, at the paths of file calls. Without namespaces file calls see the directory as `/`,
/// and a rule about `/secrets` means the one in it.
#[cfg(feature = "linux")]
fn shown_by(builder: &LinuxSandboxBuilder) -> Vec<Mount> {
    match builder.directory().is_ok_and(|at| at.is_root()) {
        true => at_root(builder.options().root()),
        false => builder.shown_files(),
    }
}

/// Returns a directory as `/` of file calls.
#[cfg(feature = "linux")]
fn at_root(directory: Option<std::path::PathBuf>) -> Vec<Mount> {
    let access = MountAccess::ReadWrite;
    directory.map(|source| Mount { source, at: VirtualPath::root(), access }).into_iter().collect()
}

/// Adds the alternatives to the hint where the machine does not support a sandbox.
#[cfg(feature = "linux")]
fn with_choices(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::PermissionDenied => {
            let told = error.hint_text().map_or(String::new(), |hint| format!("{hint}; "));
            let choices = "`workden doctor` shows what this machine lacks, and a host sandbox (`--sandbox host`) runs \
                           commands without isolation";
            Error::new(error.kind(), error.sentence()).hint(format!("{told}{choices}"))
        }
        _ => error,
    }
}
