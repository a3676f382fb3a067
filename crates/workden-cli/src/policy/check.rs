//! `workden policy check`: commands and requests in, verdicts out.

use std::io::{BufRead, IsTerminal, Write};

use serde::Deserialize;
use workden::{Error, ErrorKind, Operation, policy::Action};

use super::{Asked, judged::Judged, targets::Target};
use crate::failure::Failure;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    op: Operation,
    target: String,
}

/// Judges the targets, or without any every line of standard input.
pub(super) fn run(asked: &Asked, targets: &[Target], json: bool) -> Result<(), Failure> {
    let mut answers =
        Answers { out: anstream::stdout().lock(), is_for_people: !json && std::io::stdout().is_terminal() };
    for (operation, target) in targets {
        let judged = asked.judge(*operation, target).unwrap_or_else(|error| Judged::no_target(&error));
        answers.print(target, &judged)?;
    }
    let wrong = if targets.is_empty() { lines(asked, &mut answers)? } else { 0 };
    answers.out.flush().map_err(Failure::Output)?;
    let what = match wrong {
        0 => return Ok(()),
        1 => "1 line of the input is not a valid request and was denied".to_owned(),
        wrong => format!("{wrong} lines of the input are not valid requests and were denied"),
    };
    Err(Failure::Request(format!(
        "{what}\nhint: a request is a command, or {{\"op\": \"read\", \"target\": \"/a.md\"}}"
    )))
}

/// Judges every line of standard input, and returns how many are not valid.
fn lines(asked: &Asked, answers: &mut Answers) -> Result<usize, Failure> {
    let mut wrong = 0;
    // Bytes, not text: a line that is not UTF-8 gets an answer too.
    for (nth, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(Failure::Input)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let request = request(&line);
        let judged = match &request {
            Ok(request) => asked.judge(request.op, &request.target).unwrap_or_else(|error| Judged::no_target(&error)),
            // An invalid line gets an answer too.
            Err((column, why)) => {
                wrong += 1;
                let sentence = format!("line {}, column {column}: invalid request: {why}", nth + 1);
                Judged::no_target(&Error::new(ErrorKind::InvalidArgument, sentence))
            }
        };
        let shown = String::from_utf8_lossy(&line);
        answers.print(request.as_ref().map_or(shown.as_ref(), |request| &request.target), &judged)?;
    }
    Ok(wrong)
}

/// Reads a line: an object is a request, and any other text is a command. Returns the column of what is invalid, and why.
fn request(line: &[u8]) -> Result<Request, (usize, String)> {
    let text = std::str::from_utf8(line).map_err(|error| (error.valid_up_to() + 1, "it is not UTF-8".to_owned()))?;
    // `{ ls; }` is a command: in an object a name in quotes follows.
    let is_object = text.trim().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']));
    if !is_object {
        return Ok(Request { op: Operation::Execute, target: text.trim().to_owned() });
    }
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        // The parser's line is always 1.
        let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        (error.column(), said.to_owned())
    })
}

/// Where verdicts are printed.
struct Answers {
    out: anstream::AutoStream<std::io::StdoutLock<'static>>,
    is_for_people: bool,
}

impl Answers {
    fn print(&mut self, target: &str, judged: &Judged) -> Result<(), Failure> {
        let text = match self.is_for_people {
            true => format!("{:<5}  {target}  ({})", action_name(judged.action), judged.why),
            false => serde_json::to_string(judged).map_err(|error| Failure::Request(error.to_string()))?,
        };
        writeln!(self.out, "{text}").map_err(Failure::Output)
    }
}

pub(super) fn action_name(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}
