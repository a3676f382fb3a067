//! `workden policy check`: JSON lines in, verdicts out.

use std::io::{BufRead, IsTerminal, Write};

use serde::Deserialize;
use workden::{Error, ErrorKind, policy::Action};

use super::{Asked, OpName, judged::Judged};
use crate::failure::Failure;

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    op: OpName,
    target: String,
}

/// Judges every line of standard input.
pub(super) fn run(asked: &Asked, json: bool) -> Result<(), Failure> {
    let is_for_people = !json && std::io::stdout().is_terminal();
    let mut out = anstream::stdout().lock();
    let mut wrong = 0_usize;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(Failure::Machine)?;
        if line.trim().is_empty() {
            continue;
        }
        let request = serde_json::from_str::<Request>(&line);
        let judged = match &request {
            Ok(request) => asked.judge(request.op, &request.target).unwrap_or_else(|error| Judged::no_target(&error)),
            // One answer a line, whatever the line is.
            Err(error) => {
                wrong += 1;
                let sentence = format!("this line is not a request: {error}");
                Judged::no_target(&Error::new(ErrorKind::InvalidArgument, sentence))
            }
        };
        let target = request.as_ref().map_or(line.as_str(), |request| &request.target);
        let text = match is_for_people {
            true => format!("{:<5}  {target}  ({})", action_name(judged.action), judged.why),
            false => serde_json::to_string(&judged).map_err(|error| Failure::Request(error.to_string()))?,
        };
        writeln!(out, "{text}").map_err(Failure::Output)?;
    }
    out.flush().map_err(Failure::Output)?;
    match wrong {
        0 => Ok(()),
        wrong => Err(Failure::Request(format!(
            "{wrong} lines of the input were no requests\nhint: a request is {{\"op\": \"read\", \"target\": \"/a.md\"}}"
        ))),
    }
}

pub(super) fn action_name(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}
