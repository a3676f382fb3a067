//! The HTTP client of a cluster: kube's layers on connections that send small messages at once.
//!
//! kube's own connections wait for an acknowledgement before they send the next small message, which costs 40 ms for
//! every call through a port-forward or a relay.

use std::time::Duration;

use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config, Result,
    client::{Body, ClientBuilder, ConfigExt},
};
use tower::{BoxError, ServiceBuilder};

/// How long the API server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long a silent connection, as a watch is for minutes, stays unchecked.
const KEEPALIVE_TIME: Duration = Duration::from_secs(30);

/// Returns a client for this configuration.
pub(super) fn connect(config: Config) -> Result<Client> {
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIME));
    tcp.set_keepalive(Some(KEEPALIVE_TIME));
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(tls);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}
