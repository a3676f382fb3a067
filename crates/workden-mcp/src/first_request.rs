//! A transport that waits for a client to begin: what comes before its first request is passed over,
//! where it would otherwise end the server.

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

/// A transport without what comes before the first request.
#[derive(Debug)]
pub(crate) struct FromFirstRequest<T> {
    inner: T,
    begun: bool,
}

impl<T> FromFirstRequest<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, begun: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for FromFirstRequest<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            let ClientJsonRpcMessage::Request(request) = &message else {
                if self.begun {
                    return Some(message);
                }
                tracing::debug!("passed over what came before the first request");
                continue;
            };
            // A ping and a look at what the server can do begin nothing yet.
            self.begun |= !matches!(request.request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
