//! Parses the command line, and adds to an error what was probably meant: the name of a subcommand or value that is
//! close to the typed one, or our subcommand for one of another program.

use clap::{
    CommandFactory, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use workden_core::nearest;

/// Names of subcommands in similar programs, and what does the same here.
const ELSEWHERE: [(&[&str], &str); 4] = [
    (&["exec", "x", "start"], "`workden run -- CMD` runs a command in a new sandbox"),
    (&["shell", "sh", "bash", "attach"], "`workden run -t -- bash` opens a shell in a new sandbox"),
    (&["serve", "server"], "`workden mcp` serves the tools to an MCP client"),
    (&["ls", "ps", "list"], "`workden sessions list` shows the sandboxes that keep running"),
];

/// Parses the command line, or prints what is wrong and exits.
pub(crate) fn parse<A: Parser + CommandFactory>() -> A {
    A::try_parse().unwrap_or_else(|error| {
        let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        explained(error, &A::command(), &words).exit()
    })
}

/// Adds what was probably meant.
fn explained(mut error: clap::Error, command: &clap::Command, words: &[String]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(typed) = text(&error, ContextKind::InvalidSubcommand) else { return error };
            let level = level(command, words);
            let elsewhere = ELSEWHERE.iter().find(|(names, _)| names.contains(&typed.as_str()));
            if let Some((_, tip)) = elsewhere.filter(|_| level.get_name() == command.get_name()) {
                error.remove(ContextKind::SuggestedSubcommand);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()]));
            } else if let Some(meant) = nearest(&typed, level.get_subcommands().map(clap::Command::get_name)) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant.to_owned()]));
            }
        }
        ErrorKind::InvalidValue => {
            let Some(typed) = text(&error, ContextKind::InvalidValue) else { return error };
            let known = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(known)) => known.clone(),
                _ => return error,
            };
            if let Some(meant) = nearest(&typed, known.iter().map(String::as_str)) {
                error.insert(ContextKind::SuggestedValue, ContextValue::String(meant.to_owned()));
            }
        }
        _ => {}
    }
    error
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the command whose subcommand was mistyped.
fn level<'c>(command: &'c clap::Command, words: &[String]) -> &'c clap::Command {
    words
        .iter()
        .map_while({
            let mut level = command;
            move |word| {
                level = level.find_subcommand(word)?;
                Some(level)
            }
        })
        .last()
        .unwrap_or(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arguments;

    #[test]
    fn what_was_meant_is_said() {
        for (typed, said) in [
            ("mpc", "a similar subcommand exists: 'mcp'"),
            ("rnu", "a similar subcommand exists: 'run'"),
            ("sessions lsit", "a similar subcommand exists: 'list'"),
            ("policy explian", "a similar subcommand exists: 'explain'"),
            ("exec", "`workden run -- CMD`"),
            ("shell", "`workden run -t -- bash`"),
            ("run --toolchain pyton true", "a similar value exists: 'python'"),
            ("run --sandbox dokcer true", "a similar value exists: 'docker'"),
            ("tool --policy defualt", "a similar value exists: 'default'"),
            ("policy check --policy permisive", "a similar value exists: 'permissive'"),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            let error = Arguments::try_parse_from(["workden"].into_iter().chain(typed.split(' '))).unwrap_err();
            let error = explained(error, &Arguments::command(), &words);
            assert_eq!(error.exit_code(), 2);
            let told = error.to_string();
            assert!(told.contains(said) && !told.contains("'help'"), "{typed}: {told}");
        }
    }

    #[test]
    fn where_nothing_is_close_nothing_is_suggested() {
        for typed in ["dance", "sessions dance", "tool --policy lax"] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            let error = Arguments::try_parse_from(["workden"].into_iter().chain(typed.split(' '))).unwrap_err();
            let told = explained(error, &Arguments::command(), &words).to_string();
            assert!(!told.contains("tip:"), "{told}");
        }
    }
}
