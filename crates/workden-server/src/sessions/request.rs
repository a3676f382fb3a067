//! The request for a new session, as clients send it and as its row keeps it.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use workden::{Error, ErrorKind, Preset, Result, Ruleset, SessionId, SessionSpec, VirtualPath, core::parse_size};

use crate::{
    ServerConfig,
    config::TenantQuotas,
    described_values::{optional_object, optional_whole},
};

/// The most labels of a session, and the most characters of one.
const LABELS: usize = 64;
const LABEL_CHARS: usize = 1024;
/// What kernels take as limits of processors and processes, and memory in which a shell starts.
const CPUS: RangeInclusive<f64> = 0.01..=1024.0;
const PIDS: RangeInclusive<u64> = 1..=4_194_304;
const MEMORY: RangeInclusive<u64> = 1 << 20..=64 << 40;

/// A request for a session. Everything is optional.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewSession {
    /// A name of your choice, unique among your sessions: letters, digits, `.`, `_` and `-`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "user-42", pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    pub(crate) name: Option<String>,
    /// What to do if a session of that name exists.
    pub(crate) if_exists: ExistingName,
    /// The runtime; `GET /v1/runtimes` lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runtime: Option<String>,
    /// Memory of all commands together, like `512M`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "512M")]
    pub(crate) memory: Option<String>,
    /// Processors.
    #[schema(minimum = 0.01, maximum = 1024)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpus: Option<f64>,
    /// Processes and threads of all commands together.
    #[serde(deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 4194304)]
    pub(crate) pids: Option<u64>,
    /// `none`, or a network that the runtime has, like `host`; the tenant must be permitted to have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<String>,
    /// Where its files are: `/workspace` by default, or a directory below `/home`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/home/user")]
    pub(crate) directory: Option<String>,
    /// Variables of all commands.
    pub(crate) env: BTreeMap<String, String>,
    /// Labels of your choice, by which sessions are found again.
    pub(crate) labels: BTreeMap<String, String>,
    /// How long it may be idle; 0 for as long as it lives.
    #[serde(deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    pub(crate) idle_seconds: Option<u64>,
    /// How long it may live, from its start.
    #[schema(minimum = 1)]
    #[serde(deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    pub(crate) lifetime_seconds: Option<u64>,
    /// What happens when its time is over.
    pub(crate) at_end: AtSessionEnd,
    /// Rules in addition to those of the service and the tenant: the strictest wins.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<SessionPolicy>,
}

/// What to do if a session of the same name exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExistingName {
    /// Refuse the call.
    #[default]
    Refuse,
    /// Use that session.
    Attach,
}

/// What happens to a session when its time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AtSessionEnd {
    /// It is deleted, with its files.
    #[default]
    Delete,
    /// Its processes end, and its files stay until it is resumed or deleted.
    Pause,
}

/// Rules of a session.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionPolicy {
    /// A preset: `default`, `permissive`, `readonly` or `strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<String>,
    /// Rules for each operation, as in the table `rules` of a `workden.toml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) rules: Option<serde_json::Map<String, serde_json::Value>>,
}

impl SessionPolicy {
    /// Returns the rules, of which the strictest wins.
    ///
    /// # Errors
    ///
    /// When the preset does not exist or a rule is invalid.
    pub(crate) fn rulesets(&self) -> Result<Vec<Ruleset>> {
        let preset = self.preset.as_deref().map(str::parse::<Preset>).transpose()?.map(Preset::ruleset);
        let rules = self.rules.clone().map(serde_json::Value::Object);
        let rules = rules.map(serde_json::from_value::<Ruleset>).transpose().map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, format!("invalid `policy.rules`: {error}"))
                .hint("write them as in `workden.toml`, like {\"write\": {\"default\": \"deny\"}}")
        })?;
        Ok(preset.into_iter().chain(rules).collect())
    }
}

