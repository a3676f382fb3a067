//! `ServerConfig`: what a service is started with, from `serve.toml` and the command line.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use workden::{ClusterSpec, Error, ErrorKind, Preset, Result, SessionKind, SessionSpec, core::parse_size};

use crate::{ConnectionLimits, TlsFiles, described_values::whole};

/// The most requests in a second that are counted.
const MOST_REQUESTS: u32 = 1_000_000;
/// The most spare sandboxes of a runtime.
const MOST_SPARES: usize = 1_000;

/// The settings of a service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The directory with the files of sessions and, by default, the database.
    pub state: PathBuf,
    /// The URL of a Postgres or SQLite database, instead of a file in `state`.
    pub database: Option<String>,
    /// The certificate of the service; connections are not encrypted without one.
    pub tls: Option<TlsFiles>,
    /// How much a client may send, and how slow it may be.
    pub limits: ConnectionLimits,
    /// Whether `/metrics` answers without a key.
    pub metrics_without_key: bool,
    /// The collector of OpenTelemetry to which traces are sent, like `http://localhost:4318`; the feature `otel`.
    pub otlp_endpoint: Option<String>,
    /// The addresses of proxies in front of this service, which say by `X-Forwarded-...` where a request came from.
    pub trusted_proxies: Vec<IpAddr>,
    /// The domain of host names like `PORT-SESSION.DOMAIN`.
    pub domain: String,
    /// Whether calls without a key are an administrator's; the address must be a loopback address.
    pub no_key: bool,
    /// The tenant of keys and calls that name none.
    pub default_tenant: String,
    /// How long a session may be idle, unless it says otherwise; 0 is no limit.
    pub idle_seconds: u64,
    /// How long a session may live, unless it says otherwise.
    pub lifetime_seconds: u64,
    /// How long the files of a session stay after it has ended or was paused. With 0, those of an ended session go with
    /// it, and those of a paused one stay until it is deleted.
    pub workspace_ttl_seconds: u64,
    /// How long a question waits for an answer.
    pub approval_seconds: u64,
    /// The policy of all sessions; none by default: the sandbox is the wall.
    pub preset: Option<Preset>,
    /// The runtime of sessions that name none.
    pub default_runtime: String,
    /// The runtimes that sessions can name.
    pub runtimes: BTreeMap<String, RuntimeAlias>,
    /// The quotas of tenants that have none of their own.
    pub quotas: TenantQuotas,
}

/// What a runtime is: the kind of sandbox, and its options. Those of the cluster are the operator's, and not shown.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RuntimeAlias {
    /// `linux` (the default), `docker`, `kubernetes` or `daytona`.
    pub sandbox: String,
    /// The image of a container or pod.
    pub image: Option<String>,
    /// A runtime of workden instead: its name, or a `.toml` file.
    pub runtime: Option<String>,
    /// The network of its sessions: `none` by default.
    pub network: Option<String>,
    /// Memory of all commands of a session, like `512M`.
    pub memory: Option<String>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Processes of a session.
    pub pids: Option<u64>,
    /// Toolchains of this machine, for `linux`.
    pub toolchains: Vec<String>,
    /// The namespace of its pods, for `kubernetes`; by default that of the service's account or context.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub namespace: Option<String>,
    /// The context of the kubeconfig, for `kubernetes`.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub context: Option<String>,
    /// The runtime class of its pods, such as that of gVisor.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub runtime_class: Option<String>,
    /// An image whose entry point is the keeper, for pods with an image that has no shell.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub keeper_image: Option<String>,
    /// The service account of its pods.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub service_account: Option<String>,
    /// A file with a Pod that is merged over the default one.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub pod_template: Option<PathBuf>,
    /// How many of its sandboxes are started before a session wants them.
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub spares: usize,
    /// Variables of all commands.
    pub env: BTreeMap<String, String>,
    /// What a person should know about it.
    pub description: String,
}

/// What a tenant may use.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TenantQuotas {
    /// Running sessions.
    #[serde(deserialize_with = "whole")]
    pub max_sessions: i64,
    /// Memory of a session, like `2G`; a session that asks for more is refused.
    pub memory: Option<String>,
    /// Processors of a session.
    pub cpus: Option<f64>,
    /// What the files of all its sessions take on a disk of the service, like `10G`. Measured now and then: past it,
    /// only reading and removing go on.
    pub disk: Option<String>,
    /// Longest life of a session.
    #[serde(deserialize_with = "whole")]
    pub lifetime_seconds: u64,
    /// Whether its sessions may have a network.
    pub network: bool,
    /// Requests in a second; 0 is no limit.
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 1000000)]
    pub requests_per_second: u32,
    /// Snapshots that it keeps.
    #[serde(deserialize_with = "whole")]
    pub max_snapshots: i64,
    /// The largest snapshot, like `1G`.
    pub snapshot_size: String,
}

