//! Rulesets of pydantic-ai-backend: its JSON is translated once into a ruleset of workden, which answers and enforces.
//!
//! Invariant: the reference's denials stay denials, except those that `docs/compatibility-python.md` lists. A rule that
//! cannot be understood is an error at construction, and is never ignored.

mod checker;
mod command_pattern;
mod known;
mod path_pattern;
mod reference;
mod seen;
mod written_rules;

pub(crate) use checker::Rules;
pub(crate) use known::publish;
use reference::of_reference;

use pyo3::prelude::*;
use workden::WorkspaceBuilder;
use workden_core::Result;
use workden_policy::{Action, Operation, PathScope, Ruleset};

use crate::failure;

/// Translates a ruleset of the reference, as JSON; returns `None` if it allows everything, and there is nothing to
/// enforce.
#[pyfunction]
#[pyo3(signature = (ruleset, surroundings="machine"))]
pub(crate) fn native_ruleset(ruleset: &str, surroundings: &str) -> PyResult<Option<String>> {
    let ours = surroundings_of(surroundings).and_then(|surroundings| of_reference(ruleset, surroundings));
    let ours = ours.map_err(failure::raised)?;
    if allows_everything(&ours) {
        return Ok(None);
    }
    // An invalid pattern is the fault of the ruleset's author, and is reported to the caller.
    ours.compile().map_err(failure::raised)?;
    serde_json::to_string(&ours).map(Some).map_err(|error| failure::raised(failure::invalid("a ruleset", error)))
}

/// Returns the rules to enforce, if there are any: rules that allow everything would still ask about commands that
/// cannot be analysed.
pub(crate) fn enforced(ruleset: &str, surroundings: PathScope) -> Result<Option<Ruleset>> {
    Ok(Some(of_reference(ruleset, surroundings)?).filter(|ours| !allows_everything(ours)))
}

/// Returns a workspace with these rules, if there are any.
pub(crate) fn hold(
    builder: WorkspaceBuilder,
    ruleset: Option<&String>,
    surroundings: PathScope,
) -> Result<WorkspaceBuilder> {
    let rules = ruleset.map(|ruleset| enforced(ruleset, surroundings)).transpose()?.flatten();
    Ok(rules.into_iter().fold(builder, WorkspaceBuilder::rules))
}

/// Whether the ruleset allows everything.
fn allows_everything(ruleset: &Ruleset) -> bool {
    let is_open = |operation: &Operation| {
        let rules = ruleset.of(*operation).map_or(&[][..], |own| &own.rules);
        ruleset.default_of(*operation) == Action::Allow && rules.iter().all(|rule| rule.action == Action::Allow)
    };
    ruleset.dangerous_commands.is_none() && Operation::ALL.iter().all(is_open)
}

fn surroundings_of(name: &str) -> Result<PathScope> {
    match name {
        "machine" => Ok(PathScope::Machine),
        "files" => Ok(PathScope::FilesOnly),
        other => Err(failure::invalid("surroundings", format!("`{}`", other.escape_debug()))
            .hint("use `machine` for a whole machine, `files` for files only")),
    }
}
