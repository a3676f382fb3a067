//! Builds a workspace from its directories, policy, approvals and sandbox.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use workden_core::{Audit, Backend, Error, ErrorKind, Gate, Result, Sandbox, VirtualPath, sandbox::MountAccess};
use workden_files::{Durability, shown_at};
use workden_policy::{PathScope, Policy, Preset, Ruleset, approvals::Approvals};
use workden_sandboxes::GitFiles;
use workden_sessions::SessionRecord;

#[cfg(feature = "linux")]
use crate::sandbox::ProjectPackages;
use crate::{
    ApprovalMode, Config, MountConfig, ProtectedNames, SessionId, UserSessions, Workspace, blocking,
    directories::{Mounted, Mounts},
    layers::{Layer, combine},
    read_only::ReadOnlyPaths,
    sandbox::SandboxKind,
    stack::{AtEnd, Parts},
};

/// Builds a [`Workspace`]. Nothing is opened or checked before [`WorkspaceBuilder::build`].
///
/// By default the workspace is in memory, nothing is refused, there are no commands, and a call that requires approval
/// is refused.
#[derive(Debug, Default)]
pub struct WorkspaceBuilder {
    root: Option<PathBuf>,
    mounts: Vec<(String, Mounted)>,
    /// The mounts of a configuration.
    configured: Vec<(String, Mounted)>,
    layers: Vec<Layer>,
    approvals: Option<Approvals>,
    /// The approval mode of each configuration.
    modes: Vec<ApprovalMode>,
    audits: Vec<Arc<dyn Audit>>,
    gates: Vec<Arc<dyn Gate>>,
    sandboxes: Vec<SandboxKind>,
    work_dir: Option<String>,
    read_only: Vec<String>,
    protected: Vec<(String, ProtectedNames)>,
    git_files: GitFiles,
    durability: Option<Durability>,
    /// Files of the host that must stay as they are.
    held: Vec<PathBuf>,
    #[cfg(feature = "linux")]
    packages: Option<crate::Packages>,
}

impl WorkspaceBuilder {
    /// Sets the directory of the host to work in. It is `/` in a workspace without commands, and the work directory of
    /// the sandbox (`/workspace`) where commands are isolated.
    #[must_use]
    pub fn root(mut self, directory: impl Into<PathBuf>) -> Self {
        self.root = Some(directory.into());
        self
    }

    /// Mounts another directory of the host at a path, for file calls and commands alike.
    #[must_use]
    pub fn mount(mut self, at: impl AsRef<str>, source: impl Into<PathBuf>, access: MountAccess) -> Self {
        self.mounts.push((at.as_ref().to_owned(), Mounted::Directory(source.into(), access)));
        self
    }

    /// Mounts any backend at a path. File calls see it, and commands do not.
    #[must_use]
    pub fn mount_backend(mut self, at: impl AsRef<str>, backend: impl Backend + 'static) -> Self {
        self.mounts.push((at.as_ref().to_owned(), Mounted::Backend(Arc::new(backend))));
        self
    }

    /// Runs commands isolated on this Linux machine, with these options. The sandbox starts with the first command.
    /// What the policy denies to read is masked in it, and file calls cannot change what programs outside run.
    ///
    /// ```
    /// use workden::{Network, Workspace};
    ///
    /// let workspace = Workspace::builder().linux(|s| s.memory("512M").network(Network::None)).build()?;
    /// assert!(!workspace.has_started());
    /// # Ok::<(), workden::Error>(())
    /// ```
    #[cfg(feature = "linux")]
    #[must_use]
    pub fn linux(
        mut self,
        options: impl FnOnce(workden_sandboxes::LinuxSandboxBuilder) -> workden_sandboxes::LinuxSandboxBuilder,
    ) -> Self {
        let builder = workden_sandboxes::LinuxSandbox::builder();
        let builder = options(builder.environment_of(workden_sandboxes::HostEnvironment::from_process()));
        self.sandboxes.push(SandboxKind::Linux(Box::new(builder), None));
        self
    }

