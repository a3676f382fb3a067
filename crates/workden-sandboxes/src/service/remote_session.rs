//! `RemoteSession`: creates or finds the session of a [`ServiceSandbox`](super::ServiceSandbox), and connects to it.

use async_trait::async_trait;
use tokio::sync::OnceCell;
use workden_core::{Error, ErrorKind, Result, sandbox::Isolation};
use workden_wire::RemoteSandbox;

use super::api::{ServiceApi, SessionRequest};
use crate::reconnecting::Connector;

/// One session of a service.
#[derive(Debug)]
pub(super) struct RemoteSession {
    api: ServiceApi,
    request: SessionRequest,
    /// Whether the session ends with this sandbox.
    is_own: bool,
    /// The id of the session, once it is known.
    id: OnceCell<String>,
}

impl RemoteSession {
    pub(super) fn new(api: ServiceApi, request: SessionRequest, is_own: bool) -> Self {
        Self { api, request, is_own, id: OnceCell::new() }
    }
}

#[async_trait]
impl Connector for RemoteSession {
    async fn connect(&self) -> Result<RemoteSandbox> {
        let id = self.id.get_or_try_init(|| self.api.open(&self.request)).await?;
        let stream = self.api.wire(id).await?;
        RemoteSandbox::connect(stream, None).await
    }

    async fn look(&self) -> Result<()> {
        let Some(id) = self.id.get() else { return Ok(()) };
        match self.api.state(id).await?.as_str() {
            "running" => Ok(()),
            "paused" => Err(Error::new(ErrorKind::Busy, "the session is paused").hint("resume it at the service")),
            _ => Err(Error::new(ErrorKind::Gone, "the session has ended")),
        }
    }

    async fn report(&self, seen: Isolation) -> Result<Isolation> {
        Ok(seen)
    }

    async fn end(&self, _: Option<RemoteSandbox>) -> Result<()> {
        match self.id.get() {
            Some(id) if self.is_own => self.api.delete(id).await,
            _ => Ok(()),
        }
    }
}
