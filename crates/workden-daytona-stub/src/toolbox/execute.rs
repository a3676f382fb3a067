//! `POST /process/execute`: one command line, on the standard input of a shell, with its two outputs merged.

use std::{collections::BTreeMap, time::Duration};

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use workden_core::sandbox::{Command, SpawnRequest};

use crate::{
    answer::{Answered, Refused, ok},
    call::Call,
    place::{self, Place},
};

/// Merges the outputs and becomes the first shell that there is.
const SHELL: &str = "exec 2>&1; command -v bash >/dev/null && exec bash; exec sh";

#[derive(Deserialize)]
struct Execute {
    command: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    envs: Option<BTreeMap<String, String>>,
    #[serde(default)]
    timeout: Option<u64>,
}

pub(super) async fn execute(place: &Place, mut call: Call) -> Answered {
    let request: Execute = call.json().await?;
    if request.command.trim().is_empty() {
        return Err(Refused::invalid("`command` is empty").code("INVALID_REQUEST_BODY"));
    }
    let words = ["sh", "-c", SHELL].map(str::to_owned);
    let spawn = SpawnRequest::piped(Command::Program(words.to_vec()))
        .directory(place::directory(request.cwd.as_deref())?)
        .environment(request.envs.unwrap_or_default());
    // Like a directory that does not exist: the daemon has started nothing.
    let process = match place.spawn(&spawn).await {
        Ok(process) => process,
        Err(error) => return ok(&json!({ "exitCode": -1, "result": error.to_string() })),
    };
    let command = format!("{}\n", request.command);
    let finish = place::finish(process, command.into());
    // Dropping the call ends the command with all of its processes.
    let finished = match request.timeout.filter(|seconds| *seconds > 0) {
        None => finish.await?,
        Some(seconds) => match tokio::time::timeout(Duration::from_secs(seconds), finish).await {
            Ok(finished) => finished?,
            Err(_) => {
                let message = format!("command timed out after {seconds} s");
                return Err(Refused::new(StatusCode::REQUEST_TIMEOUT, message).code("PROCESS_EXECUTION_TIMEOUT"));
            }
        },
    };
    let result = String::from_utf8_lossy(&finished.output);
    ok(&json!({ "exitCode": finished.ended.exit_code(), "result": result }))
}