    /// Runs commands in a container of a Docker or Podman daemon, with these options. It starts with the first
    /// command, and is protected as with [`linux`](Self::linux).
    #[cfg(feature = "docker")]
    #[must_use]
    pub fn docker(
        mut self,
        options: impl FnOnce(
            workden_sandboxes::docker::DockerSandboxBuilder,
        ) -> workden_sandboxes::docker::DockerSandboxBuilder,
    ) -> Self {
        let builder = workden_sandboxes::docker::DockerSandbox::builder();
        let builder = options(builder.environment_of(workden_sandboxes::HostEnvironment::from_process()));
        self.sandboxes.push(SandboxKind::Docker(Box::new(builder)));
        self
    }

    /// Runs commands in a pod of a Kubernetes cluster, with these options. It starts with the first command. Its files
    /// are in the cluster, so that no directory can be mounted.
    #[cfg(feature = "kubernetes")]
    #[must_use]
    pub fn kubernetes(
        mut self,
        options: impl FnOnce(
            workden_sandboxes::kubernetes::KubernetesSandboxBuilder,
        ) -> workden_sandboxes::kubernetes::KubernetesSandboxBuilder,
    ) -> Self {
        let builder = workden_sandboxes::kubernetes::KubernetesSandbox::builder();
        let builder = options(builder.environment_of(workden_sandboxes::HostEnvironment::from_process()));
        self.sandboxes.push(SandboxKind::Elsewhere(Arc::new(builder)));
        self
    }

    /// Runs commands in a sandbox of Daytona, with these options. It starts with the first command. Its files are at
    /// Daytona, so that no directory can be mounted.
    #[cfg(feature = "daytona")]
    #[must_use]
    pub fn daytona(
        mut self,
        options: impl FnOnce(
            workden_sandboxes::daytona::DaytonaSandboxBuilder,
        ) -> workden_sandboxes::daytona::DaytonaSandboxBuilder,
    ) -> Self {
        let builder = workden_sandboxes::daytona::DaytonaSandbox::builder();
        let builder = options(builder.environment_of(workden_sandboxes::HostEnvironment::from_process()));
        self.sandboxes.push(SandboxKind::Elsewhere(Arc::new(builder)));
        self
    }

    /// Runs commands on this machine without isolation, for development. A command can read and change whatever the
    /// user can; only file calls are protected.
    #[cfg(feature = "linux")]
    #[must_use]
    pub fn host(
        mut self,
        options: impl FnOnce(workden_sandboxes::HostSandboxBuilder) -> workden_sandboxes::HostSandboxBuilder,
    ) -> Self {
        let builder = workden_sandboxes::HostSandbox::builder();
        let builder = options(builder.environment_of(workden_sandboxes::HostEnvironment::from_process()));
        self.sandboxes.push(SandboxKind::Host(Box::new(builder)));
        self
    }

    /// Uses the files and commands of a sandbox that already runs. Other mounts cover its files for file calls only,
    /// and nothing in it is masked.
    #[must_use]
    pub fn remote(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.sandboxes.push(SandboxKind::Remote(sandbox));
        self
    }

    /// Runs commands in a session of the user, which is found by its id or created from this record, and goes on
    /// afterwards. Its directory is the workspace, and no other directory of the host can be mounted. A session that
    /// shows files that the policy denies is refused.
    #[must_use]
    pub fn session(mut self, sessions: UserSessions, id: SessionId, record: SessionRecord) -> Self {
        self.sandboxes.push(SandboxKind::Session(Box::new((sessions, id, record))));
        self
    }

