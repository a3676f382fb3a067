//! Entering a confinement: namespaces, a root of its own, ids, and no rights. What `Confinement`
//! says is carried out here, or refused with the reason; never carried out in part.
//!
//! One process becomes two. The caller stays outside, on the host, as the supervisor that ends and
//! tidies up the sandbox; the new process is its PID 1 and goes on as the keeper.

mod calls;
mod cover;
mod devices;
mod errors;
mod etc;
mod filter;
mod ids;
mod inside;
mod landlock;
mod landlocked;
mod limits;
mod link;
mod privileges;
mod probe;
mod procfs;
mod programs;
mod root;
mod scratch;
mod seccomp;
mod sources;
mod trees;

use std::sync::Arc;

pub(crate) use self::landlocked::Scratch;
pub use self::{
    landlocked::{LACKS as LANDLOCK_LEVEL_LACKS, OLDEST_VERSION as LANDLOCK_LEVEL_VERSION},
    probe::{landlock_version, probe},
};
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, waitpid};
use workden_core::{
    Error,
    sandbox::{Confinement, Isolation, IsolationLevel, Level, Network},
};

use self::{
    ids::{Ids, Owners},
    inside::Walls,
    limits::Holding,
    link::{Link, Said},
};
use crate::{
    Setting,
    cgroup::Group,
    setting::Children,
    supervisor::{self, Left},
    sys::{
        confine::{Cloned, clone_process, close_inherited, new},
        exit_now,
    },
};

/// Enters a confinement. Returns in the new process, PID 1 of it; the calling process becomes the
/// supervisor and returns only with an error, when there will be no sandbox.
///
/// `owner` is the process with which the sandbox ends, if it ends with one.
///
/// To be called before any thread is started and anything is opened: all descriptors but the
/// standard streams are closed.
///
/// # Errors
///
/// `Unsupported` when this machine cannot give what was asked, `NotFound` and others for a place
/// that cannot be shown; each with a hint.
pub fn enter(confinement: &Confinement, owner: Option<Pid>) -> Result<Setting, Error> {
    close_inherited();
    enter_with_open_files(confinement, owner)
}

/// The same, with whatever is open.
pub(crate) fn enter_with_open_files(confinement: &Confinement, owner: Option<Pid>) -> Result<Setting, Error> {
    if confinement.level == Level::Landlock {
        return landlocked::enter(confinement, owner);
    }
    let owner = owner.map(supervisor::Owner::open).transpose()?;
    let ids = Ids::of_this_process()?;
    let sources = sources::look_up(confinement)?;
    let mut owners = Owners::default();
    for source in &sources {
        source.prepare(ids, &mut owners)?;
    }
    let mut group = Group::make(limits::for_group(&confinement.limits), ids.on_host().0);
    let groups = group.take_made();
    let holding = match limits::hold(&confinement.limits, &group) {
        Ok(holding) => holding,
        Err(error) => {
            groups.remove();
            return Err(error);
        }
    };
    let (here, there) = link::link()?;
    match clone_process(namespaces(confinement, ids, &group), group.keeper()) {
        Ok(Cloned::Child) => {
            drop((here, owner));
            let finished = inside::become_first(confinement, ids, sources, &owners, &there)
                .map(|walls| setting(confinement, group, holding, walls))
                .and_then(|setting| there.ready().map(|()| setting));
            finished.or_else(|error| {
                there.failed(&error);
                exit_now(1)
            })
        }
        Ok(Cloned::Parent(first, process)) => {
            drop((there, owners, group, holding));
            if let Err(error) = wait_until_ready(&here, first, ids) {
                let _ = pidfd_send_signal(&process, Signal::KILL);
                let _ = waitpid(Some(first), WaitOptions::empty());
                groups.remove();
                return Err(error);
            }
            drop(here);
            let wall_clock = confinement.limits.wall_clock.map(|limit| limit.value);
            supervisor::supervise(supervisor::Charge { first, process, owner, wall_clock, groups, left: Left::Nothing })
        }
        Err(errno) => {
            groups.remove();
            Err(match ids {
                Ids::OfSandbox(_) => errors::refused("namespaces of its own", errno),
                Ids::OfStarter { .. } => ids::why_no_user_namespace(errno),
            })
        }
    }
}

/// Answers the new process until it is ready.
fn wait_until_ready(process: &Link, pid: Pid, ids: Ids) -> Result<(), Error> {
    loop {
        match process.hear() {
            Said::WantsIds => {
                ids::map_for(pid, ids)?;
                process.ids_are_mapped()?;
            }
            Said::Ready => return Ok(()),
            Said::Failed(error) => return Err(error),
        }
    }
}

/// The namespaces that the new process has from the start. Root's process leaves the user namespace
/// later, when root's rights have done their work.
fn namespaces(confinement: &Confinement, ids: Ids, group: &Group) -> u64 {
    let mut flags = new::MOUNT | new::PID | new::IPC | new::UTS;
    if confinement.network == Network::None {
        flags |= new::NETWORK;
    }
    if let Ids::OfStarter { .. } = ids {
        flags |= new::USER;
    }
    // A namespace of groups would begin where the keeper is, and its commands are beside that.
    if group.keeper().is_none() {
        flags |= new::CGROUP;
    }
    flags
}

/// What commands are started with.
fn setting(confinement: &Confinement, group: Group, holding: Holding, walls: Walls) -> Setting {
    let mut environment = confinement.environment.clone();
    for (name, value) in [
        ("HOME", etc::HOME),
        ("USER", etc::USER),
        ("LOGNAME", etc::USER),
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ] {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    Setting {
        files_root: "/".into(),
        directory: confinement.directory.as_str().into(),
        logs: scratch::LOGS.into(),
        environment,
        rlimits: holding.rlimits,
        join: group.join,
        last_filter: seccomp::for_commands(),
        domain: None,
        watch: Some(Arc::new(group.watch)),
        children: Children::CommandsOnly,
        wall_clock: confinement.limits.wall_clock.map(|limit| limit.value),
        idle: confinement.limits.idle.map(|limit| limit.value),
        limits: confinement.limits.clone(),
        isolation: Isolation {
            level: IsolationLevel::Namespaces,
            walls: walls.standing,
            lacking: walls.lacking,
            limits: holding.reports,
        },
    }
}
