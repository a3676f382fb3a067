//! `Rules`: a compiled ruleset of the reference that only answers, and enforces nothing.
//!
//! A workspace knows where a path leads and where a command runs. `Rules` does not: it takes paths as they are written,
//! and assumes that commands run in a directory below a home.

use std::{borrow::Cow, sync::Arc};

use pyo3::{prelude::*, types::PyString};
use workden_core::{Result, VirtualPath};
use workden_policy::{
    Action, CommandJudgement, CompiledRuleset, DecidedBy, Operation, Policy, PolicyLayer, ReasonKind, RuleDecision,
};

use super::{
    allows_everything,
    reference::{self, Origin},
    seen::Seen,
    surroundings_of,
};
use crate::failure;

/// The directory in which commands are assumed to run.
const DIRECTORY: &str = "/home/~/workspace";
/// Commands from this size in bytes on are judged without the interpreter lock.
const LONG: usize = 1_024;

/// A compiled ruleset. Safe to use from any thread.
#[pyclass(frozen, module = "workden._native")]
pub(crate) struct Rules {
    rules: Arc<CompiledRuleset>,
    policy: Policy,
    directory: VirtualPath,
    origins: Vec<Vec<Origin>>,
    dangerous: Option<usize>,
    is_open: bool,
    commands: Seen<Answer>,
}

/// An action, the rule that decided, and the reason.
#[derive(Clone, Debug)]
struct Answer {
    action: Action,
    rule: Option<(Operation, usize)>,
    description: String,
}

/// `(action, operation of the rule, its index, description)`.
type Explained = (&'static str, Option<&'static str>, Option<usize>, String);

#[pymethods]
impl Rules {
    /// Compiles `PermissionRuleset.model_dump_json()`. `surroundings` is `machine` or `files`.
    #[new]
    #[pyo3(signature = (ruleset, surroundings="machine"))]
    fn new(ruleset: &str, surroundings: &str) -> PyResult<Self> {
        Self::compiled(ruleset, surroundings).map_err(failure::raised)
    }

    /// Returns the action: `allow`, `ask` or `deny`.
    fn check<'py>(&self, operation: &Bound<'py, PyString>, target: &Bound<'py, PyString>) -> Bound<'py, PyString> {
        let py = operation.py();
        let action = match (known(&operation.to_string_lossy()), text(target)) {
            (Some(Operation::Execute), command) => self.command(py, &command).action,
            (Some(operation), path) => self.path(operation, &path).map_or(Action::Deny, |decision| decision.action),
            (None, _) => self.rules.source().default_action(),
        };
        match action {
            Action::Allow => pyo3::intern!(py, "allow").clone(),
            Action::Ask => pyo3::intern!(py, "ask").clone(),
            Action::Deny => pyo3::intern!(py, "deny").clone(),
        }
    }

    /// Returns the action, the operation of the deciding rule, its index, and the reason.
    fn explain(&self, operation: &Bound<'_, PyString>, target: &Bound<'_, PyString>) -> Explained {
        let answer = match (known(&operation.to_string_lossy()), text(target)) {
            (Some(Operation::Execute), command) => (*self.command(operation.py(), &command)).clone(),
            (Some(operation), path) => self.path_answer(operation, &path),
            (None, _) => Answer::bare(self.rules.source().default_action()),
        };
        let (of, index) = answer.rule.map_or((None, None), |(of, index)| (Some(of.name()), Some(index)));
        (action_name(answer.action), of, index, answer.description)
    }
}

impl Rules {
    fn compiled(ruleset: &str, surroundings: &str) -> Result<Self> {
        let converted = reference::converted(ruleset, surroundings_of(surroundings)?)?;
        let rules = Arc::new(converted.ruleset.compile()?);
        Ok(Self {
            policy: Policy::new().with(PolicyLayer::Rules(Arc::clone(&rules))),
            rules,
            directory: VirtualPath::parse(DIRECTORY)?,
            origins: converted.origins,
            dangerous: converted.dangerous,
            is_open: allows_everything(&converted.ruleset),
            commands: Seen::new(),
        })
    }

