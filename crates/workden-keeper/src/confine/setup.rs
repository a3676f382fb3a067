//! Sets a sandbox up. One process becomes two, which work side by side: the new one builds its root and becomes PID
//! 1; the other stays on the host, makes what the new one may not make, and then supervises the sandbox and cleans up
//! after it.

use std::{
    os::fd::{BorrowedFd, OwnedFd},
    path::PathBuf,
    sync::Arc,
};

use rustix::process::Pid;
use workden_core::{
    Error, VirtualPath,
    sandbox::{Confinement, Isolation, IsolationLevel, Level, Network},
};

use super::{
    errors,
    ids::{self, Ids},
    inside::{self, InitState},
    landlock_level,
    layout::{HOME, LOGS, Purpose, USER},
    limits::{self, EnforcedLimits},
    outside::OutsideSetup,
    seccomp,
    setup_channel::{self, SetupChannel},
    sources::{self, MountSource},
};
use crate::{
    cgroup::{Counted, Group, GroupPlan},
    config::{Children, KeeperConfig, Logs, OomPreference},
    offline,
    supervisor::{Owner, SandboxTies},
    sys::{
        confine::{CloneSide, clone_process, close_inherited, hold_ending_signals, new, release_ending_signals},
        exit_now,
    },
};

/// Enters a confinement. Returns in the new process, as its PID 1. The calling process becomes the supervisor and
/// returns only with an error, when there is no sandbox.
///
/// The sandbox ends with the process `owner`, if one is given.
///
/// Must be called before any thread is started and any file is opened: all descriptors but the standard streams are
/// closed.
///
/// # Errors
///
/// `Unsupported` when this machine lacks something, `LimitNotHeld` when a required limit cannot be enforced,
/// `NotFound` and others for a path that cannot be mounted; each with a hint.
pub fn enter(confinement: &Confinement, owner: Option<Pid>) -> Result<KeeperConfig, Error> {
    enter_leased(confinement, owner, None)
}

/// Like [`enter`]. Also removes `directory`, a directory of the host, when the sandbox has ended.
pub(crate) fn enter_leased(
    confinement: &Confinement,
    owner: Option<Pid>,
    directory: Option<PathBuf>,
) -> Result<KeeperConfig, Error> {
    close_inherited();
    enter_from(confinement, owner, directory)
}

/// Like [`enter`], without closing descriptors.
pub(crate) fn enter_with_open_files(confinement: &Confinement, owner: Option<Pid>) -> Result<KeeperConfig, Error> {
    enter_from(confinement, owner, None)
}

fn enter_from(
    confinement: &Confinement,
    owner: Option<Pid>,
    directory: Option<PathBuf>,
) -> Result<KeeperConfig, Error> {
    // From here on this process makes what has to be removed again, so no signal may end it before it supervises.
    hold_ending_signals().map_err(|errno| errors::refused("hold signals", errno))?;
    if confinement.level == Level::Landlock {
        return landlock_level::enter(confinement, owner, directory);
    }
    let owner = owner.map(Owner::open).transpose()?;
    match begin(confinement, Purpose::Keeper)? {
        SetupSide::Inside(inside) => {
            drop(owner);
            // Best effort: PID 1 of a namespace gets no signal that it does not handle.
            let _ = release_ending_signals();
            Ok(inside.finish(confinement, Purpose::Keeper).0)
        }
        SetupSide::Outside(outside) => {
            Err(outside.oversee(confinement, Purpose::Keeper, SandboxTies { owner, directory }, &[]))
        }
    }
}

/// The two processes of a setup.
pub(crate) enum SetupSide {
    /// The process that becomes PID 1.
    Inside(InsideSetup),
    /// The calling process, with what it makes for the other.
    Outside(Box<OutsideSetup>),
}

/// The process that becomes PID 1, before its root is built.
pub(crate) struct InsideSetup {
    ids: Ids,
    sources: Vec<MountSource>,
    supervisor: SetupChannel,
}

