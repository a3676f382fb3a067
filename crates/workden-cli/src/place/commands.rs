//! The sandbox of a workspace, started by the first command. What the policy denies to read when it starts is
//! masked in it.

use std::sync::{Arc, OnceLock};

use workden::{Policy, VirtualPath, backends::LocalBackend, masks};
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LateSandbox, LinuxSandbox};

use super::{
    arguments::{PlaceArguments, SandboxChoice},
    directories::Directories,
    log::Level,
    request,
};
use crate::failure::Failure;

/// The policy of the workspace, once that is built: before any command.
pub(super) type KnownLater = Arc<OnceLock<Policy>>;

/// The sandbox that was asked for, if one was.
pub(super) fn sandbox(
    arguments: &PlaceArguments,
    directories: &Directories,
    host: HostEnvironment,
    policy: KnownLater,
    log: Level,
) -> Result<Option<LateSandbox>, Failure> {
    match arguments.sandbox() {
        SandboxChoice::None => {
            refuse(arguments, "there are no commands")?;
            Ok(None)
        }
        _ if arguments.state.is_some() => {
            let sentence = "a document has no commands: `--state` and `--sandbox` do not go together";
            Err(Failure::Request(sentence.to_owned()))
        }
        SandboxChoice::Linux => Ok(Some(linux(arguments, directories, host, policy, log))),
        SandboxChoice::Host => on_host(arguments, directories, host, log).map(Some),
    }
}

fn linux(
    arguments: &PlaceArguments,
    directories: &Directories,
    host: HostEnvironment,
    policy: KnownLater,
    log: Level,
) -> LateSandbox {
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
    if let Some(net) = arguments.net {
        plan = plan.network(net.into());
    }
    if let Some(file) = log.keeper_log() {
        plan = plan.keeper_log(file);
    }
    LateSandbox::new(directories.working.clone(), move || {
        let (plan, policy) = (plan.clone(), Arc::clone(&policy));
        async move {
            let denied = match policy.get() {
                Some(policy) => masks(&plan.shown_files(), policy).await?,
                None => Vec::new(),
            };
            let started = plan.mask(denied).start().await.map_err(with_choices)?;
            Ok(Arc::new(started) as Arc<dyn Sandbox>)
        }
    })
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
