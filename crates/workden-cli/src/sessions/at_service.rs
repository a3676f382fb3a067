//! `workden sessions --remote URL`: the sessions at a service instead of those of this user.

use std::io::Write;

use clap::Args;
use workden::{
    HostEnvironment, Result, SessionId,
    sandboxes::service::{ServiceSandbox, ServiceSession, ServiceSessions},
};

use super::release::{Files, Which};
use crate::{
    failure::{Failure, request},
    remote::KEY,
    runtimes::columns,
};

/// The service to use.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServiceArguments {
    /// Use the sessions of the service at this URL, which `workden serve` prints. The key is that of WORKDEN_API_KEY.
    #[arg(long, value_name = "URL")]
    remote: Option<String>,
}

impl ServiceArguments {
    /// Returns the sessions of the service, if one is named.
    pub(super) fn sessions(&self) -> Result<Option<ServiceSessions>> {
        let host = HostEnvironment::from_process();
        self.remote.as_deref().map(|url| ServiceSessions::at(url, host.variable(KEY))).transpose()
    }

    /// Returns an existing session as a sandbox, if a service is named.
    pub(super) async fn sandbox(&self, id: &SessionId) -> Result<Option<ServiceSandbox>> {
        let (Some(url), Some(sessions)) = (&self.remote, self.sessions()?) else { return Ok(None) };
        // Opening creates a session that does not exist.
        let name = sessions.find(id).await?.name.parse()?;
        let (host, sandbox) = (HostEnvironment::from_process(), ServiceSandbox::at(url).session(name));
        host.variable(KEY).into_iter().fold(sandbox, |sandbox, key| sandbox.key(key)).build().map(Some)
    }
}

/// Prints the sessions as a table or as JSON.
pub(super) async fn list(sessions: &ServiceSessions, json: bool) -> std::result::Result<(), Failure> {
    let rows = sessions.list().await.map_err(request)?;
    let text = match json {
        true => serde_json::to_string_pretty(&rows).map_err(|error| Failure::Request(error.to_string()))? + "\n",
        false => table(&rows),
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

/// Pauses sessions, or deletes them with their files. One that cannot be ended does not keep the others running.
pub(super) async fn release(
    sessions: &ServiceSessions,
    which: Which<'_>,
    files: Files,
) -> std::result::Result<(), Failure> {
    let all: Vec<SessionId> = match which {
        Which::All => {
            let listed = sessions.list().await.map_err(request)?;
            listed.iter().filter_map(|session| session.id.parse().ok()).collect()
        }
        Which::Named(ids) => ids.to_vec(),
    };
    let mut failed = Vec::new();
    for id in &all {
        let (done, what) = match files {
            Files::Keep => (sessions.pause(id).await, "paused"),
            Files::Remove => (sessions.delete(id).await, "deleted"),
        };
        match done {
            Ok(()) => writeln!(anstream::stdout().lock(), "{what} {id}").map_err(Failure::Output)?,
            Err(error) => failed.push(error.to_string()),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Request(failed.join("\n       "))) }
}

fn table(rows: &[ServiceSession]) -> String {
    if rows.is_empty() {
        return "There are no sessions. `workden run --remote URL --session NAME -- CMD` creates one.\n".to_owned();
    }
    let head = ["name", "id", "runtime", "state", "created", "used", "ends"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        // What a service says controls no terminal.
        [&row.name, &row.id, &row.runtime, &row.state, &row.created_at, &row.used_at, &row.ends_at]
            .map(|text| text.escape_debug().to_string())
    });
    columns([head].into_iter().chain(cells))
}
