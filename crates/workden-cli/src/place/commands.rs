//! The sandbox of a workspace, started by the first command. What the policy denies to read when it starts is
//! masked in it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use workden::{Policy, VirtualPath, files::LocalBackend, masks};
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_sandboxes::{
    HostEnvironment, HostSandbox, KeeperProgram, LateSandbox, LinuxSandbox, LinuxSandboxBuilder,
    docker::{DockerSandbox, DockerSandboxBuilder},
};

use super::{
    arguments::{PlaceArguments, SandboxChoice},
    directories::Directories,
    log::Level,
    request,
};
use crate::{
    containers::{Installed, Net},
    failure::Failure,
};

/// The policy of the workspace, once that is built: before any command.
pub(super) type KnownLater = Arc<OnceLock<Policy>>;

/// Where commands run, from the first one on.
pub(super) struct Commands {
    pub(super) sandbox: LateSandbox,
    /// A container, from the moment that it may be there.
    container: Begun,
    afterwards: Afterwards,
}

/// What becomes of the sandbox when nobody needs it here any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Afterwards {
    Ends,
    GoesOn,
}

/// A container that was begun, whether its start came to an end or not.
type Begun = Arc<Mutex<Option<Arc<DockerSandbox>>>>;

impl Commands {
    fn of(sandbox: LateSandbox) -> Self {
        Self { sandbox, container: Begun::default(), afterwards: Afterwards::Ends }
    }

    /// A sandbox that goes on when nobody needs it here any more.
    pub(super) fn of_session(sandbox: LateSandbox) -> Self {
        Self { afterwards: Afterwards::GoesOn, ..Self::of(sandbox) }
    }

    /// Ends the sandbox, and waits until nothing of it is left; unless it is somebody's session.
    pub(super) async fn end(&self) {
        if self.afterwards == Afterwards::GoesOn {
            return;
        }
        let begun = self.container.lock().unwrap_or_else(PoisonError::into_inner).take();
        // What cannot be stopped now is when this process ends, or when its lease is over.
        let _ = match begun {
            Some(container) => container.stop().await,
            None => self.sandbox.stop().await,
        };
    }
}

/// The sandbox that was asked for, if one was.
pub(super) fn of(
    arguments: &PlaceArguments,
    directories: &Directories,
    installed: Option<Installed>,
    host: HostEnvironment,
    policy: KnownLater,
    log: Level,
) -> Result<Option<Commands>, Failure> {
    if let (Some(net), None) = (&arguments.net, &installed) {
        net.without_daemon().map_err(request)?;
    }
    match arguments.sandbox() {
        SandboxChoice::None => {
            refuse(arguments, "there are no commands")?;
            Ok(None)
        }
        _ if arguments.state.is_some() => {
            let sentence = "a document has no commands: `--state` and `--sandbox` do not go together";
            Err(Failure::Request(sentence.to_owned()))
        }
        SandboxChoice::Linux => linux(arguments, directories, host, policy, log).map(Some),
        SandboxChoice::Docker => match installed {
            Some(installed) => docker(arguments, directories, installed, host, policy).map(Some),
            None => Ok(None),
        },
        SandboxChoice::Host => on_host(arguments, directories, host, log).map(|late| Some(Commands::of(late))),
    }
}

fn linux(
    arguments: &PlaceArguments,
    directories: &Directories,
    host: HostEnvironment,
    policy: KnownLater,
    log: Level,
) -> Result<Commands, Failure> {
    let plan = linux_plan(arguments, directories, host, log).map_err(request)?;
    Ok(Commands::of(LateSandbox::new(directories.working.clone(), move || {
        let (plan, policy) = (plan.clone(), Arc::clone(&policy));
        async move {
            let denied = match policy.get() {
                Some(policy) => masks(&plan.shown_files(), policy).await?,
                None => Vec::new(),
            };
            let started = plan.mask(denied).start().await.map_err(with_choices)?;
            Ok(Arc::new(started) as Arc<dyn Sandbox>)
        }
    })))
}