    /// Adds the rules of a preset: for files, or for a whole machine if the workspace has a sandbox.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.layers.push(Layer::Preset(preset));
        self
    }

    /// Adds rules. The strictest of all rules and policies wins.
    #[must_use]
    pub fn rules(mut self, rules: Ruleset) -> Self {
        self.layers.push(Layer::Rules(Box::new(rules)));
        self
    }

    /// Adds a policy. The strictest of all rules and policies wins.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.layers.push(Layer::Policy(policy));
        self
    }

    /// Applies a `workden.toml`; its relative directories count from `base`, and its relative patterns from the
    /// directory to work in. If it has mounts, they are the only directories of the workspace.
    #[must_use]
    pub fn config(mut self, config: Config, base: impl AsRef<Path>) -> Self {
        let mounted = |mount: &MountConfig| {
            let access = match mount.mode {
                workden_policy::MountMode::ReadOnly => MountAccess::ReadOnly,
                workden_policy::MountMode::ReadWrite => MountAccess::ReadWrite,
            };
            (mount.at.as_str().to_owned(), Mounted::Directory(base.as_ref().join(&mount.directory), access))
        };
        self.configured.extend(config.mounts.iter().map(mounted));
        self.modes.push(config.approvals.mode);
        self.layers.push(Layer::Config(Box::new(config)));
        self
    }

    /// Reads a `workden.toml`; its relative directories count from its own.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and as [`Config::parse`], with the name of the file.
    pub fn config_file(self, file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        // Only the file name: an agent may see the error, and must not learn host paths.
        let name = file.file_name().unwrap_or_default().display();
        let text = std::fs::read_to_string(file).map_err(|error| {
            let (kind, why) = match error.kind() {
                io::ErrorKind::NotFound => (ErrorKind::NotFound, "file not found"),
                io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, "permission denied"),
                io::ErrorKind::InvalidData => (ErrorKind::NotText, "not valid UTF-8"),
                _ => (ErrorKind::Io, "reading failed"),
            };
            Error::new(kind, format!("cannot read the configuration `{name}`: {why}"))
        })?;
        let config = Config::parse(&text).map_err(|error| {
            let named = Error::new(error.kind(), format!("{name}: {}", error.sentence()));
            error.hint_text().map_or(named.clone(), |hint| named.clone().hint(hint))
        })?;
        Ok(self.config(config, file.parent().unwrap_or(Path::new(""))).hold(file))
    }

    /// Adds a file of the host that neither file calls nor commands may change where the workspace shows it, such as
    /// the configuration of the workspace. [`config_file`](Self::config_file) adds the file that it reads.
    #[must_use]
    pub fn hold(mut self, file: impl Into<PathBuf>) -> Self {
        self.held.push(file.into());
        self
    }

    /// Sets who answers when the policy asks.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Adds a gate of your own, which judges each call besides the policy: the strictest verdict wins.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gates.push(gate);
        self
    }

    /// Adds a recorder of all calls.
    #[must_use]
    pub fn audit(mut self, audit: Arc<dyn Audit>) -> Self {
        self.audits.push(audit);
        self
    }

    /// Sets where relative paths start and commands run: by default the work directory of the sandbox, or `/`.
    #[must_use]
    pub fn work_dir(mut self, at: impl AsRef<str>) -> Self {
        self.work_dir = Some(at.as_ref().to_owned());
        self
    }

    /// Adds a path that file calls may read and not change, whatever the policy and the approver say.
    #[must_use]
    pub fn read_only(mut self, at: impl AsRef<str>) -> Self {
        self.read_only.push(at.as_ref().to_owned());
        self
    }

    /// Adds names that file calls may not change in any directory below a path, whatever the policy and the approver
    /// say. [`ProtectedNames::host_executed`] are protected in every directory of the host by default.
    #[must_use]
    pub fn protected_names(mut self, below: impl AsRef<str>, names: ProtectedNames) -> Self {
        self.protected.push((below.as_ref().to_owned(), names));
        self
    }

    /// Sets whether commands and file calls may change files that git and other programs execute outside the workspace:
    /// [`GitFiles::Protected`] by default.
    #[must_use]
    pub fn git_files(mut self, git_files: GitFiles) -> Self {
        self.git_files = git_files;
        self
    }

    /// Gives the project in `root` its packages, where commands run in a sandbox of [`linux`](Self::linux): toolchains
    /// that it needs, its path, caches, and the tools of its setup. Without it a sandbox has what its options name.
    ///
    /// ```
    /// use workden::{HostEnvironment, Packages, ProjectPath, Workspace};
    ///
    /// # let project = tempfile::tempdir().unwrap();
    /// let packages = Packages::of_user(&HostEnvironment::from_process()).path(ProjectPath::Own);
    /// let workspace = Workspace::builder().root(project.path()).linux(|s| s).packages(packages).build()?;
    /// let own = project.path().canonicalize().unwrap();
    /// assert_eq!(workspace.named_directory().map(|at| at.as_str().into()), Some(own));
    /// # Ok::<(), workden::Error>(())
    /// ```
    #[cfg(feature = "linux")]
    #[must_use]
    pub fn packages(mut self, packages: crate::Packages) -> Self {
        self.packages = Some(packages);
        self
    }

    /// Sets whether a write to a directory of the host is on the disk when it returns.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Opens the directories and checks the rules. The sandbox starts with the first call that needs it.
    ///
    /// # Errors
    ///
    /// When a directory cannot be opened, two mounts have the same path, a rule is wrong, or the sandbox does not
    /// support one of its options.
    pub fn build(mut self) -> Result<Workspace> {
        let sandbox = self.sandbox_kind()?;
        #[cfg(feature = "linux")]
        let (sandbox, packages) = self.with_packages(sandbox)?;
        let inside = sandbox.as_ref().map_or_else(|| Ok(VirtualPath::root()), SandboxKind::directory)?;
        if let Some(SandboxKind::Session(session)) = &sandbox {
            self.work_in(&session.2)?;
        }
        let scope = if sandbox.is_some() { PathScope::Machine } else { PathScope::FilesOnly };
        // Patterns of a file with mounts count from the root, since there is no one project.
        let project = if self.configured.is_empty() { inside.clone() } else { VirtualPath::root() };
        let masks = sandbox.as_ref().is_some_and(SandboxKind::masks_files);
        let policy = Arc::new(combine(std::mem::take(&mut self.layers), scope, &project, masks)?);
        let mounts = self.mounts_at(&inside)?;
        if let Some(file) = self.held.iter().find(|file| mounts.shows_link_to(file)) {
            let name = file.file_name().unwrap_or_default().display();
            let sentence =
                format!("the configuration `{name}` is behind a link in the workspace, where commands can write");
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("name the file that the link leads to"));
        }
        let held: Vec<VirtualPath> = self.held.iter().flat_map(|file| shown_at(file, &mounts.directories)).collect();
        let git_files = match (self.git_files, sandbox.as_ref().map(SandboxKind::git_files)) {
            (GitFiles::Protected, Some(of_sandbox)) => of_sandbox,
            (of_workspace, _) => of_workspace,
        };
        let named = (self.read_only.as_slice(), self.protected.as_slice());
        let mut read_only = ReadOnlyPaths::of(named, &mounts, sandbox.as_ref(), git_files)?;
        read_only.paths.extend(held.iter().cloned());
        let work_dir = match (&self.work_dir, &sandbox) {
            (Some(named), _) => Some(VirtualPath::parse(named)?),
            (None, Some(sandbox)) => sandbox.work_dir(&mounts)?,
            (None, None) => Some(VirtualPath::root()),
        };
        let at_end = match &sandbox {
            Some(SandboxKind::Session(_)) => AtEnd::Leave,
            _ => AtEnd::Stop,
        };
        let timeout = sandbox.as_ref().and_then(SandboxKind::timeout);
        let shell = sandbox.as_ref().and_then(SandboxKind::shell);
        let facts = sandbox.as_ref().map(SandboxKind::facts).unwrap_or_default();
        let facts = match shell {
            Some(shell) => facts.shell(shell.name()),
            None => facts.shell("bash, or sh where there is no bash"),
        };
        let (backend, sandbox, lazy, masks) = match sandbox {
            Some(kind) => {
                let kind = kind.holding(held);
                #[cfg(feature = "linux")]
                let kind = kind.keeping(packages);
                let assembled = kind.assemble(&mounts, git_files, &policy, self.durability)?;
                (assembled.files, Some(assembled.sandbox), assembled.lazy, assembled.masks)
            }
            None => (mounts.opened(None, self.durability)?, None, None, None),
        };
        Ok(Workspace::of(Parts {
            backend,
            sandbox,
            lazy,
            masks,
            policy,
            read_only,
            approvals: answering(self.approvals, &self.modes),
            audits: self.audits,
            gates: self.gates,
            directory: work_dir,
            shell,
            timeout,
            facts,
            at_end,
        }))
    }

    fn sandbox_kind(&mut self) -> Result<Option<SandboxKind>> {
        let kind = self.sandboxes.pop();
        match self.sandboxes.is_empty() {
            true => Ok(kind),
            false => Err(Error::new(ErrorKind::InvalidArgument, "a workspace can have only one sandbox")
                .hint("call only one of `linux`, `docker`, `kubernetes`, `daytona`, `host` and `remote`")),
        }
    }

    /// Places the project of a Linux sandbox, and returns its packages with its directory.
    #[cfg(feature = "linux")]
    fn with_packages(
        &mut self,
        sandbox: Option<SandboxKind>,
    ) -> Result<(Option<SandboxKind>, Option<ProjectPackages>)> {
        let (Some(SandboxKind::Linux(builder, _)), Some(root), true) =
            (&sandbox, &self.root, self.configured.is_empty())
        else {
            return Ok((sandbox, None));
        };
        let Some(packages) = self.packages.take() else { return Ok((sandbox, None)) };
        let project = std::path::absolute(root).unwrap_or_else(|_| root.clone());
        let mut used: Vec<&str> = self.mounts.iter().map(|(at, _)| at.as_str()).collect();
        used.extend(self.read_only.iter().chain(&self.work_dir).map(String::as_str));
        used.extend(self.protected.iter().map(|(below, _)| below.as_str()));
        let is_named = self.layers.iter().any(Layer::may_name_workspace);
        used.extend(is_named.then_some("/workspace"));
        let placed = packages.place_beside((**builder).clone(), &project, &used)?;
        Ok((Some(SandboxKind::Linux(Box::new(placed), None)), Some(ProjectPackages { packages, project })))
    }

    /// Makes the directory of a session the only one: masks are for the files that its commands see.
    fn work_in(&mut self, session: &SessionRecord) -> Result<()> {
        let is_directory = |(_, mounted): &(String, Mounted)| matches!(mounted, Mounted::Directory(..));
        if self.root.is_some() || self.mounts.iter().chain(&self.configured).any(is_directory) {
            let sentence = "`root` and `mount` are not supported with a session, which has its own directory";
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("leave them out, or use another sandbox"));
        }
        self.root = session.has_directory().then(|| session.workspace.clone());
        Ok(())
    }

    fn mounts_at(&mut self, inside: &VirtualPath) -> Result<Mounts> {
        let (root, mounts) = (self.root.take(), std::mem::take(&mut self.mounts));
        if self.configured.is_empty() {
            return Mounts::of(root, inside, mounts);
        }
        if root.is_some() || !mounts.is_empty() {
            let sentence = "mounts of a configuration are not supported with directories of the builder";
            return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                .hint("leave out `root`, `mount` and `mount_backend`, or the mounts of the configuration"));
        }
        Mounts::of(None, inside, std::mem::take(&mut self.configured))
    }

    /// Does the same as [`WorkspaceBuilder::build`], for programs that do not use async.
    ///
    /// # Errors
    ///
    /// As there, and as [`blocking::Workspace::new`].
    pub fn build_blocking(self) -> Result<blocking::Workspace> {
        blocking::Workspace::new(self.build()?)
    }
}

/// The approver that the program names, unless a configuration refuses everything. `approve_all` applies only if the
/// program names no approver and every configuration says so.
fn answering(named: Option<Approvals>, modes: &[ApprovalMode]) -> Approvals {
    let all_approve = !modes.is_empty() && modes.iter().all(|mode| *mode == ApprovalMode::ApproveAll);
    match named {
        _ if modes.contains(&ApprovalMode::Strict) => Approvals::strict(),
        Some(named) => named,
        None if all_approve => Approvals::approve_all(),
        None => Approvals::none(),
    }
}
