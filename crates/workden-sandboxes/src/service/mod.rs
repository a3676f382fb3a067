//! Sessions of a service of workden (`workden serve`), as sandboxes.
//!
//! A [`ServiceSandbox`] is a session elsewhere: its files, commands and rules are those of the service, and one
//! connection carries all calls. Without a name it is a session of its own, which ends with it.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::service::ServiceSandbox;
//!
//! let sandbox = ServiceSandbox::at("https://workden.example.com")
//!     .key("e2b_...")
//!     .session("user-42".parse()?)
//!     .build()?;
//! let hello = sandbox.execute(&ExecuteRequest::shell("echo hello")).await?;
//! println!("{}", hello.output.text());
//! # Ok(()) }
//! ```

mod api;
mod builder;
mod remote_session;
mod sessions;

pub use builder::ServiceSandboxBuilder;
use remote_session::RemoteSession;
pub use sessions::{ServiceSession, ServiceSessions};

use crate::{delegate, reconnecting::ReconnectingSandbox};

/// A session of a service. It is created or found by the first call that needs it.
///
/// [`stop`](workden_core::Sandbox::stop) deletes a session without a name, and disconnects from one that has a name. A session that
/// is dropped instead ends when it has been idle, as the service decides.
#[derive(Debug)]
pub struct ServiceSandbox {
    kept: ReconnectingSandbox<RemoteSession>,
}

impl ServiceSandbox {
    /// Returns a builder for a session of the service at this URL.
    pub fn at(url: impl Into<String>) -> ServiceSandboxBuilder {
        ServiceSandboxBuilder::new(url.into())
    }

    /// Creates or finds the session and connects, which the first call does otherwise.
    ///
    /// # Errors
    ///
    /// When the service cannot be reached, or refuses the key or an option.
    pub async fn start(&self) -> workden_core::Result<()> {
        self.kept.remote().await.map(drop)
    }
}

delegate!(ServiceSandbox, |this| &this.kept, |answer| answer, {
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.kept.spawn(request).await
    }
    async fn stop(&self) -> Result<()> {
        self.kept.stop().await
    }
});
