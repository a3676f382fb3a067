//! The configuration of a keeper: one line of JSON on its stream, and one line in reply. After that the stream speaks
//! HTTP/2.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use workden_core::{Error, sandbox::Confinement};

/// The version of the protocol; both sides must have the same.
pub const PROTOCOL: u32 = 1;

/// The configuration of a keeper, from its launcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The version of the protocol that the launcher speaks.
    pub protocol: u32,
    /// The environment in which commands run.
    pub target: LaunchTarget,
    /// When the keeper ends.
    pub lifetime: Lifetime,
}

/// The environment in which the commands of a keeper run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchTarget {
    /// The host, without isolation.
    Host {
        /// The directory that file calls see as `/`.
        root: PathBuf,
        /// The directory in which commands start: the root, or a directory below it.
        directory: PathBuf,
        /// The environment of commands.
        environment: BTreeMap<String, String>,
    },
    /// New namespaces, which the keeper creates before it serves.
    Linux(Box<Confinement>),
    /// The container in which the keeper was started, unchanged.
    Container {
        /// The directory in which commands start.
        directory: PathBuf,
        /// The environment of commands.
        environment: BTreeMap<String, String>,
    },
}

/// When a keeper ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// The keeper ends with its owner: when the stream ends, or the process that started it.
    Owned,
    /// The keeper serves clients with the token on a socket, and ends when no client has been connected for `ttl`.
    Leased {
        /// The time without a client.
        ttl: Duration,
        /// The socket, as a host path.
        socket: PathBuf,
        /// SHA-256 of the token, as hexadecimal digits: no process that a command could inspect has the token itself.
        token_sha256: String,
        /// A host directory that belongs to the sandbox: a sandbox with a supervisor removes it with all of its content
        /// after it has ended.
        #[serde(default)]
        directory: Option<PathBuf>,
    },
    /// The keeper of a pod serves clients with the token over TLS, on its socket and on a port, and ends when no client
    /// has been connected for `ttl`.
    Pod(PodAccess),
    /// The keeper serves clients that know the secret, on a port of the loopback interface.
    Port(PortAccess),
}

/// How clients reach a keeper on a port of the loopback interface, to which a proxy leads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortAccess {
    /// The time without a client; `None` for ever.
    pub ttl: Option<Duration>,
    /// What both sides of a connection prove to know, as hexadecimal digits.
    pub secret: String,
}

impl fmt::Debug for PortAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortAccess").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

/// How clients reach the keeper of a pod.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodAccess {
    /// The time without a client.
    pub ttl: Duration,
    /// The TCP port, on all addresses of the pod.
    pub port: u16,
    /// SHA-256 of the token, as hexadecimal digits.
    pub token_sha256: String,
    /// The certificate that the keeper shows, in PEM. Clients accept this one and no other.
    pub certificate: String,
    /// Its private key, in PEM. The keeper has it in memory only.
    pub key: String,
}

impl fmt::Debug for PodAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodAccess").field("ttl", &self.ttl).field("port", &self.port).finish_non_exhaustive()
    }
}

/// The reply of a keeper: that it is ready, or why it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The keeper is ready; the stream continues with HTTP/2.
    Ready,
    /// The keeper refuses, and ends.
    Refused(Error),
}
