//! The sandbox that a command runs in, as the options say.

use std::collections::BTreeMap;

use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{Level, MountAccess, Network},
};
use workden_sandboxes::{
    HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox, LinuxSandboxBuilder,
    docker::{DockerSandbox, DockerSandboxBuilder},
    sessions::{KeptSession, SessionId},
};

use super::{
    Doing, Ending, Machine, Shown,
    arguments::{Kind, LevelArgument, LimitsHeld, RunArguments},
    typed::{self, VariableArgument},
};
use crate::{
    containers::{Installed, Net},
    sessions::{Kept, SessionKind, Wanted},
    signals::ToldToEnd,
};

/// The sandbox that a command runs in.
pub(super) enum Place {
    Linux(LinuxSandbox),
    Host(HostSandbox),
    Docker(DockerSandbox),
    /// Somebody's session, which goes on.
    Kept(KeptSession),
}

impl Place {
    pub(super) async fn start(arguments: &RunArguments, told: &mut ToldToEnd) -> std::result::Result<Self, Ending> {
        if let Some(id) = &arguments.session {
            return session(arguments, id, told).await.map(Self::Kept);
        }
        let host = HostEnvironment::from_process();
        match arguments.sandbox {
            Kind::Linux => {
                let plan = linux(arguments, host).map_err(Ending::Refused)?;
                plan.start().await.map(Self::Linux).map_err(Ending::Refused)
            }
            Kind::Host => on_host(arguments, host).await.map(Self::Host).map_err(Ending::Refused),
            Kind::Docker => in_container(arguments, &host, told).await.map(Self::Docker),
        }
    }

    pub(super) fn sandbox(&self) -> &dyn Sandbox {
        match self {
            Self::Linux(sandbox) => sandbox,
            Self::Host(sandbox) => sandbox,
            Self::Docker(sandbox) => sandbox,
            Self::Kept(session) => session.placed.sandbox.as_ref(),
        }
    }

    /// Ends it, and all that still runs in it; but for a session.
    pub(super) async fn close(self) {
        match self {
            Self::Linux(sandbox) => sandbox.close().await,
            Self::Host(sandbox) => sandbox.close().await,
            Self::Kept(session) => drop(session),
            Self::Docker(sandbox) => {
                // What the daemon does not hear now it does when its lease is over.
                let _ = sandbox.stop().await;
            }
        }
    }
}

/// A Linux sandbox to be, as the options say.
pub(super) fn linux(arguments: &RunArguments, host: HostEnvironment) -> Result<LinuxSandboxBuilder> {
    let mut sandbox = LinuxSandbox::builder()
        .keeper(KeeperProgram::this_program())
        .directory(root(arguments, &host)?)
        .level(arguments.level.map(Level::from).unwrap_or_default())
        .environment_of(host)
        .network(arguments.net.as_ref().map_or(Ok(Network::None), Net::without_daemon)?);
    for mount in &arguments.mount {
        sandbox = sandbox.mount(&mount.source, mount.at.clone(), mount.access);
    }
    for variable in &arguments.env {
        sandbox = match variable {
            VariableArgument::Set(name, value) => sandbox.variable(name, value),
            VariableArgument::Passed(name) => sandbox.pass_variable(name),
        };
    }
    for name in &arguments.toolchain {
        sandbox = sandbox.toolchain(name);
    }
    if let Some(bytes) = arguments.memory {
        sandbox = sandbox.memory(bytes);
    }
    if let Some(cpus) = arguments.cpus {
        sandbox = sandbox.cpus(cpus);
    }
    if let Some(most) = arguments.pids {
        sandbox = sandbox.processes(most);
    }
    if arguments.limits == LimitsHeld::BestEffort {
        sandbox = sandbox.limits_best_effort();
    }
    Ok(sandbox)
}

