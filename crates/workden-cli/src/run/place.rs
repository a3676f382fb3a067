//! The sandbox that a command runs in, as the options say.

use workden_core::{Error, ErrorKind, Result, Sandbox, sandbox::Level};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox, LinuxSandboxBuilder};

use super::{
    arguments::{Kind, LimitsHeld, Net, RunArguments},
    typed::VariableArgument,
};

/// The sandbox that a command runs in.
pub(super) enum Place {
    Linux(LinuxSandbox),
    Host(HostSandbox),
}

impl Place {
    pub(super) async fn start(arguments: &RunArguments) -> Result<Self> {
        let host = HostEnvironment::from_process();
        match arguments.sandbox {
            Kind::Linux => linux(arguments, host)?.start().await.map(Self::Linux),
            Kind::Host => on_host(arguments, host).await.map(Self::Host),
        }
    }

    pub(super) fn sandbox(&self) -> &dyn Sandbox {
        match self {
            Self::Linux(sandbox) => sandbox,
            Self::Host(sandbox) => sandbox,
        }
    }

    /// Ends it, and all that still runs in it.
    pub(super) async fn close(self) {
        match self {
            Self::Linux(sandbox) => sandbox.close().await,
            Self::Host(sandbox) => sandbox.close().await,
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
        .network(arguments.net.unwrap_or(Net::None).into());
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

/// The directory to work in. Who typed it may see it in an answer.
fn root(arguments: &RunArguments, host: &HostEnvironment) -> Result<std::path::PathBuf> {
    let root = arguments.root.as_ref().map_or_else(|| host.directory.clone(), |root| host.directory.join(root));
    if root.is_dir() {
        return Ok(root);
    }
    let typed = arguments.root.as_deref().unwrap_or(&root).display();
    Err(Error::new(ErrorKind::NotFound, format!("there is no directory `{typed}` to work in")))
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
