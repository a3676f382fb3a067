//! Puts the sandbox and the files of a workspace together, for each kind whose files are on this machine.
//!
//! Invariant: a sandbox that this module starts masks every file that its policies deny to read at that time. It starts
//! with the first call that needs it, at most once at a time.

#[cfg(any(feature = "docker", feature = "linux"))]
use std::collections::BTreeMap;
use std::sync::Arc;
#[cfg(feature = "linux")]
use std::sync::{Mutex, PoisonError};

#[cfg(any(feature = "docker", feature = "linux"))]
use workden_core::sandbox::InodeId;
use workden_core::{
    Backend, Result, Sandbox, VirtualPath,
    sandbox::{Mount, MountAccess},
};
#[cfg(feature = "linux")]
use workden_core::{Error, ErrorKind};
use workden_files::{OpenMount, open_mounts};
#[cfg(any(feature = "docker", feature = "linux"))]
use workden_sandboxes::GitFiles;
#[cfg(feature = "docker")]
use workden_sandboxes::docker::{DockerSandbox, DockerSandboxBuilder};
use workden_sandboxes::{Begun, LazySandbox, SessionId};
#[cfg(feature = "linux")]
use workden_sandboxes::{HostSandboxBuilder, LinuxSandboxBuilder};
use workden_sessions::SessionRecord;

#[cfg(feature = "linux")]
use crate::{
    PackagesInUse,
    sandbox::{ProjectPackages, shown_by},
};
use crate::{UserSessions, directories::Mounts, masks::ShownFiles, sandbox_masks::SandboxMasks};

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

impl Assembled {
    /// Files directly from the directories that commands see; everything else from the running sandbox.
    pub(crate) fn of(
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
pub(crate) fn linux(
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
pub(crate) fn host(
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
pub(crate) fn docker(
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

pub(crate) fn in_session(
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
#[cfg(any(feature = "docker", feature = "linux"))]
fn identities(opened: &[OpenMount]) -> BTreeMap<VirtualPath, InodeId> {
    opened.iter().map(|mount| (mount.at().clone(), mount.id())).collect()
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