/// Forks the new process. From here on the two work side by side.
pub(crate) fn begin(confinement: &Confinement, purpose: Purpose) -> Result<SetupSide, Error> {
    let ids = Ids::of_this_process()?;
    let sources = sources::look_up(confinement)?;
    let counted = match purpose {
        Purpose::Keeper => Counted::Usage,
        Purpose::OneCommand => Counted::Hits,
    };
    let groups = GroupPlan::new(limits::for_group(&confinement.limits), counted, ids.on_host().0);
    // With version 2 the keeper starts in a group, which must exist before it.
    let group = groups.has_room_for_keeper().then(|| groups.make());
    let (here, there) = setup_channel::pair()?;
    let keeper = group.as_ref().and_then(Group::keeper);
    match clone_process(namespaces(confinement, ids, keeper.is_some()), keeper) {
        Ok(CloneSide::Child) => {
            drop((here, group));
            Ok(SetupSide::Inside(InsideSetup { ids, sources, supervisor: there }))
        }
        Ok(CloneSide::Parent(first, process)) => {
            let owners = sources.iter().map(MountSource::owner).collect();
            Ok(SetupSide::Outside(Box::new(OutsideSetup { first, process, link: here, ids, owners, groups, group })))
        }
        Err(errno) => {
            if let Some(mut group) = group {
                group.take_made().remove();
            }
            Err(match ids {
                Ids::OfSandbox(_) => errors::refused("create namespaces", errno),
                Ids::OfStarter { .. } => ids::why_no_user_namespace(errno),
            })
        }
    }
}

impl InsideSetup {
    /// Returns the descriptor that must stay open.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.supervisor.descriptor()
    }

    /// Becomes PID 1 of a finished sandbox, or reports the reason to the supervisor and exits. The returned
    /// descriptor is the channel to the supervisor, for the last message of a one-shot sandbox.
    pub(crate) fn finish(self, confinement: &Confinement, purpose: Purpose) -> (KeeperConfig, OwnedFd) {
        let Self { ids, sources, supervisor } = self;
        let finished = inside::become_first(confinement, purpose, ids, sources, &supervisor).and_then(|first| {
            let enforced = limits::enforce(&confinement.limits, &first.group)?;
            let config = config(confinement, purpose, enforced, first)?;
            supervisor.ready().map(|()| config)
        });
        match finished {
            Ok(config) => (config, supervisor.into_descriptor()),
            Err(error) => {
                supervisor.failed(&error);
                exit_now(1)
            }
        }
    }
}

/// Returns the namespaces of the new process. When root starts it, the user namespace comes later, after the steps
/// that need root, and the supervisor makes the network namespace: the kernel takes as long for it as the new process
/// takes for its root.
fn namespaces(confinement: &Confinement, ids: Ids, keeper_in_group: bool) -> u64 {
    let mut flags = new::MOUNT | new::PID | new::IPC | new::UTS;
    if let Ids::OfStarter { .. } = ids {
        flags |= new::USER;
        if confinement.network == Network::None {
            flags |= new::NETWORK;
        }
    }
    // A cgroup namespace would start at the keeper's group, and the commands' group is its sibling.
    if !keeper_in_group {
        flags |= new::CGROUP;
    }
    flags
}

/// Returns the configuration of commands.
fn config(
    confinement: &Confinement,
    purpose: Purpose,
    enforced: EnforcedLimits,
    first: InitState,
) -> Result<KeeperConfig, Error> {
    let InitState { walls, logs, group } = first;
    let mut environment = confinement.environment.clone();
    for (name, value) in [
        ("HOME", HOME),
        ("USER", USER),
        ("LOGNAME", USER),
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ] {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    offline::add_settings(&mut environment, confinement.network);
    let logs = match logs {
        Some(directory) => Logs::Shown { directory: Arc::new(directory), at: VirtualPath::parse(LOGS)? },
        None => Logs::Unseen("/tmp".into()),
    };
    Ok(KeeperConfig {
        files_root: "/".into(),
        directory: confinement.directory.as_str().into(),
        logs,
        environment,
        rlimits: enforced.rlimits,
        join: group.join,
        last_filter: match purpose {
            Purpose::Keeper => seccomp::for_commands(),
            Purpose::OneCommand => seccomp::for_one_command(),
        },
        domain: None,
        watch: Some(Arc::new(group.watch)),
        oom_preference: OomPreference::Default,
        children: Children::CommandsOnly,
        wall_clock: confinement.limits.wall_clock.map(|limit| limit.value),
        idle: confinement.limits.idle.map(|limit| limit.value),
        network: confinement.network,
        limits: confinement.limits.clone(),
        isolation: Isolation::new(IsolationLevel::Namespaces)
            .walls(walls.standing)
            .lacking(walls.lacking)
            .limits(enforced.reports),
    })
}
