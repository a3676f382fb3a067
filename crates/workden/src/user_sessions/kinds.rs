//! The kinds of sessions, the options of a new one, and where the sandbox of an existing one is.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use workden_sessions::SessionRecord;

use super::{ClusterSpec, DaytonaSpec};

/// The kind of sandbox of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionKind {
    /// Isolated on this Linux machine.
    #[default]
    Linux,
    /// In a container of a Docker or Podman daemon.
    Docker,
    /// In a pod of a Kubernetes cluster.
    Kubernetes,
    /// At Daytona.
    Daytona,
}

/// Options of a session; an absent one keeps the value of the session, or is the default.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionSpec {
    /// The kind of its sandbox.
    pub kind: SessionKind,
    /// The image of a container or pod.
    pub image: Option<String>,
    /// A runtime instead: its name, or the path of a `.toml` file.
    pub runtime: Option<String>,
    /// The directory of the host to work in, instead of a new one for the session.
    pub root: Option<PathBuf>,
    /// The path at which commands see that directory: `/workspace`, unless you or a runtime names another. Pods and
    /// sandboxes at Daytona have files of their own, and ignore it.
    pub directory: Option<String>,
    /// `none`; `host`, or the name of a network of the daemon; for a pod, `cluster`; at Daytona, `internet`.
    pub network: Option<String>,
    /// The cluster of a pod, and its own options.
    pub cluster: ClusterSpec,
    /// What only sandboxes at Daytona have.
    pub daytona: DaytonaSpec,
    /// Bytes of memory for all commands together.
    pub memory: Option<u64>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Processes and threads of all commands together.
    pub pids: Option<u64>,
    /// Toolchains of this machine, for a session on it.
    pub toolchains: Vec<String>,
    /// Variables of all its commands.
    pub environment: BTreeMap<String, String>,
    /// How long it lives without a connection; an hour by default.
    pub idle: Option<Duration>,
}

impl SessionKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Linux, Self::Docker, Self::Kubernetes, Self::Daytona];

    /// Its name in options and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Docker => "docker",
            Self::Kubernetes => "kubernetes",
            Self::Daytona => "daytona",
        }
    }

    /// Whether its files are in the sandbox, and not in a directory of this machine.
    #[must_use]
    pub fn has_own_files(self) -> bool {
        matches!(self, Self::Kubernetes | Self::Daytona)
    }
}

/// Where the sandbox of a session is: on this machine, in a daemon, or in a namespace of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionPlace {
    pub(super) kind: String,
    pub(super) context: Option<String>,
    pub(super) namespace: Option<String>,
}

impl SessionPlace {
    /// Returns the place of the session with this record.
    #[must_use]
    pub fn of(record: &SessionRecord) -> Self {
        let ClusterSpec { context, namespace, .. } = ClusterSpec::of(record);
        Self { kind: record.kind.clone(), context, namespace }
    }

    /// Whether it is in a Kubernetes cluster.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.kind == SessionKind::Kubernetes.name()
    }
}

impl From<SessionKind> for SessionPlace {
    /// The place that the environment of the caller selects.
    fn from(kind: SessionKind) -> Self {
        Self { kind: kind.name().to_owned(), context: None, namespace: None }
    }
}
