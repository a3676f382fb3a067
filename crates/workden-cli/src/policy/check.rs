//! `workden policy check`: JSON lines in, verdicts out.

use std::io::{BufRead, IsTerminal, Write};

use serde::Deserialize;
use workden::{Error, ErrorKind, Operation, policy::Action};

use super::{Asked, judged::Judged};
use crate::failure::Failure;

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    op: Operation,
    target: String,
}

/// Judges every line of standard input.
pub(super) fn run(asked: &Asked, json: bool) -> Result<(), Failure> {
    let is_for_people = !json && std::io::stdout().is_terminal();
    let mut out = anstream::stdout().lock();
    let mut wrong = 0_usize;
    // Bytes, not text: a line that is not UTF-8 gets an answer too.
    for (nth, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(Failure::Input)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let request = serde_json::from_slice::<Request>(&line);
        let judged = match &request {
            Ok(request) => asked.judge(request.op, &request.target).unwrap_or_else(|error| Judged::no_target(&error)),
            // An invalid line gets an answer too.
            Err(error) => {
                wrong += 1;
                Judged::no_target(&no_request(nth + 1, error))
            }
        };
        let text = match is_for_people {
            true => {
                let shown = String::from_utf8_lossy(&line);
                let target = request.as_ref().map_or(shown.as_ref(), |request| &request.target);
                format!("{:<5}  {target}  ({})", action_name(judged.action), judged.why)
            }
            false => serde_json::to_string(&judged).map_err(|error| Failure::Request(error.to_string()))?,
        };
        writeln!(out, "{text}").map_err(Failure::Output)?;
    }
    out.flush().map_err(Failure::Output)?;
    let what = match wrong {
        0 => return Ok(()),
        1 => "1 line of the input is not a valid request and was denied".to_owned(),
        wrong => format!("{wrong} lines of the input are not valid requests and were denied"),
    };
    Err(Failure::Request(format!("{what}\nhint: a request is {{\"op\": \"read\", \"target\": \"/a.md\"}}")))
}

/// Replaces the parser's line number, which is always 1, with the number of the input line.
fn no_request(nth: usize, error: &serde_json::Error) -> Error {
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let sentence = format!("line {nth}, column {}: invalid request: {said}", error.column());
    Error::new(ErrorKind::InvalidArgument, sentence)
}

pub(super) fn action_name(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}
