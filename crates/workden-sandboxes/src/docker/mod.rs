//! Containers: a Docker or Podman daemon, its images, and sandboxes in its containers.
//!
//! A [`DockerSandbox`] is a container whose first process is a keeper. A read-only volume holds the keeper, and one
//! stream connects to it, so a call takes a fraction of a millisecond and behaves as in every other sandbox.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::{HostEnvironment, docker::DockerSandbox};
//!
//! let sandbox = DockerSandbox::builder()
//!     .environment_of(HostEnvironment::from_process())
//!     .image("python:3.12-slim")
//!     .memory("512M")
//!     .build()?;
//! let hello = sandbox.execute(&ExecuteRequest::shell("python3 -c 'print(6 * 7)'")).await?;
//! println!("{}", hello.output.text());
//! sandbox.stop().await?;
//! # Ok(()) }
//! ```

mod build;
mod builder;
mod check;
mod container;
mod create;
mod daemon;
mod errors;
mod foreign;
mod images;
mod keeper_volume;
mod labels;
mod launcher;
mod leftovers;
mod plan;
mod program;
mod progress;
mod protected_paths;
mod prune;
mod removal;
mod report;
mod same_file;
mod single_flight;
mod stream;
mod volumes;

use std::sync::Arc;

pub use builder::DockerSandboxBuilder;
use container::{Container, ContainerChoice, ImageOptions};
pub use daemon::Daemon;
pub use images::{BuiltImage, Images};
pub use launcher::DockerLauncher;
pub use leftovers::{Leftover, Leftovers};
pub use plan::{ContainerUser, Init, Privileges, RootAccess, WhenItEnds};
pub use progress::{BuildProgress, OnProgress};
pub use prune::Pruned;
use workden_core::Result;

pub use crate::container_keepers::ContainerKeepers;
use crate::{delegate, reconnecting::ReconnectingSandbox};

/// A sandbox in a container. It starts when first needed, and ends when it is stopped. When it is dropped instead, it
/// ends as soon as the daemon receives the request, or when its lease ends.
#[derive(Debug)]
pub struct DockerSandbox {
    inner: Arc<ReconnectingSandbox<Container>>,
}

impl DockerSandbox {
    /// Returns a builder. It needs an image or a runtime.
    pub fn builder() -> DockerSandboxBuilder {
        DockerSandboxBuilder::default()
    }

    /// Attaches to an existing container by its name or id. A container of another program gets a keeper while this
    /// value lives, and is otherwise left unchanged.
    #[must_use]
    pub fn attach(daemon: Daemon, container: impl Into<String>, keepers: ContainerKeepers) -> Self {
        Self::of(Container::new(daemon, keepers, ImageOptions::default(), ContainerChoice::Existing(container.into())))
    }

    fn of(container: Container) -> Self {
        Self { inner: Arc::new(ReconnectingSandbox::new(container)) }
    }

    /// Starts the container now, before the first call.
    ///
    /// # Errors
    ///
    /// Any reason that prevents the start: no daemon, no image, no keeper for it, or an error of the daemon.
    pub async fn start(&self) -> Result<()> {
        self.inner.remote().await.map(|_| ())
    }

    /// Returns the name of its container; `None` before the start.
    #[must_use]
    pub fn container_name(&self) -> Option<String> {
        self.inner.connector.made().map(|made| made.name.clone())
    }

    /// Returns the id of its container; `None` before the start.
    #[must_use]
    pub fn container_id(&self) -> Option<String> {
        self.inner.connector.made().map(|made| made.id.clone())
    }
}

delegate!(DockerSandbox, |this| &this.inner, |answer| answer, {
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.inner.spawn(request).await
    }
    async fn stop(&self) -> Result<()> {
        self.inner.end().await
    }
});
