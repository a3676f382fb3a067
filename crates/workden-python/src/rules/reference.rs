//! Translates rulesets of pydantic-ai-backend.
//!
//! Invariant: a translated rule matches more than the original only where the result is not looser. A rule that allows
//! is never widened; a rule that asks is widened if no later rule denies.

use workden_core::{Error, Result, RuleCase};
use workden_policy::{Action, Operation, OperationRules, PathScope, Rule, Ruleset};

use super::{
    command_pattern::command_patterns,
    known,
    path_pattern::{PatternScope, path_pattern},
    written_rules::{Written, WrittenOperation, WrittenRule},
};
use crate::failure;

/// A translated ruleset, with the origin of its rules.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) ruleset: Ruleset,
    /// For each operation and each translated rule, the original rule.
    pub(super) origins: Vec<Vec<Origin>>,
    /// The first rule of `execute` about dangerous commands.
    pub(super) dangerous: Option<usize>,
}

/// The origin of a translated rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Its index among the rules of its operation.
    pub(super) index: usize,
    /// Whether its pattern starts with `/` as it was written.
    pub(super) is_rooted: bool,
}

/// Translates a ruleset of the reference, `model_dump_json()`.
///
/// # Errors
///
/// `InvalidArgument` for an invalid ruleset, `InvalidPattern` for a pattern that cannot be parsed. Patterns without a
/// meaning are found at compilation.
pub(crate) fn of_reference(json: &str, surroundings: PathScope) -> Result<Ruleset> {
    converted(json, surroundings).map(|converted| converted.ruleset)
}

/// Translates a ruleset, and records the origins.
pub(super) fn converted(json: &str, surroundings: PathScope) -> Result<Converted> {
    let written: Written = serde_json::from_str(json).map_err(|error| failure::invalid("a ruleset", error))?;
    let mut converted = Converted {
        ruleset: Ruleset::all(written.default),
        origins: vec![Vec::new(); Operation::ALL.len()],
        dangerous: None,
    };
    let files = [
        (Operation::Read, &written.read),
        (Operation::Write, &written.write),
        (Operation::Edit, &written.edit),
        (Operation::Glob, &written.glob),
        (Operation::Grep, &written.grep),
        (Operation::Ls, &written.ls),
    ];
    for (operation, own) in files {
        if let Some(own) = own {
            let rules = path_rules(operation, own, surroundings)?;
            converted.put(operation, own, rules);
        }
    }
    if let Some(own) = &written.execute {
        let denied = |rule: &WrittenRule| known::is_dangerous(&rule.pattern) && rule.action > Action::Allow;
        let dangerous = own.rules.iter().filter(|rule| denied(rule));
        converted.ruleset.dangerous_commands = dangerous.map(|rule| rule.action).max();
        converted.dangerous = own.rules.iter().position(denied);
        converted.put(Operation::Execute, own, command_rules(own)?);
    }
    Ok(converted)
}

impl Converted {
    fn put(&mut self, operation: Operation, own: &WrittenOperation, rules: Vec<(usize, Rule)>) {
        let origin = |index: usize| Origin { index, is_rooted: own.rules[index].pattern.starts_with('/') };
        let (origins, rules) = rules.into_iter().map(|(index, rule)| (origin(index), rule)).unzip();
        self.origins[operation as usize] = origins;
        *self.ruleset.of_mut(operation) = Some(OperationRules { default: Some(own.default), rules });
    }
}

fn path_rules(operation: Operation, own: &WrittenOperation, surroundings: PathScope) -> Result<Vec<(usize, Rule)>> {
    let mut rules = Vec::new();
    let mut nth = 0;
    while let Some(rule) = own.rules.get(nth) {
        if let Some((length, known)) = known::files(&own.rules[nth..], surroundings) {
            rules.extend(known.into_iter().map(|rule| (nth, rule)));
            nth += length;
            continue;
        }
        let scope = pattern_scope(own, nth);
        let case = match (rule.action, scope) {
            (Action::Ask, PatternScope::AsWritten) => Some(RuleCase::Sensitive),
            _ => None,
        };
        let pattern = path_pattern(&rule.pattern, scope).map_err(|error| about(operation, nth, rule, &error))?;
        rules.extend(pattern.map(|pattern| (nth, Rule { case, ..ours(pattern, rule) })));
        nth += 1;
    }
    Ok(rules)
}

/// How far a rule may be widened: as far as it could mean, if no later rule is stricter.
fn pattern_scope(own: &WrittenOperation, nth: usize) -> PatternScope {
    let action = own.rules[nth].action;
    let hides_nothing = own.default <= action && own.rules[nth..].iter().all(|later| later.action <= action);
    if action > Action::Allow && hides_nothing { PatternScope::Wide } else { PatternScope::AsWritten }
}

fn command_rules(own: &WrittenOperation) -> Result<Vec<(usize, Rule)>> {
    let mut rules = Vec::new();
    for (nth, rule) in own.rules.iter().enumerate() {
        if known::is_dangerous(&rule.pattern) && rule.action > Action::Allow {
            rules.extend(known::command(rule).map(|rule| (nth, rule)));
            continue;
        }
        let said = command_patterns(&rule.pattern, pattern_scope(own, nth));
        let said = said.map_err(|error| about(Operation::Execute, nth, rule, &error))?;
        rules.extend(said.into_iter().map(|said| (nth, Rule { except: said.except, ..ours(said.pattern, rule) })));
    }
    Ok(rules)
}

fn ours(pattern: String, rule: &WrittenRule) -> Rule {
    Rule { description: rule.description.clone(), ..Rule::new(pattern, rule.action) }
}

fn about(operation: Operation, nth: usize, rule: &WrittenRule, error: &Error) -> Error {
    let pattern: String = rule.pattern.chars().take(200).flat_map(char::escape_debug).collect();
    let told = format!("rule {} of `{operation}` (pattern `{pattern}`): {}", nth + 1, error.sentence());
    Error::new(error.kind(), told).hint(error.hint_text().unwrap_or("correct the pattern"))
}
