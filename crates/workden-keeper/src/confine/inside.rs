//! The steps of the new process until it is PID 1 of a finished sandbox, in order: read the host, build a root, leave
//! the host, drop all privileges, and install the filters.

use std::os::fd::OwnedFd;

use rustix::{fs::Mode, process::umask, system::sethostname, thread::set_thread_groups};
use workden_core::{
    Error,
    sandbox::{Confinement, MountAccess, Network, Wall, WorkFiles},
};

use super::{
    detached_mounts::attach,
    devices,
    errors::{at_place, refused},
    etc::SyntheticFiles,
    git_links,
    ids::{self, Ids},
    inotify::NamespaceLimits,
    landlock::{self, Landlock},
    layout::{HOME, HOST_NAME, LOGS, Purpose},
    limits::raise_ceiling_for_cores,
    network, privileges, procfs, programs, protected_paths,
    root::{self, NewRoot},
    scratch, seccomp,
    setup_channel::SetupChannel,
    sources::{self, MountSource},
};
use crate::{cgroup::Group, sys::new_session};

/// Makes this process, which has its namespaces already, the PID 1 of the sandbox.
pub(super) fn become_first(
    confinement: &Confinement,
    purpose: Purpose,
    ids: Ids,
    sources: Vec<MountSource>,
    supervisor: &SetupChannel,
) -> Result<InitState, Error> {
    // A new session has no controlling terminal into which a command could type. A keeper needs one session for all
    // of its commands. A single command gets its own before it starts; this process only waits for it, and the
    // scheduler would queue a new session behind all others.
    if purpose == Purpose::Keeper {
        new_session().map_err(|errno| refused("create a session", errno))?;
    }
    umask(Mode::from_raw_mode(0o022));
    raise_ceiling_for_cores();
    match ids {
        Ids::OfStarter { .. } => ids::map_own(ids)?,
        Ids::OfSandbox(_) => {
            set_thread_groups(&[]).map_err(|errno| refused("leave the supplementary groups", errno))?
        }
    }
    let of_namespace = NamespaceLimits::open();
    let logs = build_root(confinement, purpose, ids, sources, supervisor)?;
    sethostname(HOST_NAME.as_bytes()).map_err(|errno| refused("set the host name", errno))?;
    match (confinement.network, ids) {
        (Network::None, Ids::OfSandbox(_)) => network::enter(&supervisor.receive_network()?)?,
        (Network::None, Ids::OfStarter { .. }) => network::raise_loopback()?,
        (Network::Host, _) => {}
    }
    if let Ids::OfSandbox(_) = ids {
        ids::enter(&supervisor.receive_user_namespace()?)?;
    }
    let unlimited = of_namespace.limit_inotify();
    privileges::drop_all(ids)?;
    let mut walls = close_doors(confinement, purpose)?;
    walls.lacking.extend(unlimited);
    privileges::protect()?;
    // The control groups come last: they take the supervisor longest to make.
    let group = supervisor.receive_group()?;
    Ok(InitState { walls, logs, group })
}

/// The results of the setup.
pub(super) struct InitState {
    pub(super) walls: Walls,
    /// The directory of logs, writable, if there is one.
    pub(super) logs: Option<OwnedFd>,
    pub(super) group: Group,
}

/// The walls that hold, and those that are missing.
pub(super) struct Walls {
    pub(super) standing: Vec<Wall>,
    pub(super) lacking: Vec<String>,
}

/// Installs Landlock and the seccomp filter, in the finished root.
fn close_doors(confinement: &Confinement, purpose: Purpose) -> Result<Walls, Error> {
    let mut standing = vec![
        Wall::UserNamespace,
        Wall::MountNamespace,
        Wall::PidNamespace,
        Wall::IpcNamespace,
        Wall::UtsNamespace,
        Wall::NoCapabilities,
        Wall::Seccomp,
        Wall::ProtectedKeeper,
    ];
    let mut lacking = Vec::new();
    match confinement.network {
        Network::None => standing.push(Wall::NetworkNamespace),
        Network::Host => lacking.push("commands can use the host's network, including its loopback".to_owned()),
    }
    let mut writable = vec!["/tmp", "/dev/shm", HOME, LOGS, confinement.directory.as_str()];
    let mounts = confinement.mounts.iter().filter(|mount| mount.access == MountAccess::ReadWrite);
    writable.extend(mounts.map(|mount| mount.at.as_str()));
    match landlock::restrict(&writable)? {
        Landlock::Full => standing.push(Wall::Landlock),
        Landlock::Part => {
            standing.push(Wall::Landlock);
            lacking.push("the Landlock of this kernel is too old to block signals and sockets".to_owned());
        }
        Landlock::Nothing => lacking.push("this kernel has no Landlock: files have no second wall".to_owned()),
    }
    match purpose {
        Purpose::Keeper => seccomp::install()?,
        // The command gets both filters in one.
        Purpose::OneCommand => {}
    }
    Ok(Walls { standing, lacking })
}

/// Builds the root and changes to it. Returns the directory of logs, writable.
fn build_root(
    confinement: &Confinement,
    purpose: Purpose,
    ids: Ids,
    sources: Vec<MountSource>,
    supervisor: &SetupChannel,
) -> Result<Option<OwnedFd>, Error> {
    root::cut_off()?;
    let programs = programs::gather(&confinement.root)?;
    let devices = devices::gather()?;
    let files = SyntheticFiles::of(confinement);
    let shown = sources::clone_all(sources)?;

    let root = NewRoot::new(ids)?;
    let empty = protected_paths::EmptyMounts::new(&root).map_err(|errno| refused("create the root", errno))?;
    programs.place(&root, &files)?;
    devices.place(&root)?;
    procfs::place(&root, &empty)?;
    scratch::place(&root, ids, confinement.limits.tmp_size.map(|limit| limit.value))?;
    let logs = scratch::logs(&root, purpose, ids)?;
    if let WorkFiles::Ephemeral { most_bytes } = confinement.work {
        scratch::workspace(&root, ids, confinement.directory.as_str(), most_bytes)?;
    }
    let owners = supervisor.receive_owners()?;
    for source in shown {
        source.map(&owners)?;
        let at = source.at.as_str();
        root.place_for(at, source.kind)
            .and_then(|place| attach(source.tree, place))
            .map_err(|errno| at_place(at, errno))?;
    }
    root.enter()?;
    protected_paths::make_read_only(&confinement.read_only)?;
    git_links::protect(&confinement.git_links, ids)?;
    empty.mask(&confinement.masked)?;
    root::seal()?;
    Ok(logs)
}
