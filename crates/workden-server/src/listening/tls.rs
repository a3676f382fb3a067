//! TLS by files: a certificate and its key in PEM, read at the start and when the configuration is read again.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use serde::Deserialize;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, InconsistentKeys,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    },
};
use workden::{Error, ErrorKind, Result};

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsFiles {
    /// PEM: the certificate of the service, and then those that lead to its authority.
    pub certificate: PathBuf,
    /// PEM: the private key of the certificate.
    pub key: PathBuf,
}

/// The certificate that new connections see.
pub(crate) struct TlsIdentity(RwLock<Arc<rustls::ServerConfig>>);

impl TlsIdentity {
    pub(crate) fn new(files: &TlsFiles) -> Result<Self> {
        Ok(Self(RwLock::new(files.load()?)))
    }

    /// Shows another certificate from now on. Open connections keep theirs.
    pub(crate) fn replace(&self, files: &TlsFiles) -> Result<()> {
        let loaded = files.load()?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsIdentity")
    }
}

impl TlsFiles {
    /// Returns the files at these paths, which are read when the service starts.
    #[must_use]
    pub fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }

    /// Reads both files, and checks that they belong together.
    pub(crate) fn load(&self) -> Result<Arc<rustls::ServerConfig>> {
        let (certificate, key) = (shown(&self.certificate), shown(&self.key));
        let found = CertificateDer::pem_slice_iter(&read(&self.certificate, "certificate")?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| invalid(format!("invalid certificate in {certificate}")).with_source(error))?;
        if found.is_empty() {
            return Err(invalid(format!("certificate not found in {certificate}"))
                .hint("the file must contain `-----BEGIN CERTIFICATE-----`, the service's own first"));
        }
        let private = PrivateKeyDer::from_pem_slice(&read(&self.key, "key")?).map_err(|error| match error {
            pem::Error::NoItemsFound => invalid(format!("private key not found in {key}"))
                .hint("the file must contain `-----BEGIN PRIVATE KEY-----`, without a password"),
            // Without the cause, which quotes the file.
            _ => invalid(format!("invalid private key in {key}")),
        })?;
        let builder = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let versions = builder.with_safe_default_protocol_versions();
        let mut config = versions
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(found, private))
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    invalid(format!("the key in {key} does not belong to the certificate in {certificate}"))
                        .hint("name the key with which the certificate was requested")
                }
                error => invalid(format!("cannot use the certificate in {certificate} with the key in {key}: {error}")),
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn invalid(sentence: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}

fn shown(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "file not found",
            std::io::ErrorKind::PermissionDenied => "permission denied",
            _ => "the system refuses it",
        };
        let sentence = format!("cannot read the {what} of TLS {}: {why}", shown(path));
        Error::new(ErrorKind::NotFound, sentence)
            .hint("name PEM files that the service may read: `--tls-certificate FILE --tls-key FILE`")
            .with_source(error)
    })
}
