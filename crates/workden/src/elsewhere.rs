//! Sandboxes that are not on this machine: pods of a cluster, and sandboxes at Daytona.
//!
//! Invariant: their files are there, so that no directory of this machine is mounted, and nothing is masked.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use workden_core::{Error, ErrorKind, Result, Sandbox, VirtualPath, sandbox::CommandFacts};
use workden_files::Durability;
use workden_sandboxes::{Begun, LazySandbox};

use crate::{assembly::Assembled, directories::Mounts};

/// The builder of a sandbox that is not on this machine.
#[async_trait]
pub(crate) trait SandboxElsewhere: fmt::Debug + Send + Sync {
    /// The path of the directory to work in.
    fn directory(&self) -> String;

    /// The time limit of a command that has none.
    fn timeout(&self) -> Option<Duration>;

    /// What a model should know about commands in it.
    fn facts(&self) -> CommandFacts;

    /// Checks the options as far as possible before the start.
    fn check(&self) -> Result<()>;

    /// Starts it. What has begun can be stopped before it has started.
    async fn start(&self, begun: Begun) -> Result<Arc<dyn Sandbox>>;

    /// Says that a directory of this machine cannot be mounted.
    fn refuse(&self, at: &VirtualPath) -> Error;
}

/// Implements the trait for a builder, with its name and what to use instead of a mounted directory.
macro_rules! elsewhere {
    ($builder:ty, $name:literal, $instead:literal) => {
        #[async_trait]
        impl SandboxElsewhere for $builder {
            fn directory(&self) -> String {
                Self::directory(self)
            }

            fn timeout(&self) -> Option<Duration> {
                self.options().timeout
            }

            fn facts(&self) -> CommandFacts {
                Self::facts(self)
            }

            fn check(&self) -> Result<()> {
                Self::check(self)
            }

            async fn start(&self, begun: Begun) -> Result<Arc<dyn Sandbox>> {
                let sandbox = Arc::new(self.clone().build()?);
                begun.set(Arc::clone(&sandbox) as Arc<dyn Sandbox>);
                sandbox.start().await?;
                Ok(sandbox)
            }

            fn refuse(&self, at: &VirtualPath) -> Error {
                let sentence = format!("a directory at `{at}` is not supported with a {} sandbox", $name);
                Error::new(ErrorKind::Unsupported, sentence).hint($instead)
            }
        }
    };
}

#[cfg(feature = "kubernetes")]
elsewhere!(
    workden_sandboxes::kubernetes::KubernetesSandboxBuilder,
    "Kubernetes",
    "the files of a pod are in the cluster: write them with the tools, or use a claim"
);
#[cfg(feature = "daytona")]
elsewhere!(
    workden_sandboxes::daytona::DaytonaSandboxBuilder,
    "Daytona",
    "the files of the sandbox are at Daytona: write them with the tools, or use a volume"
);

/// Returns the sandbox and its files. Nothing starts yet.
pub(crate) fn elsewhere(
    builder: Arc<dyn SandboxElsewhere>,
    mounts: &Mounts,
    work_dir: VirtualPath,
    durability: Option<Durability>,
) -> Result<Assembled> {
    if let Some(mount) = mounts.directories.first() {
        return Err(builder.refuse(&mount.at));
    }
    builder.check()?;
    let start = move |begun: Begun| {
        let builder = Arc::clone(&builder);
        async move { builder.start(begun).await }
    };
    Assembled::of(LazySandbox::new(work_dir, start), mounts, &[], durability)
}
