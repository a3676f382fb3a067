//! A sandbox without namespaces, for machines that forbid them: Landlock around files, sockets and signals, a seccomp
//! filter for what Landlock does not cover, and an unprivileged user. It has to be chosen by name
//! (`Level::Landlock`).
//!
//! There are two rulesets. The keeper and all its descendants are under one that blocks signals and connections to
//! the outside, so that commands reach only each other. Commands are under a second one about files and ports, which
//! the keeper and the reapers are not.
//!
//! Invariant: the supervisor is under neither and out of reach, and adopts every descendant of the keeper in the end.
//! A command that kills its reaper or the keeper ends its own processes, and nothing outlives the sandbox.

mod limits;
mod paths;
pub(super) mod privileges;
mod rules;
pub(super) mod scratch;
mod syscalls;

use rustix::{
    fs::Mode,
    process::{Pid, Signal, WaitOptions, getpid, pidfd_send_signal, set_child_subreaper, umask, waitpid},
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
    offline,
    supervisor::{self, Leftovers},
    sys::{
        confine::{CloneSide, clone_process, landlock_version, release_ending_signals},
        exit_now, new_session,
    },
};

/// The gaps of this level, each in a sentence.
pub const LACKS: [&str; 5] = [
    "commands share root, users, processes, host name and network with this machine, and run as one of its users",
    "commands can query existence, size and times of files outside by name, though they can neither read nor list them",
    "commands can change modes and times of files outside where the user may",
    "no path inside of the workspace can be read-only or masked, `.git/hooks` and `.git/config` included",
    "a command can end the whole sandbox, itself included: the keeper is a process of the same user",
];

/// Enters a confinement of this level. Returns in the new process, which becomes the keeper; the calling process
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
    let prepared = limits::enforce(&confinement.limits, &group)
        .and_then(|enforced| Ok((enforced, Scratch::make(user.ids())?, setup_channel::pair()?)));
    let (enforced, scratch, (here, there)) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            groups.remove();
            return Err(error);
        }
    };
    // Processes that a killed keeper leaves are adopted by this process.
    let cloned = set_child_subreaper(Some(getpid())).and_then(|()| clone_process(0, group.keeper()));
    match cloned {
        Ok(CloneSide::Child) => {
            drop((here, owner));
            // Best effort: a keeper that holds them is ended by its supervisor all the same.
            let _ = release_ending_signals();
            become_keeper(confinement, &places, user, &scratch)
                .map(|domain| config(confinement, &places, &scratch, (group, enforced), domain))
                .and_then(|config| there.ready().map(|()| config))
                .or_else(|error| {
                    there.failed(&error);
                    exit_now(1)
                })
        }
        Ok(CloneSide::Parent(first, process)) => {
            drop((there, group, enforced, places));
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
            Err(refused("start a process", errno))
        }
    }
}

/// Drops all privileges, and creates the ruleset of commands.
fn become_keeper(
    confinement: &Confinement,
    places: &LandlockPaths,
    user: CommandUser,
    scratch: &Scratch,
) -> Result<std::os::fd::OwnedFd, Error> {
    // A new session has no controlling terminal into which a command could type.
    new_session().map_err(|errno| refused("create a session", errno))?;
    umask(Mode::from_raw_mode(0o022));
    raise_ceiling_for_cores();
    set_child_subreaper(Some(getpid())).map_err(|errno| refused("adopt orphans", errno))?;
    privileges::drop_all(user)?;
    rules::keep_signals_in()?;
    let domain = rules::domain(places, scratch, confinement.network)?;
    seccomp::install()?;
    super::privileges::protect()?;
    Ok(domain)
}

/// Returns the configuration of commands.
fn config(
    confinement: &Confinement,
    places: &LandlockPaths,
    scratch: &Scratch,
    (group, enforced): (Group, EnforcedLimits),
    domain: std::os::fd::OwnedFd,
) -> KeeperConfig {
    let mut environment = confinement.environment.clone();
    for (name, place) in [("HOME", scratch.home()), ("TMPDIR", scratch.tmp())] {
        environment.entry(name.to_owned()).or_insert_with(|| place.display().to_string());
    }
    // Git fails on a file that it may not read, and ignores one that does not exist.
    environment.entry("GIT_CONFIG_NOSYSTEM".to_owned()).or_insert_with(|| "1".to_owned());
    environment
        .entry("PATH".to_owned())
        .or_insert_with(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
    offline::add_settings(&mut environment, confinement.network);
    if let Some(identity) = &confinement.git_identity {
        // The system's configuration is that of the host here. Without the file git asks for an identity.
        let _ = std::fs::write(scratch.home().join(".gitconfig"), identity.config_text());
    }
    let mut lacking: Vec<String> = LACKS.map(str::to_owned).into();
    if confinement.network == Network::Host {
        lacking.push("commands can use the host's network, including its loopback".to_owned());
    }
    KeeperConfig {
        rlimits: enforced.rlimits,
        join: group.join,
        logs: Logs::Unseen(scratch.logs()),
        last_filter: syscalls::for_commands(confinement.network, getpid()),
        domain: Some(domain),
        watch: Some(std::sync::Arc::new(group.watch)),
        children: Children::CommandsOnly,
        wall_clock: confinement.limits.wall_clock.map(|limit| limit.value),
        idle: confinement.limits.idle.map(|limit| limit.value),
        network: confinement.network,
        limits: confinement.limits.clone(),
        isolation: Isolation::new(IsolationLevel::Landlock)
            .walls(vec![Wall::NoCapabilities, Wall::Seccomp, Wall::Landlock])
            .lacking(lacking)
            .limits(enforced.reports),
        ..KeeperConfig::host(&places.work, environment)
    }
}