async fn on_host(arguments: &RunArguments, host: HostEnvironment) -> Result<HostSandbox> {
    refuse_what_needs_walls(arguments)?;
    let mut sandbox = HostSandbox::builder(root(arguments, &host)?).keeper(KeeperProgram::this_program());
    sandbox = sandbox.environment_of(host);
    for variable in &arguments.env {
        sandbox = match variable {
            VariableArgument::Set(name, value) => sandbox.variable(name, value),
            VariableArgument::Passed(name) => sandbox.pass_variable(name),
        };
    }
    sandbox.start().await
}

/// A session, found or made.
async fn session(
    arguments: &RunArguments,
    id: &SessionId,
    told: &mut ToldToEnd,
) -> std::result::Result<KeptSession, Ending> {
    let opened = async {
        let kept = Kept::of_user()?;
        let wanted = Wanted {
            container: arguments.container.clone(),
            root: arguments.root.clone(),
            net: arguments.net.clone(),
            memory: arguments.memory,
            cpus: arguments.cpus,
            pids: arguments.pids,
            idle: None,
        };
        let kind = if arguments.sandbox == Kind::Docker { SessionKind::Docker } else { SessionKind::Linux };
        let record = kept.record(id, kind, &wanted)?;
        kept.open(id, record).await
    };
    tokio::select! {
        opened = opened => opened.map_err(Ending::Refused),
        (_, number) = told.next() => Err(Ending::Told(number)),
    }
}

/// A container, started. Whoever is told to end meanwhile leaves none behind.
async fn in_container(
    arguments: &RunArguments,
    host: &HostEnvironment,
    told: &mut ToldToEnd,
) -> std::result::Result<DockerSandbox, Ending> {
    let plan = async {
        let installed = arguments.container.chosen()?;
        let plan = container(arguments, host, &installed)?;
        installed.provide(host).await.map(|()| plan)
    };
    let sandbox = tokio::select! {
        plan = plan => plan.map_err(Ending::Refused)?.build(),
        (_, number) = told.next() => return Err(Ending::Told(number)),
    };
    let ending = tokio::select! {
        started = sandbox.start() => match started {
            Ok(()) => return Ok(sandbox),
            Err(error) => Ending::Refused(error),
        },
        (_, number) = told.next() => Ending::Told(number),
    };
    let _ = sandbox.stop().await;
    Err(ending)
}

/// A container to be, as the options say.
pub(super) fn container(
    arguments: &RunArguments,
    host: &HostEnvironment,
    installed: &Installed,
) -> Result<DockerSandboxBuilder> {
    let mut plan =
        installed.container(host)?.volume(root(arguments, host)?, installed.directory(), MountAccess::ReadWrite);
    for mount in &arguments.mount {
        let source = host.directory.join(&mount.source);
        if !source.exists() {
            let typed = mount.source.display();
            return Err(Error::new(ErrorKind::NotFound, format!("there is nothing at `{typed}` to mount")));
        }
        plan = plan.volume(source, mount.at.as_str(), mount.access);
    }
    for (name, value) in typed::with_values(&arguments.env, host) {
        plan = plan.variable(name, value);
    }
    if let Some(net) = &arguments.net {
        plan = plan.network(net.to_string());
    }
    if let Some(bytes) = arguments.memory {
        plan = plan.memory(bytes);
    }
    if let Some(cpus) = arguments.cpus {
        plan = plan.cpus(cpus);
    }
    if let Some(most) = arguments.pids {
        plan = plan.processes(most);
    }
    Ok(plan)
}

/// The directory to work in. Who typed it may see it in an answer.
fn root(arguments: &RunArguments, host: &HostEnvironment) -> Result<std::path::PathBuf> {
    let root = arguments.root.as_ref().map_or_else(|| host.directory.clone(), |root| host.directory.join(root));
    if root.is_dir() {
        return Ok(root);
    }
    let typed = arguments.root.as_deref().unwrap_or(&root).display();
    Err(Error::new(ErrorKind::NotFound, format!("there is no directory `{typed}` to work in")))
}

