//! What a keeper is told before it serves: one line of JSON on its stream, and one line in answer.
//! After that the stream speaks HTTP/2.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use workden_core::{Error, sandbox::Confinement};

/// The version of the protocol; both sides must have the same.
pub const PROTOCOL: u32 = 1;

/// What a keeper that was started by its launcher is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The version of the protocol that the launcher speaks.
    pub protocol: u32,
    /// Where commands run.
    pub target: LaunchTarget,
    /// When it ends.
    pub lifetime: Lifetime,
}

/// Where the commands of a keeper run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchTarget {
    /// On the host as it is, without isolation.
    Host {
        /// The directory that is `/` to file calls.
        root: PathBuf,
        /// Where commands start: the root, or a directory below it.
        directory: PathBuf,
        /// The environment of commands.
        environment: BTreeMap<String, String>,
    },
    /// In namespaces of their own, which the keeper makes before it serves.
    Linux(Box<Confinement>),
    /// In the container in which the keeper was started, as it is.
    Container {
        /// Where commands start.
        directory: PathBuf,
        /// The environment of commands.
        environment: BTreeMap<String, String>,
    },
}

/// When a keeper ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// With its owner: when the stream ends, or the process that started it.
    Owned,
    /// When no client has been connected for so long. It serves a socket, to clients with the token.
    Leased {
        /// For how long.
        ttl: Duration,
        /// The socket, as a path of the host.
        socket: PathBuf,
        /// SHA-256 of the token, as hexadecimal digits: the token itself is in no process that a
        /// command could look into.
        token_sha256: String,
        /// A directory of the host that is the sandbox's own: a sandbox with a supervisor removes it, with all
        /// that is in it, when it has ended.
        #[serde(default)]
        directory: Option<PathBuf>,
    },
}

/// What a keeper says when it is ready, or why it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// HTTP/2 from here on.
    Ready,
    /// It ends now.
    Refused(Error),
}
