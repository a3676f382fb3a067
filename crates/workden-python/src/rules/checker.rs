//! `Rules`: a ruleset of the reference that is compiled and answers, with nothing around it to enforce.
//!
//! A place to work knows where a path leads and where a command runs. This does not: it takes paths as they
//! are written, and commands as if they ran in a directory of somebody's home.

use std::{borrow::Cow, sync::Arc};

use pyo3::{prelude::*, types::PyString};
use workden_core::{Result, VirtualPath};
use workden_policy::{
    Action, Because, CommandJudgement, CompiledRuleset, Decision, Operation, Policy, PolicyLayer, ReasonKind,
};

use super::{
    allows_everything,
    reference::{self, Origin},
    seen::Seen,
    surroundings_of,
};
use crate::failure;

/// Where commands are taken to run.
const DIRECTORY: &str = "/home/~/workspace";
/// Commands from this many bytes on are judged without the interpreter's lock.
const LONG: usize = 1_024;

/// A ruleset that answers. Safe to use from any thread.
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

/// What holds, the rule that made it so, and why.
#[derive(Clone, Debug)]
struct Answer {
    action: Action,
    rule: Option<(Operation, usize)>,
    description: String,
}

/// `(action, operation of the rule, its place, description)`.
type Explained = (&'static str, Option<&'static str>, Option<usize>, String);

#[pymethods]
impl Rules {
    /// Compiles `PermissionRuleset.model_dump_json()`. `surroundings` is `machine` or `files`.
    #[new]
    #[pyo3(signature = (ruleset, surroundings="machine"))]
    fn new(ruleset: &str, surroundings: &str) -> PyResult<Self> {
        Self::compiled(ruleset, surroundings).map_err(failure::raised)
    }

    /// What holds: `allow`, `ask` or `deny`.
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

    /// What holds, of which operation the rule is that made it so, its place among them, and why.
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

    /// What the rules say of a path as it is written; `None` when it is no path.
    fn path(&self, operation: Operation, typed: &str) -> Option<Decision<'_>> {
        let (path, climbs) = match VirtualPath::parse(typed) {
            Ok(path) => (path, false),
            Err(_) => (VirtualPath::parse(&clamped(typed)).ok()?, true),
        };
        let decision = self.rules.decide_path(operation, &path);
        // From which directory it counts is not known: an allowance for another place is none for it.
        let is_elsewhere = !typed.starts_with('/') && (climbs || self.is_rooted(&decision));
        Some(if is_elsewhere { decision.strictest(self.by_default(operation)) } else { decision })
    }

    /// Whether it is by a rule whose pattern starts at the root, as it was written.
    fn is_rooted(&self, decision: &Decision<'_>) -> bool {
        let Because::Rule { of, index, .. } = decision.because else { return false };
        self.origins[of as usize].get(index).is_some_and(|origin| origin.is_rooted)
    }

    fn by_default(&self, operation: Operation) -> Decision<'_> {
        Decision { action: self.rules.default_of(operation), because: Because::OperationDefault(operation) }
    }

    fn path_answer(&self, operation: Operation, typed: &str) -> Answer {
        let Some(decision) = self.path(operation, typed) else { return Answer::bare(Action::Deny) };
        let rule = match decision.because {
            Because::Rule { of, index, .. } => self.origin(of, index),
            Because::OperationDefault(_) | Because::RulesetDefault => None,
        };
        Answer { action: decision.action, rule, description: decision.description().to_owned() }
    }

    /// What holds for a command.
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

/// The text of a string. Half a character, as names that are not UTF-8 have, is one that no pattern names.
fn text<'a>(given: &'a Bound<'_, PyString>) -> Cow<'a, str> {
    given.to_string_lossy()
}

/// A path that climbs, as the kernel takes it: `..` at the root stays there.
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