impl RunArguments {
    /// The command, and how it is shown.
    pub(super) fn doing(&self) -> Doing {
        // A session has its own environment, and the command more than that.
        let environment = match self.session {
            Some(_) => typed::with_values(&self.env, &HostEnvironment::from_process()),
            None => BTreeMap::new(),
        };
        Doing {
            command: self.command.clone(),
            environment,
            timeout: self.timeout,
            shown: Shown::asked(self.json, self.terminal),
        }
    }

    /// What is asked of this machine itself.
    pub(super) fn machine(&self) -> Machine {
        match (self.sandbox, self.level) {
            (Kind::Linux, Some(LevelArgument::Landlock)) => Machine::WithoutNamespaces,
            (Kind::Linux, _) => Machine::Namespaces,
            (Kind::Host | Kind::Docker, _) => Machine::NotAsked,
        }
    }
}

/// Options that make no sense together.
pub(super) fn check(arguments: &RunArguments) -> Result<()> {
    if arguments.session.is_some() {
        return refuse_what_sessions_lack(arguments);
    }
    if arguments.sandbox == Kind::Docker {
        return arguments.container.chosen().and_then(|_| refuse_what_containers_lack(arguments));
    }
    arguments.container.refuse()?;
    arguments.net.as_ref().map_or(Ok(()), |net| net.without_daemon().map(drop))
}

/// What a session is not asked about: it has what it was opened with.
fn refuse_what_sessions_lack(arguments: &RunArguments) -> Result<()> {
    let named = [
        ("--sandbox host", arguments.sandbox == Kind::Host),
        ("--level", arguments.level.is_some()),
        ("--toolchain", !arguments.toolchain.is_empty()),
        ("--mount", !arguments.mount.is_empty()),
        ("--limits", arguments.limits != LimitsHeld::Required),
    ];
    match named.iter().find(|(_, is_named)| *is_named) {
        None => Ok(()),
        Some((name, _)) => {
            let sentence = format!("`{name}` cannot be had with `--session`");
            Err(Error::new(ErrorKind::Unsupported, sentence).hint("leave one of them out"))
        }
    }
}

/// What was asked for and cannot be had of a container is refused, not left out.
fn refuse_what_containers_lack(arguments: &RunArguments) -> Result<()> {
    let named = [
        ("--level", arguments.level.is_some(), "its walls are those that the daemon makes"),
        ("--toolchain", !arguments.toolchain.is_empty(), "it has what its image has installed"),
    ];
    match named.iter().find(|(_, is_named, _)| *is_named) {
        None => Ok(()),
        Some((name, _, why)) => {
            let sentence = format!("`{name}` cannot be had with `--sandbox docker`: {why}");
            Err(Error::new(ErrorKind::Unsupported, sentence).hint("leave one of them out"))
        }
    }
}

/// What was asked for and cannot be had on the host is refused, not left out.
fn refuse_what_needs_walls(arguments: &RunArguments) -> Result<()> {
    let limits_required = arguments.limits == LimitsHeld::Required;
    let named = [
        ("--level", arguments.level.is_some()),
        ("--net none", arguments.net == Some(Net::None)),
        ("--memory", arguments.memory.is_some() && limits_required),
        ("--cpus", arguments.cpus.is_some() && limits_required),
        ("--pids", arguments.pids.is_some() && limits_required),
        ("--mount", !arguments.mount.is_empty()),
        ("--toolchain", !arguments.toolchain.is_empty()),
    ];
    match named.iter().find(|(_, is_named)| *is_named) {
        None => Ok(()),
        Some((name, _)) => Err(Error::new(
            ErrorKind::Unsupported,
            format!("`{name}` cannot be had with `--sandbox host`, which runs commands on this machine as it is"),
        )
        .hint("leave one of them out")),
    }
}
