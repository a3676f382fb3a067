//! The control plane: create, list, describe and end sandboxes, and what they use.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use workden::Sandbox;

use super::{
    failure::{E2bBody, E2bFailure, E2bQuery},
    selection::SandboxQuery,
    views::{OpenedSandbox, SandboxSize, SandboxView},
};
use crate::{
    clock::Moment,
    database::{SessionQuery, SnapshotRow},
    identity::Principal,
    ports::ALL_PORTS,
    service::Service,
    sessions::{AtSessionEnd, ExistingName, NewSession, creation::Creation},
};

/// How long a sandbox lives if its creator does not say, in seconds: the default of the SDKs.
pub(super) const LIFETIME: u64 = 300;
/// The templates that every client knows: of sandboxes, and of those with a code interpreter.
pub(super) const KNOWN: [&str; 2] = ["base", "code-interpreter-v1"];
/// Where a sandbox's files are, and commands start.
pub(super) const HOME: &str = "/home/user";
/// The longest key of a request that is made once.
const KEY_CHARS: usize = 255;

/// A request for a sandbox.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    timeout: Option<u64>,
    metadata: Option<BTreeMap<String, String>>,
    env_vars: Option<BTreeMap<String, String>>,
    #[serde(rename = "allow_internet_access")]
    allow_internet_access: Option<bool>,
    auto_pause: Option<bool>,
    auto_resume: Option<AutoResume>,
    network: Option<NetworkRules>,
    mcp: Option<Value>,
    iam: Option<Value>,
    volume_mounts: Option<Vec<Value>>,
}

/// Who may reach what.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetworkRules {
    /// Whether everyone may reach the servers of the sandbox.
    allow_public_traffic: Option<bool>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

impl NetworkRules {
    /// Whether there are rules that are not kept.
    fn are_given(&self) -> bool {
        self.others.values().any(|value| !is_empty(value))
    }
}

/// Whether a call to a paused sandbox resumes it.
#[derive(Debug, Deserialize)]
struct AutoResume {
    enabled: bool,
}

impl NewSandbox {
    /// Refuses what would be missing: a rule of the network that is not kept must not be accepted.
    fn check(&self) -> Result<(), E2bFailure> {
        let is_given = |value: &Option<Value>| match value {
            None | Some(Value::Null) => false,
            Some(Value::Object(fields)) => fields.values().any(|value| !is_empty(value)),
            Some(_) => true,
        };
        let refused = [
            ("`network`", self.network.as_ref().is_some_and(NetworkRules::are_given)),
            ("`mcp`", is_given(&self.mcp)),
            ("`iam`", is_given(&self.iam)),
            ("`volumeMounts`", self.volume_mounts.as_ref().is_some_and(|mounts| !mounts.is_empty())),
            ("`autoResume`", self.auto_resume.as_ref().is_some_and(|resume| resume.enabled)),
        ];
        match refused.iter().find(|(_, is_asked)| *is_asked) {
            Some((name, _)) => Err(E2bFailure::invalid(format!("{name} is not supported by this service"))),
            None => Ok(()),
        }
    }