impl NewSession {
    /// Checks the request against the quotas of its tenant, and names the runtime if it names none.
    ///
    /// # Errors
    ///
    /// When it asks for more than the tenant may have, or for a thing that does not exist.
    pub(crate) fn checked(mut self, config: &ServerConfig, quotas: &TenantQuotas) -> Result<Self> {
        let refused = |sentence: String| Err(Error::new(ErrorKind::Denied, sentence));
        if let Some(name) = &self.name {
            name.parse::<SessionId>()?;
        }
        self.check_labels()?;
        self.check_directory()?;
        let runtime = self.runtime.get_or_insert_with(|| config.default_runtime.clone());
        if !config.runtimes.contains_key(runtime) {
            let names: Vec<&str> = config.runtimes.keys().map(String::as_str).collect();
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("runtime `{}` not found", runtime.escape_debug()),
            )
            .hint(format!("runtimes: {}", names.join(", "))));
        }
        let memory = self.memory.as_deref().map(parse_size).transpose()?;
        let most = quotas.memory.as_deref().map(parse_size).transpose()?;
        if let (Some(memory), Some(most)) = (memory, most)
            && memory > most
        {
            return refused("`memory` exceeds the quota of the tenant".to_owned());
        }
        if let (Some(cpus), Some(most)) = (self.cpus, quotas.cpus)
            && cpus > most
        {
            return refused("`cpus` exceeds the quota of the tenant".to_owned());
        }
        if self.cpus.is_some_and(|cpus| !CPUS.contains(&cpus)) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "invalid `cpus`: use a number from 0.01 to 1024, like 1.5",
            ));
        }
        if self.pids.is_some_and(|pids| !PIDS.contains(&pids)) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "invalid `pids`: use a number from 1 to 4194304, like 200",
            ));
        }
        if memory.is_some_and(|memory| !MEMORY.contains(&memory)) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "invalid `memory`: use a size from 1M to 64T, like 512M",
            ));
        }
        if self.network.as_deref().is_some_and(|network| network != "none") && !quotas.network {
            return refused("sessions of this tenant have no network".to_owned());
        }
        if let Some(policy) = &self.policy {
            policy.rulesets()?;
        }
        let lifetime = self.lifetime_seconds.unwrap_or(config.lifetime_seconds).min(quotas.lifetime_seconds);
        if lifetime == 0 {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "invalid `lifetime_seconds`: the session would end at once",
            )
            .hint("use 1 or more, or leave it out"));
        }
        self.lifetime_seconds = Some(lifetime);
        self.idle_seconds.get_or_insert(config.idle_seconds);
        Ok(self)
    }

    fn check_labels(&self) -> Result<()> {
        let is_long = |text: &String| text.chars().count() > LABEL_CHARS;
        if self.labels.len() > LABELS || self.labels.iter().any(|(key, value)| is_long(key) || is_long(value)) {
            let limits = format!("invalid `labels`: at most {LABELS}, of {LABEL_CHARS} characters each");
            return Err(Error::new(ErrorKind::InvalidArgument, limits));
        }
        Ok(())
    }

    /// Other places belong to the system of the sandbox, or may not exist there.
    fn check_directory(&self) -> Result<()> {
        let Some(typed) = &self.directory else { return Ok(()) };
        let home = VirtualPath::root().child_unchecked("home");
        let is_allowed = |at: VirtualPath| at.as_str() == "/workspace" || (at.is_within(&home) && at != home);
        match VirtualPath::parse(typed).is_ok_and(is_allowed) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::InvalidArgument, "invalid `directory`")
                .hint("use `/workspace`, or a directory below `/home`")),
        }
    }

    /// Returns the options of its sandbox: those of its runtime, and its own over them.
    ///
    /// # Errors
    ///
    /// When the runtime does not exist any more, and as [`RuntimeAlias::spec`](crate::RuntimeAlias).
    pub(crate) fn spec(&self, config: &ServerConfig) -> Result<SessionSpec> {
        let name = self.runtime.as_deref().unwrap_or(&config.default_runtime);
        let runtime = config.runtimes.get(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("the runtime `{name}` of the session does not exist any more"))
                .hint("add it to the configuration of the service")
        })?;
        let mut spec = runtime.spec()?;
        if let Some(memory) = &self.memory {
            spec.memory = Some(parse_size(memory)?);
        }
        spec.cpus = self.cpus.or(spec.cpus);
        spec.pids = self.pids.or(spec.pids);
        spec.network = self.network.clone().or(spec.network);
        spec.environment.extend(self.env.clone());
        spec.directory.clone_from(&self.directory);
        // A service that is gone does not keep its sandboxes alive for longer than this.
        spec.idle = Some(self.keeper_lease());
        Ok(spec)
    }

    /// How long its sandbox lives without any process of the service.
    fn keeper_lease(&self) -> Duration {
        let lifetime = Duration::from_secs(self.lifetime_seconds.unwrap_or(3600).max(60));
        match self.idle_seconds {
            Some(seconds) if seconds > 0 => lifetime.min(Duration::from_secs(seconds.max(60))),
            _ => lifetime,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_cannot_exceed_its_tenant() {
        let config = ServerConfig::default();
        let quotas = TenantQuotas { memory: Some("1G".into()), cpus: Some(2.0), ..TenantQuotas::default() };
        let check = |json: &str| {
            let new: NewSession = serde_json::from_str(json).unwrap();
            new.checked(&config, &quotas).map_err(|error| error.sentence().to_owned())
        };
        assert_eq!(check("{}").unwrap().runtime.as_deref(), Some("base"));
        assert_eq!(check(r#"{"lifetime_seconds": 99999999}"#).unwrap().lifetime_seconds, Some(2_592_000));
        for (json, expected) in [
            (r#"{"memory": "2G"}"#, "`memory` exceeds"),
            (r#"{"cpus": 3}"#, "`cpus` exceeds"),
            (r#"{"cpus": -1}"#, "invalid `cpus`"),
            (r#"{"cpus": 1e-9}"#, "invalid `cpus`"),
            (r#"{"cpus": 5e16}"#, "`cpus` exceeds"),
            (r#"{"pids": 0}"#, "invalid `pids`"),
            (r#"{"lifetime_seconds": 0}"#, "invalid `lifetime_seconds`"),
            (r#"{"memory": "1"}"#, "invalid `memory`"),
            (r#"{"network": "host"}"#, "have no network"),
            (r#"{"runtime": "x"}"#, "runtime `x` not found"),
            (r#"{"directory": "/home"}"#, "invalid `directory`"),
            (r#"{"directory": "/home/user/../../etc"}"#, "invalid `directory`"),
            (r#"{"name": "../x"}"#, "invalid session id"),
            (r#"{"policy": {"preset": "x"}}"#, "invalid preset"),
            (r#"{"policy": {"rules": {"write": 1}}}"#, "invalid `policy.rules`"),
        ] {
            assert!(check(json).unwrap_err().contains(expected), "{json}");
        }
    }
}
