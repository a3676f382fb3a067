//! Pods: sandboxes in a Kubernetes cluster.
//!
//! A [`KubernetesSandbox`] is a pod whose first process is a keeper. One stream connects to it, so a call takes one
//! round trip and behaves as in every other sandbox.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::{HostEnvironment, kubernetes::KubernetesSandbox};
//!
//! let sandbox = KubernetesSandbox::builder()
//!     .environment_of(HostEnvironment::from_process())
//!     .image("python:3.12-slim")
//!     .memory("512M")
//!     .build()?;
//! let hello = sandbox.execute(&ExecuteRequest::shell("python3 -c 'print(6 * 7)'")).await?;
//! println!("{}", hello.output.text());
//! sandbox.stop().await?;
//! # Ok(()) }
//! ```

mod access;
mod agent_sandbox;
mod builder;
mod channel_stream;
mod cluster;
mod creation;
mod doctor;
mod errors;
mod exec_stream;
mod http_client;
mod http_mode;
mod labels;
mod launched;
mod launcher;
mod launching;
mod names;
mod plan;
mod pod;
mod pod_state;
mod reach;
mod report;
mod sessions;
mod starting;
mod template;

pub use builder::KubernetesSandboxBuilder;
pub use cluster::Cluster;
pub use http_mode::HttpMode;
use http_mode::HttpPod;
pub use k8s_openapi::api::core::v1::{Pod, Toleration};
pub use launcher::KubernetesLauncher;
pub use plan::WorkspaceVolume;
use pod::SandboxPod;
pub use pod::WhenStopped;
pub use reach::Reach;
pub use sessions::{ClusterSession, ClusterSessions, HeldLease, ListedSession, ReapedSessions};
use workden_core::{Result, Sandbox};

use crate::{delegate, reconnecting::ReconnectingSandbox, served::ServedSandbox};

/// A sandbox in a pod. It starts when first needed, and ends when it is stopped. When it is dropped instead, its pod is
/// deleted as soon as the cluster receives the request, or ends with its lease.
#[derive(Debug)]
pub struct KubernetesSandbox {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    /// A keeper serves the pod.
    Kept(Box<ReconnectingSandbox<SandboxPod>>),
    /// The image serves itself.
    Served(Box<ServedSandbox<HttpPod>>),
}

impl KubernetesSandbox {
    /// Returns a builder. It needs an image.
    pub fn builder() -> KubernetesSandboxBuilder {
        KubernetesSandboxBuilder::default()
    }

    fn of(pod: SandboxPod) -> Self {
        Self { inner: Inner::Kept(Box::new(ReconnectingSandbox::new(pod))) }
    }

    fn served(pod: HttpPod) -> Self {
        Self { inner: Inner::Served(Box::new(ServedSandbox::new(pod))) }
    }

    fn sandbox(&self) -> &dyn Sandbox {
        match &self.inner {
            Inner::Kept(sandbox) => &**sandbox,
            Inner::Served(pod) => &**pod,
        }
    }

    /// Starts the pod now, before the first call.
    ///
    /// # Errors
    ///
    /// Any reason that prevents the start, in the cluster's own words.
    pub async fn start(&self) -> Result<()> {
        match &self.inner {
            Inner::Kept(sandbox) => sandbox.remote().await.map(drop),
            Inner::Served(pod) => pod.service.start().await,
        }
    }

    /// Returns the name of its pod; `None` before the start.
    #[must_use]
    pub fn pod_name(&self) -> Option<String> {
        match &self.inner {
            Inner::Kept(sandbox) => sandbox.connector.made().map(|made| made.name.clone()),
            Inner::Served(pod) => pod.service.pod_name(),
        }
    }

    /// Returns the pod, if a keeper serves it.
    fn kept(&self) -> Option<&SandboxPod> {
        match &self.inner {
            Inner::Kept(sandbox) => Some(&sandbox.connector),
            Inner::Served(_) => None,
        }
    }

    /// Returns the name and the id of its pod.
    fn pod(&self) -> Option<(String, String)> {
        self.kept()?.made().map(|made| (made.name.clone(), made.uid.clone()))
    }

    /// Returns the name of its claim; `None` before the start, and without a pool.
    #[must_use]
    pub fn claim_name(&self) -> Option<String> {
        self.kept()?.made()?.claim.as_ref().map(|claim| claim.name.clone())
    }
}

delegate!(KubernetesSandbox, |this| this.sandbox(), |answer| answer, {
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.sandbox().spawn(request).await
    }
    async fn stop(&self) -> Result<()> {
        match &self.inner {
            Inner::Kept(sandbox) => {
                sandbox.connector.give_up();
                sandbox.end().await
            }
            Inner::Served(pod) => pod.stop().await,
        }
    }
});
