//! What a client sees of a session.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{clock::Moment, database::SessionRow};

/// A session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// Its id: lower-case letters and digits.
    pub(crate) id: String,
    /// Its name, unique among the sessions of its tenant.
    pub(crate) name: String,
    /// Its tenant.
    pub(crate) tenant: String,
    /// Its runtime.
    pub(crate) runtime: String,
    /// `running`, `paused` or `ending`.
    pub(crate) state: String,
    /// Its labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// When it was created.
    pub(crate) created_at: Moment,
    /// When it was last used, to a few seconds.
    pub(crate) used_at: Moment,
    /// When it ends, used or not.
    pub(crate) ends_at: Moment,
    /// When the files of a paused session are removed; absent if only its deletion removes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept_until: Option<Moment>,
    /// How long it may be idle; 0 for as long as it lives.
    pub(crate) idle_seconds: u64,
    /// The host name of a port of it, with `PORT` for the number.
    pub(crate) port_host: String,
}

impl SessionView {
    pub(crate) fn of(row: &SessionRow, domain: &str) -> Self {
        Self {
            id: row.id.clone(),
            name: row.name.clone(),
            tenant: row.tenant.clone(),
            runtime: row.runtime.clone(),
            state: row.state.clone(),
            labels: serde_json::from_str(&row.labels).unwrap_or_default(),
            created_at: row.created_at,
            used_at: row.used_at,
            ends_at: row.ends_at,
            kept_until: row.kept_until,
            idle_seconds: u64::try_from(row.idle_ms).unwrap_or(0) / 1000,
            port_host: format!("PORT-{}.{domain}", row.id),
        }
    }
}
