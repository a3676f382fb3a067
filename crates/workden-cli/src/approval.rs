//! Asks the user at a terminal for approval. Without a terminal, requests stay unanswered.
//!
//! Invariant: a question shows the whole request in plain characters. A model writes file contents and commands,
//! and none of them may move the cursor, hide a part, or imitate a question. Input that was typed before a question
//! appeared does not answer it.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, IsTerminal, Read, Write, stderr, stdin},
    sync::Arc,
};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, oneshot};
use workden::{
    Approvals, Decision, Scope,
    core::{ApprovalRequest, escape::spell},
};

/// The number of preview lines that a question shows.
const PREVIEW_LINES: usize = 40;
/// The longest answer, in bytes.
const ANSWER_BYTES: u64 = 1024;
/// How often the question is asked before an invalid answer counts as no.
const TRIES: usize = 3;

/// Asks at the terminal, if standard input and standard error are one.
pub(crate) fn at_terminal() -> Approvals {
    if stdin().is_terminal() && stderr().is_terminal() { asking() } else { unattended() }
}

/// Asks at the terminal, if standard error is one and requests come from a pipe.
pub(crate) fn beside_pipe() -> Approvals {
    if !stdin().is_terminal() && stderr().is_terminal() { asking() } else { unattended() }
}

fn unattended() -> Approvals {
    Approvals::asking(no_terminal)
}

fn asking() -> Approvals {
    // One question is asked at a time.
    let turn = Arc::new(Mutex::new(()));
    Approvals::asking_later(move |request| {
        let turn = Arc::clone(&turn);
        async move {
            let _turn = turn.lock().await;
            let (answer, answered) = oneshot::channel();
            let asked = request.clone();
            // Not a thread of the runtime: the runtime would wait for it when the program ends.
            let thread = std::thread::Builder::new().spawn(move || {
                let _ = answer.send(ask(&asked));
            });
            match thread {
                Ok(_) => answered.await.unwrap_or_else(|_| no_terminal(&request)),
                Err(_) => no_terminal(&request),
            }
        }
    })
}

fn no_terminal(request: &ApprovalRequest) -> Decision {
    let how = "no terminal to ask at: continue without it, or tell the user that `workden` approves it with `--yes`";
    Decision::unanswered(how, request)
}

fn ask(request: &ApprovalRequest) -> Decision {
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return no_terminal(request) };
    answer(&question(request), Scope::prefix_of(request), &terminal).unwrap_or_else(|_| no_terminal(request))
}

/// The answers that a user can give.
fn choices(prefix: Option<&Scope>) -> String {
    match prefix {
        Some(Scope::CommandPrefix { words, .. }) => {
            format!(
                "[y]es, [n]o, every command that [b]egins with `{}`, or [a]lways in this session? ",
                plain(&words.join(" "))
            )
        }
        _ => "[y]es, [n]o, or [a]lways in this session? ".to_owned(),
    }
}

fn answer(question: &str, prefix: Option<Scope>, mut terminal: &File) -> std::io::Result<Decision> {
    let mut shown = question.to_owned();
    for _ in 0..TRIES {
        // Input that was typed ahead cannot answer a question that was not yet shown.
        tcflush(terminal, QueueSelector::IFlush)?;
        shown.push_str(&choices(prefix.as_ref()));
        terminal.write_all(shown.as_bytes())?;
        shown.clear();
        let mut line = String::new();
        if BufReader::new(terminal).take(ANSWER_BYTES).read_line(&mut line)? == 0 {
            break;
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Decision::Approve(Scope::Once)),
            "a" | "always" => return Ok(Decision::Approve(Scope::Session)),
            "b" | "begins" if prefix.is_some() => return Ok(Decision::Approve(prefix.unwrap_or(Scope::Once))),
            "n" | "no" => return Ok(Decision::Deny { note: None }),
            _ => {}
        }
    }
    Ok(Decision::Deny { note: None })
}

fn question(request: &ApprovalRequest) -> String {
    let tool = request.caller.as_ref().map_or(request.call.as_str(), |caller| caller.tool.as_str());
    // The description is shortened; the command must be shown to its end.
    let long = request.command.as_ref().filter(|command| !request.description.contains(&command.script));
    let what = match long {
        Some(command) => {
            format!("run a command in `{}`:\n    {}", plain(command.directory.as_str()), plain(&command.script))
        }
        None => plain(&request.description),
    };
    let lines: Vec<&str> = request.preview.iter().flat_map(|preview| preview.lines()).collect();
    let unseen = lines.len().saturating_sub(PREVIEW_LINES);
    let here = (unseen > 0).then(|| format!("{unseen} lines of the diff"));
    let left_out: Vec<String> = request.left_out.iter().map(|words| plain(words)).chain(here).collect();
    let mut text = String::from("\n");
    if !left_out.is_empty() {
        let _ = writeln!(text, "CAREFUL: not shown are {}", left_out.join(" and "));
    }
    let _ = writeln!(text, "{} asks for approval: {what}", plain(tool));
    if let Some(reason) = request.reason() {
        let _ = writeln!(text, "reason: {}", plain(reason));
    }
    for line in lines.into_iter().take(PREVIEW_LINES) {
        let _ = writeln!(text, "  | {}", plain(line));
    }
    text
}

/// Escapes every character that a terminal would act upon, and indents the lines, so that none looks like a
/// question.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        match character {
            '\n' => plain.push_str("\n    "),
            _ => spell(&mut plain, character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use workden::{VirtualPath, core::CommandLine};

    use super::*;

    #[test]
    fn a_command_is_shown_to_its_end() {
        let script = format!("echo {}; rm -rf important", "x".repeat(2000));
        let request = ApprovalRequest::new("execute", "Run `echo xxx...`", "it asks").command(CommandLine {
            script,
            directory: VirtualPath::root(),
            understood: None,
        });
        assert!(question(&request).contains("; rm -rf important\n"), "{}", question(&request));
    }

    #[test]
    fn commands_that_begin_alike_are_offered_where_they_were_understood() {
        let command = |understood| {
            ApprovalRequest::new("execute", "Run `pytest -q`", "it asks").command(CommandLine {
                script: "pytest -q".to_owned(),
                directory: VirtualPath::root(),
                understood,
            })
        };
        let asked = |request: &ApprovalRequest| choices(Scope::prefix_of(request).as_ref());
        assert_eq!(asked(&command(None)), "[y]es, [n]o, or [a]lways in this session? ");
        let words = vec![vec!["pytest".to_owned(), "-q".to_owned()]];
        let expected = "[y]es, [n]o, every command that [b]egins with `pytest`, or [a]lways in this session? ";
        assert_eq!(asked(&command(Some(words))), expected);
    }

    #[test]
    fn what_a_model_wrote_cannot_act_upon_the_terminal() {
        assert_eq!(plain("a\tb"), "a\tb");
        assert_eq!(plain("echo \u{1b}[2J\r\u{202e}x\u{7}"), "echo \\u{1b}[2J\\r\\u{202e}x\\u{7}");
        assert_eq!(plain("a\u{ad}\u{e0041}\u{3164}"), "a\\u{ad}\\u{e0041}\\u{3164}");
        assert_eq!(plain("true\n[y]es"), "true\n    [y]es");
    }
}
