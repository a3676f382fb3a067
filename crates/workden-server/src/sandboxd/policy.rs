//! What the service is and permits: `/`, `/healthz` and `/policy`.

use std::sync::Arc;

use axum::{Json, body::Bytes, extract::State, http::StatusCode};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    failure::{SandboxdFailure, SandboxdResult},
    run::LONGEST,
};
use crate::{RuntimeAlias, identity::Principal, service::Service};

/// Bytes of a file that clients read and write here; larger ones also work.
const FILE_BYTES: u64 = 64 << 20;
/// The fields that a client may try to change.
const CEILINGS: [&str; 17] = [
    "default_runtime",
    "max_sessions",
    "max_open_sessions",
    "max_sessions_per_tenant",
    "evict_idle_after",
    "idle_timeout",
    "execute_timeout",
    "max_read_bytes",
    "workspace_ttl",
    "container_ttl",
    "mem_limit",
    "memswap_limit",
    "cpus",
    "cpu_shares",
    "pids_limit",
    "tmpfs_size",
    "runtimes",
];

/// The health of the service.
#[derive(Debug, Serialize)]
pub(super) struct Health {
    status: &'static str,
    sessions: i64,
    limit: Option<i64>,
    open_sessions: i64,
    open_limit: Option<i64>,
    runtimes: Vec<String>,
}

pub(super) async fn health(State(service): State<Arc<Service>>) -> SandboxdResult<Json<Health>> {
    let sessions = service.database.running_sessions(None).await?;
    let runtimes = service.config().runtimes.keys().cloned().collect();
    Ok(Json(Health { status: "ok", sessions, limit: None, open_sessions: sessions, open_limit: None, runtimes }))
}

pub(super) async fn index(service: State<Arc<Service>>) -> SandboxdResult<Json<Value>> {
    let Json(health) = health(service).await?;
    Ok(Json(json!({
        "service": "workden",
        "health": health,
        "docs_url": "/openapi.json",
        "openapi_url": "/openapi.json",
        "ui_url": null,
        "endpoints": ["/healthz", "/policy", "/sessions", "/workspaces/trees"],
    })))
}

fn runtime(alias: &str, runtime: &RuntimeAlias) -> Value {
    json!({
        "alias": alias,
        "image": runtime.image.as_deref().or(runtime.runtime.as_deref()).unwrap_or(&runtime.sandbox),
        "description": runtime.description,
        "builds": runtime.runtime.is_some(),
        "mem_limit": runtime.memory,
        "cpus": runtime.cpus,
        "pids_limit": runtime.pids,
        "network_mode": runtime.network.as_deref().unwrap_or("none"),
    })
}

async fn policy(service: &Service, principal: &Principal) -> SandboxdResult<Value> {
    let (config, quotas) = (service.config(), service.tenant_quotas(&principal.tenant).await?);
    Ok(json!({
        "runtimes": config.runtimes.iter().map(|(alias, known)| runtime(alias, known)).collect::<Vec<_>>(),
        "default_runtime": config.default_runtime,
        "max_sessions": null,
        "max_open_sessions": null,
        "max_sessions_per_tenant": quotas.max_sessions,
        "evict_idle_after": null,
        "mem_limit": quotas.memory,
        "cpus": quotas.cpus,
        "network_mode": "none",
        "work_dir": "/workspace",
        "idle_timeout": config.idle_seconds,
        "execute_timeout": LONGEST,
        "max_read_bytes": FILE_BYTES,
        "persist_containers": true,
        "native_files": true,
        "native_writes": true,
        "native_realpath": true,
    }))
}

pub(super) async fn read(State(service): State<Arc<Service>>, principal: Principal) -> SandboxdResult<Json<Value>> {
    principal.require_tenant()?;
    Ok(Json(policy(&service, &principal).await?))
}

/// Takes a policy that changes nothing: the ceilings are in the configuration of the service and in its tenants.
pub(super) async fn change(
    State(service): State<Arc<Service>>,
    principal: Principal,
    body: Bytes,
) -> SandboxdResult<Json<Value>> {
    principal.require_admin()?;
    let unprocessable = |detail: String| SandboxdFailure::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let wanted: Map<String, Value> =
        serde_json::from_slice(&body).map_err(|_| unprocessable("invalid policy: it is not an object".to_owned()))?;
    if let Some(unknown) = wanted.keys().find(|name| !CEILINGS.contains(&name.as_str())) {
        return Err(unprocessable(format!("unknown field `{}`", unknown.escape_debug())));
    }
    let current = policy(&service, &principal).await?;
    let is_other = |(name, value): &(&String, &Value)| !value.is_null() && current.get(name.as_str()) != Some(*value);
    match wanted.iter().find(is_other) {
        None => Ok(Json(current)),
        Some((name, _)) => {
            let why = format!("`{name}` is set by the configuration of the service, or by `PUT /v1/tenants/ID`");
            Err(SandboxdFailure::new(StatusCode::BAD_REQUEST, why))
        }
    }
}
