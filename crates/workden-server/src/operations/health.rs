//! `/healthz` and `/readyz`.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde_json::{Value, json};

use crate::{
    clock::Moment,
    service::{Answer, Service},
};

/// Whether the process answers.
pub(crate) async fn alive(State(service): State<Arc<Service>>) -> Json<Value> {
    let up = Moment::now().since(service.started_at).as_secs();
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "up_seconds": up }))
}

/// Whether it can serve sessions: the database answers.
pub(crate) async fn ready(State(service): State<Arc<Service>>) -> Answer<Json<Value>> {
    service.database.ping().await?;
    Ok(Json(json!({ "status": "ok", "sessions": service.database.running_sessions(None).await? })))
}