impl Default for ServerConfig {
    fn default() -> Self {
        let base = RuntimeAlias {
            sandbox: "linux".to_owned(),
            description: "The programs of this machine, isolated".to_owned(),
            ..RuntimeAlias::default()
        };
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8420)),
            state: PathBuf::from("workden-state"),
            database: None,
            tls: None,
            limits: ConnectionLimits::default(),
            metrics_without_key: false,
            otlp_endpoint: None,
            trusted_proxies: Vec::new(),
            domain: "localhost".to_owned(),
            no_key: false,
            default_tenant: "default".to_owned(),
            idle_seconds: 3600,
            lifetime_seconds: 24 * 3600,
            workspace_ttl_seconds: 0,
            approval_seconds: 900,
            preset: None,
            default_runtime: "base".to_owned(),
            runtimes: BTreeMap::from([("base".to_owned(), base)]),
            quotas: TenantQuotas::default(),
        }
    }
}

impl Default for TenantQuotas {
    fn default() -> Self {
        Self {
            max_sessions: 1000,
            memory: None,
            cpus: None,
            disk: None,
            lifetime_seconds: 30 * 24 * 3600,
            network: false,
            requests_per_second: 0,
            max_snapshots: 20,
            snapshot_size: "1G".to_owned(),
        }
    }
}

impl TenantQuotas {
    /// Checks that sizes are sizes, and rates can be counted.
    ///
    /// # Errors
    ///
    /// When one is not.
    pub(crate) fn check(&self) -> Result<()> {
        if self.requests_per_second > MOST_REQUESTS {
            let sentence =
                format!("invalid quota `requests_per_second`: use 0 for no limit, or at most {MOST_REQUESTS}");
            return Err(Error::new(ErrorKind::InvalidArgument, sentence));
        }
        let snapshot_size = Some(self.snapshot_size.as_str());
        let sizes =
            [("memory", self.memory.as_deref()), ("disk", self.disk.as_deref()), ("snapshot_size", snapshot_size)];
        for (name, size) in sizes {
            size.map(parse_size).transpose().map_err(|error| {
                Error::new(ErrorKind::InvalidArgument, format!("invalid quota `{name}`: {}", error.sentence()))
            })?;
        }
        Ok(())
    }
}

impl ServerConfig {
    /// Parses a `serve.toml`.
    ///
    /// # Errors
    ///
    /// When it is not TOML, has an unknown key, or a value that no service can be started with.
    pub fn parse(text: &str) -> Result<Self> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let place = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
            Error::new(ErrorKind::InvalidArgument, format!("invalid configuration: line {place}: {}", error.message()))
        })?;
        config.check()?;
        Ok(config)
    }

    /// Checks what a service can be started with.
    ///
    /// # Errors
    ///
    /// When the address would let others use the service without a key, or a runtime is wrong.
    pub fn check(&self) -> Result<()> {
        let invalid = |sentence: String| Error::new(ErrorKind::InvalidArgument, sentence);
        if self.no_key && !self.listen.ip().is_loopback() {
            return Err(invalid(format!("cannot serve on {} without keys: every host could use it", self.listen))
                .hint("listen on 127.0.0.1, or leave out `no_key`"));
        }
        self.limits.check()?;
        self.quotas.check()?;
        if !self.runtimes.contains_key(&self.default_runtime) {
            let names: Vec<&str> = self.runtimes.keys().map(String::as_str).collect();
            return Err(invalid(format!("default runtime `{}` not found", self.default_runtime))
                .hint(format!("runtimes: {}", names.join(", "))));
        }
        for (name, runtime) in &self.runtimes {
            runtime.spec().map_err(|error| {
                let named = invalid(format!("invalid runtime `{name}`: {}", error.sentence()));
                error.hint_text().map_or(named.clone(), |hint| named.clone().hint(hint))
            })?;
        }
        Ok(())
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }

    pub(crate) fn workspace_ttl(&self) -> Duration {
        Duration::from_secs(self.workspace_ttl_seconds)
    }

    pub(crate) fn approval_time(&self) -> Duration {
        Duration::from_secs(self.approval_seconds)
    }
}

