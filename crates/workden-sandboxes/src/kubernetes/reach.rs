//! The ways to a keeper in a pod: its address, a port-forward of the API server, or a relay that the API server
//! executes. Each is a byte stream, and TLS with the keeper's own certificate runs on each.

use std::{fmt, io, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
    version::TLS13,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::RemoteSandbox;

use super::{access::Access, cluster::Cluster, errors, exec_stream, plan, pod::Made};

/// How long an address may take to accept a connection. Networks without a route to pods often drop packets silently.
const DIRECT_TIME: Duration = Duration::from_millis(700);
/// How long any way may take until the keeper answers.
const CONNECT_TIME: Duration = Duration::from_secs(15);

/// A way to the keeper in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A TCP connection to the address of the pod.
    Direct,
    /// A port-forward through the API server.
    PortForward,
    /// A relay program in the pod, executed through the API server.
    Exec,
}

impl Reach {
    /// All ways, the fastest first.
    pub const ALL: [Self; 3] = [Self::Direct, Self::PortForward, Self::Exec];

    pub(super) fn number(self) -> u8 {
        match self {
            Self::Direct => 1,
            Self::PortForward => 2,
            Self::Exec => 3,
        }
    }

    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reach| reach.number() == number)
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Direct => "the pod's address",
            Self::PortForward => "a port-forward of the API server",
            Self::Exec => "a relay that the API server executes",
        })
    }
}

/// A byte stream to a pod.
pub(super) trait PodStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> PodStream for S {}

/// Connects to the keeper of a pod by the named way, or by the first that works.
pub(super) async fn connect(cluster: &Cluster, made: &Made, named: Option<Reach>) -> Result<(RemoteSandbox, Reach)> {
    let pod = &made.name;
    let (mut why, mut kind) = (Vec::new(), ErrorKind::Unreachable);
    for way in ways(cluster, named) {
        let connected = timeout(CONNECT_TIME, by(cluster, made, way)).await;
        match connected.unwrap_or_else(|_| Err(no_answer())) {
            Ok(remote) => {
                cluster.remember_reach(way);
                return Ok((remote, way));
            }
            Err(error) => {
                tracing::debug!(pod, %way, %error, "keeper not reached");
                if error.kind() == ErrorKind::PermissionDenied {
                    kind = ErrorKind::PermissionDenied;
                }
                why.push(format!("{way}: {}", error.sentence()));
            }
        }
    }
    let sentence = format!("the keeper in the pod `{pod}` cannot be reached ({})", why.join("; "));
    Err(Error::new(kind, sentence)
        .hint("`workden doctor --sandbox kubernetes` checks each way; the next call tries again"))
}

/// Returns the ways to try: the named one, or all, the one that worked last first.
pub(super) fn ways(cluster: &Cluster, named: Option<Reach>) -> Vec<Reach> {
    match named {
        Some(named) => vec![named],
        None => {
            let last = cluster.last_reach();
            last.into_iter().chain(Reach::ALL.into_iter().filter(|reach| Some(*reach) != last)).collect()
        }
    }
}

async fn by(cluster: &Cluster, made: &Made, way: Reach) -> Result<RemoteSandbox> {
    let stream: Box<dyn PodStream> = match (way, &made.address) {
        // A pod keeps its address, so the cluster is not asked for it again.
        (Reach::Direct, Some(address)) => Box::new(direct(address, plan::PORT).await?),
        _ => stream(cluster, &made.name, plan::PORT, way).await?,
    };
    secured(stream, made.access()).await
}

/// Opens a stream to a port of a pod. The relay connects to the keeper, whatever the port.
pub(super) async fn stream(cluster: &Cluster, pod: &str, port: u16, way: Reach) -> Result<Box<dyn PodStream>> {
    let pods = cluster.pods().await?;
    Ok(match way {
        Reach::Direct => Box::new(direct(&address_of(&pods, pod).await?, port).await?),
        Reach::PortForward => Box::new(exec_stream::forward(&pods, pod, port).await?),
        Reach::Exec => Box::new(exec_stream::run(&pods, pod, &plan::relay_words()).await?),
    })
}

/// Speaks TLS on a stream, and greets the keeper.
async fn secured(stream: Box<dyn PodStream>, access: &Access) -> Result<RemoteSandbox> {
    let name = ServerName::try_from(Access::NAME).map_err(|_| no_tls("invalid name"))?;
    let stream = connector(access)?.connect(name, stream).await.map_err(|error| no_tls(&error.to_string()))?;
    RemoteSandbox::connect(stream, Some(&access.token)).await
}

/// Accepts the keeper's certificate, and no other.
fn connector(access: &Access) -> Result<TlsConnector> {
    let certificate = CertificateDer::from_pem_slice(access.certificate.as_bytes());
    let certificate = certificate.map_err(|_| no_tls("invalid certificate"))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(|error| no_tls(&error.to_string()))?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| no_tls(&error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn address_of(pods: &Api<Pod>, name: &str) -> Result<String> {
    let pod = pods.get(name).await.map_err(|error| errors::failed(&format!("read the pod `{name}`"), &error))?;
    let address = pod.status.and_then(|status| status.pod_ip).filter(|address| !address.is_empty());
    address.ok_or_else(|| Error::new(ErrorKind::Unreachable, "the pod has no address"))
}

async fn direct(address: &str, port: u16) -> Result<TcpStream> {
    let connected = timeout(DIRECT_TIME, TcpStream::connect((address, port))).await;
    let failed = |error: io::Error| Error::new(ErrorKind::Unreachable, format!("no connection: {}", error.kind()));
    let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

fn no_tls(why: &str) -> Error {
    Error::new(ErrorKind::Unreachable, format!("no TLS with the keeper: {}", errors::shown(why)))
}

fn no_answer() -> Error {
    Error::new(ErrorKind::Unreachable, format!("no answer within {} s", CONNECT_TIME.as_secs()))
}
