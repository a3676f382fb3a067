//! A sandbox without namespaces, for where nobody may make any: Landlock around files, sockets and
//! signals, a filter of system calls around what Landlock leaves open, and a user without rights.
//! Nobody gets it who does not name it (`Level::Landlock`).
//!
//! Two sets of rules. The keeper and all that come from it are under one that lets no signal and no
//! connection out, so that commands reach each other and nobody else. Every command is under one of
//! files and ports besides, which the keeper and the reapers are not.
//!
//! Invariant: the supervisor is under neither and out of reach, and every descendant of the keeper is
//! its own, in the end. Whoever kills a reaper, or finds a way to kill the keeper, ends what they
//! started themselves, and nothing outlives the sandbox.

mod limits;
mod paths;
pub(super) mod privileges;
mod rules;
pub(super) mod scratch;
mod syscalls;

use rustix::{
    fs::Mode,
    process::{Pid, Signal, WaitOptions, getpid, pidfd_send_signal, set_child_subreaper, setsid, umask, waitpid},
};
use workden_core::{
    Error,
    sandbox::{Confinement, Isolation, IsolationLevel, Network, Wall},
};

use self::{paths::LandlockPaths, privileges::CommandUser, scratch::Scratch};
use super::{
    errors::refused,
    landlock::check_version,
    limits::{EnforcedLimits, raise_ceiling_for_cores},
    seccomp, setup_channel,
};
use crate::{
    cgroup::{Counted, Group, GroupPlan},
    config::{Children, KeeperConfig, Logs},
    supervisor::{self, Leftovers},
    sys::{
        confine::{CloneSide, clone_process, landlock_version},
        exit_now,
    },
};

/// What this level does not hold, each in a sentence.
pub const LACKS: [&str; 5] = [
    "commands have no root, users, processes, host name and network of their own: they run on this machine's paths, as \
     one of its users",
    "that files outside exist, their sizes and times can be asked for by name, though they can be neither read nor listed",
    "modes and times of files outside can be changed where the user may change them",
    "nothing inside of the workspace can be read-only or masked, `.git/hooks` and `.git/config` included",
    "a command that sets out to can end the whole sandbox, itself included: its keeper is a process of the same user",
];

/// Enters a confinement of this level. Returns in the new process, the keeper-to-be; the calling process
/// becomes the supervisor and returns only with an error.
pub(super) fn enter(
    confinement: &Confinement,
    owner: Option<Pid>,
    directory: Option<std::path::PathBuf>,
) -> Result<KeeperConfig, Error> {
    check_version(landlock_version())?;
    let owner = owner.map(supervisor::Owner::open).transpose()?;
    let places = LandlockPaths::look_up(confinement)?;
    let user = CommandUser::for_directory(places.owner)?;
    let mut group = GroupPlan::new(super::limits::for_group(&confinement.limits), Counted::Usage, user.ids().0).make();
    let groups = group.take_made();
    let prepared = limits::hold(&confinement.limits, &group)
        .and_then(|holding| Ok((holding, Scratch::make(user.ids())?, setup_channel::pair()?)));
    let (holding, scratch, (here, there)) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            groups.remove();
            return Err(error);
        }
    };
    // What the keeper leaves behind when it is killed comes to this process.
    let cloned = set_child_subreaper(Some(getpid())).and_then(|()| clone_process(0, group.keeper()));
    match cloned {
        Ok(CloneSide::Child) => {
            drop((here, owner));
            become_keeper(confinement, &places, user, &scratch)
                .map(|domain| config(confinement, &places, &scratch, (group, holding), domain))
                .and_then(|config| there.ready().map(|()| config))
                .or_else(|error| {
                    there.failed(&error);
                    exit_now(1)
                })
        }
        Ok(CloneSide::Parent(first, process)) => {
            drop((there, group, holding));
            if let Err(error) = here.wait_until_ready() {
                let _ = pidfd_send_signal(&process, Signal::KILL);
                let _ = waitpid(Some(first), WaitOptions::empty());
                scratch.remove();
                groups.remove();
                return Err(error);
            }
            drop(here);
            let wall_clock = confinement.limits.wall_clock.map(|limit| limit.value);
            let left = Leftovers::Descendants { remove_files: Box::new(|| scratch.remove()) };
            supervisor::supervise(supervisor::SupervisedSandbox {
                first,
                process,
                last_word: None,
                owner,
                wall_clock,
                groups,
                left,
                directory,
            })
        }
        Err(errno) => {
            scratch.remove();
            groups.remove();
            Err(refused("a process", errno))
        }
    }
}

/// Lets go of every right, and makes the rules that commands will be under.
fn become_keeper(
    confinement: &Confinement,
    places: &LandlockPaths,
    user: CommandUser,
    scratch: &Scratch,
) -> Result<std::os::fd::OwnedFd, Error> {
    // A session of its own has no terminal that a command could type into.
    setsid().map_err(|errno| refused("a session of its own", errno))?;
    umask(Mode::from_raw_mode(0o022));
    raise_ceiling_for_cores();
    set_child_subreaper(Some(getpid())).map_err(|errno| refused("adopting orphans", errno))?;
    privileges::let_go(user)?;
    rules::keep_signals_in()?;
    let domain = rules::domain(places, scratch, confinement.network)?;
    seccomp::install()?;
    super::privileges::protect()?;
    Ok(domain)
}

/// What commands are started with.
fn config(
    confinement: &Confinement,
    places: &LandlockPaths,
    scratch: &Scratch,
    (group, holding): (Group, EnforcedLimits),
    domain: std::os::fd::OwnedFd,
) -> KeeperConfig {
    let mut environment = confinement.environment.clone();
    for (name, place) in [("HOME", scratch.home()), ("TMPDIR", scratch.tmp())] {
        environment.entry(name.to_owned()).or_insert_with(|| place.display().to_string());
    }
    // To git a file that it may not read is an error, and one that is not there is none.
    environment.entry("GIT_CONFIG_NOSYSTEM".to_owned()).or_insert_with(|| "1".to_owned());
    environment
        .entry("PATH".to_owned())
        .or_insert_with(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
    let mut lacking: Vec<String> = LACKS.map(str::to_owned).into();
    if confinement.network == Network::Host {
        lacking.push("commands reach whatever the host reaches, its own loopback included".to_owned());
    }
    KeeperConfig {
        rlimits: holding.rlimits,
        join: group.join,
        logs: Logs::Unseen(scratch.logs()),
        last_filter: syscalls::for_commands(confinement.network, getpid()),
        domain: Some(domain),
        watch: Some(std::sync::Arc::new(group.watch)),
        children: Children::CommandsOnly,
        wall_clock: confinement.limits.wall_clock.map(|limit| limit.value),
        idle: confinement.limits.idle.map(|limit| limit.value),
        limits: confinement.limits.clone(),
        isolation: Isolation {
            level: IsolationLevel::Landlock,
            walls: vec![Wall::NoCapabilities, Wall::Seccomp, Wall::Landlock],
            lacking,
            limits: holding.reports,
        },
        ..KeeperConfig::host(&places.work, environment)
    }
}