    /// Returns the session to create, and the snapshot that it starts from: a template is a runtime or a snapshot.
    async fn session(
        self,
        service: &Service,
        principal: &Principal,
        once: Option<&str>,
    ) -> Result<(NewSession, Option<SnapshotRow>), E2bFailure> {
        self.check()?;
        let config = service.config();
        let (runtime, start) = match config.runtimes.contains_key(&self.template_id) {
            true => (self.template_id, None),
            false if KNOWN.contains(&self.template_id.as_str()) => (config.default_runtime.clone(), None),
            false => match service.database.listed_snapshot(&principal.tenant, &self.template_id).await? {
                Some(snapshot) => (snapshot.runtime.clone(), Some(snapshot)),
                None => {
                    let message = format!("template '{}' not found", self.template_id.escape_debug());
                    return Err(E2bFailure::new(StatusCode::NOT_FOUND, message));
                }
            },
        };
        let (name, if_exists) = match once {
            Some(key) => (Some(name_of(key)?), ExistingName::Attach),
            None => (None, ExistingName::Refuse),
        };
        let new = NewSession {
            name,
            if_exists,
            runtime: Some(runtime),
            directory: Some(HOME.to_owned()),
            env: self.env_vars.unwrap_or_default(),
            labels: self.metadata.unwrap_or_default(),
            lifetime_seconds: Some(self.timeout.unwrap_or(LIFETIME)),
            // A sandbox of E2B ends at its time, used or not.
            idle_seconds: Some(0),
            at_end: if self.auto_pause == Some(true) { AtSessionEnd::Pause } else { AtSessionEnd::Delete },
            network: (self.allow_internet_access == Some(false)).then(|| "none".to_owned()),
            ..NewSession::default()
        };
        Ok((new, start))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the name of the session that a repeated request finds.
fn name_of(key: &str) -> Result<String, E2bFailure> {
    if key.is_empty() || key.len() > KEY_CHARS {
        return Err(E2bFailure::invalid("invalid `Idempotency-Key`: 1 to 255 characters"));
    }
    let digits = Sha256::digest(key.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(format!("e2b-{digits}"))
}

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    principal: Principal,
    headers: HeaderMap,
    E2bBody(new): E2bBody<NewSandbox>,
) -> Result<(StatusCode, Json<OpenedSandbox>), E2bFailure> {
    principal.require_tenant()?;
    let once = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let are_ports_public = new.network.as_ref().is_none_or(|network| network.allow_public_traffic != Some(false));
    let (new, start) = new.session(&service, &principal, once).await?;
    let (row, creation) = service.create_session_from(&principal, new, start).await?;
    // Clients expect that everyone may reach its servers, by names that cannot be guessed.
    if creation == Creation::Created && are_ports_public {
        service.database.publish_port(&row.id, ALL_PORTS).await?;
    }
    Ok((StatusCode::CREATED, Json(OpenedSandbox::of(&service, &row).await?)))
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    E2bQuery(selection): E2bQuery<SandboxQuery>,
) -> Result<Response, E2bFailure> {
    let metadata = selection.metadata()?;
    let query = SessionQuery {
        tenant: principal.scope().map(str::to_owned),
        after: selection.next_token.clone().unwrap_or_default(),
        limit: selection.limit(),
        ..SessionQuery::default()
    };
    let rows = service.database.sessions(&query).await?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == query.limit);
    let next = rows.last().filter(|_| is_full).map(|row| row.id.clone());
    let seen = rows.iter().filter(|row| principal.sees(&row.tenant, &row.id));
    let views = seen.map(|row| SandboxView::of(&service, row));
    let shown: Vec<_> = views.filter(|view| selection.shows(view, &metadata)).collect();
    Ok(match next {
        Some(next) => ([("x-next-token", next)], Json(shown)).into_response(),
        None => Json(shown).into_response(),
    })
}

pub(super) async fn describe(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<Value>, E2bFailure> {
    let row = service.sandbox_row(&principal, &id).await?;
    let mut view = serde_json::to_value(SandboxView::of(&service, &row)).unwrap_or_default();
    view["envdAccessToken"] = json!(service.secret.session_token(&row.id));
    view["domain"] = json!(service.config().domain);
    Ok(Json(view))
}

pub(super) async fn kill(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, E2bFailure> {
    principal.require_tenant()?;
    service.delete_session(&principal, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers with one measurement, of now; the processors in use are an average since the sandbox started.
pub(super) async fn metrics(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<Value>, E2bFailure> {
    let row = service.sandbox_row(&principal, &id).await?;
    if row.state != "running" {
        return Ok(Json(json!([])));
    }
    let live = service.session(&principal, &row.id).await?;
    let usage = live.unrecorded().commands()?.usage().await?;
    let (size, now) = (SandboxSize::of(&service, &row), Moment::now());
    let busy = usage.cpu.unwrap_or_default().as_secs_f64() / usage.age.as_secs_f64().max(0.001);
    Ok(Json(json!([{
        "timestamp": now,
        "timestampUnix": now.0 / 1000,
        "cpuCount": size.processors,
        "cpuUsedPct": 100.0 * busy,
        "memUsed": usage.memory.unwrap_or(0),
        "memTotal": size.memory,
        "memCache": 0,
        "diskUsed": 0,
        "diskTotal": 0,
    }])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_missing_is_refused() {
        let check = |json: &str| {
            let new: NewSandbox = serde_json::from_str(&format!(r#"{{"templateID": "base", {json}}}"#)).unwrap();
            new.check().map_err(|failure| failure.message)
        };
        for json in [
            r#""network": {"allowPublicTraffic": false}"#,
            r#""network": {}, "mcp": null, "volumeMounts": []"#,
            r#""network": {"denyOut": [], "rules": null}"#,
            r#""autoResume": {"enabled": false}, "secure": true"#,
        ] {
            assert_eq!(check(json), Ok(()), "{json}");
        }
        for (json, name) in [
            (r#""network": {"denyOut": ["0.0.0.0/0"]}"#, "`network`"),
            (r#""mcp": {"exa": {"key": "x"}}"#, "`mcp`"),
            (r#""volumeMounts": [{"name": "a", "path": "/b"}]"#, "`volumeMounts`"),
            (r#""autoResume": {"enabled": true}"#, "`autoResume`"),
        ] {
            assert!(check(json).unwrap_err().contains(name), "{json}");
        }
    }

    #[test]
    fn a_repeated_request_names_the_same_session() {
        assert_eq!(name_of("a-1").unwrap(), name_of("a-1").unwrap());
        assert_ne!(name_of("a-1").unwrap(), name_of("a-2").unwrap());
        assert!(name_of("").is_err() && name_of(&"a".repeat(256)).is_err());
    }
}