fn linux_plan(
    arguments: &PlaceArguments,
    directories: &Directories,
    host: HostEnvironment,
    log: Level,
) -> Result<LinuxSandboxBuilder> {
    let mut plan = LinuxSandbox::builder().keeper(KeeperProgram::this_program()).environment_of(host);
    if let Some(directory) = directories.workspace() {
        plan = plan.directory(directory);
    }
    for mount in directories.besides_workspace() {
        plan = plan.mount(&mount.directory, mount.at.clone(), mount.access);
    }
    for name in &arguments.toolchain {
        plan = plan.toolchain(name);
    }
    if let Some(net) = &arguments.net {
        plan = plan.network(net.without_daemon()?);
    }
    if let Some(file) = log.keeper_log() {
        plan = plan.keeper_log(file);
    }
    Ok(plan)
}

fn docker(
    arguments: &PlaceArguments,
    directories: &Directories,
    installed: Installed,
    host: HostEnvironment,
    policy: KnownLater,
) -> Result<Commands, Failure> {
    let plan = docker_plan(arguments, directories, &installed, &host).map_err(request)?;
    let begun = Begun::default();
    let container = Arc::clone(&begun);
    let sandbox = LateSandbox::new(directories.working.clone(), move || {
        let (plan, policy, begun) = (plan.clone(), Arc::clone(&policy), Arc::clone(&begun));
        let (installed, host) = (installed.clone(), host.clone());
        async move {
            let denied = match policy.get() {
                Some(policy) => masks(&plan.shown_files(), policy).await?,
                None => Vec::new(),
            };
            installed.provide(&host).await?;
            let sandbox = Arc::new(plan.mask(denied).build());
            *begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&sandbox));
            sandbox.start().await?;
            Ok(sandbox as Arc<dyn Sandbox>)
        }
    });
    Ok(Commands { sandbox, container, afterwards: Afterwards::Ends })
}

fn docker_plan(
    arguments: &PlaceArguments,
    directories: &Directories,
    installed: &Installed,
    host: &HostEnvironment,
) -> Result<DockerSandboxBuilder> {
    if !arguments.toolchain.is_empty() {
        let sentence = "`--toolchain` cannot be had with `--sandbox docker`: it has what its image has installed";
        return Err(Error::new(ErrorKind::Unsupported, sentence).hint("leave one of them out"));
    }
    let mut plan = installed.container(host)?;
    if !directories.working.is_root() {
        plan = plan.work_dir(directories.working.as_str());
    }
    for mount in &directories.all {
        plan = plan.volume(&mount.directory, mount.at.as_str(), mount.access);
    }
    Ok(plan.network(arguments.net.as_ref().unwrap_or(&Net::None).to_string()))
}

fn on_host(
    arguments: &PlaceArguments,
    directories: &Directories,
    host: HostEnvironment,
    log: Level,
) -> Result<LateSandbox, Failure> {
    refuse(arguments, "`--sandbox host` runs commands on this machine as it is")?;
    let ([only], true) = (directories.all.as_slice(), directories.working.is_root()) else {
        let sentence = "`--sandbox host` has one directory, and nothing mounted: commands would not see it there";
        return Err(Failure::Request(format!("{sentence}\nhint: leave out the mounts, or use `--sandbox linux`")));
    };
    let directory = only.directory.clone();
    let files = LocalBackend::open(&directory).map_err(request)?;
    let log = log.keeper_log();
    Ok(LateSandbox::with_files(VirtualPath::root(), files, move || {
        let mut plan = HostSandbox::builder(&directory).keeper(KeeperProgram::this_program());
        plan = plan.environment_of(host.clone());
        if let Some(file) = log {
            plan = plan.keeper_log(file);
        }
        async move { Ok(Arc::new(plan.start().await?) as Arc<dyn Sandbox>) }
    }))
}

/// What was asked for and cannot be had is refused, not left out.
fn refuse(arguments: &PlaceArguments, why: &str) -> Result<(), Failure> {
    let named = [("--net", arguments.net.is_some()), ("--toolchain", !arguments.toolchain.is_empty())];
    match named.iter().find(|(_, is_named)| *is_named) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Request(format!("`{name}` needs `--sandbox linux`: {why}"))),
    }
}

/// What else can be done where the machine stands in the way.
fn with_choices(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::PermissionDenied => {
            let told = error.hint_text().map_or(String::new(), |hint| format!("{hint}; "));
            let choices = "whoever started workden can run `workden doctor`, which says what is missing, or use \
                           `--sandbox host`, which isolates nothing";
            Error::new(error.kind(), error.sentence()).hint(format!("{told}{choices}"))
        }
        _ => error,
    }
}
