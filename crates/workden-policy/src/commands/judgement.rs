//! The verdict on a command line, with all reasons.

use serde::Serialize;
use workden_core::{CommandLine, Error, Refusal, Verdict, VirtualPath};

use crate::{
    Action, Operation,
    shell::{Analysis, WorkingDirectories},
};

/// The judgement of a policy on a command line, with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CommandJudgement {
    /// The command line.
    pub script: String,
    /// The directory in which it would run.
    pub directory: VirtualPath,
    /// The analysis of the command line.
    pub analysis: Analysis,
    /// The reasons of all layers.
    pub reasons: Vec<Reason>,
}

/// One reason for a verdict on a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// The action that the reason demands.
    pub action: Action,
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The subject: a program with its arguments, a path, a piece of the script.
    pub about: String,
    /// A short explanation.
    pub why: String,
    /// The pattern of the rule that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// The kind of a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// The command runs a program with these words.
    Program(Vec<String>),
    /// The line as written.
    Line,
    /// The command uses a file.
    File(Operation),
    /// A part of the command was not understood.
    Doubt,
    /// The command is dangerous.
    Danger,
}

/// How much of a script a refusal quotes.
const SHOWN_CHARS: usize = 200;

impl CommandJudgement {
    /// Returns the strictest action of all reasons.
    #[must_use]
    pub fn action(&self) -> Action {
        self.reasons.iter().map(|reason| reason.action).max().unwrap_or(Action::Allow)
    }

    /// Returns the first of the strictest reasons; `None` if no layer gave a reason.
    #[must_use]
    pub fn deciding(&self) -> Option<&Reason> {
        let action = self.action();
        self.reasons.iter().find(|reason| reason.action == action)
    }

    /// Returns the verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let described = self.deciding().map_or_else(String::new, |reason| match reason.kind {
            ReasonKind::Program(_) if reason.about == self.script => reason.why.clone(),
            _ => format!("{} ({})", reason.why, reason.about),
        });
        let (operation, target) = (Operation::Execute.name().to_owned(), shortened(&self.script));
        match self.action() {
            Action::Allow => Verdict::Allow,
            Action::Ask => Verdict::Ask(Error::from(Refusal::Unapproved { operation, target, description: described })),
            Action::Deny => Verdict::Deny(Error::from(Refusal::Rule { operation, target, description: described })),
        }
    }

    /// Returns the command for an approval request.
    #[must_use]
    pub fn command_line(&self) -> CommandLine {
        let asked = || self.reasons.iter().filter(|reason| reason.action == Action::Ask);
        let understood = asked().map(|reason| match &reason.kind {
            ReasonKind::Program(argv) => Some(argv.clone()),
            ReasonKind::Line | ReasonKind::File(_) | ReasonKind::Doubt | ReasonKind::Danger => None,
        });
        let understood = if self.stays() { understood.collect() } else { None };
        CommandLine { script: self.script.clone(), directory: self.directory.clone(), understood }
    }

    /// Whether all programs run in the directory of the command line or below it: an approval for a directory does not
    /// cover `git -C` to another one.
    fn stays(&self) -> bool {
        self.analysis.invocations.iter().all(|invocation| match &invocation.directories {
            WorkingDirectories::AnyOf(all) => all.iter().all(|directory| directory.is_within(&self.directory)),
            WorkingDirectories::Unknown => false,
        })
    }
}

fn shortened(script: &str) -> String {
    let mut shown: String = script.chars().take(SHOWN_CHARS).collect();
    if script.chars().nth(SHOWN_CHARS).is_some() {
        shown.push_str("...");
    }
    shown
}
