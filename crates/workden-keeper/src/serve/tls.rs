//! TLS of a keeper that is reached over a network. The launcher chose the certificate, and clients accept no other.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    version::TLS13,
};
use tokio_rustls::TlsAcceptor;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::PodAccess;

/// Returns the acceptor of TLS connections.
pub(super) fn acceptor(access: &PodAccess) -> Result<TlsAcceptor> {
    let invalid = || Error::new(ErrorKind::InvalidArgument, "invalid certificate or key for the keeper");
    let certificate = CertificateDer::from_pem_slice(access.certificate.as_bytes()).map_err(|_| invalid())?;
    let key = PrivateKeyDer::from_pem_slice(access.key.as_bytes()).map_err(|_| invalid())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| invalid())?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(|error| invalid().with_source(error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
