//! What clients see of a sandbox: a session in E2B's words.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use workden::{Result, core::parse_size};

use crate::{
    clock::Moment,
    database::SessionRow,
    ports::ALL_PORTS,
    service::Service,
    sessions::{AtSessionEnd, NewSession},
};

/// The version of envd whose calls are answered. Clients choose their calls by it.
const ENVD_VERSION: &str = "0.6.13";
/// Every sandbox names one; there are no nodes here.
const CLIENT_ID: &str = "workden";

/// A sandbox that was created or connected to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenedSandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    #[serde(rename = "clientID")]
    client_id: &'static str,
    envd_version: &'static str,
    envd_access_token: String,
    /// Opens the ports of a sandbox that are not for everyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic_access_token: Option<String>,
    domain: String,
}

impl OpenedSandbox {
    pub(super) async fn of(service: &Service, row: &SessionRow) -> Result<Self> {
        let is_public = service.database.is_published(&row.id, ALL_PORTS).await?;
        Ok(Self {
            template_id: row.runtime.clone(),
            sandbox_id: row.id.clone(),
            client_id: CLIENT_ID,
            envd_version: ENVD_VERSION,
            traffic_access_token: if is_public { None } else { Some(service.port_token(&row.id, ALL_PORTS).await?) },
            envd_access_token: service.secret.session_token(&row.id),
            domain: service.config().domain.clone(),
        })
    }
}

/// A sandbox in a list, and its description.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SandboxView {
    #[serde(rename = "templateID")]
    pub(super) template_id: String,
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    #[serde(rename = "clientID")]
    client_id: &'static str,
    pub(super) started_at: Moment,
    end_at: Moment,
    cpu_count: u64,
    #[serde(rename = "memoryMB")]
    memory_mb: u64,
    /// Files share the disk of the service.
    #[serde(rename = "diskSizeMB")]
    disk_size_mb: u64,
    envd_version: &'static str,
    pub(super) state: String,
    pub(super) metadata: BTreeMap<String, String>,
    lifecycle: Value,
    volume_mounts: [Value; 0],
}

impl SandboxView {
    pub(super) fn of(service: &Service, row: &SessionRow) -> Self {
        let size = SandboxSize::of(service, row);
        let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
        let on_timeout = if new.at_end == AtSessionEnd::Pause { "pause" } else { "kill" };
        // For clients it does not matter that its processes are still being ended.
        let is_pausing = row.state == "ending" && pauses_at_end(row);
        Self {
            template_id: row.runtime.clone(),
            sandbox_id: row.id.clone(),
            client_id: CLIENT_ID,
            started_at: row.created_at,
            end_at: row.ends_at,
            cpu_count: size.processors,
            memory_mb: size.memory >> 20,
            disk_size_mb: 0,
            envd_version: ENVD_VERSION,
            state: if is_pausing { "paused".to_owned() } else { row.state.clone() },
            metadata: new.labels,
            lifecycle: json!({ "autoResume": false, "onTimeout": on_timeout }),
            volume_mounts: [],
        }
    }
}

/// Whether a sandbox is paused, and not deleted, when its time is over.
pub(super) fn pauses_at_end(row: &SessionRow) -> bool {
    let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
    new.at_end == AtSessionEnd::Pause
}

/// What a sandbox may use.
pub(super) struct SandboxSize {
    pub(super) processors: u64,
    /// Bytes; 0 without a limit.
    pub(super) memory: u64,
}

impl SandboxSize {
    pub(super) fn of(service: &Service, row: &SessionRow) -> Self {
        let config = service.config();
        let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
        let runtime = config.runtimes.get(&row.runtime);
        let processors = new.cpus.or(runtime.and_then(|runtime| runtime.cpus));
        let memory = new.memory.or_else(|| runtime.and_then(|runtime| runtime.memory.clone()));
        let all = || std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked number above 0")]
        let processors = processors.map_or_else(all, |count| count.ceil() as u64);
        Self { processors, memory: memory.and_then(|memory| parse_size(&memory).ok()).unwrap_or(0) }
    }
}
