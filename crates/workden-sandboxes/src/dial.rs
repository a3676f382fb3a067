//! `Dialer`: byte streams to a service of HTTP, with TLS where its address says `https`.
//!
//! TLS is rustls with ring, in a configuration of its own: a program that embeds this library need not install a
//! provider of cryptography, and one that has installed another keeps it.

use std::{
    fmt, io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::Uri;
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// How long the service may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// A stream to the service.
pub(crate) trait NetStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> NetStream for S {}

/// Opens connections to the service. Clones share the certificates.
#[derive(Clone, Default)]
pub(crate) struct Dialer {
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialer")
    }
}

impl Dialer {
    /// Opens a connection to the host of an address.
    pub(crate) async fn dial(&self, address: &Uri) -> io::Result<Box<dyn NetStream>> {
        match timeout(CONNECT_TIME, self.connected(address)).await {
            Ok(connected) => connected,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no connection in time")),
        }
    }

    async fn connected(&self, address: &Uri) -> io::Result<Box<dyn NetStream>> {
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
        let host = address.host().ok_or_else(|| invalid("the address has no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_secure = match address.scheme_str() {
            Some("https" | "wss") => true,
            Some("http" | "ws") => false,
            _ => return Err(invalid("the address is neither http nor https")),
        };
        let port = address.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        if !is_secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|_| invalid("invalid name of the host"))?;
        Ok(Box::new(TlsConnector::from(self.tls()?).connect(name, stream).await?))
    }

    /// Returns the configuration of TLS, which reads the certificates of the system once.
    fn tls(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(tls) = self.tls.get() {
            return Ok(Arc::clone(tls));
        }
        let mut roots = RootCertStore::empty();
        let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let why = "this system has no certificates of authorities: install `ca-certificates`, or set SSL_CERT_FILE";
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
    }
}
