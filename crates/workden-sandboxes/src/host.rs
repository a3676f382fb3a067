//! `HostSandbox`: the host's own shell with the same process semantics as everywhere. It isolates nothing, is for
//! development only, and is never a default.

use workden_core::{
    Result,
    sandbox::{Network, Strength},
};
use workden_wire::LaunchTarget;

use crate::{
    SandboxOptions, delegate::delegate_to_keeper, keeper::KeeperConnection, options::common_options, variables,
};

/// Commands on the host, as the user who started them. It ends when it is dropped, or with this process.
#[derive(Debug)]
pub struct HostSandbox {
    keeper: KeeperConnection,
}

delegate_to_keeper!(HostSandbox);

impl HostSandbox {
    /// Ends it at once, with all that runs in it, and waits until nothing is left. Dropping it does the
    /// same without the wait; [`Sandbox::stop`](workden_core::Sandbox::stop) asks first.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Returns a builder. Its `root` is `/` to file calls; commands start there, and can go anywhere.
    pub fn builder() -> HostSandboxBuilder {
        HostSandboxBuilder::default()
    }
}

/// What a [`HostSandbox`] is given. Of the options that all sandboxes have it refuses those that need walls.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing happens before `start`"]
pub struct HostSandboxBuilder {
    pub(crate) options: SandboxOptions,
}

common_options!(HostSandboxBuilder);

impl HostSandboxBuilder {
    /// Checks what can be known before the start.
    ///
    /// # Errors
    ///
    /// The first value that cannot be read, or that only walls can give.
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

    /// Starts it.
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