impl RuntimeAlias {
    /// Returns the options of a session with this runtime.
    ///
    /// # Errors
    ///
    /// When the kind of sandbox or a size is invalid.
    pub(crate) fn spec(&self) -> Result<SessionSpec> {
        let mut spec = SessionSpec::default();
        spec.kind = match self.sandbox.as_str() {
            "" => SessionKind::Linux,
            name => SessionKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
                Error::new(ErrorKind::InvalidArgument, format!("invalid sandbox `{name}`"))
                    .hint("use linux, docker, kubernetes or daytona")
            })?,
        };
        spec.image.clone_from(&self.image);
        spec.runtime.clone_from(&self.runtime);
        spec.network.clone_from(&self.network);
        spec.memory = self.memory.as_deref().map(parse_size).transpose()?;
        spec.cpus = self.cpus;
        spec.pids = self.pids;
        spec.toolchains.clone_from(&self.toolchains);
        spec.environment.clone_from(&self.env);
        spec.cluster = self.cluster(spec.kind)?;
        self.check_spares(spec.kind)?;
        Ok(spec)
    }

    fn check_spares(&self, kind: SessionKind) -> Result<()> {
        let invalid = |sentence: String| Error::new(ErrorKind::InvalidArgument, sentence);
        if self.spares > MOST_SPARES {
            return Err(invalid(format!("invalid `spares`: use at most {MOST_SPARES}")));
        }
        if self.spares > 0 && kind.has_own_files() {
            let sentence = format!("`spares` is not supported with the sandbox `{}`", kind.name());
            return Err(invalid(sentence).hint("leave it out, or use `sandbox = \"linux\"` or `\"docker\"`"));
        }
        Ok(())
    }

    /// Returns the options that only pods have.
    fn cluster(&self, kind: SessionKind) -> Result<ClusterSpec> {
        let mut cluster = ClusterSpec::default();
        cluster.namespace.clone_from(&self.namespace);
        cluster.context.clone_from(&self.context);
        cluster.runtime_class.clone_from(&self.runtime_class);
        cluster.keeper_image.clone_from(&self.keeper_image);
        cluster.service_account.clone_from(&self.service_account);
        cluster.pod_template.clone_from(&self.pod_template);
        match cluster.named().first() {
            Some((option, _)) if kind != SessionKind::Kubernetes => {
                let key = option.trim_start_matches('-').replace('-', "_");
                let sentence = format!("`{key}` is not supported with the sandbox `{}`", kind.name());
                Err(Error::new(ErrorKind::InvalidArgument, sentence)
                    .hint(format!("leave out `{key}`, or use `sandbox = \"kubernetes\"`")))
            }
            _ => Ok(cluster),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_checked_when_it_is_read() {
        let config = ServerConfig::parse("listen = \"127.0.0.1:9\"\n[runtimes.base]\nmemory = \"1G\"\n").unwrap();
        assert_eq!(config.runtimes["base"].spec().unwrap().memory, Some(1 << 30));
        for (text, expected) in [
            ("port = 1", "line 1: unknown field `port`"),
            ("listen = \"0.0.0.0:80\"\nno_key = true", "cannot serve on 0.0.0.0:80 without keys"),
            ("[limits]\nbody_seconds = 0", "invalid `limits.body_seconds`"),
            ("[limits]\nheader_bytes = 1", "invalid `limits.header_bytes`"),
            ("[tls]\nkey = \"a\"", "missing field `certificate`"),
            ("[quotas]\nsnapshot_size = \"big\"", "invalid quota `snapshot_size`: invalid size `big`"),
            ("default_runtime = \"x\"", "default runtime `x` not found"),
            ("[runtimes.base]\nsandbox = \"vm\"", "invalid runtime `base`: invalid sandbox `vm`"),
            ("[runtimes.base]\nmemory = \"lots\"", "invalid runtime `base`: invalid size `lots`"),
            ("[runtimes.base]\nnamespace = \"a\"", "`namespace` is not supported with the sandbox `linux`"),
            ("[runtimes.base]\nkeeper_image = \"a\"", "`keeper_image` is not supported with the sandbox `linux`"),
        ] {
            let error = ServerConfig::parse(text).unwrap_err();
            assert!(error.sentence().contains(expected), "{error}");
        }
    }

    #[test]
    fn a_runtime_names_the_cluster_of_its_pods_and_clients_are_not_told() {
        let text = "[runtimes.base]\nsandbox = \"kubernetes\"\nimage = \"a\"\nnamespace = \"boxes\"\n\
                    context = \"prod\"\nruntime_class = \"gvisor\"\nkeeper_image = \"keeper:1\"\n\
                    service_account = \"boxed\"\npod_template = \"/etc/pod.yaml\"\n";
        let config = ServerConfig::parse(text).unwrap();
        let runtime = &config.runtimes["base"];
        let cluster = runtime.spec().unwrap().cluster;
        let named = cluster.named().into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(named, ["prod", "boxes", "gvisor", "keeper:1", "boxed", "/etc/pod.yaml"]);
        let shown = serde_json::to_string(runtime).unwrap();
        assert!(named.iter().all(|value| !shown.contains(value.as_str())), "{shown}");
    }
}