    /// Judges a path as it is written; `None` if it is invalid.
    fn path(&self, operation: Operation, typed: &str) -> Option<RuleDecision<'_>> {
        let (path, climbs) = match VirtualPath::parse(typed) {
            Ok(path) => (path, false),
            Err(_) => (VirtualPath::parse(&clamped(typed)).ok()?, true),
        };
        let decision = self.rules.decide_path(operation, &path);
        // The base directory is unknown: a rule that allows another place does not allow this path.
        let is_elsewhere = !typed.starts_with('/') && (climbs || self.is_rooted(&decision));
        Some(if is_elsewhere { decision.strictest(self.by_default(operation)) } else { decision })
    }

    /// Whether a rule decided whose pattern starts at the root, as it was written.
    fn is_rooted(&self, decision: &RuleDecision<'_>) -> bool {
        let DecidedBy::Rule { of, index, .. } = decision.because else { return false };
        self.origins[of as usize].get(index).is_some_and(|origin| origin.is_rooted)
    }

    fn by_default(&self, operation: Operation) -> RuleDecision<'_> {
        RuleDecision { action: self.rules.default_of(operation), because: DecidedBy::OperationDefault(operation) }
    }

    fn path_answer(&self, operation: Operation, typed: &str) -> Answer {
        let Some(decision) = self.path(operation, typed) else { return Answer::bare(Action::Deny) };
        let rule = match decision.because {
            DecidedBy::Rule { of, index, .. } => self.origin(of, index),
            DecidedBy::OperationDefault(_) | DecidedBy::RulesetDefault => None,
        };
        Answer { action: decision.action, rule, description: decision.description().to_owned() }
    }

    /// Judges a command.
    fn command(&self, py: Python<'_>, command: &str) -> Arc<Answer> {
        if let Some(answer) = self.commands.get(command) {
            return answer;
        }
        let judge = || self.judged(command);
        let answer = if command.len() < LONG { judge() } else { py.detach(judge) };
        self.commands.keep(command, answer)
    }

    fn judged(&self, command: &str) -> Answer {
        if self.is_open {
            return Answer::bare(Action::Allow);
        }
        let judgement: CommandJudgement = self.policy.judge_command(command, &self.directory);
        let Some(reason) = judgement.deciding() else { return Answer::bare(Action::Allow) };
        let of = match reason.kind {
            ReasonKind::File(operation) => self.rules.source().served_by(operation),
            ReasonKind::Program(_) | ReasonKind::Line | ReasonKind::Doubt | ReasonKind::Danger => Operation::Execute,
        };
        let rule = match (&reason.kind, &reason.rule) {
            (ReasonKind::Danger, _) => self.dangerous.map(|index| (Operation::Execute, index)),
            (_, Some(pattern)) => {
                let all = self.rules.source().of(of).map_or(&[][..], |own| &own.rules);
                all.iter().position(|rule| rule.pattern == *pattern).and_then(|index| self.origin(of, index))
            }
            (_, None) => None,
        };
        Answer { action: judgement.action(), rule, description: format!("{} ({})", reason.why, reason.about) }
    }

    fn origin(&self, of: Operation, index: usize) -> Option<(Operation, usize)> {
        self.origins[of as usize].get(index).map(|origin| (of, origin.index))
    }
}

impl Answer {
    fn bare(action: Action) -> Self {
        Self { action, rule: None, description: String::new() }
    }
}

fn action_name(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

fn known(operation: &str) -> Option<Operation> {
    Operation::ALL.into_iter().find(|known| known.name() == operation)
}

/// Returns the text of a string. A lone surrogate, from a name that is not UTF-8, becomes a character that no pattern
/// contains.
fn text<'a>(given: &'a Bound<'_, PyString>) -> Cow<'a, str> {
    given.to_string_lossy()
}

/// Resolves a path that climbs, as the kernel does: `..` at the root stays there.
fn clamped(typed: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in typed.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}
