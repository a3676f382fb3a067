//! The control plane: the routes below `/api`.

mod changes;
mod create;
mod list;
mod record;

use std::sync::Arc;

use hyper::{Method, StatusCode};
pub(crate) use record::Record;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answered, Refused, empty, ok},
    call::Call,
    shared::Shared,
};

pub(crate) async fn route(shared: &Arc<Shared>, mut call: Call) -> Answered {
    let segments = std::mem::take(&mut call.segments);
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (call.method().as_str(), &segments[..]) {
        ("GET", ["health"]) => ok(&json!({ "status": "ok" })),
        ("GET", ["config"]) => ok(&json!({ "version": "0.0.0-stub", "proxyToolboxUrl": shared.toolbox_url() })),
        ("POST", ["sandbox"]) => create::create(shared, call).await,
        ("GET", ["sandbox"]) => list::by_cursor(shared, &call),
        ("GET", ["sandbox", "paginated"]) => list::by_page(shared, &call),
        (_, ["sandbox", id, rest @ ..]) => {
            let found = shared.record(id);
            let record = found.ok_or_else(|| Refused::not_found(format!("Sandbox with ID or name {id} not found")))?;
            of_sandbox(shared, &record, rest, call).await
        }
        _ => Err(Refused::not_found(format!("Cannot {} {}", call.method(), call.request.uri().path()))),
    }
}

async fn of_sandbox(shared: &Arc<Shared>, record: &Arc<Record>, rest: &[&str], mut call: Call) -> Answered {
    let set = |name: &str, value: Value| {
        record.set(name, value);
        ok(&record.shown())
    };
    match (call.method().as_str(), rest) {
        ("GET", []) => ok(&record.shown()),
        ("DELETE", []) => changes::delete(shared, record),
        ("POST", ["start"]) => changes::start(shared, record, call.fault),
        ("POST", ["stop"]) => changes::stop(shared, record),
        ("POST", ["archive"]) => changes::archive(shared, record),
        ("POST", ["recover"]) => changes::recover(shared, record, call.fault),
        ("PUT", ["labels"]) => {
            let Labels { labels } = call.json().await?;
            record.set("labels", labels.into());
            ok(&json!({ "labels": record.field("labels") }))
        }
        ("POST", ["autostop", minutes]) => set("autoStopInterval", interval(minutes, 0)?),
        ("POST", ["autopause", minutes]) => set("autoPauseInterval", interval(minutes, 0)?),
        ("POST", ["autoarchive", minutes]) => set("autoArchiveInterval", interval(minutes, 0)?),
        // Below zero means never.
        ("POST", ["autodelete", minutes]) => set("autoDeleteInterval", interval(minutes, -1)?),
        ("POST", ["ttl", minutes]) => interval(minutes, 0).and_then(|_| ok(&record.shown())),
        ("POST", ["public", public]) => set("public", (*public == "true").into()),
        ("POST", ["network-settings"]) => {
            let settings: Map<String, Value> = call.json().await?;
            for name in ["networkBlockAll", "networkAllowList", "domainAllowList"] {
                if let Some(value) = settings.get(name) {
                    record.set(name, value.clone());
                }
            }
            ok(&record.shown())
        }
        ("POST", ["last-activity"]) => empty(StatusCode::CREATED),
        ("GET", ["toolbox-proxy-url"]) => ok(&json!({ "url": shared.toolbox_url() })),
        ("GET", ["ports", port, "preview-url"]) => {
            let port = port.parse().map_err(|_| Refused::invalid(format!("invalid port `{port}`")))?;
            let url = format!("{}/preview/{}/{port}", shared.origin, record.id);
            ok(&json!({ "sandboxId": record.id, "url": url, "token": record.token(port)? }))
        }
        (method, _) => {
            let (method, path) = (method.parse().unwrap_or(Method::GET), call.request.uri().path());
            Err(Refused::not_found(format!("Cannot {method} {path}")))
        }
    }
}

#[derive(Deserialize)]
struct Labels {
    labels: Map<String, Value>,
}

fn interval(text: &str, least: i64) -> Result<Value, Refused> {
    match text.parse::<i64>() {
        Ok(minutes) if minutes >= least => Ok(minutes.into()),
        _ => Err(Refused::invalid(format!("invalid interval `{text}`"))),
    }
}
