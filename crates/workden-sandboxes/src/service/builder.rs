//! `ServiceSandboxBuilder`: which session of which service.

use workden_core::{Result, type_size};

use super::{
    ServiceSandbox,
    api::{ServiceApi, SessionRequest},
    remote_session::RemoteSession,
};
use crate::{SessionId, reconnecting::ReconnectingSandbox, token};

/// Builds a [`ServiceSandbox`]. Nothing is sent before the first call.
#[derive(Clone, Debug)]
#[must_use]
pub struct ServiceSandboxBuilder {
    url: String,
    key: Option<String>,
    session: Option<SessionId>,
    request: SessionRequest,
}

impl ServiceSandboxBuilder {
    pub(super) fn new(url: String) -> Self {
        Self { url, key: None, session: None, request: SessionRequest::default() }
    }

    /// Sets the key of the service, or the token of the session. A service on this machine may need none.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Uses the session of this name, which is created if it does not exist, and goes on afterwards. The options below
    /// are for a session that is created.
    pub fn session(mut self, name: SessionId) -> Self {
        self.session = Some(name);
        self
    }

    /// Chooses a runtime of the service.
    pub fn runtime(mut self, name: impl Into<String>) -> Self {
        self.request.runtime = Some(name.into());
        self
    }

    /// Chooses the network: `none`, or one that the runtime has.
    pub fn network(mut self, name: impl Into<String>) -> Self {
        self.request.network = Some(name.into());
        self
    }

    /// Limits the memory of all commands together, in bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.request.memory = Some(type_size(bytes));
        self
    }

    /// Limits the processors.
    pub fn cpus(mut self, most: f64) -> Self {
        self.request.cpus = Some(most);
        self
    }

    /// Limits the processes.
    pub fn pids(mut self, most: u64) -> Self {
        self.request.pids = Some(most);
        self
    }

    /// Sets the directory of its files, in which commands start; `/workspace` by default.
    pub fn work_dir(mut self, path: impl Into<String>) -> Self {
        self.request.directory = Some(path.into());
        self
    }

    /// Adds a variable for all commands.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.env.insert(name.into(), value.into());
        self
    }

    /// Returns the sandbox, whose session is created or found by the first call.
    ///
    /// # Errors
    ///
    /// When the URL or the key is invalid.
    pub fn build(self) -> Result<ServiceSandbox> {
        let api = ServiceApi::new(&self.url, self.key.as_deref())?;
        let is_own = self.session.is_none();
        // A name of our own choice: a creation whose answer was lost is found again, and not repeated.
        let name = match self.session {
            Some(name) => name.to_string(),
            None => format!("remote-{}", token::random_digits(16)?),
        };
        let request = SessionRequest { name, ..self.request };
        Ok(ServiceSandbox { kept: ReconnectingSandbox::new(RemoteSession::new(api, request, is_own)) })
    }
}
