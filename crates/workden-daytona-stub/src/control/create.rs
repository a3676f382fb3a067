//! `POST /sandbox`: checks a request and makes a record of it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Record, changes, record::State};
use crate::{
    answer::{Answered, Refused, now, ok},
    call::Call,
    place::{PlacePlan, USER},
    shared::{Shared, random_digits},
};

/// What a client asks for. Fields that the stub only repeats are in `rest`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CreateRequest {
    name: Option<String>,
    snapshot: Option<String>,
    user: Option<String>,
    env: Option<BTreeMap<String, String>>,
    labels: Option<BTreeMap<String, String>>,
    public: Option<bool>,
    target: Option<String>,
    cpu: Option<u32>,
    gpu: Option<u32>,
    memory: Option<u32>,
    disk: Option<u32>,
    auto_stop_interval: Option<u32>,
    auto_pause_interval: Option<u32>,
    auto_archive_interval: Option<u32>,
    auto_delete_interval: Option<i32>,
    network_block_all: Option<bool>,
    network_allow_list: Option<String>,
    domain_allow_list: Option<String>,
    volumes: Option<Vec<Volume>>,
    build_info: Option<BuildInfo>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    volume_id: String,
    mount_path: String,
    #[serde(default)]
    subpath: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BuildInfo {
    #[serde(default)]
    dockerfile_content: Option<String>,
}

pub(super) async fn create(shared: &Arc<Shared>, mut call: Call) -> Answered {
    let request: CreateRequest = call.json().await?;
    check(&request)?;
    let id = uuid()?;
    let name = request.name.clone().unwrap_or_else(|| id.clone());
    let plan = PlacePlan {
        keeper: shared.options.keeper.clone(),
        root: shared.directory(&id)?,
        environment: request.env.clone().unwrap_or_default(),
        volumes: volumes(shared, &request)?,
    };
    let state = if request.build_info.is_some() { State::PendingBuild } else { State::Creating };
    let fields = fields(shared, &id, &name, request);
    let record = Arc::new(Record::new(id, name.clone(), plan, fields, state));
    {
        let mut records = shared.records();
        if records.iter().any(|other| other.name == name) {
            return Err(Refused::conflict(format!("Sandbox with name {name} already exists")));
        }
        records.push(Arc::clone(&record));
    }
    shared.created.fetch_add(1, Ordering::SeqCst);
    let shown = record.shown();
    changes::begin_start(shared, &record, call.fault);
    ok(&shown)
}

fn check(request: &CreateRequest) -> Result<(), Refused> {
    if request.snapshot.is_some() && request.build_info.is_some() {
        return Err(Refused::invalid("`snapshot` is not supported with `buildInfo`"));
    }
    if request.build_info.as_ref().is_some_and(|build| build.dockerfile_content.is_none()) {
        return Err(Refused::invalid("`buildInfo` requires `dockerfileContent`"));
    }
    let resources = [request.cpu, request.memory, request.disk];
    if request.build_info.is_none() && resources.iter().any(Option::is_some) {
        return Err(Refused::invalid("Cannot specify Sandbox resources when using a snapshot"));
    }
    if resources.contains(&Some(0)) {
        return Err(Refused::invalid("invalid resources: use at least 1"));
    }
    if request.name.as_deref() == Some("") {
        return Err(Refused::invalid("invalid name: it is empty"));
    }
    Ok(())
}

fn volumes(shared: &Shared, request: &CreateRequest) -> Result<Vec<(String, PathBuf)>, Refused> {
    let mounted = request.volumes.iter().flatten().map(|volume| {
        if !volume.mount_path.starts_with('/') {
            return Err(Refused::invalid("invalid mount path: use an absolute path"));
        }
        let source =
            shared.volume(&format!("{}/{}", volume.volume_id, volume.subpath.as_deref().unwrap_or_default()))?;
        Ok((volume.mount_path.clone(), source))
    });
    mounted.collect()
}

/// Returns the fields that an answer has besides the state.
fn fields(shared: &Shared, id: &str, name: &str, request: CreateRequest) -> Map<String, Value> {
    let made = now();
    let volumes = request.volumes.iter().flatten();
    let volumes: Vec<Value> = volumes
        .map(
            |volume| json!({ "volumeId": volume.volume_id, "mountPath": volume.mount_path, "subpath": volume.subpath }),
        )
        .collect();
    let fields = json!({
        "id": id,
        "organizationId": "00000000-0000-4000-8000-000000000000",
        "name": name,
        "user": request.user.unwrap_or_else(|| USER.to_owned()),
        "env": request.env.unwrap_or_default(),
        "labels": request.labels.unwrap_or_default(),
        "public": request.public.unwrap_or_default(),
        "networkBlockAll": request.network_block_all.unwrap_or_default(),
        "networkAllowList": request.network_allow_list,
        "domainAllowList": request.domain_allow_list,
        "kvm": false,
        "target": request.target.unwrap_or_else(|| "local".to_owned()),
        "cpu": request.cpu.unwrap_or(1),
        "gpu": request.gpu.unwrap_or(0),
        "memory": request.memory.unwrap_or(1),
        "disk": request.disk.unwrap_or(3),
        "autoStopInterval": request.auto_stop_interval.unwrap_or(15),
        "autoPauseInterval": request.auto_pause_interval.unwrap_or(0),
        "autoArchiveInterval": request.auto_archive_interval.unwrap_or(7 * 24 * 60),
        "autoDeleteInterval": request.auto_delete_interval.unwrap_or(-1),
        "volumes": volumes,
        "createdAt": made,
        "updatedAt": made,
        "daemonVersion": crate::toolbox::VERSION,
        "toolboxProxyUrl": shared.toolbox_url(),
    });
    let Value::Object(mut fields) = fields else { return Map::new() };
    match request.build_info {
        Some(build) => {
            let build = json!({
                "dockerfileContent": build.dockerfile_content, "createdAt": made, "updatedAt": made, "snapshotRef": id
            });
            fields.insert("buildInfo".to_owned(), build);
        }
        None => {
            let snapshot = request.snapshot.unwrap_or_else(|| "daytona-small".to_owned());
            fields.insert("snapshot".to_owned(), snapshot.into());
        }
    }
    fields
}

fn uuid() -> Result<String, Refused> {
    let digits = random_digits(16)?;
    let part = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
    Ok(format!("{}-{}-4{}-a{}-{}", part(0..8), part(8..12), part(13..16), part(17..20), part(20..32)))
}
