//! `HostSandbox`: the host's shell with the process semantics of every sandbox. It isolates nothing, is for
//! development only, and is never a default.

use workden_core::{
    Result,
    sandbox::{Network, Shell, Strength},
};
use workden_wire::LaunchTarget;

use crate::{
    SandboxOptions, delegate::delegate_to_keeper, host_environment, keeper::KeeperConnection, options::common_options,
    variables,
};

/// Runs commands on the host as the current user. It ends when it is dropped, or with this process.
#[derive(Debug)]
pub struct HostSandbox {
    keeper: KeeperConnection,
}

delegate_to_keeper!(HostSandbox);

impl HostSandbox {
    /// Ends the sandbox at once, with all its processes, and waits until none is left. Dropping does the same without
    /// the wait; [`Sandbox::stop`](workden_core::Sandbox::stop) terminates gracefully first.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Returns a builder. Its `root` is `/` to file calls; commands start there, and can go anywhere.
    pub fn builder() -> HostSandboxBuilder {
        HostSandboxBuilder::default()
    }
}

/// The options of a [`HostSandbox`]. Shared options that require isolation are rejected.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing happens before `start`"]
pub struct HostSandboxBuilder {
    pub(crate) options: SandboxOptions,
}

common_options!(HostSandboxBuilder);

impl HostSandboxBuilder {
    /// Checks the options as far as possible before the start.
    ///
    /// # Errors
    ///
    /// The first value that is invalid or requires isolation.
    pub fn check(&self) -> Result<()> {
        let SandboxOptions { network, memory, cpus, pids, strength, lease, mounts, read_only, masked, .. } =
            &self.options;
        self.options.check()?;
        let is_required = *strength == Strength::Required;
        SandboxOptions::refuse(
            "a host sandbox",
            &[
                ("network", *network == Some(Network::None)),
                ("memory", memory.is_some() && is_required),
                ("cpus", cpus.is_some() && is_required),
                ("pids", pids.is_some() && is_required),
                ("lease", lease.is_some()),
                ("mount", !mounts.is_empty()),
                ("read_only", !read_only.is_empty()),
                ("masked", !masked.is_empty()),
            ],
        )
    }

    /// Returns the shell that runs command lines.
    #[must_use]
    pub fn shell(&self) -> Shell {
        host_environment::shell()
    }

    /// Starts the sandbox.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check); and when the directory does not exist.
    pub async fn start(self) -> Result<HostSandbox> {
        self.check()?;
        let options = &self.options;
        let root = options.root().unwrap_or_else(|| options.host.directory.clone());
        let directory = options.work_dir.as_ref().map_or_else(|| root.clone(), |at| root.join(at.relative()));
        let mut environment = variables::of_host(&options.host);
        options.env.add_to(&mut environment, &options.host)?;
        let program = options.keeper()?;
        let target = LaunchTarget::Host { root, directory, environment };
        let keeper = KeeperConnection::start(&program, target, options.keeper_log.as_deref()).await?;
        Ok(HostSandbox { keeper })
    }
}
