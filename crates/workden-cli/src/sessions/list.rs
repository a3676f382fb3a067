//! `workden sessions list`: prints a table or JSON. A session that does not answer in time has no usage.

use std::{collections::BTreeMap, io::Write, time::Duration};

use serde::Serialize;
use workden::{SessionId, SessionManager, SessionPlace, UserSessions, sessions::SessionRecord};
use workden_core::{parse_size, show_size, type_size};

use super::user_sessions;
use crate::{
    failure::{Failure, request},
    runtimes::columns,
};

const DAMAGED: &str = "damaged";
const UNKNOWN: &str = "unknown";
const DASH: &str = "-";
/// How long to wait for a session's answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session, as printed.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    kind: String,
    /// The image or runtime; `None` for a Linux sandbox, which has this machine's programs.
    installed: Option<String>,
    /// `running`, `ended`, `unknown` when it does not answer, or `damaged` when its record cannot be read.
    state: &'static str,
    /// Seconds.
    age: Option<u64>,
    idle: u64,
    jobs: Option<u64>,
    /// The memory in use, in bytes.
    memory: Option<u64>,
    /// `none`, `host`, the name of a network of the daemon, or `cluster`.
    network: Option<String>,
    limits: Limits,
    /// The directory of the host that holds its files; empty if they are in its pod.
    workspace: String,
}

/// The limits that were named when the session was opened.
#[derive(Debug, Default, Serialize)]
struct Limits {
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pids: Option<u64>,
}

impl Limits {
    fn of(record: &SessionRecord) -> Self {
        let said = |name: &str| record.options.get(name).map(String::as_str);
        Self {
            memory: said("--memory").and_then(|text| parse_size(text).ok()),
            cpus: said("--cpus").and_then(|text| text.parse().ok()),
            pids: said("--pids").and_then(|text| text.parse().ok()),
        }
    }

    /// Returns them as they were typed, or a dash.
    fn shown(&self) -> String {
        let memory = self.memory.map(type_size);
        let cpus = self.cpus.map(|cpus| format!("{cpus} {}", if cpus == 1.0 { "cpu" } else { "cpus" }));
        let pids = self.pids.map(|pids| format!("{pids} pids"));
        match [memory, cpus, pids].into_iter().flatten().collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => DASH.to_owned(),
            named => named,
        }
    }
}

pub(super) async fn run(json: bool) -> Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    let mut managers: BTreeMap<SessionPlace, Option<SessionManager>> = BTreeMap::new();
    let mut rows = Vec::new();
    for id in sessions.store().ids().map_err(request)? {
        let record = match sessions.store().record(&id) {
            Ok(Some(record)) => record,
            Ok(None) => continue,
            Err(_) => {
                rows.push(damaged(&sessions, &id));
                continue;
            }
        };
        let place = SessionPlace::of(&record);
        if !managers.contains_key(&place) {
            managers.insert(place.clone(), sessions.manager(&place).await.ok());
        }
        let manager = managers.get(&place).and_then(Option::as_ref);
        rows.push(row(&sessions, id, record, manager).await);
    }
    let text = if json {
        serde_json::to_string_pretty(&rows).map_err(|error| Failure::Request(error.to_string()))? + "\n"
    } else {
        table(&rows)
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

fn damaged(sessions: &UserSessions, id: &SessionId) -> Row {
    Row {
        idle: sessions.store().idle(id).as_secs(),
        installed: None,
        workspace: String::new(),
        kind: DASH.to_owned(),
        id: id.to_string(),
        state: DAMAGED,
        age: None,
        jobs: None,
        memory: None,
        network: None,
        limits: Limits::default(),
    }
}

async fn row(sessions: &UserSessions, id: SessionId, record: SessionRecord, manager: Option<&SessionManager>) -> Row {
    let mut row = Row {
        idle: sessions.store().idle(&id).as_secs(),
        network: Some(record.options.get("--net").map_or("none", String::as_str).to_owned()),
        limits: Limits::of(&record),
        installed: record.options.get("--image").or(record.options.get("--runtime")).cloned(),
        workspace: record.workspace.display().to_string(),
        kind: record.kind,
        id: id.to_string(),
        state: UNKNOWN,
        age: None,
        jobs: None,
        memory: None,
    };
    let Some(manager) = manager else { return row };
    match tokio::time::timeout(PATIENCE, manager.look(&id)).await {
        Ok(Ok(Some(usage))) => {
            row.state = "running";
            (row.age, row.jobs, row.memory) = (Some(usage.age.as_secs()), Some(usage.jobs), usage.memory);
        }
        Ok(Ok(None)) => row.state = "ended",
        Ok(Err(_)) | Err(_) => {}
    }
    row
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "There are no sessions. `workden sessions open ID` creates one.\n".to_owned();
    }
    let dash = || DASH.to_owned();
    let cells = rows.iter().map(|row| {
        [
            row.id.clone(),
            row.kind.clone(),
            row.installed.clone().unwrap_or_else(dash),
            row.state.to_owned(),
            row.age.map_or_else(dash, span),
            span(row.idle),
            row.jobs.map_or_else(dash, |jobs| jobs.to_string()),
            row.memory.map_or_else(dash, show_size),
            row.network.clone().unwrap_or_else(dash),
            row.limits.shown(),
            if row.workspace.is_empty() { dash() } else { row.workspace.clone() },
        ]
    });
    let head = ["id", "kind", "installed", "state", "age", "idle", "jobs", "memory", "network", "limits", "directory"];
    let head = head.map(str::to_owned);
    let mut text = columns([head].into_iter().chain(cells));
    let odd: Vec<&str> =
        rows.iter().filter(|row| [UNKNOWN, DAMAGED].contains(&row.state)).map(|row| &*row.id).collect();
    if !odd.is_empty() {
        let ids = odd.join(" ");
        text.push_str(&format!("\n`workden sessions release {ids}` ends silent and damaged sessions.\n"));
    }
    text
}

/// Formats a time in its largest sensible unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_a_table() {
        let row = |id: &str, kind: &str, state, age| Row {
            id: id.to_owned(),
            kind: kind.to_owned(),
            installed: (kind == "docker").then(|| "python-web".to_owned()),
            state,
            age,
            idle: 7,
            jobs: age.map(|_| 1),
            memory: age.map(|_| 3 << 20),
            network: Some("none".to_owned()),
            limits: Limits { memory: age.map(|_| 512 << 20), cpus: age.map(|_| 1.5), pids: None },
            workspace: format!("/srv/{id}"),
        };
        insta::assert_snapshot!(table(&[row("mine", "docker", "running", Some(700)), row("other", "linux", "ended", None)]), @"
        id     kind    installed   state    age     idle  jobs  memory  network  limits          directory
        mine   docker  python-web  running  11 min  7 s   1     3 MB    none     512M, 1.5 cpus  /srv/mine
        other  linux   -           ended    -       7 s   -     -       none     -               /srv/other
        ");
        let odd =
            table(&[row("a", "linux", UNKNOWN, None), row("b", "-", DAMAGED, None), row("c", "linux", "ended", None)]);
        assert!(odd.contains("\n`workden sessions release a b` ends"), "{odd}");
        assert!(table(&[]).starts_with("There are no sessions."));
    }
}
